//! A stall: none of a run's tasks goes on, nothing is awaited, and nothing has changed for a while. It should not be: something was lost
//! that should stand, a timer or a join. Whoever looks says so once, and which edge it is that the run waits for.

use std::time::Duration;

use super::plan::{Node, Phase, Plan};
use crate::Moment;
use crate::run::{Remarked, Run, TaskPlace};

/// Nothing that is under way stays for so long without being found.
pub const STALLED_AFTER: Duration = Duration::from_secs(15 * 60);

/// Since when nothing has changed, where that is a stall which nobody has remarked yet. `children`: the last try at each task, or
/// at each branch, and whether its failures wait for a verdict.
pub fn stalled_since<'a>(
    run: &Run,
    children: impl IntoIterator<Item = (&'a Run, bool)>,
    now: Moment,
) -> Option<Moment> {
    let mut last = run.started_at.unwrap_or(run.key.at);
    for (child, holds) in children {
        if child.is_awaited(holds, now) {
            return None;
        }
        last = last.max(child.changed_at(now));
    }
    let is_remarked = run.last_remark(Remarked::Stalled).is_some_and(|remark| remark.at >= last);
    (!is_remarked && now.since(last) >= STALLED_AFTER).then_some(last)
}

/// Which edge a stalled run waits for, in words. `runs`: the last try at each task that has one.
pub fn edge_in_words<'a>(plan: &Plan, phase: Phase, runs: impl Fn(u16) -> Option<&'a Run>) -> String {
    let of_phase = || plan.nodes().filter(|(node, _)| plan.phase(*node) == phase);
    let ended = |node: u16| runs(node).and_then(|run| run.ended(plan.holds_failures(TaskPlace::task(node)))).is_some();
    let open = of_phase().find(|(node, _)| runs(*node).is_some() && !ended(*node));
    if let Some((node, planned)) = open {
        let status = runs(node).map_or("nowhere", |run| run.status(Moment::END));
        return match planned.children.first().and_then(|child| plan.node(child.node)) {
            Some(child) => format!(
                "`{}` waits for the edge from `{}`, which is {status}, and nobody carries it out",
                child.task.key, planned.task.key
            ),
            None => format!("the end waits for `{}`, which is {status}, and nobody carries it out", planned.task.key),
        };
    }
    let may_start = |planned: &Node| planned.parents.iter().all(|parent| ended(parent.node));
    match of_phase().find(|(node, planned)| runs(*node).is_none() && may_start(planned)) {
        Some((_, planned)) => match planned.parents.last().and_then(|parent| plan.node(parent.node)) {
            Some(parent) => format!(
                "`{}` has not begun, though all it depends on has ended: the edge from `{}` may not have closed",
                planned.task.key, parent.task.key
            ),
            None => format!("`{}` has not begun, though it depends on nothing", planned.task.key),
        },
        None => "the end of the run, though all its tasks have ended".to_owned(),
    }
}

