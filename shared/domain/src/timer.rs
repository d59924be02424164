//! A timer: a small item in a minute bucket that says "look at this thing at this time". A pointer, never the truth.

use sha2::{Digest, Sha256};

use crate::Moment;
use crate::id::{JobId, RunKey, Tenant};
use crate::operation::OperationId;
use crate::pace;

/// What a timer asks to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obligation {
    /// The occurrence of this job at the timer's own instant: one link of the job's chain.
    Occurrence(JobId),
    /// The occurrence of this job at another instant than the timer's: an orphan, a straggler, a promise made again.
    /// Its key differs from every link's, so that moving one timer can never overwrite another.
    MovedOccurrence(JobId, Moment),
    /// This run: a lease to check, a backoff to end, a manual run to start.
    Run(RunKey),
    /// A change of the calendar with this place, on its way to the jobs that heed it.
    Calendar(JobId),
    /// This operation: its next steps.
    Operation(OperationId),
}

/// Where a timer stands: its instant, then what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    pub due: Moment,
    pub obligation: Obligation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub key: TimerKey,
    pub tenant: Tenant,
    pub stamp: TimerStamp,
    /// Whose task it is that is to be looked at: where nothing is known of that yet, this is how it is made.
    pub parent: Option<RunKey>,
}

/// What an eraser has seen of a timer: if either differs, the timer was put anew and still means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerStamp {
    /// The job's generation it was made from.
    pub generation: u64,
    /// When it was written, by its writer's clock.
    pub written: Moment,
}

impl Obligation {
    /// The run a timer at `due` is about. An operation's is about none: what stands here instead names no run that there can be.
    pub fn run_at(&self, due: Moment) -> RunKey {
        match *self {
            Self::Occurrence(job) => RunKey::occurrence(job, due),
            Self::MovedOccurrence(job, at) => RunKey::occurrence(job, at),
            Self::Run(key) => key,
            Self::Calendar(place) => RunKey::occurrence(place, due), // there is none: it is no job's
            Self::Operation(id) => id.no_run(),
        }
    }

    /// Whose bucket shard it lies in. By the job, so that a job's timers of one minute lie together; for ever.
    pub fn shard(&self, shards: u16) -> u16 {
        let job = match self {
            Self::Occurrence(job) | Self::MovedOccurrence(job, _) | Self::Calendar(job) => job,
            Self::Run(key) => &key.job,
            Self::Operation(id) => &id.place(),
        };
        let digest = Sha256::digest(job.as_bytes());
        u16::from_be_bytes([digest[0], digest[1]]) % shards.max(1)
    }
}

impl Timer {
    /// Where it is to stand, if it was put off by a clock that was ahead of one that is right at `now`: the link of an occurrence that is to
    /// come in its own place, a run that is to come at its own time, all else a moment from now. Only what a clock says of itself is taken back: a
    /// link stands at its instant by each clock.
    pub fn recalled(&self, now: Moment) -> Option<TimerKey> {
        let soon = now + pace::PROMISE_AGAIN;
        let there = match self.key.obligation {
            _ if self.stamp.written <= now + pace::APART => return None,
            Obligation::Occurrence(_) => return None,
            Obligation::MovedOccurrence(job, at) if at > soon => TimerKey::occurrence(job, at),
            Obligation::Run(key) if key.at > soon => self.key.moved_to(key.at),
            Obligation::MovedOccurrence(..)
            | Obligation::Run(_)
            | Obligation::Calendar(_)
            | Obligation::Operation(_) => self.key.moved_to(soon),
        };
        (there.due < self.key.due).then_some(there)
    }
}

impl TimerKey {
    pub fn occurrence(job: JobId, at: Moment) -> Self {
        Self { due: at, obligation: Obligation::Occurrence(job) }
    }

    pub fn run(key: RunKey, due: Moment) -> Self {
        Self { due, obligation: Obligation::Run(key) }
    }

    pub fn calendar(place: JobId, due: Moment) -> Self {
        Self { due, obligation: Obligation::Calendar(place) }
    }

    pub fn operation(id: OperationId, due: Moment) -> Self {
        Self { due, obligation: Obligation::Operation(id) }
    }

    pub fn minute(&self) -> i64 {
        pace::minute_of(self.due)
    }

