//! What a repair finds: jobs and runs that nothing would look at any more, and what cannot be read.

use crate::Moment;
use crate::id::{JobId, RunKey, Tenant};

/// One thing, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub subject: Subject,
    pub found: Found,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Job(Tenant, JobId),
    Run(Tenant, RunKey),
    /// What lies under this key, as the store's own tools show it.
    Item(String),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing would look at it any more, at the instant that a timer should stand at.
    WithoutTimer(Moment),
    /// Its time is past, and no timer stands at its own instant: it waits elsewhere for its next hint, or it was lost.
    Overdue(Moment),
    /// It is over since then, and what its end owes is not all paid: nobody looks at it any more.
    Unsettled(Moment),
    /// It counts from an instant that has not come: a clock was ahead when it was created or changed.
    Ahead(Moment),
    /// A later release wrote it; how the store says so.
    Later(String),
    /// Nobody can read it; how the store says so.
    Corrupt(String),
}

/// What was looked at and found, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub jobs: u64,
    /// That are not over.
    pub runs: u64,
    pub without_timer: u64,
    pub overdue: u64,
    /// Runs that are over, and owe what their end brings about.
    pub unsettled: u64,
    pub ahead: u64,
    pub later: u64,
    pub corrupt: u64,
}

impl Summary {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            jobs: self.jobs + other.jobs,
            runs: self.runs + other.runs,
            without_timer: self.without_timer + other.without_timer,
            overdue: self.overdue + other.overdue,
            unsettled: self.unsettled + other.unsettled,
            ahead: self.ahead + other.ahead,
            later: self.later + other.later,
            corrupt: self.corrupt + other.corrupt,
        }
    }

    pub fn note(&mut self, found: &Found) {
        *match found {
            Found::WithoutTimer(_) => &mut self.without_timer,
            Found::Overdue(_) => &mut self.overdue,
            Found::Unsettled(_) => &mut self.unsettled,
            Found::Ahead(_) => &mut self.ahead,
            Found::Later(_) => &mut self.later,
            Found::Corrupt(_) => &mut self.corrupt,
        } += 1;
    }
}