/// The same of a `for_each`: which branch. `runs`: those of its branches that have one.
pub fn branch_in_words<'a>(count: u16, runs: impl Fn(u16) -> Option<&'a Run>, holds: bool) -> String {
    let open = |branch: &u16| runs(*branch).is_none_or(|run| run.ended(holds).is_none());
    match (0..count).find(open) {
        Some(branch) => match runs(branch) {
            Some(run) => {
                format!("branch {branch} is {}, and nobody carries it out", run.status(Moment::END))
            }
            None => format!("branch {branch} has not begun, and none is under way that it comes after"),
        },
        None => "the end of its branches, though all of them have ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::definition::{Definition, Does, Edge, Task};
    use super::super::edge::On;
    use super::*;
    use crate::body::Body;
    use crate::id::{JobId, RunKey, Tenant, Worker};
    use crate::order::Terms;
    use crate::priority::Priority;
    use crate::run::{Failure, Holder, Lease, Remark, State, TaskRun, Tasks, Waiting};
    use crate::target::Target;

    const NOW: Moment = Moment::from_secs(10_000);

    fn ago(minutes: u64) -> Moment {
        NOW - Duration::from_secs(60 * minutes)
    }

    fn parent() -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), ago(60));
        let state = State::Waiting(Waiting::Tasks(Tasks::until(NOW + Duration::from_secs(9999))));
        Run { state, started_at: Some(ago(60)), ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    fn child(node: u16, state: State) -> Run {
        let (tenant, parent) = (Tenant::deployment(), parent().key);
        let task = Some(TaskRun::new(parent, 1, false));
        Run { state, task, ..Run::new(tenant, TaskPlace::task(node).key(parent, 1), Priority::Normal) }
    }

    fn succeeded(minutes: u64) -> State {
        State::Succeeded { at: ago(minutes), result: Body::Empty }
    }

    #[test]
    fn a_run_stalls_when_nothing_goes_on_nothing_is_awaited_and_nothing_changed_for_fifteen_minutes() {
        let failed = |minutes| State::Failed { at: ago(minutes), why: Failure::Error };
        let until = |minutes: u64| NOW + Duration::from_secs(60 * minutes);
        let running =
            |until| State::Running(Lease { holder: Holder::Process(Worker(1)), until, cancelled: false, token: None });
        let rows = [
            ("no task was begun", vec![], Some(60)),
            ("all ended long ago", vec![succeeded(30), succeeded(20)], Some(20)),
            ("one ended just now", vec![succeeded(30), succeeded(14)], None),
            ("a call goes on", vec![succeeded(30), running(until(1))], None),
            ("whoever called died long ago", vec![succeeded(50), running(ago(40))], Some(40)),
            ("a retry is due later", vec![State::Scheduled { due: until(120) }], None),
            ("queued, and nobody came", vec![succeeded(50), State::Scheduled { due: ago(16) }], Some(16)),
            ("queued just now", vec![succeeded(50), State::Scheduled { due: ago(1) }], None),
            ("an approval", vec![State::Waiting(Waiting::Answer { until: until(600) })], None),
            ("a place", vec![State::Waiting(Waiting::Slot { since: ago(50) })], None),
            ("tasks of its own", vec![State::Waiting(Waiting::Tasks(Tasks::until(until(9))))], None),
            ("a failure that is held", vec![failed(50)], None),
        ];
        for (what, states, stalled) in rows {
            let children: Vec<Run> = (0..).zip(states).map(|(node, state)| child(node, state)).collect();
            let since = stalled_since(&parent(), children.iter().map(|run| (run, true)), NOW);
            assert_eq!(since, stalled.map(ago), "{what}");
        }
    }

    #[test]
    fn a_stall_is_remarked_once_and_another_one_again() {
        let told = |minutes| Remark { at: ago(minutes), by: None, what: Remarked::Stalled, note: None };
        let since = |run: &Run| stalled_since(run, [(&child(0, succeeded(20)), false)], NOW);

        assert_eq!(since(&parent()), Some(ago(20)));
        assert_eq!(since(&parent().remarked(told(5))), None, "it is this one");
        assert_eq!(since(&parent().remarked(told(40))), Some(ago(20)), "it went on since");
    }

    #[test]
    fn the_edge_that_a_run_waits_for_is_named() {
        let task = |key: &str, on: &[&str]| {
            let does = Does::Call { target: Target::Noop, terms: Terms::default() };
            let edge = |on: &&str| Edge { task: on.parse().unwrap(), on: On::Success };
            Task { depends_on: on.iter().map(edge).collect(), ..Task::new(key.parse().unwrap(), does) }
        };
        let tasks = vec![task("a", &[]), task("b", &[]), task("join", &["a", "b"])];
        let plan = Plan::new(Definition::new(tasks)).unwrap();
        let node = |key: &str| plan.node_of(&key.parse().unwrap()).unwrap();
        let queued = || State::Scheduled { due: ago(20) };
        let rows = [
            (vec![("a", succeeded(30))], "`b` has not begun, though it depends on nothing"),
            (
                vec![("a", succeeded(30)), ("b", queued())],
                "`join` waits for the edge from `b`, which is queued, and nobody carries it out",
            ),
            (
                vec![("a", succeeded(30)), ("b", succeeded(30))],
                "`join` has not begun, though all it depends on has ended: the edge from `b` may not have closed",
            ),
            (
                vec![("a", succeeded(30)), ("b", succeeded(30)), ("join", queued())],
                "the end waits for `join`, which is queued, and nobody carries it out",
            ),
            (
                vec![("a", succeeded(30)), ("b", succeeded(30)), ("join", succeeded(20))],
                "the end of the run, though all its tasks have ended",
            ),
        ];
        for (states, words) in rows {
            let runs: BTreeMap<u16, Run> =
                states.into_iter().map(|(key, state)| (node(key), child(node(key), state))).collect();
            assert_eq!(edge_in_words(&plan, Phase::Main, |node| runs.get(&node)), words);
        }
        let runs = [child(0, succeeded(30)), child(0, queued())];
        let branch = |count| branch_in_words(count, |branch| runs.get(usize::from(branch)), false);
        assert_eq!(branch(3), "branch 1 is queued, and nobody carries it out");
        assert_eq!(branch(1), "the end of its branches, though all of them have ended");
    }
}
