//! Presences: who asks for something to do, as this process hears of it. Written down every ten seconds for each worker, so that nobody's
//! heartbeats become twice as many writes; and never refused anything because this could not be written.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant, Worker};
use minutehand_domain::pool::PoolName;
use minutehand_domain::pool::presence::{Hold, Holding, Presence, REMEMBERED, SEEN_EVERY, Status};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::amend::amend;

/// Workers that one process remembers. Who hears of more of them forgets those that have been silent for long, or else all, and hears of them again.
const WORKERS: usize = 4096;

type Key = (Tenant, PoolName, Worker);

#[derive(Default)]
pub(crate) struct Presences(Mutex<Heard>);

impl fmt::Debug for Presences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presences")
    }
}

#[derive(Default)]
struct Heard {
    workers: HashMap<Key, Known>,
    /// Who has which run.
    holders: HashMap<(Tenant, RunKey), Key>,
}

impl Heard {
    /// A worker that has gone for good does not count as dead for ever: each deployment would leave those of the one before.
    fn make_room(&mut self, now: Moment) {
        let Self { workers, holders } = self;
        workers.retain(|_, known| now.since(known.heard_at) < REMEMBERED);
        holders.retain(|_, key| workers.contains_key(key));
        if workers.len() >= WORKERS {
            *self = Self::default();
        }
    }
}

struct Known {
    written_at: Moment,
    heard_at: Moment,
    /// For how long nothing need be heard of it.
    patience: Duration,
    /// How many runs it carries out at a time, where it says so.
    slots: Option<u32>,
    draining: bool,
    holds: BTreeMap<RunKey, Moment>,
    /// Runs that it has no more, since it was last written down.
    left: Vec<RunKey>,
}

/// The workers that this process knows of, and what those alive have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub live: usize,
    pub draining: usize,
    pub dead: usize,
    /// How many runs they carry out at a time, those that say so.
    pub slots: usize,
    pub held: usize,
}

impl Presences {
    pub(crate) fn counted(&self, now: Moment) -> Counted {
        let mut counted = Counted::default();
        for known in self.lock().workers.values() {
            match known.status(now) {
                Status::Live => counted.live += 1,
                Status::Draining => counted.draining += 1,
                Status::Dead => {
                    counted.dead += 1;
                    continue;
                }
            }
            counted.slots += known.slots.unwrap_or_default() as usize;
            counted.held += known.holds.values().filter(|until| now < **until).count();
        }
        counted
    }

    /// A worker asks for something to do, and is given these.
    pub(crate) async fn asked<D: Ports>(&self, ports: &D, asked: &Presence, now: Moment) {
        let (pool, worker) = asked.key();
        let key = (asked.tenant.clone(), pool, worker);
        let Some(holding) = self.heard(&key, &asked.holds, Some(asked), now) else { return };
        let written = write(ports, &key, &holding, Some(asked), now).await;
        let _nobody_waits_for_it = written.inspect_err(not_written);
    }

    /// A worker keeps a run.
    pub(crate) async fn kept<D: Ports>(
        &self,
        ports: &D,
        tenant: &Tenant,
        (pool, worker): (PoolName, Worker),
        hold: Hold,
        now: Moment,
    ) {
        let key = (tenant.clone(), pool, worker);
        let Some(holding) = self.heard(&key, &[hold], None, now) else { return };
        let written = write(ports, &key, &holding, None, now).await;
        let _nobody_waits_for_it = written.inspect_err(not_written);
    }

    /// A run is nobody's any more.
    pub(crate) fn left(&self, tenant: &Tenant, run: RunKey) {
        let mut heard = self.lock();
        let Heard { workers, holders } = &mut *heard;
        let Some(known) = holders.remove(&(tenant.clone(), run)).and_then(|key| workers.get_mut(&key)) else { return };
        known.holds.remove(&run);
        known.left.push(run);
    }

