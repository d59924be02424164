//! What a run or a task waits for, in words: a sentence for people who ask why nothing happens. Instants are UTC.

use super::definition::Approval;
use super::plan::Node;
use super::progress::{EdgeNow, Progress};
use crate::Moment;
use crate::order::Terms;
use crate::run::{Run, State, Stop, Tasks, Waiting};
use crate::slot::Bound;

/// Keys that one sentence names.
const NAMED: usize = 3;

/// `09:12`, and its day where that is not today.
pub fn said(at: Moment, now: Moment) -> String {
    let (at, now) = (at.to_utc(), now.to_utc());
    let format = if at.date_naive() == now.date_naive() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    at.format(format).to_string()
}

/// Of the run of a task, as it stands; none where it waits for nothing but its own end.
pub fn of_task(run: &Run, node: &Node, progress: Progress, now: Moment) -> Option<String> {
    match (&run.state, progress) {
        (_, Progress::Held) => Some("waits for a verdict: retry, skip, succeed or fail".to_owned()),
        (State::Waiting(Waiting::Answer { .. }), _) => {
            Some(of_approval(node.approval()?, run.started_at.unwrap_or(run.key.at), now))
        }
        (State::Waiting(Waiting::Tasks(tasks)), _) => {
            Some(of_tasks(tasks, if run.graph.as_ref()?.each.is_some() { "branches" } else { "tasks" }))
        }
        _ => of_run(run, node.terms(), now),
    }
}

/// Of a `for_each` some of whose branches failed and are held; none where none is. `at_least`: not all of them were counted.
pub fn of_held(held: usize, total: usize, at_least: bool) -> Option<String> {
    let some = if at_least { "at least " } else { "" };
    match held {
        0 => None,
        1 => Some(format!("{some}1 of its {total} branches is held: retry, skip, succeed or fail it")),
        held => Some(format!("{some}{held} of its {total} branches are held: retry, skip, succeed or fail them")),
    }
}

/// Of any run, on the terms that it is tried again.
pub fn of_run(run: &Run, terms: Option<&Terms>, now: Moment) -> Option<String> {
    match &run.state {
        State::Scheduled { due } if now < *due && run.fence > 0 && run.admission.turn.is_none() => {
            let of = terms.map_or(String::new(), |terms| format!(" of {}", u32::from(terms.retry.max_retries) + 1));
            Some(format!("retries at {} (attempt {}{of})", said(*due, now), run.fence + 1))
        }
        State::Scheduled { due } if now < *due && run.admission.turn == Some(*due) => {
            Some(format!("waits for its turn by its rate, at {}", said(*due, now)))
        }
        State::Scheduled { due } if now < *due && run.is_put_off() => {
            let a_minute = run.made_up.map_or(0, |made_up| made_up.per_minute);
            Some(format!("is late: waits for its turn in catching up ({a_minute} a minute), at {}", said(*due, now)))
        }
        State::Scheduled { due } if now < *due => Some(format!("is due at {}", said(*due, now))),
        State::Scheduled { due } => Some(format!("waits for a free executor since {}", said(*due, now))),
        State::Waiting(Waiting::Slot { since }) => Some(format!("waits for a free place since {}", said(*since, now))),
        State::Waiting(Waiting::Tasks(_) | Waiting::Answer { .. })
        | State::Running(_)
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}

/// Of a run that waits for a place among the runs of its workflow.
pub fn of_slot(workflow: &str, width: u32, since: Moment, now: Moment) -> String {
    let since = said(since, now);
    format!("waits for a free place since {since}: {width} of {width} runs of {workflow} are under way")
}

/// Of a run that waits for a place among those with whom it shares a limit.
pub fn of_place(bound: &Bound, taken: usize, since: Moment, now: Moment) -> String {
    let Bound { slot, width } = bound;
    format!("waits for a place of {slot} since {}: {taken} of {width} taken", said(since, now))
}

/// Of a task that has no run yet. `key`: what a task is called.
pub fn of_unborn<'a>(node: &Node, edges: &[EdgeNow], is_finally: bool, key: impl Fn(u16) -> &'a str) -> Option<String> {
    if edges.is_empty() {
        return is_finally.then(|| "waits for the end of all tasks before `finally`".to_owned());
    }
    let open: Vec<&str> = edges.iter().filter(|edge| edge.ended.is_none()).map(|edge| key(edge.from)).collect();
    let closed = edges.len() - open.len();
    let rule = if node.task.rule.waits_for_all() { "" } else { "the first of " };
    let count = match (edges.len(), closed) {
        (_, 0) => String::new(),
        (of, closed) => format!(" ({closed} of {of} edges {} closed)", if closed == 1 { "is" } else { "are" }),
    };
    (!open.is_empty()).then(|| format!("waits for {rule}{}{count}", listed(&open)))
}

