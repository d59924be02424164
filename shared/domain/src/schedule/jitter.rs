//! Jitter: how much later than its nominal instant each occurrence of a job starts, so that many jobs of one instant do
//! not start at once. One job always waits as long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Spread;
use crate::Moment;
use crate::spelled;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// As it was asked for: at most so much later.
    pub most_seconds: u32,
    /// What that is for this job.
    #[serde(with = "spelled::span")]
    pub by: Duration,
    /// No nominal instant before this counts: what was meant for a time before the schedule was made does not fire after it.
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

    /// None where that lies behind the last moment there is.
    pub(super) fn effective(&self, nominal: Moment) -> Option<Moment> {
        let effective = nominal + self.by;
        (self.nominal(effective) == nominal).then_some(effective)
    }
}
