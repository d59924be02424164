//! The judge of backfills, and of acts on many jobs: what must be true of a span of instants whatever its schedule, its catch-up and those
//! who made up for it did to one another. It knows when a job was due by counting from its first instant, and what was begun.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{CHANGE_TOLERANCE, Violation};

/// What a history of backfills left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The job was due each so many milliseconds from then on.
    pub first: i64,
    pub period: i64,
    pub asked: Vec<Asked>,
    pub begun: Vec<Begun>,
    pub withdrawn: Vec<Withdrawn>,
    /// Instants of runs that were made and never came to an end.
    pub unended: Vec<i64>,
    /// Timers that are left of what is over.
    pub timers: usize,
}

/// A backfill that somebody was told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub at: i64,
    pub span: Range<i64>,
    /// How many instants at most, from the first on.
    pub most: usize,
    /// When somebody was told that it is cancelled.
    pub cancelled_at: Option<i64>,
    /// Whether it is over, by its own word; and how many it says it has made, and found made.
    pub is_over: bool,
    pub done: u64,
    pub already: u64,
    pub refused: u64,
}

/// A run that was begun: its first claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub instant: i64,
    /// Its name: no two are alike.
    pub run: String,
    /// Which of the backfills made it; none for the schedule's own.
    pub by: Option<usize>,
    pub at: i64,
}

/// A run of a backfill that nobody had begun when it was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    pub instant: i64,
    pub at: i64,
}

impl Account {
    pub fn judge(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut report = |rule, instant, detail: String| found.push(Violation { rule, job: 1, instant, detail });
        let mut runs: BTreeMap<i64, Vec<&Begun>> = BTreeMap::new();
        for begun in &self.begun {
            runs.entry(begun.instant).or_default().push(begun);
        }
        for (instant, begun) in &runs {
            if begun.len() > 1 {
                let names: Vec<_> = begun.iter().map(|begun| &begun.run).collect();
                report("no occurrence is begun as two runs", *instant, format!("{names:?}"));
            }
        }
        for (number, asked) in self.asked.iter().enumerate() {
            let due: Vec<i64> = self.due_in(&asked.span).take(asked.most).collect();
            for begun in self.begun.iter().filter(|begun| begun.by == Some(number)) {
                if !due.contains(&begun.instant) {
                    report("nothing is made up for that nobody asked for", begun.instant, begun.run.clone());
                }
                if asked.cancelled_at.is_some_and(|at| begun.at > at + CHANGE_TOLERANCE) {
                    report("what was cancelled does not begin", begun.instant, begun.run.clone());
                }
            }
            if !asked.is_over {
                report("an operation comes to its end", asked.span.start, "it goes on".to_owned());
            }
            if asked.cancelled_at.is_some() {
                continue;
            }
            for instant in &due {
                if !runs.contains_key(instant) && !self.was_withdrawn_from(asked, *instant) {
                    report("what was asked for is made up for", *instant, "nothing was begun".to_owned());
                }
            }
            let counted = asked.done + asked.already + asked.refused;
            if asked.is_over && counted != due.len() as u64 {
                let detail = format!("{counted} of {}", due.len());
                report("each is counted once", asked.span.start, detail);
            }
        }
        for instant in &self.unended {
            report("every run comes to its end", *instant, String::new());
        }
        if self.timers > 0 {
            report("no timer is left", 0, self.timers.to_string());
        }
        found
    }

    /// Whether it may have found the run of another there, with which it was content, and that was cancelled afterwards.
    fn was_withdrawn_from(&self, asked: &Asked, instant: i64) -> bool {
        self.withdrawn.iter().any(|run| run.instant == instant && run.at > asked.at - CHANGE_TOLERANCE)
    }

    /// When it was due within a span.
    fn due_in(&self, span: &Range<i64>) -> impl Iterator<Item = i64> {
        let (first, period, end) = (self.first, self.period, span.end);
        let before = (span.start - first).max(0);
        let from = first + (before + period - 1) / period * period;
        (0..).map(move |nth| from + nth * period).take_while(move |at| *at < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(instant: i64, run: &str, by: Option<usize>) -> Begun {
        Begun { instant, run: run.to_owned(), by, at: 2_000_000 }
    }

    /// Due at 60, 120, 180 and so on; asked for from 60 to 200.
    fn right() -> Account {
        let asked = Asked {
            at: 1_000_000,
            span: 60_000..200_000,
            most: 10,
            cancelled_at: None,
            is_over: true,
            done: 2,
            already: 1,
            refused: 0,
        };
        Account {
            first: 60_000,
            period: 60_000,
            asked: vec![asked],
            begun: vec![begun(60_000, "a", Some(0)), begun(120_000, "b", None), begun(180_000, "c", Some(0))],
            ..Account::default()
        }
    }

    fn rules(account: &Account) -> Vec<&'static str> {
        account.judge().into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn what_is_right_is_found_right() {
        assert_eq!(right().judge(), []);
    }

    /// One that was asked for after that must have seen that it is gone.
    #[test]
    fn what_another_had_made_and_took_back_is_missing_of_an_earlier_one_alone() {
        let without = |at| {
            let mut account = right();
            account.begun.pop();
            account.withdrawn.push(Withdrawn { instant: 180_000, at });
            rules(&account)
        };

        assert!(without(1_100_000).is_empty());
        assert_eq!(without(900_000), ["what was asked for is made up for"]);
    }

    #[test]
    fn each_wrong_is_found() {
        let changed = |change: fn(&mut Account)| {
            let mut account = right();
            change(&mut account);
            rules(&account)
        };

        assert_eq!(changed(|it| it.begun.push(begun(120_000, "d", Some(0)))), ["no occurrence is begun as two runs"]);
        assert_eq!(changed(|it| drop(it.begun.pop())), ["what was asked for is made up for"]);
        assert_eq!(
            changed(|it| it.begun.push(begun(240_000, "d", Some(0)))),
            ["nothing is made up for that nobody asked for"]
        );
        assert_eq!(
            changed(|it| it.asked[0].cancelled_at = Some(1_000_000)),
            ["what was cancelled does not begin", "what was cancelled does not begin"]
        );
        assert_eq!(changed(|it| it.asked[0].is_over = false), ["an operation comes to its end"]);
        assert_eq!(changed(|it| it.asked[0].done = 3), ["each is counted once"]);
        assert_eq!(
            changed(|it| it.asked[0].most = 2),
            ["nothing is made up for that nobody asked for", "each is counted once"]
        );
        assert_eq!(changed(|it| it.unended.push(60_000)), ["every run comes to its end"]);
        assert_eq!(changed(|it| it.timers = 1), ["no timer is left"]);
    }
}
