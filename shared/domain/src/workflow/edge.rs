//! An edge: what a task waits for. Which edge holds for which end of its task, and what a rule makes of edges that have closed,
//! are the two tables of this file; everything else about joins is bookkeeping.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// For which end of the task before it an edge holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    #[default]
    Success,
    Failure,
    /// Whatever became of it, but that somebody cancelled the whole.
    Finished,
}

/// What a task asks of its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Every edge holds.
    #[default]
    All,
    /// One edge holds: it starts at the first, and does not wait for the others.
    Any,
    /// No task before it failed, and at least one succeeded: the usual join behind a branch.
    NoneFailed,
}

/// How a task ended, as its edges see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ended {
    Succeeded,
    /// Failed, timed out or rejected.
    Failed,
    Skipped,
    /// Somebody cancelled this one task.
    Cancelled,
}

/// What is known of edges that have closed: of one, or of all of some together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own, and any of them may be so")]
pub struct Closed {
    pub all_hold: bool,
    pub any_holds: bool,
    pub any_failed: bool,
    pub any_succeeded: bool,
    /// A failure that nobody allowed lies at one of them or before it.
    pub tainted: bool,
}

/// One of the things that are known.
type Field = fn(&mut Closed) -> &mut bool;

/// What becomes of a task whose edges say enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Start,
    Skip,
}

impl On {
    /// The table of `docs/workflows.md`, row by row.
    pub const fn holds_for(self, ended: Ended) -> bool {
        match (self, ended) {
            (Self::Success, Ended::Succeeded) | (Self::Failure, Ended::Failed) | (Self::Finished, _) => true,
            (Self::Success, Ended::Failed | Ended::Skipped | Ended::Cancelled)
            | (Self::Failure, Ended::Succeeded | Ended::Skipped | Ended::Cancelled) => false,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Finished => "finished",
        }
    }
}

impl Rule {
    /// What it makes of these edges; none while one that is still open may change it. `full`: none is open.
    pub const fn decide(self, closed: Closed, full: bool) -> Option<Decision> {
        match self {
            Self::Any if closed.any_holds => Some(Decision::Start),
            Self::All | Self::Any | Self::NoneFailed if !full => None,
            Self::All if closed.all_hold => Some(Decision::Start),
            Self::NoneFailed if closed.any_succeeded && !closed.any_failed => Some(Decision::Start),
            Self::All | Self::Any | Self::NoneFailed => Some(Decision::Skip),
        }
    }

    /// Whether a task under this rule waits until all its edges have closed. Where it does, who comes after it knows that they have.
    pub const fn waits_for_all(self) -> bool {
        match self {
            Self::All | Self::NoneFailed => true,
            Self::Any => false,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Any => "any",
            Self::NoneFailed => "none_failed",
        }
    }
}

impl Closed {
    /// No edge: what a root waits for.
    pub const NONE: Self =
        Self { all_hold: true, any_holds: false, any_failed: false, any_succeeded: false, tainted: false };

    /// One edge, whose task ended so. `tainted`: a failure that nobody allowed lies there or before it.
    pub const fn edge(on: On, ended: Ended, tainted: bool) -> Self {
        let holds = on.holds_for(ended);
        Self {
            all_hold: holds,
            any_holds: holds,
            any_failed: matches!(ended, Ended::Failed | Ended::Cancelled),
            any_succeeded: matches!(ended, Ended::Succeeded),
            tainted,
        }
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            all_hold: self.all_hold && other.all_hold,
            any_holds: self.any_holds || other.any_holds,
            any_failed: self.any_failed || other.any_failed,
            any_succeeded: self.any_succeeded || other.any_succeeded,
            tainted: self.tainted || other.tainted,
        }
    }

    const LETTERS: [(u8, Field); 5] = [
        (b'a', |closed| &mut closed.all_hold),
        (b'h', |closed| &mut closed.any_holds),
        (b'f', |closed| &mut closed.any_failed),
        (b's', |closed| &mut closed.any_succeeded),
        (b't', |closed| &mut closed.tainted),
    ];
}

