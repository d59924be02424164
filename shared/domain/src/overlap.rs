//! Overlap: what becomes of a run whose job has others under way. A run is under way from its claim until its end, backoff included;
//! whoever waits to be claimed is not.

use crate::id::{JobId, RunKey};
use crate::slot::{Bound, SlotName};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// As many at once as come; or at most so many, and whoever comes then waits.
    Allow { max: Option<u32> },
    /// One at once; whoever comes then is skipped.
    Skip,
    /// One at once; so many wait for it, and whoever comes then is skipped.
    Queue { waiting: u32 },
    /// The newest: it asks the one before to cancel, and waits for its end.
    CancelPrevious,
}

/// What a run does that found others of its job in its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// It waits.
    Waits,
    /// It waits, if there is one of these places.
    WaitsIn(Bound),
    /// It is skipped, for that one where it is known.
    Yields(Option<RunKey>),
    /// It waits for the end of these, which are asked to cancel.
    Replaces(Vec<RunKey>),
}

impl Default for Overlap {
    fn default() -> Self {
        Self::Allow { max: None }
    }
}

impl Overlap {
    /// The same for a run that makes up for what was due long ago: it waits for its place, whatever the others do. It would be skipped
    /// otherwise, or cancelled by the next one of its own backfill.
    #[must_use]
    pub fn patient(self) -> Self {
        match self {
            Self::Allow { max } => Self::Allow { max },
            Self::Skip | Self::Queue { .. } | Self::CancelPrevious => Self::Allow { max: Some(1) },
        }
    }

    /// The places of its runs under way; none where they are not counted, and cost nothing.
    pub fn places(self, job: JobId) -> Option<Bound> {
        let width = match self {
            Self::Allow { max } => max?,
            Self::Skip | Self::Queue { .. } | Self::CancelPrevious => 1,
        };
        Some(Bound { slot: SlotName::Job(job), width })
    }

    /// What a run does that found no place. `others`: those of its job that have one, or wait for one; not all of them may have been
    /// found. Rule **older**: of two that would cancel each other the newer one goes on.
    pub fn meets(self, own: RunKey, others: &[RunKey]) -> Meeting {
        match self {
            Self::Allow { .. } => Meeting::Waits,
            Self::Skip => Meeting::Yields(others.first().copied()),
            Self::Queue { waiting } => Meeting::WaitsIn(Bound { slot: SlotName::Queue(own.job), width: waiting }),
            Self::CancelPrevious => match others.iter().find(|other| is_newer(**other, own)) {
                Some(newer) => Meeting::Yields(Some(*newer)),
                None => Meeting::Replaces(others.to_vec()),
            },
        }
    }
}

/// Whether the one run came after the other.
fn is_newer(one: RunKey, other: RunKey) -> bool {
    (one.at, one.to_bytes()) > (other.at, other.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;

    const JOB: JobId = JobId::from_bytes([1; 16]);

    fn run(second: i64) -> RunKey {
        RunKey::occurrence(JOB, Moment::from_secs(second))
    }

    #[test]
    fn a_job_whose_runs_may_overlap_pays_nothing() {
        let of = |width| Some(Bound { slot: SlotName::Job(JOB), width });
        let rows = [
            (Overlap::default(), None),
            (Overlap::Allow { max: Some(3) }, of(3)),
            (Overlap::Skip, of(1)),
            (Overlap::Queue { waiting: 5 }, of(1)),
            (Overlap::CancelPrevious, of(1)),
        ];
        for (overlap, places) in rows {
            assert_eq!(overlap.places(JOB), places, "{overlap:?}");
        }
    }

    #[test]
    fn what_a_run_does_that_meets_others_goes_by_the_policy_and_by_who_is_newer() {
        let room = Meeting::WaitsIn(Bound { slot: SlotName::Queue(JOB), width: 5 });
        let by_hand = RunKey::manual(JOB, Moment::from_secs(10), 1);
        let rows = [
            (Overlap::Allow { max: Some(3) }, vec![run(5)], Meeting::Waits),
            (Overlap::Skip, vec![run(5)], Meeting::Yields(Some(run(5)))),
            (Overlap::Skip, vec![run(15)], Meeting::Yields(Some(run(15)))),
            (Overlap::Skip, vec![], Meeting::Yields(None)),
            (Overlap::Queue { waiting: 5 }, vec![run(5)], room),
            (Overlap::CancelPrevious, vec![], Meeting::Replaces(vec![])),
            (Overlap::CancelPrevious, vec![run(5), run(9)], Meeting::Replaces(vec![run(5), run(9)])),
            (Overlap::CancelPrevious, vec![run(5), run(15)], Meeting::Yields(Some(run(15)))),
        ];
        for (overlap, others, meeting) in rows {
            assert_eq!(overlap.meets(run(10), &others), meeting, "{overlap:?}, {others:?}");
        }
        let newest = [(run(10), by_hand), (by_hand, run(10))]
            .map(|(own, other)| matches!(Overlap::CancelPrevious.meets(own, &[other]), Meeting::Replaces(_)));
        assert_ne!(newest[0], newest[1], "of two of one instant one goes on");
    }
}
