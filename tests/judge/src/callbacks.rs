//! Callbacks and hooks, judged: who was told of which end, and who was called though somebody had said no.
//!
//! What was asked for, what was written and who was called are seen from outside; how a run of a callback is named or made is not known
//! here.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;

/// All that was seen of one history.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The ends that somebody is to be told of, as the wire calls them.
    pub asked_for: BTreeSet<String>,
    /// Tries that a callback has.
    pub tries: usize,
    pub ends: Vec<End>,
    pub tellers: Vec<Teller>,
    pub told: Vec<Told>,
    pub asked: Vec<Asked>,
    pub calls: Vec<Called>,
    /// Whether a target is called all the same where whoever is asked says nothing of use.
    pub goes_on: bool,
    /// Whether anybody is asked before a call.
    pub asks: bool,
}

/// The end of a run, and when it was first there to be read.
#[derive(Clone, Debug)]
pub struct End {
    pub run: String,
    pub status: String,
    pub reason: Option<String>,
    pub at: i64,
}

/// A run that is to tell of the end of another.
#[derive(Clone, Debug)]
pub struct Teller {
    pub run: String,
    pub of: String,
    pub status: String,
    /// Why it failed: one whose executors were lost, over and over, has not had its tries.
    pub reason: Option<String>,
}

/// A call of whoever is told.
#[derive(Clone, Debug)]
pub struct Told {
    /// The run that was told of, and how it was said to have ended.
    pub of: String,
    pub kind: String,
    pub at: i64,
    pub heard: bool,
}

/// A call of whoever is asked before a target.
#[derive(Clone, Debug)]
pub struct Asked {
    pub run: String,
    pub fence: u32,
    pub at: i64,
    pub said: Said,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    GoOn,
    Veto,
    Nothing,
}

/// A call of a target.
#[derive(Clone, Debug)]
pub struct Called {
    pub run: String,
    pub fence: u32,
    pub at: i64,
}

impl Account {
    pub fn judge(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        self.each_end_has_its_teller(&mut found);
        self.nobody_is_told_of_what_is_not_so(&mut found);
        self.tellers_are_heard(&mut found);
        self.nobody_is_called_after_a_no(&mut found);
        found
    }

    fn each_end_has_its_teller(&self, found: &mut Vec<Violation>) {
        let mut tellers: BTreeMap<&str, usize> = BTreeMap::new();
        for teller in &self.tellers {
            *tellers.entry(&teller.of).or_default() += 1;
        }
        for end in &self.ends {
            // Nobody was ever told that there is such a run: whoever asked for it died before it was written.
            let was_given_up = end.reason.as_deref() == Some("abandoned");
            let wanted = usize::from(self.asked_for.contains(&end.status) && !was_given_up);
            let there = tellers.remove(end.run.as_str()).unwrap_or_default();
            if there != wanted {
                let why = format!("{} {}: {there} where {wanted} was asked for", end.run, end.status);
                found.push(broken("each end that asked for it has one callback, and no other", why));
            }
        }
        for of in tellers.keys() {
            found.push(broken(
                "each end that asked for it has one callback, and no other",
                format!("{of} has not ended"),
            ));
        }
    }

    fn nobody_is_told_of_what_is_not_so(&self, found: &mut Vec<Violation>) {
        let ends: BTreeMap<&str, &End> = self.ends.iter().map(|end| (end.run.as_str(), end)).collect();
        for told in &self.told {
            let is_so = ends.get(told.of.as_str()).is_some_and(|end| {
                end.at <= told.at && told.kind == format!("run.{}", end.status) && self.asked_for.contains(&end.status)
            });
            if !is_so {
                found.push(broken("nobody is told of an end before it is written", format!("{told:?}")));
            }
        }
    }

    fn tellers_are_heard(&self, found: &mut Vec<Violation>) {
        for teller in &self.tellers {
            let calls: Vec<_> = self.told.iter().filter(|told| told.of == teller.of).collect();
            let was_heard = calls.iter().any(|told| told.heard);
            let holds = match teller.status.as_str() {
                "succeeded" => was_heard,
                "failed" if !has_had_its_tries(teller) => true,
                "failed" | "timed_out" => calls.iter().any(|told| !told.heard),
                _not_over => false,
            };
            if !holds {
                found.push(broken(
                    "whoever is to be told is called until it hears, or has had its tries",
                    format!("{teller:?}: {calls:?}"),
                ));
            }
            if teller.status == "failed" && has_had_its_tries(teller) && !was_heard && calls.len() < self.tries {
                let lost = calls.len();
                found.push(broken("a callback has its tries", format!("{teller:?} had {lost}")));
            }
        }
    }

