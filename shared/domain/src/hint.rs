//! A hint: a message on a queue that says "this run may be due". It carries identities, never state, and has no authority.

use crate::Moment;
use crate::id::{RunKey, Tenant};
use crate::timer::{Timer, TimerKey, TimerStamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub tenant: Tenant,
    pub run: RunKey,
    /// The timer that stands behind this hint, and what was seen of it: the executor that finishes the run erases just that.
    pub timer: TimerKey,
    pub stamp: TimerStamp,
    /// When it was sent; none before that, and where it waited in a line of workers since.
    pub sent: Option<Moment>,
}

impl Hint {
    /// A hint for the run its timer is about.
    pub fn of(timer: &Timer) -> Self {
        Self {
            tenant: timer.tenant.clone(),
            run: timer.key.run_key(),
            timer: timer.key,
            stamp: timer.stamp,
            sent: None,
        }
    }

    /// A hint for an occurrence of a job as it stands at `generation`. Where the timer was made from a later one, it is
    /// also the promise of a change that is being written: this hint's run must not erase it.
    pub fn behind(timer: &Timer, run: RunKey, generation: u64) -> Self {
        let stamp = TimerStamp { generation: timer.stamp.generation.min(generation), ..timer.stamp };
        Self { run, stamp, ..Self::of(timer) }
    }
}
