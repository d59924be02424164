//! The critical path: the chain of tasks that determined when a run ended, or how far it is. Had any of them been faster, the run
//! would have been.

use crate::Moment;

/// When a task ran, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What it depends on. Of the roots of `finally`: every task before `finally`.
    pub parents: Vec<usize>,
    /// When it was decided that it starts, or that it does not.
    pub from: Moment,
    /// None while it goes on.
    pub to: Option<Moment>,
    /// It did nothing: it is passed through, and is no step.
    pub is_skipped: bool,
}

/// A task on the path, from when the one before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub task: usize,
    pub from: Moment,
    pub to: Moment,
}

/// The chain that ends with whichever task ended last, or goes on now. Each task is led back to the parent that it waited for
/// longest. `begun`: when the run did; `until`: its end, or now. None in place of a task: it has not begun.
pub fn critical_path(tasks: &[Option<Timing>], begun: Moment, until: Moment) -> Vec<Step> {
    let end = |task: usize| tasks[task].as_ref().map(|timing| timing.to.unwrap_or(until).min(until));
    let did_something = |task: &usize| tasks[*task].as_ref().is_some_and(|timing| !timing.is_skipped);
    let since = |task: usize| tasks[task].as_ref().map(|timing| timing.from);
    // Of those that ended at the same instant the one that took longest, and then the first.
    let last =
        (0..tasks.len()).rev().filter(did_something).max_by_key(|task| (end(*task), std::cmp::Reverse(since(*task))));
    let (mut chain, mut next) = (Vec::new(), last);
    while let Some(task) = next {
        chain.push(task);
        next = waited_for(tasks, task, end).filter(|before| !chain.contains(before));
    }
    let mut from = begun;
    let mut steps = Vec::with_capacity(chain.len());
    for task in chain.into_iter().rev().filter(did_something) {
        let to = end(task).unwrap_or(until).max(from);
        steps.push(Step { task, from, to });
        from = to;
    }
    steps
}

/// The parent that ended last before the task began: of one that starts at its first edge, the others may end later.
fn waited_for(tasks: &[Option<Timing>], task: usize, end: impl Fn(usize) -> Option<Moment>) -> Option<usize> {
    let timing = tasks[task].as_ref()?;
    let ended = |parent: &&usize| tasks[**parent].as_ref().is_some_and(|parent| parent.to.is_some());
    let before = |parent: &&usize| end(**parent).is_some_and(|end| end <= timing.from);
    let parents = || timing.parents.iter().filter(ended);
    let last = parents().filter(before).max_by_key(|parent| end(**parent));
    // Clocks differ by a little: then the first that ended.
    last.or_else(|| parents().min_by_key(|parent| end(**parent))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it depends on, from when until when.
    #[expect(clippy::unnecessary_wraps, reason = "as a list of those that may not have begun has it")]
    fn task(parents: &[usize], from: i64, to: i64) -> Option<Timing> {
        let to = (to >= 0).then(|| Moment::from_secs(to));
        Some(Timing { parents: parents.to_vec(), from: Moment::from_secs(from), to, is_skipped: false })
    }

    fn skipped(parents: &[usize], at: i64) -> Option<Timing> {
        task(parents, at, at).map(|timing| Timing { is_skipped: true, ..timing })
    }

    #[test]
    fn the_path_leads_back_from_the_last_end_by_whom_each_waited_for() {
        const ON: i64 = -1;
        type Case = (&'static str, Vec<Option<Timing>>, &'static [(usize, i64, i64)]);
        let cases: [Case; 9] = [
            ("nothing has begun", vec![None, None], &[]),
            ("one task", vec![task(&[], 1, 5)], &[(0, 0, 5)]),
            (
                "a diamond, by its slower side",
                vec![task(&[], 0, 2), task(&[0], 2, 9), task(&[0], 2, 4), task(&[1, 2], 9, 10)],
                &[(0, 0, 2), (1, 2, 9), (3, 9, 10)],
            ),
            (
                "the end is a leaf that nobody waits for",
                vec![task(&[], 0, 2), task(&[0], 2, 3), task(&[], 0, 50)],
                &[(2, 0, 50)],
            ),
            ("it goes on", vec![task(&[], 0, 2), task(&[0], 2, ON), None], &[(0, 0, 2), (1, 2, 100)]),
            ("two go on: the one that takes longer", vec![task(&[], 3, ON), task(&[], 1, ON)], &[(1, 0, 100)]),
            (
                "what started at its first edge did not wait for the second",
                vec![task(&[], 0, 2), task(&[], 0, 8), task(&[0, 1], 2, 20)],
                &[(0, 0, 2), (2, 2, 20)],
            ),
            (
                "through what was skipped",
                vec![task(&[], 0, 5), skipped(&[0], 5), task(&[1], 5, 7)],
                &[(0, 0, 5), (2, 5, 7)],
            ),
            ("clocks apart by a second", vec![task(&[], 0, 5), task(&[0], 4, 9)], &[(0, 0, 5), (1, 5, 9)]),
        ];
        for (what, tasks, path) in cases {
            let (begun, until) = (Moment::EPOCH, Moment::from_secs(100));
            let steps = critical_path(&tasks, begun, until);

            let seconds = |at: Moment| at.millis() / 1000;
            let told: Vec<_> = steps.iter().map(|step| (step.task, seconds(step.from), seconds(step.to))).collect();
            assert_eq!(told, path, "{what}");
        }
    }
}
