//! What a pass may take of somebody's time.

use minutehand_domain::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Nothing is begun from then on.
    pub until: Moment,
    /// Timers that something is done about before others have their turn.
    pub timers: u64,
}

impl Allowance {
    /// For whoever waits until it is done.
    pub const UNLIMITED: Self = Self { until: Moment::END, timers: u64::MAX };

    pub fn until(until: Moment) -> Self {
        Self { until, ..Self::UNLIMITED }
    }
}
