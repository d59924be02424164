//! A job's day: how its runs ended in the last twenty-four hours, each of them counted once. Only of a job that asks for it, since each end is
//! written down once more.
//!
//! - **An end** is an item of its own, by when the run ended: however often it is settled, it is one. It lasts a little longer than a day.
//! - **The day** keeps what was counted, up to an instant before which no end is to be expected any more, and is read on from there. An end that
//!   is written down later than that ([`End::is_late`]) sets the day back, so that it is counted as well.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Moment;
use crate::id::RunKey;
use crate::limits::HEALTH_HOURS;
use crate::run::{Run, State};

const HOUR: Duration = Duration::from_secs(3600);
/// Whoever writes an end down later than this after it says so.
const LATE: Duration = Duration::from_secs(60);
/// And no end is to be expected that is older than this: twice as old, so that clocks may differ and a write may be long on its way.
const COUNTED_AFTER: Duration = Duration::from_secs(120);
/// How long an end, and a day that nobody asks for, are kept: longer than a day counts.
const KEPT: Duration = Duration::from_secs((HEALTH_HOURS as u64 + 1) * HOUR.as_secs());

/// The end of a run, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub key: EndKey,
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndKey {
    pub at: Moment,
    pub run: RunKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Succeeded,
    Failed,
    TimedOut,
}

/// What was counted: by the hours since 1970, and only of those before `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    pub hours: BTreeMap<u32, Ends>,
    pub until: Moment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub succeeded: u64,
    pub failed: u64,
    pub timed_out: u64,
}

impl Run {
    /// Its end, where its job counts those; none where it has not ended, or in a way that nobody judges.
    pub fn counted_end(&self) -> Option<End> {
        let (at, how) = match self.state {
            State::Succeeded { at, .. } => (at, How::Succeeded),
            State::Failed { at, .. } => (at, How::Failed),
            State::TimedOut { at, .. } => (at, How::TimedOut),
            State::Cancelled { .. }
            | State::Skipped { .. }
            | State::Scheduled { .. }
            | State::Waiting(_)
            | State::Running(_) => return None,
        };
        self.is_counted.then_some(End { key: EndKey { at, run: self.key }, how })
    }
}

impl End {
    /// Whether a day may have been counted without it that was written down by now.
    pub fn is_late(&self, now: Moment) -> bool {
        now.since(self.key.at) > LATE
    }

    /// Whether a day that is shown at `now` counts it.
    pub fn is_of_the_day_at(&self, now: Moment) -> bool {
        self.key.at >= Day::begins(now)
    }

    pub fn expires_at(&self) -> Moment {
        self.key.at + KEPT
    }
}

impl Day {
    /// Of which nothing was counted yet.
    pub const NOTHING: Self = Self { hours: BTreeMap::new(), until: Moment::EPOCH };

    /// The same at `now`: hours that are no longer of it are forgotten, and it is read on from no earlier than its first. One that claims to know of
    /// what is to come was kept by a clock that was ahead, and ends have been written since that it lacks: it is believed up to the hour before.
    #[must_use]
    pub fn at(self, now: Moment) -> Self {
        let first = first_hour(now);
        let mut day = if self.until > now { self.set_back_to(now - HOUR) } else { self };
        day.hours.retain(|hour, _| *hour >= first);
        day.until = day.until.max(start_of(first));
        day
    }

    /// Up to where it may be kept at `now`.
    pub fn kept_until(now: Moment) -> Moment {
        now - COUNTED_AFTER
    }

    /// With the ends that come next, which are all there are up to `until`.
    #[must_use]
    pub fn with(mut self, ends: &[End], until: Moment) -> Self {
        for end in ends {
            self.hours.entry(hour_of(end.key.at)).or_default().add(end.how);
        }
        Self { until: until.max(self.until), ..self }
    }

    /// As it was before the hour of an end that nobody had expected.
    #[must_use]
    pub fn set_back_to(mut self, at: Moment) -> Self {
        let hour = hour_of(at);
        self.hours.retain(|counted, _| *counted < hour);
        Self { until: self.until.min(start_of(hour)), ..self }
    }

    pub fn begins(now: Moment) -> Moment {
        start_of(first_hour(now))
    }

    /// The hours in which anything ended, and all of them together.
    pub fn hours(&self) -> impl Iterator<Item = (Moment, Ends)> {
        self.hours.iter().map(|(hour, ends)| (start_of(*hour), *ends))
    }

    pub fn total(&self) -> Ends {
        self.hours.values().fold(Ends::default(), |total, ends| Ends {
            succeeded: total.succeeded + ends.succeeded,
            failed: total.failed + ends.failed,
            timed_out: total.timed_out + ends.timed_out,
        })
    }

    pub fn expires_at(&self) -> Moment {
        self.until + KEPT
    }
}

impl Ends {
    fn add(&mut self, how: How) {
        match how {
            How::Succeeded => self.succeeded += 1,
            How::Failed => self.failed += 1,
            How::TimedOut => self.timed_out += 1,
        }
    }

    pub fn judged(&self) -> u64 {
        self.succeeded + self.failed + self.timed_out
    }

    /// From 0 to 1; none where nothing ended.
    pub fn success_rate(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "so many runs has no day")]
        (self.judged() > 0).then(|| self.succeeded as f64 / self.judged() as f64)
    }
}

fn hour_of(at: Moment) -> u32 {
    u32::try_from(at.since(Moment::EPOCH).as_secs() / HOUR.as_secs()).unwrap_or(u32::MAX)
}

fn start_of(hour: u32) -> Moment {
    Moment::EPOCH + HOUR * hour
}

/// The hour under way is one of them.
fn first_hour(now: Moment) -> u32 {
    hour_of(now).saturating_sub(HEALTH_HOURS - 1)
}

#[cfg(test)]
mod tests;
