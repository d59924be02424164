//! A hint in as few bytes as possible, without padding and without its tenant, which its position names by a number:
//! millions of hints may wait at a time.

use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::timer::{TimerKey, TimerStamp};

use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::timer::{TimerKeyV1, TimerStampV1};
use crate::shapes::{Of, in_shape};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Packed(Box<[u8]>);

/// The fields that are kept: the run only where it differs from the timer's own. Nobody but this process reads them.
type Kept = (Option<Of<RunKeyV1, RunKey>>, Of<TimerKeyV1, TimerKey>, Of<TimerStampV1, TimerStamp>);

impl Packed {
    pub(super) fn of(hint: &Hint) -> Result<Self, Fault> {
        let run = (hint.run != hint.timer.run_key()).then(|| in_shape::<RunKeyV1, _>(&hint.run));
        let kept = (run, in_shape::<TimerKeyV1, _>(&hint.timer), in_shape::<TimerStampV1, _>(&hint.stamp));
        let bytes = postcard::to_stdvec(&kept).map_err(|error| Fault::unavailable("the queues", error.to_string()))?;
        Ok(Self(bytes.into_boxed_slice()))
    }

    pub(super) fn unpack(&self, tenant: Tenant) -> Option<Hint> {
        let (run, Of(timer, _), Of(stamp, _)): Kept = postcard::from_bytes(&self.0).ok()?;
        Some(Hint { tenant, run: run.map_or_else(|| timer.run_key(), |run| run.0), timer, stamp })
    }
}
