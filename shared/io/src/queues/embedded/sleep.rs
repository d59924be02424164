//! Sleep: whether the process was stopped, or its machine suspended, while hints waited. Nobody called these hints back, as nobody swept: that of an
//! occurrence whose timer is overdue when the process wakes is left to the sweep, as after a restart. Else what is late by hours would begin before anybody
//! has decided whether it is made up for.
//!
//! A queue that is merely long is another matter: what waits for hands is swept meanwhile, and keeps its place.

use std::time::Duration;

use minutehand_domain::timer::{Obligation, TimerKey};
use minutehand_domain::{Moment, pace};

/// How often the process is seen to be awake while hints wait.
pub(super) const PULSE: Duration = Duration::from_secs(5);
/// A process that was not seen for so long slept. Until then nothing is passed over, so that nothing is decided of what it missed.
const ASLEEP: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Sleep {
    /// When the process was seen awake; none while nobody looks, since nothing waits.
    seen: Option<Moment>,
    slept: Option<Slept>,
}

#[derive(Debug)]
struct Slept {
    until: Moment,
    /// Of the last hint that was given before that.
    number: u64,
}

impl Sleep {
    /// Somebody looks each `PULSE` from now on.
    pub(super) fn look(&mut self, now: Moment, number: u64) {
        self.notice(now, number);
        self.seen = Some(now);
    }

    pub(super) fn look_no_more(&mut self) {
        self.seen = None;
    }

    /// Whoever comes first after a sleep notices it.
    pub(super) fn notice(&mut self, now: Moment, number: u64) {
        let Some(slept) = self.seen.map(|seen| now.since(seen)).filter(|slept| *slept > ASLEEP) else { return };
        tracing::warn!(
            seconds = slept.as_secs(),
            "this process was asleep, or its clock was set: of what was to begin meanwhile the sweep decides"
        );
        (self.seen, self.slept) = (Some(now), Some(Slept { until: now, number }));
    }

    /// Whether a hint of this number, behind this timer, was given before the last sleep and is left to the sweep: that of an occurrence, of which the
    /// sweep decides whether it is made up for. Of nothing else is decided so, and a nudge is behind a timer that stands nowhere. The clock
    /// that told of the sleep may have been ahead, and be right again.
    pub(super) fn took(&self, number: u64, behind: &TimerKey, now: Moment) -> bool {
        let is_of_a_chain = matches!(behind.obligation, Obligation::Occurrence(_) | Obligation::MovedOccurrence(..));
        let is_overdue = |until: Moment| behind.due + pace::OVERDUE <= until.min(now);
        is_of_a_chain && self.slept.as_ref().is_some_and(|slept| number <= slept.number && is_overdue(slept.until))
    }
}
