//! A worker's presence: who asks for something to do, when it was last heard of, and what it had then. It is for people: nothing is decided
//! by it, and it may be a few seconds behind.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{HandlerName, PoolName, WorkerName};
use crate::Moment;
use crate::id::{RunKey, Tenant, Worker};
use crate::limits::{LEASES_AT_ONCE, POLL_SECONDS};

/// Signs of life closer together than this are worth one write.
pub const SEEN_EVERY: Duration = Duration::from_secs(10);
/// For how long a worker that is gone is still listed.
pub const REMEMBERED: Duration = Duration::from_secs(86_400);
const HOUR_MILLIS: i64 = 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    pub tenant: Tenant,
    pub pool: PoolName,
    pub worker: WorkerName,
    pub first_seen: Moment,
    pub last_seen: Moment,
    /// For how long from each sign of life on it has its runs.
    pub lease: Duration,
    /// How many runs it carries out at a time, where it says so.
    pub slots: Option<u32>,
    /// What it can do; none: whatever there is.
    pub handlers: Option<BTreeSet<HandlerName>>,
    /// Since when it takes no more.
    pub draining_since: Option<Moment>,
    /// What it had when it was last seen.
    pub holds: Vec<Hold>,
}

/// A run that a worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hold {
    pub run: RunKey,
    pub until: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Live,
    Draining,
    Dead,
}

/// What became of a worker's runs since it was last written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    pub kept: Vec<Hold>,
    pub left: Vec<RunKey>,
}

impl Status {
    pub fn of(silent_for: Duration, patience: Duration, draining: bool) -> Self {
        match () {
            () if silent_for > patience => Self::Dead,
            () if draining => Self::Draining,
            () => Self::Live,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Draining => "draining",
            Self::Dead => "dead",
        }
    }
}

impl Presence {
    pub fn key(&self) -> (PoolName, Worker) {
        (self.pool.clone(), self.worker.worker(&self.tenant))
    }

    /// Dead is who missed three heartbeats, which are a lease; or, having none to send, the time of its longest request.
    pub fn status(&self, now: Moment) -> Status {
        Status::of(now.since(self.last_seen), self.patience(), self.draining_since.is_some())
    }

    /// Until when it was heard of as one who takes something.
    pub fn took_until(&self) -> Moment {
        self.draining_since.map_or(self.last_seen, |since| since.min(self.last_seen))
    }

    /// As it says of itself now, with what others have heard of it before.
    #[must_use]
    pub fn behind(self, before: &Self) -> Self {
        let Self { first_seen, last_seen, holds, draining_since, .. } = before;
        Self {
            first_seen: *first_seen,
            last_seen: *last_seen,
            holds: holds.clone(),
            draining_since: self.draining_since.map(|since| draining_since.unwrap_or(since)),
            ..self
        }
    }

    /// For how long nothing need be heard of it.
    pub fn patience(&self) -> Duration {
        self.lease.max(Duration::from_secs(POLL_SECONDS)) + SEEN_EVERY
    }

