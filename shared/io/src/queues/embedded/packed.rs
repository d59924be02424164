//! A hint in as few bytes as possible, without padding and without its tenant, which its position names by a number:
//! millions of hints may wait at a time. Two that differ only in when they were sent say the same.

use std::hash::{Hash, Hasher};

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::timer::{TimerKey, TimerStamp};

use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::timer::{TimerKeyV1, TimerStampV1};
use crate::shapes::{Of, in_shape};

/// When it was sent comes last, in as many bytes.
#[derive(Debug)]
pub(super) struct Packed(Box<[u8]>);

const SENT_BYTES: usize = size_of::<i64>();
/// No moment has it.
const NOT_SENT: i64 = -1;

/// The fields that are kept: the run only where it differs from the timer's own. Nobody but this process reads them.
type Kept = (Option<Of<RunKeyV1, RunKey>>, Of<TimerKeyV1, TimerKey>, Of<TimerStampV1, TimerStamp>);

impl Packed {
    pub(super) fn of(hint: &Hint) -> Result<Self, Fault> {
        let run = (hint.run != hint.timer.run_key()).then(|| in_shape::<RunKeyV1, _>(&hint.run));
        let kept = (run, in_shape::<TimerKeyV1, _>(&hint.timer), in_shape::<TimerStampV1, _>(&hint.stamp));
        let mut bytes =
            postcard::to_stdvec(&kept).map_err(|error| Fault::unavailable("the queues", error.to_string()))?;
        bytes.extend(hint.sent.map_or(NOT_SENT, Moment::millis).to_be_bytes());
        Ok(Self(bytes.into_boxed_slice()))
    }

    pub(super) fn unpack(&self, tenant: Tenant) -> Option<Hint> {
        let (run, timer, stamp) = self.kept()?;
        let sent = i64::from_be_bytes(*self.0.last_chunk::<SENT_BYTES>()?);
        let sent = Some(sent).filter(|millis| *millis != NOT_SENT).map(Moment::from_millis);
        Some(Hint { tenant, run, timer, stamp, sent })
    }

    /// The run that it is of, and when the timer behind it was written.
    pub(super) fn run(&self) -> Option<(RunKey, Moment)> {
        self.kept().map(|(run, _timer, stamp)| (run, stamp.written))
    }

    fn kept(&self) -> Option<(RunKey, TimerKey, TimerStamp)> {
        let (run, Of(timer, _), Of(stamp, _)): Kept = postcard::from_bytes(self.says()).ok()?;
        Some((run.map_or_else(|| timer.run_key(), |run| run.0), timer, stamp))
    }

    /// The same, sent when the other was.
    pub(super) fn sent_as(mut self, other: &Self) -> Self {
        if let (Some(sent), Some(theirs)) = (self.0.last_chunk_mut::<SENT_BYTES>(), other.0.last_chunk::<SENT_BYTES>())
        {
            *sent = *theirs;
        }
        self
    }

    fn says(&self) -> &[u8] {
        self.0.split_last_chunk::<SENT_BYTES>().map_or(&self.0, |(says, _sent)| says)
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.says() == other.says()
    }
}

impl Eq for Packed {}

impl Hash for Packed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.says().hash(hasher);
    }
}
