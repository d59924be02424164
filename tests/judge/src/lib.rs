//! The judge: an independent model of a correct history. It works on plain numbers and words, has its own arithmetic of
//! schedules, and shares no code with the product.
//!
//! All times are milliseconds since the epoch, by the history's true clock unless stated otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub mod backfill;
pub mod callbacks;
mod catch_up;
pub mod followers;
pub mod graph;
pub mod letters;
pub mod notified;
mod schedule;
mod verdict;
pub mod workers;
mod wrong_clocks;

pub use catch_up::CatchUp;
pub use schedule::{AtMost, Schedule};
pub use wrong_clocks::WrongClocks;

/// How long a change takes to reach every process: skew, a read up to five seconds old, and the hold until the call.
pub const CHANGE_TOLERANCE: i64 = 8_000;
/// The largest difference of a clock from the true one.
pub const SKEW: i64 = 2_000;

/// Everything a history left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub jobs: Vec<Job>,
    pub calls: Vec<Call>,
    pub records: Vec<Record>,
    pub timers: Vec<Timer>,
    /// When the history ended: every run due long enough before must be finished.
    pub end: i64,
    /// The most minutes that one pass of the sweep had to visit.
    pub widest_sweep: i64,
    /// The most minutes in a row in which no sweeper lived.
    pub unswept: i64,
    /// Jobs whose runs must not fail: their targets always answer in time, no process died, and every throttled request was
    /// refused before it took effect.
    pub blameless: BTreeSet<u32>,
    /// When nothing went wrong.
    pub calm: Vec<Calm>,
    /// When clocks were wrong by more than the skew.
    pub wrong_clocks: Vec<WrongClocks>,
    /// What each run has cost.
    pub costs: Vec<Cost>,
    /// Lists of jobs as clients read them, page by page.
    pub lists: Vec<List>,
    /// What was counted of the jobs that ask for it.
    pub counted: Vec<Counted>,
}

/// What was counted of one job.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub job: u32,
    pub ends: Vec<CountedEnd>,
    /// As it was last kept, where somebody has counted.
    pub day: Option<Day>,
}

/// An end that was written down.
#[derive(Clone, Debug)]
pub struct CountedEnd {
    pub instant: i64,
    pub number: u64,
    /// When it was, by its writer's clock.
    pub at: i64,
    pub how: String,
}

/// A day as it is kept.
#[derive(Clone, Debug, Default)]
pub struct Day {
    /// Up to where it was counted.
    pub until: i64,
    /// By the beginnings of hours: how many succeeded, failed and timed out.
    pub hours: BTreeMap<i64, [usize; 3]>,
}

/// A span in which no fault happens, every sweep comes on time, and no hint is lost but those that the costs name.
#[derive(Clone, Debug)]
pub struct Calm {
    pub span: Range<i64>,
    /// The largest difference of a clock from the true one.
    pub skew: i64,
    /// Nothing that is due waits for somebody to carry it out.
    pub free_hands: bool,
}

/// What was spent on one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub job: u32,
    pub instant: i64,
    pub number: u64,
    pub hints: u32,
    pub lost_hints: u32,
    /// Of its record and of its timers.
    pub writes: u32,
}

/// What the pages of one list showed together.
#[derive(Clone, Debug)]
pub struct List {
    /// When it was begun.
    pub at: i64,
    /// The jobs of the tenant that read it.
    pub own: BTreeSet<u32>,
    /// How long writes may take to show in it.
    pub lag: i64,
    pub shown: Vec<u32>,
}

