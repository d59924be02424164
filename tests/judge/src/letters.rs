//! What became of runs that failed for good, judged by what people were answered and what a list showed them at the end: a letter is listed
//! until exactly one thing was done about it, and whoever asks for another try gets one and the same.
//!
//! It knows nothing of how that is kept: runs are pairs of an instant and a number.

use std::collections::{BTreeMap, BTreeSet};

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
    pub fn judge(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut tries: BTreeMap<RunId, Vec<RunId>> = BTreeMap::new();
        for (of, run) in &self.tries {
            tries.entry(*of).or_default().push(*run);
        }
        let listed: BTreeSet<RunId> = self.listed.iter().copied().collect();
        if listed.len() != self.listed.len() {
            wrong.push("a letter is listed twice".to_owned());
        }
        wrong.extend(listed.difference(&self.failed).map(|run| format!("{run:?} is listed and did not fail")));
        wrong.extend(
            tries
                .keys()
                .filter(|of| !self.failed.contains(of))
                .map(|of| format!("{of:?} did not fail, and was tried again")),
        );
        for run in &self.failed {
            let tries = tries.get(run).map_or(&[][..], Vec::as_slice);
            let said = self.one(*run, listed.contains(run), tries);
            wrong.extend(said.into_iter().map(|what| format!("{run:?} {what}")));
        }
        wrong
    }

    /// What is wrong with one letter.
    fn one(&self, run: RunId, is_listed: bool, tries: &[RunId]) -> Vec<String> {
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
        let mut wrong = Vec::new();
        let mut say = |is_wrong: bool, what: &str| {
            if is_wrong {
                wrong.push(what.to_owned());
            }
        };
        say(
            is_listed && (is_dismissed || !redriven.is_empty()),
            "is listed, and somebody was told that it was seen to",
        );
        say(is_listed && !tries.is_empty(), "is listed, and was tried again");
        say(!is_listed && tries.is_empty() && !may_be_dismissed, "is not listed, and nothing was done about it");
        say(is_dismissed && !redriven.is_empty(), "was both dismissed and tried again");
        say(is_dismissed && !tries.is_empty(), "was dismissed, and there is another try at it");
        say(tries.len() > 1, "was tried again more than once");
        say(redriven.len() > 1, "was tried again as more than one run, as people were told");
        say(
            redriven.iter().any(|told| told.is_none_or(|told| !tries.contains(&told))),
            "was tried again as a run that there is not",
        );
        say(tries.iter().any(|run| !self.over.contains(run)), "was tried again as a run that does not come to its end");
        wrong
    }
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
            assert_eq!(account.judge(), [""; 0], "{account:?}");
        }
    }

    /// One mutation of a good account for each rule.
    #[test]
    fn what_is_not_is_objected_to() {
        let redriven = |run| act(What::Redrive, Some(Told::Done(Some(run))));
        let dismissed = act(What::Dismiss, Some(Told::Done(None)));
        for (account, what) in [
            (account(), "is not listed, and nothing was done"),
            (Account { acts: vec![act(What::Redrive, None)], ..account() }, "is not listed, and nothing was done"),
            (Account { listed: vec![LETTER, TRY], ..account() }, "is listed and did not fail"),
            (Account { listed: vec![LETTER, LETTER], ..account() }, "is listed twice"),
            (
                Account { listed: vec![LETTER], acts: vec![dismissed.clone()], ..account() },
                "was told that it was seen to",
            ),
            (
                Account { listed: vec![LETTER], tries: vec![(LETTER, TRY)], ..account() },
                "is listed, and was tried again",
            ),
            (
                Account { acts: vec![dismissed.clone(), redriven(TRY)], tries: vec![(LETTER, TRY)], ..account() },
                "was both dismissed and tried again",
            ),
            (Account { acts: vec![dismissed], tries: vec![(LETTER, TRY)], ..account() }, "there is another try at it"),
            (Account { tries: vec![(LETTER, TRY), (LETTER, OTHER)], ..account() }, "more than once"),
            (
                Account { acts: vec![redriven(TRY), redriven(OTHER)], tries: vec![(LETTER, TRY)], ..account() },
                "as more than one run",
            ),
            (Account { acts: vec![redriven(TRY)], ..account() }, "as a run that there is not"),
            (Account { tries: vec![(LETTER, TRY)], over: [LETTER].into(), ..account() }, "does not come to its end"),
            (
                Account { failed: BTreeSet::new(), tries: vec![(LETTER, TRY)], ..account() },
                "did not fail, and was tried",
            ),
        ] {
            let wrong = account.judge();
            assert!(wrong.iter().any(|said| said.contains(what)), "{what}: {wrong:?}");
        }
    }
}