    /// What it has at `now`, by what was last heard.
    pub fn held(&self, now: Moment) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(move |hold| now < hold.until)
    }

    /// With what one process heard of it since. What others heard stays.
    #[must_use]
    pub fn seen(&self, holding: &Holding, now: Moment) -> Self {
        let is_told = |run: RunKey| holding.left.contains(&run) || holding.kept.iter().any(|kept| kept.run == run);
        let others = self.held(now).filter(|hold| !is_told(hold.run));
        let mut holds: Vec<Hold> = others.copied().chain(holding.kept.iter().copied()).collect();
        holds.sort_unstable();
        holds.truncate(LEASES_AT_ONCE);
        Self { last_seen: self.last_seen.max(now), holds, ..self.clone() }
    }

    /// A whole hour: on one machine each instant that an item was ever to expire at is an entry of its own, and a presence is written every few seconds.
    pub fn kept_until(&self) -> Moment {
        let until = (self.last_seen + REMEMBERED).millis();
        Moment::from_millis(until + (-until).rem_euclid(HOUR_MILLIS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn after(seconds: u64) -> Moment {
        AT + Duration::from_secs(seconds)
    }

    fn run(number: u64) -> RunKey {
        RunKey::manual(JobId::from_bytes([1; 16]), AT, number)
    }

    fn holds(number: u64, seconds: u64) -> Hold {
        Hold { run: run(number), until: after(seconds) }
    }

    fn worker() -> Presence {
        Presence {
            tenant: Tenant::deployment(),
            pool: "web1".parse().unwrap(),
            worker: "web1-a".parse().unwrap(),
            first_seen: AT,
            last_seen: AT,
            lease: Duration::from_secs(60),
            slots: None,
            handlers: None,
            draining_since: None,
            holds: vec![holds(1, 60), holds(2, 60)],
        }
    }

    #[test]
    fn who_misses_three_heartbeats_is_dead_and_who_has_none_to_send_when_it_asks_no_more() {
        let draining = Presence { draining_since: Some(AT), ..worker() };
        let idle = Presence { lease: Duration::from_secs(3), ..worker() };

        assert_eq!([69, 71].map(|at| worker().status(after(at))), [Status::Live, Status::Dead]);
        assert_eq!([69, 71].map(|at| draining.status(after(at))), [Status::Draining, Status::Dead]);
        assert_eq!([29, 31].map(|at| idle.status(after(at))), [Status::Live, Status::Dead]);
    }

    #[test]
    fn who_drains_took_something_until_it_began_to() {
        let seen_at = |last_seen| Presence { last_seen, ..worker() };
        let draining = |since| Presence { draining_since: Some(after(since)), ..seen_at(after(50)) };

        assert_eq!(seen_at(after(50)).took_until(), after(50));
        assert_eq!(draining(30).took_until(), after(30));
        assert_eq!(draining(55).took_until(), after(50), "by a clock that was ahead");
        let says =
            |since, before: Presence| Presence { draining_since: since, ..worker() }.behind(&before).draining_since;
        assert_eq!(says(Some(after(60)), worker()), Some(after(60)));
        assert_eq!(says(Some(after(60)), draining(30)), Some(after(30)), "said twice");
        assert_eq!(says(None, draining(30)), None, "it takes something again");
    }

    #[test]
    fn what_one_process_heard_leaves_alone_what_another_did() {
        let holding = Holding { kept: vec![holds(3, 90), holds(2, 80)], left: vec![] };

        let seen = worker().seen(&holding, after(20));

        assert_eq!(seen.holds, [holds(1, 60), holds(2, 80), holds(3, 90)]);
        assert_eq!(seen.held(after(60)).count(), 2);
        let left = seen.seen(&Holding { kept: vec![], left: vec![run(3)] }, after(61));
        assert_eq!((left.holds, left.last_seen), (vec![holds(2, 80)], after(61)));
    }

    /// Removed: that it is a whole hour. Each worker left 8,640 dead entries a day in the list of what expires.
    #[test]
    fn a_day_of_signs_of_life_is_kept_until_few_instants() {
        let every = usize::try_from(SEEN_EVERY.as_secs()).unwrap();
        let seen = (0..REMEMBERED.as_secs()).step_by(every).map(|at| Presence { last_seen: after(at), ..worker() });
        let signs: Vec<_> = seen.map(|presence| (presence.last_seen, presence.kept_until())).collect();

        let instants: BTreeSet<Moment> = signs.iter().map(|(_, until)| *until).collect();
        assert!(instants.len() <= 25, "{instants:?}");
        for (last_seen, until) in signs {
            let (at_least, at_most) = (last_seen + REMEMBERED, last_seen + REMEMBERED + Duration::from_secs(3600));
            assert!(at_least <= until && until < at_most, "{last_seen} {until}");
        }
        assert_eq!(Presence { last_seen: Moment::END, ..worker() }.kept_until(), Moment::END);
    }

    #[test]
    fn a_clock_that_is_behind_takes_no_sign_back() {
        assert_eq!(worker().seen(&Holding::default(), after(0) - Duration::from_secs(5)).last_seen, AT);
    }
}
