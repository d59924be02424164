//! What a watcher has seen: tells what is new about the runs that are shown to it, each change once.

use std::collections::BTreeMap;

use minutehand_domain::Moment;

use super::run::Run;

/// How many runs are remembered; the oldest are forgotten first, and what is older still is news no more.
const KNOWN: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Seen {
    known: BTreeMap<(Moment, String), State>,
    forgotten: Option<(Moment, String)>,
}

/// As much of a run as makes a change worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    status: String,
    attempts: u64,
    over: bool,
}

impl Seen {
    /// Those that were not seen so before, in the order given.
    pub(crate) fn news<T: AsRef<Run>>(&mut self, runs: Vec<T>) -> Vec<T> {
        let news = runs.into_iter().filter(|run| self.is_news(run.as_ref())).collect();
        self.forget();
        news
    }

    pub(crate) fn knows(&self, run: &Run) -> bool {
        let key = key(run);
        self.is_forgotten(&key) || self.known.contains_key(&key)
    }

    /// Ids of the newest runs that had not ended when they were seen last.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.known.iter().rev().filter(|(_, state)| !state.over).map(|((_, id), _)| id.as_str())
    }

    fn is_news(&mut self, run: &Run) -> bool {
        let (key, state) = (key(run), State::of(run));
        if self.is_forgotten(&key) || self.known.get(&key) == Some(&state) {
            return false;
        }
        self.known.insert(key, state);
        true
    }

    fn is_forgotten(&self, key: &(Moment, String)) -> bool {
        self.forgotten.as_ref().is_some_and(|forgotten| key <= forgotten)
    }

    fn forget(&mut self) {
        while self.known.len() > KNOWN {
            self.forgotten = self.known.pop_first().map(|(key, _)| key);
        }
    }
}

impl State {
    fn of(run: &Run) -> Self {
        let attempts = run.attempts.last().map_or(0, |attempt| attempt.number);
        Self { status: run.status.clone(), attempts, over: run.is_over() }
    }
}

fn key(run: &Run) -> (Moment, String) {
    (run.scheduled_at, run.id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::run::tests::run;
    use super::*;

    fn news(seen: &mut Seen, more: &Value) -> usize {
        seen.news(vec![run(more)]).len()
    }

    #[test]
    fn each_change_is_news_once() {
        let mut seen = Seen::default();
        let second = json!([{"number": 2, "started_at": "2026-11-20T12:00:09.000Z"}]);

        assert_eq!(news(&mut seen, &json!({})), 1);
        assert_eq!(news(&mut seen, &json!({})), 0);
        assert_eq!(news(&mut seen, &json!({"attempts": second})), 1, "another attempt");
        assert_eq!(news(&mut seen, &json!({"attempts": second})), 0);
        assert_eq!(news(&mut seen, &json!({"attempts": second, "status": "succeeded"})), 1, "another state");
        assert_eq!(news(&mut seen, &json!({"attempts": second, "status": "succeeded"})), 0);
        assert_eq!(news(&mut seen, &json!({"run_id": "run_2"})), 1, "another run");
    }

    #[test]
    fn only_what_has_not_ended_is_looked_at_again() {
        let mut seen = Seen::default();
        news(&mut seen, &json!({"run_id": "run_old", "scheduled_at": "2026-11-20T11:00:00.000Z"}));
        news(&mut seen, &json!({"run_id": "run_over", "status": "skipped"}));
        news(&mut seen, &json!({"run_id": "run_new"}));

        assert_eq!(seen.unfinished().collect::<Vec<_>>(), ["run_new", "run_old"]);
    }

    #[test]
    fn a_watcher_of_days_forgets_the_oldest_and_never_tells_them_again() {
        let mut seen = Seen::default();
        let old = json!({"run_id": "run_old", "scheduled_at": "2026-11-20T11:00:00.000Z"});
        news(&mut seen, &old);

        seen.news((0..KNOWN).map(|n| run(&json!({"run_id": format!("run_{n}")}))).collect());

        assert_eq!(seen.known.len(), KNOWN);
        assert_eq!(news(&mut seen, &old), 0);
        assert!(seen.knows(&run(&old)));
    }
}