    fn nobody_is_called_after_a_no(&self, found: &mut Vec<Violation>) {
        let said = |called: &Called| {
            let asked = self.asked.iter().filter(|asked| (&asked.run, asked.fence) == (&called.run, called.fence));
            asked.filter(|asked| asked.at <= called.at).map(|asked| asked.said).next_back()
        };
        for called in &self.calls {
            let may = match said(called) {
                Some(Said::GoOn) => true,
                Some(Said::Veto) => false,
                Some(Said::Nothing) => self.goes_on,
                None => !self.asks,
            };
            if !may {
                found
                    .push(broken("a target is called where whoever is asked before lets it be", format!("{called:?}")));
            }
        }
        for end in self.ends.iter().filter(|end| end.reason.as_deref() == Some("vetoed")) {
            let was_vetoed = self.asked.iter().any(|asked| asked.run == end.run && asked.said == Said::Veto);
            if !was_vetoed {
                found.push(broken("who is vetoed was vetoed by somebody", end.run.clone()));
            }
        }
    }
}

fn has_had_its_tries(teller: &Teller) -> bool {
    !matches!(teller.reason.as_deref(), Some("lost" | "poison"))
}

fn broken(rule: &'static str, detail: impl Into<String>) -> Violation {
    Violation { rule, job: 0, instant: 0, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "each end that asked for it has one callback, and no other";
    const BEFORE: &str = "nobody is told of an end before it is written";
    const HEARD: &str = "whoever is to be told is called until it hears, or has had its tries";
    const TRIES: &str = "a callback has its tries";
    const NO: &str = "a target is called where whoever is asked before lets it be";
    const BY_SOMEBODY: &str = "who is vetoed was vetoed by somebody";

    /// One run that failed and was told of at the second try, one that was vetoed, one that succeeded and nobody asked about.
    fn sound() -> Account {
        let end = |run: &str, status: &str, reason: Option<&str>| {
            let reason = reason.map(ToOwned::to_owned);
            End { run: run.to_owned(), status: status.to_owned(), reason, at: 100 }
        };
        let told = |of: &str, kind: &str, at, heard| Told { of: of.to_owned(), kind: kind.to_owned(), at, heard };
        let teller = |of: &str| Teller {
            run: format!("cb-{of}"),
            of: of.to_owned(),
            status: "succeeded".to_owned(),
            reason: None,
        };
        let asked = |run: &str, said| Asked { run: run.to_owned(), fence: 1, at: 50, said };
        let called = |run: &str| Called { run: run.to_owned(), fence: 1, at: 60 };
        Account {
            asked_for: ["failed".to_owned(), "skipped".to_owned()].into(),
            tries: 3,
            ends: vec![
                end("a", "failed", Some("error")),
                end("b", "skipped", Some("vetoed")),
                end("c", "succeeded", None),
            ],
            tellers: vec![teller("a"), teller("b")],
            told: vec![
                told("a", "run.failed", 110, false),
                told("a", "run.failed", 120, true),
                told("b", "run.skipped", 130, true),
            ],
            asked: vec![asked("a", Said::GoOn), asked("b", Said::Veto), asked("c", Said::Nothing)],
            calls: vec![called("a"), called("c")],
            goes_on: true,
            asks: true,
        }
    }

    fn found(change: impl FnOnce(&mut Account)) -> BTreeSet<&'static str> {
        let mut account = sound();
        change(&mut account);
        account.judge().into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_sound_history_is_sound() {
        assert_eq!(sound().judge(), []);
    }

    #[test]
    fn each_rule_notices_what_it_is_for() {
        assert_eq!(found(|account| drop(account.tellers.remove(1))), [ONE].into());
        assert_eq!(found(|account| account.tellers.push(account.tellers[0].clone())), [ONE].into());
        assert_eq!(found(|account| account.ends[0].status = "succeeded".to_owned()), [ONE, BEFORE].into());
        assert_eq!(found(|account| drop(account.ends.remove(0))), [ONE, BEFORE].into());
        assert_eq!(found(|account| account.told[0].at = 99), [BEFORE].into());
        assert_eq!(found(|account| account.told[2].kind = "run.failed".to_owned()), [BEFORE].into());
        assert_eq!(found(|account| account.told[1].heard = false), [HEARD].into());
        assert_eq!(found(|account| account.tellers[0].status = "scheduled".to_owned()), [HEARD].into());
        let gives_up = |account: &mut Account| {
            account.told[1].heard = false;
            account.tellers[0].status = "failed".to_owned();
        };
        assert_eq!(found(gives_up), [TRIES].into());
        assert_eq!(found(|account| account.asked[0].said = Said::Veto), [NO].into());
        assert_eq!(found(|account| account.asked[0].at = 61), [NO].into());
        assert_eq!(found(|account| account.goes_on = false), [NO].into());
        assert_eq!(found(|account| account.calls[0].fence = 2), [NO].into());
        assert_eq!(found(|account| account.asked[1].said = Said::Nothing), [BY_SOMEBODY].into());
    }
}