/// Of a whole run that waits for its tasks: for whom, each with its own sentence.
pub fn of_whole(tasks: &Tasks, waits: &[(&str, Progress, Option<String>)]) -> Option<String> {
    let open: Vec<_> = waits.iter().filter(|(_, progress, _)| is_under_way(*progress)).collect();
    let told = open.iter().take(NAMED).map(|(key, progress, words)| match words {
        Some(words) => format!("{key} {words}"),
        None => format!("{key} is {}", progress.as_str()),
    });
    let told: Vec<String> = told.collect();
    let more = open.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let whole = match tasks.stop {
        Some(stop) => format!("{}, when what is under way has ended: ", ends_as(stop)),
        None => String::new(),
    };
    (!told.is_empty()).then(|| format!("{whole}{}{more}", told.join("; ")))
}

fn of_tasks(tasks: &Tasks, of: &str) -> String {
    match tasks.stop {
        Some(stop) => format!("{}, when those of its {of} that are under way have ended", ends_as(stop)),
        None => format!("waits for its {of}"),
    }
}

const fn ends_as(stop: Stop) -> &'static str {
    match stop {
        Stop::Failed => "ends as failed",
        Stop::Cancelled => "is being cancelled",
        Stop::TimedOut => "has timed out",
    }
}

fn of_approval(approval: &Approval, since: Moment, now: Moment) -> String {
    let roles: Vec<&str> = approval.roles.iter().map(|role| role.as_str()).collect();
    let article = if roles.first().is_some_and(|role| role.starts_with(['a', 'o'])) { "an" } else { "a" };
    format!("waits for the approval of {article} {} since {}", roles.join(" or "), said(since, now))
}

/// Whether something of it is going on or awaited now.
pub const fn is_under_way(progress: Progress) -> bool {
    match progress {
        Progress::Scheduled | Progress::Queued | Progress::Running | Progress::Held | Progress::Waiting => true,
        Progress::Pending
        | Progress::Succeeded
        | Progress::Failed
        | Progress::TimedOut
        | Progress::Cancelled
        | Progress::Skipped => false,
    }
}

