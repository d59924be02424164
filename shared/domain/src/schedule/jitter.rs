//! Jitter: how much later than its nominal instant each occurrence of a job starts, so that jobs with the same instant do
//! not all start at once. The delay of one job is always the same.

use std::time::Duration;

use super::Spread;
use crate::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// The largest delay, as requested.
    pub most_seconds: u32,
    /// The delay of this job.
    pub by: Duration,
    /// No nominal instant before this counts: an instant before the schedule's creation must not fire after it.
    pub from: Moment,
}

impl Jitter {
    pub(super) fn new(most_seconds: u32, spread: Spread, from: Moment) -> Self {
        let by = Duration::from_millis(spread.below("jitter", u64::from(most_seconds) * 1000 + 1));
        Self { most_seconds, by, from }
    }

    pub(super) fn nominal(&self, t: Moment) -> Moment {
        t - self.by
    }

    /// None where that is after the last moment.
    pub(super) fn effective(&self, nominal: Moment) -> Option<Moment> {
        let effective = nominal + self.by;
        (self.nominal(effective) == nominal).then_some(effective)
    }
}