    /// What is to be written down, where that is due.
    fn heard(&self, key: &Key, kept: &[Hold], asked: Option<&Presence>, now: Moment) -> Option<Holding> {
        let mut heard = self.lock();
        if !heard.workers.contains_key(key) {
            heard.make_room(now);
        }
        let Heard { workers, holders } = &mut *heard;
        let known = workers.entry(key.clone()).or_insert_with(Known::unwritten);
        known.holds.extend(kept.iter().map(|hold| (hold.run, hold.until)));
        holders.extend(kept.iter().map(|hold| ((key.0.clone(), hold.run), key.clone())));
        known.heard_at = if known.was_heard_ahead_of(now) { now } else { known.heard_at.max(now) };
        if let Some(asked) = asked {
            (known.slots, known.patience) = (asked.slots, asked.patience());
        }
        let has_turned = asked.is_some_and(|asked| asked.draining_since.is_some() != known.draining);
        if !has_turned && now.is_within(SEEN_EVERY, known.written_at) {
            return None;
        }
        // Before it is written: of many requests at once one writes, and after a fault the next ten seconds will do.
        known.written_at = now;
        known.draining = asked.map_or(known.draining, |asked| asked.draining_since.is_some());
        for run in known.forget_what_is_over(now) {
            holders.remove(&(key.0.clone(), run));
        }
        let kept = known.holds.iter().map(|(run, until)| Hold { run: *run, until: *until }).collect();
        Some(Holding { kept, left: std::mem::take(&mut known.left) })
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn unwritten() -> Self {
        Self {
            written_at: Moment::EPOCH,
            heard_at: Moment::EPOCH,
            patience: SEEN_EVERY,
            slots: None,
            draining: false,
            holds: BTreeMap::new(),
            left: Vec::new(),
        }
    }

    fn status(&self, now: Moment) -> Status {
        let silent_for = if self.was_heard_ahead_of(now) { Duration::MAX } else { now.since(self.heard_at) };
        Status::of(silent_for, self.patience, self.draining)
    }

    /// By a clock that was ahead, so that nobody knows when it really was heard. Requests overtake each other by less.
    fn was_heard_ahead_of(&self, now: Moment) -> bool {
        self.heard_at.since(now) >= SEEN_EVERY
    }

    fn forget_what_is_over(&mut self, now: Moment) -> Vec<RunKey> {
        let over: Vec<_> = self.holds.iter().filter(|(_, until)| **until <= now).map(|(run, _)| *run).collect();
        self.holds.retain(|_run, until| now < *until);
        over
    }
}

/// `asked`: what the worker says of itself; a heartbeat says nothing of that, and begins no presence.
async fn write<D: Ports>(
    ports: &D,
    (tenant, pool, worker): &Key,
    holding: &Holding,
    asked: Option<&Presence>,
    now: Moment,
) -> Result<(), Fault> {
    let seen = |before: Option<&Presence>| {
        let said = match (asked, before) {
            (Some(asked), Some(before)) => asked.clone().behind(before),
            (Some(asked), None) => Presence { holds: Vec::new(), ..asked.clone() },
            (None, before) => before?.clone(),
        };
        Some(said.seen(holding, now))
    };
    amend(ports, tenant, (pool.clone(), *worker), seen).await.map(drop)
}

fn not_written(fault: &Fault) {
    tracing::warn!(%fault, "when a worker was last seen is not written down");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        (Tenant::deployment(), "pool".parse().unwrap(), Worker(number))
    }

    /// Removed, one after the other: what a clock heard that was ahead counts until that time has come; and what it wrote down is young until then. A
    /// dead worker stayed alive for an hour, and what the workers had left was kept for as long.
    #[test]
    fn what_a_clock_heard_that_was_ahead_counts_no_longer_than_the_rest() {
        let (presences, now) = (Presences::default(), Moment::from_secs(1_800_000_000));
        presences.heard(&key(1), &[], None, now + Duration::from_secs(3600));
        let unheard = presences.counted(now).dead;

        let written = presences.heard(&key(1), &[], None, now);
        let later = now + Duration::from_secs(120);

        assert!(written.is_some());
        assert_eq!(unheard, 1, "of whom nothing is heard any more");
        assert_eq!((presences.counted(now).live, presences.counted(later).live), (1, 0));
    }

    /// Removed: that those are forgotten who have been silent for as long as a presence is kept. Each deployment left its workers among the dead, until
    /// there were so many that those alive were forgotten with them.
    #[test]
    fn whoever_has_gone_for_good_is_no_worker_any_more_and_makes_room() {
        let (presences, today) = (Presences::default(), Moment::from_secs(1_800_000_000));
        for number in 0..WORKERS as u64 {
            presences.heard(&key(number), &[], None, today);
        }
        let tomorrow = today + REMEMBERED;
        for number in 0..2 {
            presences.heard(&key(9_000 + number), &[], None, tomorrow);
        }

        let counted = presences.counted(tomorrow);

        assert_eq!((counted.live, counted.dead), (2, 0));
    }
}
