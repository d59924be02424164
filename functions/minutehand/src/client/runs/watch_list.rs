//! A watch list: the runs that were shown, and what has changed about them since, each change once.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use minutehand_client::wire::{Instant, RunStatus, RunView, Word};

use super::run::is_over;

/// How many runs are remembered; the oldest are forgotten first, and what is older still is shown no more.
const KNOWN: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct WatchList {
    known: BTreeMap<(Instant, String), State>,
    forgotten: Option<(Instant, String)>,
}

/// As much of a run as makes a change worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    status: Word<RunStatus>,
    attempts: u32,
    over: bool,
    /// How far its worker is, to the hundredth, and what it does.
    progress: (Option<i64>, Option<String>),
}

impl WatchList {
    /// Those that were not shown so before, in the order given.
    pub(crate) fn changed<T: Borrow<RunView>>(&mut self, runs: Vec<T>) -> Vec<T> {
        let changed = runs.into_iter().filter(|run| self.is_changed(run.borrow())).collect();
        self.forget();
        changed
    }

    pub(crate) fn knows(&self, run: &RunView) -> bool {
        let key = key(run);
        self.is_forgotten(&key) || self.known.contains_key(&key)
    }

    /// Ids of the newest runs that had not ended when they were shown last.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.known.iter().rev().filter(|(_, state)| !state.over).map(|((_, id), _)| id.as_str())
    }

    fn is_changed(&mut self, run: &RunView) -> bool {
        let (key, state) = (key(run), State::of(run));
        if self.is_forgotten(&key) || self.known.get(&key) == Some(&state) {
            return false;
        }
        self.known.insert(key, state);
        true
    }

    fn is_forgotten(&self, key: &(Instant, String)) -> bool {
        self.forgotten.as_ref().is_some_and(|forgotten| key <= forgotten)
    }

    fn forget(&mut self) {
        while self.known.len() > KNOWN {
            self.forgotten = self.known.pop_first().map(|(key, _)| key);
        }
    }
}

impl State {
    fn of(run: &RunView) -> Self {
        let attempts = run.attempts.last().map_or(0, |attempt| attempt.number);
        #[expect(clippy::cast_possible_truncation, reason = "a hundredth of a share is less than a hundred")]
        let hundredths = run.progress.map(|share| (share * 100.0) as i64);
        let progress = (hundredths, run.stage.clone());
        Self { status: run.status.clone(), attempts, over: is_over(run), progress }
    }
}

fn key(run: &RunView) -> (Instant, String) {
    (run.scheduled_at, run.run_id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::run::tests::{attempt, run};
    use super::*;

    fn changes(list: &mut WatchList, more: &Value) -> usize {
        list.changed(vec![run(more)]).len()
    }

    #[test]
    fn each_change_is_changed_once() {
        let mut list = WatchList::default();
        let second = json!([attempt(&json!({"number": 2, "started_at": "2026-11-20T12:00:09.000Z"}))]);

        assert_eq!(changes(&mut list, &json!({})), 1);
        assert_eq!(changes(&mut list, &json!({})), 0);
        assert_eq!(changes(&mut list, &json!({"attempts": second})), 1, "another attempt");
        assert_eq!(changes(&mut list, &json!({"attempts": second})), 0);
        assert_eq!(changes(&mut list, &json!({"attempts": second, "status": "succeeded"})), 1, "another state");
        assert_eq!(changes(&mut list, &json!({"attempts": second, "status": "succeeded"})), 0);
        assert_eq!(changes(&mut list, &json!({"run_id": "run_2"})), 1, "another run");
    }

    #[test]
    fn only_what_has_not_ended_is_looked_at_again() {
        let mut list = WatchList::default();
        changes(&mut list, &json!({"run_id": "run_old", "scheduled_at": "2026-11-20T11:00:00.000Z"}));
        changes(&mut list, &json!({"run_id": "run_over", "status": "skipped"}));
        changes(&mut list, &json!({"run_id": "run_new"}));

        assert_eq!(list.unfinished().collect::<Vec<_>>(), ["run_new", "run_old"]);
    }

    #[test]
    fn a_watcher_of_days_forgets_the_oldest_and_never_shows_them_again() {
        let mut list = WatchList::default();
        let old = json!({"run_id": "run_old", "scheduled_at": "2026-11-20T11:00:00.000Z"});
        changes(&mut list, &old);

        list.changed((0..KNOWN).map(|n| run(&json!({"run_id": format!("run_{n}")}))).collect());

        assert_eq!(list.known.len(), KNOWN);
        assert_eq!(changes(&mut list, &old), 0);
        assert!(list.knows(&run(&old)));
    }
}