/// A job and its states over time.
#[derive(Clone, Debug, Default)]
pub struct Job {
    pub job: u32,
    /// In order; the first is its creation. Empty where the job was never created.
    pub heads: Vec<Head>,
    /// Whether some creator got the answer that the job exists.
    pub acknowledged: bool,
    /// How many creators got the answer that they created it.
    pub creations: u32,
    pub at_most_once: bool,
    /// Manual runs that were acknowledged: their instant and their number.
    pub asked: Vec<Asked>,
    /// Cancels of single occurrences that were acknowledged: when, and which instant.
    pub cancels: Vec<(i64, i64)>,
    /// When a client was answered that the job is deleted.
    pub deletes: Vec<i64>,
    /// Each writing of the job, in order.
    pub versions: Vec<Version>,
    /// What clients were answered after a change.
    pub answers: Vec<Answer>,
    /// What clients were told of single instants.
    pub explanations: Vec<Explanation>,
}

/// What somebody was told of an instant of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// When it was asked.
    pub at: i64,
    /// The instant; where it is an occurrence, when that was due.
    pub instant: i64,
    pub verdict: String,
    pub rule: String,
}

/// What one writing of a job says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub at: i64,
    pub stands: Stands,
}

/// How a job stands, as far as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    pub generation: u64,
    pub status: Status,
    /// Without its jitter.
    pub schedule: Schedule,
    pub tags: Vec<String>,
}

/// A change that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub at: i64,
    pub stands: Stands,
    /// Each field that was asked to change: its name, the value that was asked for, the one that was shown.
    pub fields: Vec<(String, String, String)>,
}

/// A state of a job from an instant on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// When the table had it.
    pub since: i64,
    /// When its writer decided it, by the writer's clock: an occurrence from then on may already belong to it.
    pub decided: i64,
    pub status: Status,
    pub schedule: Schedule,
    pub catch_up: CatchUp,
}

impl Head {
    /// From when on it holds alone: it is written, and its time has come.
    fn in_force_from(&self) -> i64 {
        self.since.max(self.decided)
    }
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

/// A call of a target.
#[derive(Clone, Debug)]
pub struct Call {
    pub at: i64,
    /// When the claim of this call was decided, which is when the run started.
    pub claimed_at: i64,
    /// When its run was put off, where it was, until its turn in catching up.
    pub put_off_at: Option<i64>,
    /// The starter's own clock.
    pub own_clock: i64,
    pub job: u32,
    pub instant: i64,
    /// Zero for an occurrence of the schedule.
    pub number: u64,
    pub fence: u32,
    /// The end of the caller's lease, by its own clock.
    pub lease_until: i64,
    /// When the call ended, if it did.
    pub ended_at: Option<i64>,
}

/// The table's record of an occurrence or of a manual run.
#[derive(Clone, Debug)]
pub struct Record {
    pub job: u32,
    pub instant: i64,
    pub number: u64,
    pub status: String,
    pub reason: Option<String>,
    /// When it ended, by its writer's clock.
    pub at: Option<i64>,
    /// When it was first written as ended, by the true time, where that is known.
    pub written_at: Option<i64>,
    /// The last instant that a skip covers.
    pub covers_until: Option<i64>,
    pub fence: u32,
    /// Numbers of the attempts kept, inside and outside of the run, in order.
    pub attempts: Vec<u32>,
    pub unended_attempts: u32,
    /// By when it was to have ended, and when it was found not to have.
    pub sla: Option<(i64, Option<i64>)>,
    /// When it has its turn in catching up, while it waits for that.
    pub turn: Option<i64>,
}

/// A timer that is left at the end.
#[derive(Clone, Debug)]
pub struct Timer {
    pub job: u32,
    /// The instant of its occurrence.
    pub instant: i64,
    /// The instant it is due.
    pub due: i64,
    /// Whether it is a link of the chain: an occurrence at its own instant.
    pub link: bool,
    /// Whether the sweep will still visit it: its bucket has not been left.
    pub reachable: bool,
}

/// A rule that a history broke.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub rule: &'static str,
    pub job: u32,
    pub instant: i64,
    pub detail: String,
}

impl Account {
    /// All rules that this history broke.
    pub fn judge(&self) -> Vec<Violation> {
        verdict::Verdict::of(self)
    }
}
