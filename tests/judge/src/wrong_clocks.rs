//! Clocks that were wrong by more than the skew, and what no rule can ask of those who went by them.

use std::ops::Range;

use crate::{Account, Call};

/// A span in which clocks were wrong. They were set at both of its ends.
#[derive(Clone, Debug)]
pub struct WrongClocks {
    pub span: Range<i64>,
    /// How far some clock was ahead of the true time, and how far behind.
    pub ahead: i64,
    pub behind: i64,
    /// Whether other clocks were right meanwhile.
    pub apart: bool,
    /// Whether one machine is all there is: it looks again at what its clock has decided, when that is right.
    pub alone: bool,
}

impl Account {
    /// The last instant that a clock has shown before it was set right: what is decided of instants until then may have been
    /// decided before the true time came.
    pub(crate) fn reached(&self) -> i64 {
        self.wrong_clocks.iter().map(|wrong| wrong.span.end + wrong.ahead).max().unwrap_or(i64::MIN)
    }

    /// When the clock of one machine that is all there is was set right for good.
    pub(crate) fn right_alone(&self) -> Option<i64> {
        self.wrong_clocks.iter().filter(|wrong| wrong.alone).map(|wrong| wrong.span.end).max()
    }

    /// How far any clock was ever ahead.
    pub(crate) fn furthest_ahead(&self) -> i64 {
        self.wrong_clocks.iter().map(|wrong| wrong.ahead).max().unwrap_or(0)
    }

    /// How far any clock was ever behind.
    pub(crate) fn furthest_behind(&self) -> i64 {
        self.wrong_clocks.iter().map(|wrong| wrong.behind).max().unwrap_or(0)
    }

    /// How far a clock was ahead at some time of this span.
    pub(crate) fn ahead_in(&self, from: i64, to: i64) -> i64 {
        let then = self.wrong_clocks.iter().filter(|wrong| wrong.span.start <= to && from <= wrong.span.end);
        then.map(|wrong| wrong.ahead).max().unwrap_or(0)
    }

    /// Whether a clock was set between two times.
    pub(crate) fn was_set(&self, from: i64, to: i64) -> bool {
        let between = |at: i64| from <= at && at <= to;
        self.wrong_clocks.iter().any(|wrong| between(wrong.span.start) || between(wrong.span.end))
    }

    /// Whether all clocks went alike from the claims of two calls to the later one: else a lease ends at another time for each of
    /// them. Whoever slept through its own lease and wakes where the clock was set back believes in it again.
    pub(crate) fn clocks_agreed(&self, earlier: &Call, later: &Call) -> bool {
        let (from, to) = (earlier.claimed_at.min(later.claimed_at), later.at);
        let apart = |wrong: &WrongClocks| wrong.apart && wrong.span.start <= to && from <= wrong.span.end;
        !self.was_set(from, to) && !self.wrong_clocks.iter().any(apart)
    }
}