/// As the table remembers it: a letter for each thing that is so.
impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut closed = *self;
        for (letter, field) in Self::LETTERS {
            if *field(&mut closed) {
                write!(f, "{}", char::from(letter))?;
            }
        }
        Ok(())
    }
}

/// These letters say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotClosed;

impl FromStr for Closed {
    type Err = NotClosed;

    fn from_str(text: &str) -> Result<Self, NotClosed> {
        let mut closed = Self { all_hold: false, ..Self::NONE };
        for letter in text.bytes() {
            let (_, field) = Self::LETTERS.into_iter().find(|(known, _)| *known == letter).ok_or(NotClosed)?;
            *field(&mut closed) = true;
        }
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDS: [Ended; 4] = [Ended::Succeeded, Ended::Failed, Ended::Skipped, Ended::Cancelled];
    const ONS: [On; 3] = [On::Success, On::Failure, On::Finished];

    fn any_closed() -> impl Strategy<Value = Closed> {
        (any::<[bool; 5]>()).prop_map(|[all_hold, any_holds, any_failed, any_succeeded, tainted]| Closed {
            all_hold,
            any_holds,
            any_failed,
            any_succeeded,
            tainted,
        })
    }

    fn closed(edges: &[(On, Ended)]) -> Closed {
        edges.iter().map(|(on, ended)| Closed::edge(*on, *ended, false)).fold(Closed::NONE, Closed::and)
    }

    #[test]
    fn an_edge_holds_as_the_table_says() {
        let table = ONS.map(|on| ENDS.map(|ended| on.holds_for(ended)));

        assert_eq!(table, [[true, false, false, false], [false, true, false, false], [true, true, true, true]]);
    }

    #[test]
    fn a_rule_decides_as_the_table_says() {
        use Decision::{Skip, Start};
        use Ended::{Cancelled, Failed, Skipped, Succeeded};
        use On::{Failure, Finished, Success};
        type Row<'a> = (&'a [(On, Ended)], bool, [Option<Decision>; 3]);
        let rows: [Row<'_>; 10] = [
            (&[], true, [Some(Start), Some(Skip), Some(Skip)]),
            (&[(Success, Succeeded)], false, [None, Some(Start), None]),
            (&[(Success, Failed)], false, [None, None, None]),
            (&[(Success, Succeeded), (Success, Succeeded)], true, [Some(Start); 3]),
            (&[(Success, Succeeded), (Success, Skipped)], true, [Some(Skip), Some(Start), Some(Start)]),
            (&[(Success, Succeeded), (Success, Failed)], true, [Some(Skip), Some(Start), Some(Skip)]),
            (&[(Success, Skipped), (Success, Skipped)], true, [Some(Skip); 3]),
            (&[(Failure, Failed), (Failure, Succeeded)], true, [Some(Skip), Some(Start), Some(Skip)]),
            (&[(Finished, Skipped), (Finished, Succeeded)], true, [Some(Start); 3]),
            (&[(Success, Cancelled), (Finished, Cancelled)], true, [Some(Skip), Some(Start), Some(Skip)]),
        ];
        for (edges, full, decided) in rows {
            let said = [Rule::All, Rule::Any, Rule::NoneFailed].map(|rule| rule.decide(closed(edges), full));
            assert_eq!(said, decided, "{edges:?}, full: {full}");
        }
    }

    #[test]
    fn a_failure_before_an_edge_is_carried_through_any_number_of_joins() {
        let (clean, failed) =
            (Closed::edge(On::Success, Ended::Succeeded, false), Closed::edge(On::Finished, Ended::Succeeded, true));

        assert!(clean.and(failed).and(clean).tainted);
        assert!(!clean.and(clean).tainted);
    }

    proptest! {
        #[test]
        fn what_the_table_remembers_reads_back(closed in any_closed()) {
            prop_assert_eq!(closed.to_string().parse(), Ok(closed));
        }

        #[test]
        fn it_makes_no_difference_in_which_order_edges_close(a in any_closed(), b in any_closed(), c in any_closed()) {
            prop_assert_eq!(a.and(b).and(c), c.and(a.and(b)));
            prop_assert_eq!(a.and(Closed::NONE), a);
        }
    }
}
