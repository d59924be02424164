//! A hint in as few bytes as possible, without padding and without its tenant, which its position names by a number:
//! millions of hints may wait at a time.

use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::timer::{TimerKey, TimerStamp};

use crate::Fault;

#[derive(Debug)]
pub(super) struct Packed(Box<[u8]>);

/// The fields that are kept: the run only where it differs from the timer's own.
type Kept = (Option<RunKey>, TimerKey, TimerStamp);

impl Packed {
    pub(super) fn of(hint: &Hint) -> Result<Self, Fault> {
        let kept: Kept = ((hint.run != hint.timer.run_key()).then_some(hint.run), hint.timer, hint.stamp);
        let bytes = postcard::to_stdvec(&kept).map_err(|error| Fault::unavailable("the queues", error.to_string()))?;
        Ok(Self(bytes.into_boxed_slice()))
    }

    pub(super) fn unpack(&self, tenant: Tenant) -> Option<Hint> {
        let (run, timer, stamp): Kept = postcard::from_bytes(&self.0).ok()?;
        Some(Hint { tenant, run: run.unwrap_or_else(|| timer.run_key()), timer, stamp })
    }
}