fn listed(keys: &[&str]) -> String {
    match keys {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] if keys.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        many => format!("{} and {} more", many[..NAMED].join(", "), many.len() - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::super::definition::{Definition, Does, Task};
    use super::super::edge::{Ended, On, Rule};
    use super::super::plan::Plan;
    use super::*;
    use crate::access::Role;
    use crate::id::{JobId, RunKey, Tenant};
    use crate::priority::Priority;
    use crate::run::MadeUp;
    use crate::slot::{Admission, SlotName};

    /// 2027-01-15T09:12:00Z.
    const SINCE: Moment = Moment::from_secs(1_800_004_320);

    fn later(seconds: u64) -> Moment {
        SINCE + Duration::from_secs(seconds)
    }

    fn node(task: Task) -> Node {
        Plan::new(Definition::new(vec![task])).unwrap().node(0).unwrap().clone()
    }

    fn call() -> Task {
        let does = Does::Call { target: crate::target::Target::Noop, terms: Terms::default() };
        Task::new("pay".parse().unwrap(), does)
    }

    fn ask(roles: &[Role]) -> Task {
        let roles: BTreeSet<Role> = roles.iter().copied().collect();
        Task::new("ok".parse().unwrap(), Does::Ask(Approval { roles, ..Approval::default() }))
    }

    fn run(state: State, fence: u32) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), SINCE);
        let started_at = (fence > 0).then_some(SINCE);
        Run { state, fence, started_at, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    #[test]
    fn how_many_branches_are_held_is_said_where_some_are() {
        assert_eq!(of_held(0, 200, false), None);
        let one = "1 of its 200 branches is held: retry, skip, succeed or fail it";
        assert_eq!(of_held(1, 200, false).as_deref(), Some(one));
        let some = "at least 2 of its 200 branches are held: retry, skip, succeed or fail them";
        assert_eq!(of_held(2, 200, true).as_deref(), Some(some));
    }

    #[test]
    fn a_task_says_what_it_waits_for() {
        let now = later(60);
        let answer = State::Waiting(Waiting::Answer { until: later(9999) });
        let rows = [
            (
                ask(&[Role::Admin]),
                run(answer.clone(), 1),
                now,
                Some("waits for the approval of an admin since 09:12:00"),
            ),
            (
                ask(&[Role::Viewer, Role::Admin]),
                run(answer, 1),
                later(86_400),
                Some("waits for the approval of a viewer or admin since 2027-01-15 09:12:00"),
            ),
            (call(), run(State::Scheduled { due: later(184) }, 1), now, Some("retries at 09:15:04 (attempt 2 of 4)")),
            (call(), run(State::Scheduled { due: later(184) }, 0), now, Some("is due at 09:15:04")),
            (call(), run(State::Scheduled { due: SINCE }, 0), now, Some("waits for a free executor since 09:12:00")),
            (
                call(),
                run(State::Waiting(Waiting::Slot { since: SINCE }), 0),
                now,
                Some("waits for a free place since 09:12:00"),
            ),
            (call(), run(State::Cancelled { at: SINCE }, 1), now, None),
        ];
        for (task, run, now, words) in rows {
            let progress = Progress::of_run(&run, false, now);
            assert_eq!(of_task(&run, &node(task), progress, now).as_deref(), words);
        }
        let held = run(State::Failed { at: SINCE, why: crate::run::Failure::Error }, 1);
        assert_eq!(
            of_task(&held, &node(call()), Progress::Held, now).unwrap(),
            "waits for a verdict: retry, skip, succeed or fail"
        );
        assert_eq!(
            of_slot("etl", 3, SINCE, now),
            "waits for a free place since 09:12:00: 3 of 3 runs of etl are under way"
        );
    }

    #[test]
    fn a_task_without_a_run_names_whom_it_waits_for() {
        let keys = ["extract", "check", "load", "tidy", "mail"];
        let edges = |ended: &[bool]| -> Vec<EdgeNow> {
            let edge = |(from, ended): (u16, &bool)| EdgeNow {
                from,
                on: On::Success,
                ended: ended.then_some(Ended::Succeeded),
            };
            (0..).zip(ended).map(edge).collect()
        };
        let words = |rule, ended: &[bool], is_finally| {
            let node = node(Task { rule, ..call() });
            of_unborn(&node, &edges(ended), is_finally, |node| keys[usize::from(node)])
        };
        let rows = [
            (Rule::All, &[false][..], Some("waits for extract")),
            (Rule::All, &[true, false, false], Some("waits for check and load (1 of 3 edges is closed)")),
            (Rule::Any, &[false, false], Some("waits for the first of extract and check")),
            (Rule::All, &[false; 5], Some("waits for extract, check, load and 2 more")),
            (Rule::All, &[true, true], None),
            (Rule::All, &[], None),
        ];
        for (rule, ended, told) in rows {
            assert_eq!(words(rule, ended, false).as_deref(), told, "{ended:?}");
        }
        assert_eq!(words(Rule::All, &[], true).unwrap(), "waits for the end of all tasks before `finally`");
    }

    #[test]
    fn a_whole_run_names_three_of_those_it_waits_for() {
        let tasks = Tasks::until(later(9999));
        let stopped = Tasks { stop: Some(Stop::Failed), ..tasks };
        let on = |key, words: Option<&str>| (key, Progress::Running, words.map(str::to_owned));
        let waits = |count: usize| -> Vec<_> {
            let all = [on("a", None), on("b", Some("retries at 09:15:04")), on("c", None), on("d", None)];
            all.into_iter().take(count).collect()
        };
        let over = ("z", Progress::Succeeded, None);

        assert_eq!(of_whole(&tasks, &[over]), None);
        assert_eq!(of_whole(&tasks, &waits(2)).unwrap(), "a is running; b retries at 09:15:04");
        assert_eq!(
            of_whole(&stopped, &waits(4)).unwrap(),
            "ends as failed, when what is under way has ended: a is running; b retries at 09:15:04; c is running; and 1 more"
        );
    }

    #[test]
    fn who_shares_a_limit_says_which_and_how_many_are_let_in() {
        let bound = |slot| Bound { slot, width: 4 };
        let key = SlotName::Key("billing".parse().unwrap());
        let of_key = of_place(&bound(key), 4, SINCE, later(60));
        let of_quota = of_place(&bound(SlotName::Quota), 3, SINCE, later(60));

        let postponed = Run {
            admission: Admission { places: Vec::new(), turn: Some(later(90)) },
            ..run(State::Scheduled { due: later(90) }, 1)
        };

        assert_eq!(of_key, "waits for a place of key \"billing\" since 09:12:00: 4 of 4 taken");
        assert_eq!(of_quota, "waits for a place of its tenant's quota since 09:12:00: 3 of 4 taken");
        let words = of_run(&postponed, None, later(60));
        assert_eq!(words.as_deref(), Some("waits for its turn by its rate, at 09:13:30"));
        let made_up = Some(MadeUp { since: SINCE, turn: later(90), per_minute: 30 });
        let put_off = Run { made_up, ..run(State::Scheduled { due: later(90) }, 0) };
        let words = of_run(&put_off, None, later(60));
        let wanted = "is late: waits for its turn in catching up (30 a minute), at 09:13:30";
        assert_eq!(words.as_deref(), Some(wanted));
    }
}
