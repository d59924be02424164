//! What became of runs that failed for good, judged by what people were answered and what a list showed them at the end: a letter is listed
//! until exactly one thing was done about it, and whoever asks for another try gets one and the same.
//!
//! It knows nothing of how that is kept: runs are pairs of an instant and a number.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;

/// Which run: its instant, and what tells it from others of that instant.
pub type RunId = (i64, u64);

/// Everything a history left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Runs that failed for good.
    pub failed: BTreeSet<RunId>,
    /// Every run that names another one as the one it is a try at: that one, and itself.
    pub tries: Vec<(RunId, RunId)>,
    /// Runs that are over.
    pub over: BTreeSet<RunId>,
    pub acts: Vec<Act>,
    /// What the list showed at the end, when nothing went wrong.
    pub listed: Vec<RunId>,
}

/// What somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    pub run: RunId,
    pub what: What,
    /// What they were told; none where nobody answered.
    pub told: Option<Told>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Redrive,
    Dismiss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is done: of a redrive the new run.
    Done(Option<RunId>),
    /// Something else was done about it before.
    Refused,
}

impl Account {
    /// All that is wrong with it.
    pub fn judge(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut tries: BTreeMap<RunId, Vec<RunId>> = BTreeMap::new();
        for (of, run) in &self.tries {
            tries.entry(*of).or_default().push(*run);
        }
        let listed: BTreeSet<RunId> = self.listed.iter().copied().collect();
        if listed.len() != self.listed.len() {
            found.push(broken("a letter is listed once", (0, 0)));
        }
        found.extend(listed.difference(&self.failed).map(|run| broken("what is listed has failed", *run)));
        let of_others = tries.keys().filter(|of| !self.failed.contains(of));
        found.extend(of_others.map(|of| broken("what is tried again has failed", *of)));
        for run in &self.failed {
            let tries = tries.get(run).map_or(&[][..], Vec::as_slice);
            self.judge_one(*run, listed.contains(run), tries, &mut found);
        }
        found
    }

    /// What is wrong with one letter.
    fn judge_one(&self, run: RunId, is_listed: bool, tries: &[RunId], found: &mut Vec<Violation>) {
        let acts = || self.acts.iter().filter(|act| act.run == run);
        let done = |what| {
            acts().filter(move |act| act.what == what).filter_map(|act| match act.told {
                Some(Told::Done(run)) => Some(run),
                Some(Told::Refused) | None => None,
            })
        };
        let redriven: BTreeSet<Option<RunId>> = done(What::Redrive).collect();
        let is_dismissed = done(What::Dismiss).next().is_some();
        let may_be_dismissed = acts().any(|act| act.what == What::Dismiss);
        if is_listed && (is_dismissed || !redriven.is_empty()) {
            found.push(broken("a letter is not listed once its redrive or dismissal was confirmed", run));
        }
        if is_listed && !tries.is_empty() {
            found.push(broken("what was tried again is not listed", run));
        }
        if !is_listed && tries.is_empty() && !may_be_dismissed {
            found.push(broken("what nobody saw to is listed", run));
        }
        if is_dismissed && !redriven.is_empty() {
            found.push(broken("a redrive and a dismissal of one letter are not both confirmed", run));
        }
        if is_dismissed && !tries.is_empty() {
            found.push(broken("what was dismissed is not tried again", run));
        }
        if tries.len() > 1 {
            found.push(broken("a letter is tried again once", run));
        }
        if redriven.len() > 1 {
            found.push(broken("each redrive of a letter is answered with the same run", run));
        }
        if redriven.iter().any(|told| told.is_none_or(|told| !tries.contains(&told))) {
            found.push(broken("a confirmed redrive has its run", run));
        }
        if tries.iter().any(|run| !self.over.contains(run)) {
            found.push(broken("another try comes to its end", run));
        }
    }
}

fn broken(rule: &'static str, (instant, number): RunId) -> Violation {
    Violation { rule, job: 0, instant, detail: format!("the run {number} of that instant") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETTER: RunId = (10, 0);
    const TRY: RunId = (20, 7);
    const OTHER: RunId = (21, 8);

    fn account() -> Account {
        let over = [LETTER, TRY, OTHER].into();
        Account { failed: [LETTER].into(), over, ..Account::default() }
    }

    fn act(what: What, told: Option<Told>) -> Act {
        Act { run: LETTER, what, told }
    }

    #[test]
    fn what_is_as_it_should_be_is_not_objected_to() {
        let redriven = act(What::Redrive, Some(Told::Done(Some(TRY))));
        let dismissed = act(What::Dismiss, Some(Told::Done(None)));
        for account in [
            Account { listed: vec![LETTER], ..account() },
            Account { tries: vec![(LETTER, TRY)], acts: vec![redriven.clone(), redriven.clone()], ..account() },
            Account { acts: vec![dismissed.clone(), act(What::Redrive, Some(Told::Refused))], ..account() },
            Account { acts: vec![act(What::Dismiss, None)], ..account() },
            Account { acts: vec![act(What::Redrive, None)], listed: vec![LETTER], ..account() },
            Account { acts: vec![act(What::Redrive, None)], tries: vec![(LETTER, TRY)], ..account() },
        ] {
            assert_eq!(account.judge(), [], "{account:?}");
        }
    }

    /// One mutation of a good account for each rule.
    #[test]
    fn what_is_not_is_objected_to() {
        let redriven = |run| act(What::Redrive, Some(Told::Done(Some(run))));
        let dismissed = act(What::Dismiss, Some(Told::Done(None)));
        for (account, rule) in [
            (account(), "what nobody saw to is listed"),
            (Account { acts: vec![act(What::Redrive, None)], ..account() }, "what nobody saw to is listed"),
            (Account { listed: vec![LETTER, TRY], ..account() }, "what is listed has failed"),
            (Account { listed: vec![LETTER, LETTER], ..account() }, "a letter is listed once"),
            (
                Account { listed: vec![LETTER], acts: vec![dismissed.clone()], ..account() },
                "a letter is not listed once its redrive or dismissal was confirmed",
            ),
            (
                Account { listed: vec![LETTER], tries: vec![(LETTER, TRY)], ..account() },
                "what was tried again is not listed",
            ),
            (
                Account { acts: vec![dismissed.clone(), redriven(TRY)], tries: vec![(LETTER, TRY)], ..account() },
                "a redrive and a dismissal of one letter are not both confirmed",
            ),
            (
                Account { acts: vec![dismissed], tries: vec![(LETTER, TRY)], ..account() },
                "what was dismissed is not tried again",
            ),
            (Account { tries: vec![(LETTER, TRY), (LETTER, OTHER)], ..account() }, "a letter is tried again once"),
            (
                Account { acts: vec![redriven(TRY), redriven(OTHER)], tries: vec![(LETTER, TRY)], ..account() },
                "each redrive of a letter is answered with the same run",
            ),
            (Account { acts: vec![redriven(TRY)], ..account() }, "a confirmed redrive has its run"),
            (
                Account { tries: vec![(LETTER, TRY)], over: [LETTER].into(), ..account() },
                "another try comes to its end",
            ),
            (
                Account { failed: BTreeSet::new(), tries: vec![(LETTER, TRY)], ..account() },
                "what is tried again has failed",
            ),
        ] {
            let wrong = account.judge();
            assert!(wrong.iter().any(|found| found.rule == rule), "{rule}: {wrong:?}");
        }
    }
}
