//! The judge: an independent opinion of what a history must look like. It knows plain numbers and words, has its own
//! arithmetic of schedules, and shares no code with what it judges.
//!
//! All times are milliseconds since the epoch, by the one true clock of the history unless said otherwise.

use std::collections::BTreeSet;

mod catch_up;
mod schedule;
mod verdict;

pub use catch_up::CatchUp;
pub use schedule::{AtMost, Schedule};

/// How long a change takes to be everywhere: clocks apart, a read up to five seconds old, and the hold until the call.
pub const CHANGE_TOLERANCE: i64 = 8_000;
/// Clocks are apart by at most this much from the true one.
pub const SKEW: i64 = 2_000;

/// Everything a history left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub jobs: Vec<Job>,
    pub calls: Vec<Call>,
    pub records: Vec<Record>,
    pub timers: Vec<Timer>,
    /// When the history ended, by which everything due long enough before must be settled.
    pub end: i64,
    /// The most minutes one pass of the sweep had to look through.
    pub widest_sweep: i64,
    /// Jobs of whose runs none may fail: their targets always answer in time, no process died, and what was refused was
    /// refused before it acted.
    pub blameless: BTreeSet<u32>,
}

/// A job and how it stood from when to when.
#[derive(Clone, Debug)]
pub struct Job {
    pub job: u32,
    /// In order; the first is its creation. Empty where it never came to be.
    pub heads: Vec<Head>,
    /// Some creator was told that the job exists.
    pub acknowledged: bool,
    /// How many creators were told that they made it.
    pub creations: u32,
    pub at_most_once: bool,
    /// Manual runs that were acknowledged: their instant and their number.
    pub asked: Vec<Asked>,
    /// Cancels of single occurrences that were acknowledged: when, and which instant.
    pub cancels: Vec<(i64, i64)>,
}

/// How a job stood from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// When the table had it.
    pub since: i64,
    /// When its writer decided it, by the writer's clock: what fires then may already be its.
    pub decided: i64,
    pub status: Status,
    pub schedule: Schedule,
    pub catch_up: CatchUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Active,
    Paused,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    pub at: i64,
    pub number: u64,
}

/// A target was called.
#[derive(Clone, Debug)]
pub struct Call {
    pub at: i64,
    /// When the claim was decided that this call belongs to: that is when the run started.
    pub claimed_at: i64,
    /// The starter's own clock.
    pub own_clock: i64,
    pub job: u32,
    pub instant: i64,
    /// Zero for an occurrence of the schedule.
    pub number: u64,
    pub fence: u32,
    /// Until when, by its own clock, the caller holds the run.
    pub lease_until: i64,
    /// When the call ended, if it did.
    pub ended_at: Option<i64>,
}

/// What the table remembers of an occurrence or of a manual run.
#[derive(Clone, Debug)]
pub struct Record {
    pub job: u32,
    pub instant: i64,
    pub number: u64,
    pub status: String,
    pub reason: Option<String>,
    /// When it came to its end, by the clock of whoever wrote that.
    pub at: Option<i64>,
    /// Up to which later instant a skip speaks.
    pub covers_until: Option<i64>,
    pub fence: u32,
    /// Numbers of the attempts kept, inside and outside of the run, in order.
    pub attempts: Vec<u32>,
    pub unended_attempts: u32,
}

/// A timer that stands at the end.
#[derive(Clone, Debug)]
pub struct Timer {
    pub job: u32,
    /// The instant it speaks of.
    pub instant: i64,
    /// Where it stands.
    pub due: i64,
    /// Whether it is a link of the chain: an occurrence at its own instant.
    pub link: bool,
    /// Whether the sweep will still come by: its bucket has not been left.
    pub reachable: bool,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub rule: &'static str,
    pub job: u32,
    pub instant: i64,
    pub detail: String,
}

impl Account {
    /// All that is wrong with this history.
    pub fn judge(&self) -> Vec<Finding> {
        verdict::Verdict::of(self)
    }
}