    /// The run this timer is about.
    pub fn run_key(&self) -> RunKey {
        self.obligation.run_at(self.due)
    }

    /// Where a link of a chain stands when nobody can read what lies in its place.
    #[must_use]
    pub fn beside(&self) -> Self {
        self.moved_to(self.due.just_after())
    }

    /// Whether it stands for a link in such a way.
    pub fn stands_beside_a_link(&self) -> bool {
        matches!(self.obligation, Obligation::MovedOccurrence(_, at) if self.due == at.just_after())
    }

    /// The same obligation at another instant, under a key that no link of a chain has.
    #[must_use]
    pub fn moved_to(&self, due: Moment) -> Self {
        let obligation = match self.obligation {
            Obligation::Occurrence(job) if due == self.due => Obligation::Occurrence(job),
            Obligation::Occurrence(job) => Obligation::MovedOccurrence(job, self.due),
            other @ (Obligation::MovedOccurrence(..)
            | Obligation::Run(_)
            | Obligation::Calendar(_)
            | Obligation::Operation(_)) => other,
        };
        Self { due, obligation }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const JOB: JobId = JobId::from_bytes([7; 16]);

    #[test]
    fn a_moved_timer_never_takes_the_key_of_a_link() {
        let link = TimerKey::occurrence(JOB, Moment::from_secs(60));

        let moved = link.moved_to(Moment::from_secs(120));

        assert_ne!(moved, TimerKey::occurrence(JOB, Moment::from_secs(120)));
        assert_eq!(moved.run_key(), link.run_key(), "it still means the first instant");
        assert_eq!(moved.moved_to(Moment::from_secs(180)).run_key(), link.run_key());
    }

    #[test]
    fn what_a_clock_that_was_ahead_put_off_is_recalled() {
        const NOW: Moment = Moment::from_secs(1_800_000_000);
        let (after, tomorrow) = (|seconds| NOW + Duration::from_secs(seconds), NOW + Duration::from_secs(86_400));
        let by = |written, key| {
            let stamp = TimerStamp { generation: 1, written };
            Timer { key, tenant: Tenant::deployment(), stamp, parent: None }.recalled(NOW)
        };
        let (soon, run) = (after(1), |at| TimerKey::run(RunKey::manual(JOB, at, 5), tomorrow));
        let link = |at| TimerKey::occurrence(JOB, at);
        let (past, to_come) = (link(NOW).moved_to(tomorrow), link(after(300)).moved_to(tomorrow));

        assert_eq!(by(tomorrow, past), Some(link(NOW).moved_to(soon)));
        assert_eq!(by(tomorrow, to_come), Some(link(after(300))), "in its own place, as a link");
        assert_eq!(by(tomorrow, run(NOW)), Some(run(NOW).moved_to(soon)));
        assert_eq!(
            by(tomorrow, run(after(300))),
            Some(run(after(300)).moved_to(after(300))),
            "its own time is to come"
        );
        let when_it_is_due = TimerKey::run(RunKey::manual(JOB, tomorrow, 5), tomorrow);
        assert_eq!(by(tomorrow, when_it_is_due), None, "its own time says when");
        assert_eq!(by(tomorrow, link(tomorrow)), None, "a link stands at its instant");
        assert_eq!(by(after(4), past), None, "two clocks that are right may be so far apart");
        assert_eq!(by(after(5), past), Some(link(NOW).moved_to(soon)));
        assert_eq!(by(tomorrow, link(NOW - Duration::from_secs(60)).moved_to(NOW)), None, "it is looked at anyway");
    }

    #[test]
    fn every_timer_of_a_run_leads_back_to_it() {
        let key = RunKey::manual(JOB, Moment::from_secs(60), 5);
        let timer = TimerKey::run(key, Moment::from_secs(99));

        assert_eq!(timer.run_key(), key);
        assert_eq!(timer.moved_to(Moment::from_secs(200)).run_key(), key);
    }

    #[test]
    fn jobs_spread_over_the_shards() {
        let mut counts = [0_u32; 64];
        for n in 0..6400_u32 {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&n.to_be_bytes());
            counts[usize::from(Obligation::Occurrence(JobId::from_bytes(bytes)).shard(64))] += 1;
        }
        assert!(counts.iter().all(|n| (50..=160).contains(n)), "{counts:?}");
    }
}
