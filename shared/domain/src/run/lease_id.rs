//! The id of a lease: which claim of which run, and what brought it about, so that whoever ends the run can erase the timer behind it
//! without a search. It is no secret, and has no authority: what it says of a timer is held against the timer.

use std::fmt;
use std::str::FromStr;

use crate::Moment;
use crate::hint::Hint;
use crate::id::{NotAnId, RunKey, base32, from_base32};
use crate::timer::{Obligation, TimerKey, TimerStamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseId {
    pub run: RunKey,
    pub fence: u32,
    pub timer: TimerKey,
    pub stamp: TimerStamp,
}

const PREFIX: &str = "lease_";
const BYTES: usize = RunKey::BYTES + 4 + 1 + 8 + 8 + 8;

/// What shows that a lease is somebody's: these bytes, which nobody else knows, as its holder is told them.
pub fn lease_token(bytes: [u8; 16]) -> String {
    format!("mt_{}", base32(&bytes))
}

impl LeaseId {
    /// The claim of this fence, that this hint brought about.
    pub fn of(hint: &Hint, fence: u32) -> Self {
        Self { run: hint.run, fence, timer: hint.timer, stamp: hint.stamp }
    }

    /// Whether it looks like one: of a lease that there may be, or of none that ever was.
    pub fn is_spelled(text: &str) -> bool {
        bytes_of(text).is_some()
    }
}

fn bytes_of(text: &str) -> Option<[u8; BYTES]> {
    from_base32(text.strip_prefix(PREFIX)?)?.try_into().ok()
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind: u8 = match self.timer.obligation {
            Obligation::Occurrence(_) => 0,
            Obligation::MovedOccurrence(..) => 1,
            // Nobody holds a run by the timer of a calendar or of an operation.
            Obligation::Run(_) | Obligation::Calendar(_) | Obligation::Operation(_) => 2,
        };
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(self.run.to_bytes());
        bytes.extend(self.fence.to_be_bytes());
        bytes.push(kind);
        bytes.extend(self.timer.due.millis().to_be_bytes());
        bytes.extend(self.stamp.generation.to_be_bytes());
        bytes.extend(self.stamp.written.millis().to_be_bytes());
        write!(f, "{PREFIX}{}", base32(&bytes))
    }
}

impl FromStr for LeaseId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let read = || {
            let bytes = bytes_of(text)?;
            let (run, rest) = bytes.split_at(RunKey::BYTES);
            let run = RunKey::from_bytes(run.try_into().ok()?)?;
            let fence = u32::from_be_bytes(rest[..4].try_into().ok()?);
            let number = |from: usize| Some(u64::from_be_bytes(rest[from..from + 8].try_into().ok()?));
            let moment = |from| Some(Moment::from_millis(i64::try_from(number(from)?).ok()?));
            let due = moment(5)?;
            let obligation = match rest[4] {
                0 => Obligation::Occurrence(run.job),
                1 => Obligation::MovedOccurrence(run.job, run.at),
                2 => Obligation::Run(run),
                _ => return None,
            };
            let stamp = TimerStamp { generation: number(13)?, written: moment(21)? };
            Some(Self { run, fence, timer: TimerKey { due, obligation }, stamp })
        };
        // A holder may change the id: what the id says of a timer must not reach another run's.
        let is_its_own = |id: &Self| id.timer.run_key() == id.run && id.to_string() == text;
        read().filter(is_its_own).ok_or(NotAnId::of("a lease id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    #[test]
    fn an_id_of_a_lease_reads_back_and_nothing_else_does() {
        let job = JobId::from_bytes([3; 16]);
        let (occurrence, manual) = (RunKey::occurrence(job, AT), RunKey::manual(job, AT, 7));
        let link = TimerKey::occurrence(job, AT);
        let later = Moment::from_secs(1_800_000_060);
        let stamp = TimerStamp { generation: 300, written: later };

        for (run, timer) in
            [(occurrence, link), (occurrence, link.moved_to(later)), (manual, TimerKey::run(manual, later))]
        {
            let id = LeaseId { run, fence: 2, timer, stamp };
            let text = id.to_string();

            assert_eq!(text.parse(), Ok(id));
            assert!(text[..text.len() - 1].parse::<LeaseId>().is_err());
            assert!(text.replace(PREFIX, "run_").parse::<LeaseId>().is_err());
        }
        assert!("lease_".parse::<LeaseId>().is_err());
    }

    /// Removed: any timer of the job is taken. A worker that changed the instant in its lease's id erased the next link of the job's chain.
    #[test]
    fn an_id_that_points_to_another_runs_timer_is_none() {
        let job = JobId::from_bytes([3; 16]);
        let (run, later) = (RunKey::occurrence(job, AT), Moment::from_secs(1_800_003_600));
        let stamp = TimerStamp { generation: 1, written: AT };
        let id = |timer| LeaseId { run, fence: 1, timer, stamp }.to_string();

        assert!(id(TimerKey::occurrence(job, AT)).parse::<LeaseId>().is_ok());
        assert!(id(TimerKey::occurrence(job, later)).parse::<LeaseId>().is_err());
        let manual = LeaseId {
            run: RunKey::manual(job, AT, 7),
            ..LeaseId { run, fence: 1, timer: TimerKey::occurrence(job, AT), stamp }
        };
        assert!(manual.to_string().parse::<LeaseId>().is_err());
    }

    #[test]
    fn what_only_looks_like_an_id_is_spelled_and_does_not_read() {
        let of_no_run = format!("lease_{}", base32(&[0xff; BYTES]));

        assert!(LeaseId::is_spelled(&of_no_run));
        assert!(of_no_run.parse::<LeaseId>().is_err());
        assert!(!LeaseId::is_spelled(&of_no_run[..of_no_run.len() - 1]));
        assert!(!LeaseId::is_spelled("lease_"));
    }
}
