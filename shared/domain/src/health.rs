//! The health of a job: what its newest runs say of it, and since when an occurrence of it is overdue.
//!
//! - **Looked at** are the newest [`HEALTH_RUNS`] records whose time has come, by the instants that they were due at. Nothing here says more than
//!   they do: a count that reaches all of them is a least count, and what is none among them may lie further back.
//! - **Judged** are those that succeeded, failed or timed out, each by its own end. However often a run was tried it is one run; another try
//!   that somebody asked for is a run of its own, so that a failure that was made good is a failure and a success. What was cancelled or skipped,
//!   or is under way, is neither.
//! - **Durations** are of those that succeeded, from the first start to the end, the waits between their attempts included. A run that is refused
//!   at once, or stopped when its time is up, says nothing of how long the work takes; the success rate says that it failed.
//! - **Overdue** is an occurrence by the job's own schedule that should have begun, and has not: [`overdue`].

pub mod day;
mod overdue;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::overdue::overdue_since;
use crate::Moment;
use crate::job::Job;
use crate::limits::{HEALTH_OUTCOMES, HEALTH_RUNS};
use crate::run::{Run, State};

/// What a job's health is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Its newest runs.
    #[default]
    Newest,
    /// And all that ended in the last day: each end costs one write more.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How many succeeded, of those that were judged.
    pub succeeded: usize,
    pub judged: usize,
    /// How those ended that have, in the words of a run's status: the newest [`HEALTH_OUTCOMES`], newest first.
    pub outcomes: Vec<&'static str>,
    pub durations: Option<Durations>,
    pub last_success_at: Option<Moment>,
    /// Since the newest that succeeded, or at least so many.
    pub consecutive_failures: usize,
    pub overdue_since: Option<Moment>,
}

/// By nearest rank: each is a duration that there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    pub p50: Duration,
    pub p95: Duration,
    pub p99: Duration,
}

impl Health {
    /// `newest`: the job's records whose instant has come, newest first, as many of them as there are or [`HEALTH_RUNS`]. `unread`: occurrences with records
    /// that nobody can read. Something became of each, and maybe of what lies before the next one. `on_record_since`: what was on record before that may have
    /// expired, and is missed by nobody.
    pub fn of(job: &Job, newest: &[Run], unread: &[Moment], on_record_since: Moment, now: Moment) -> Self {
        let newest = &newest[..newest.len().min(HEALTH_RUNS)];
        let verdicts = || newest.iter().filter_map(succeeded);
        let ended = newest.iter().filter(|run| run.is_finished());
        Self {
            succeeded: verdicts().filter(|succeeded| *succeeded).count(),
            judged: verdicts().count(),
            outcomes: ended.take(HEALTH_OUTCOMES).map(|run| run.status(now)).collect(),
            durations: Durations::of(newest.iter().filter_map(duration).collect()),
            last_success_at: newest
                .iter()
                .filter(|run| succeeded(run) == Some(true))
                .filter_map(Run::finished_at)
                .max(),
            consecutive_failures: verdicts().take_while(|succeeded| !succeeded).count(),
            overdue_since: overdue_since(job, newest, unread, on_record_since, now),
        }
    }

    /// From 0 to 1; none where nothing was judged.
    pub fn success_rate(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "they are a hundred at most")]
        (self.judged > 0).then(|| self.succeeded as f64 / self.judged as f64)
    }
}

impl Durations {
    fn of(mut all: Vec<Duration>) -> Option<Self> {
        all.sort_unstable();
        let rank = |percent: usize| (all.len() * percent).div_ceil(100);
        let at = |percent| all.get(rank(percent).checked_sub(1)?).copied();
        Some(Self { p50: at(50)?, p95: at(95)?, p99: at(99)? })
    }
}

/// Whether a run came to what it was for; none where its end says neither, or it has not ended.
pub(crate) fn succeeded(run: &Run) -> Option<bool> {
    match run.state {
        State::Succeeded { .. } => Some(true),
        State::Failed { .. } | State::TimedOut { .. } => Some(false),
        State::Cancelled { .. }
        | State::Skipped { .. }
        | State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_) => None,
    }
}

/// What a run took that succeeded.
fn duration(run: &Run) -> Option<Duration> {
    match run.state {
        State::Succeeded { at, .. } => Some(at.since(run.started_at?)),
        State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. }
        | State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_) => None,
    }
}

#[cfg(test)]
mod tests;
