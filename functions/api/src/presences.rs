//! Presences: who asks for something to do, as this process hears of it. Written down every ten seconds for each worker, so that nobody's
//! heartbeats become twice as many writes; and never refused anything because this could not be written.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant, Worker};
use minutehand_domain::pool::PoolName;
use minutehand_domain::pool::presence::{Hold, Holding, Presence, SEEN_EVERY};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::amend::amend;

/// Workers that one process remembers. Who hears of more of them forgets all, and hears of them again.
const WORKERS: usize = 4096;

type Key = (Tenant, PoolName, Worker);

#[derive(Default)]
pub(crate) struct Presences(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    workers: HashMap<Key, Known>,
    /// Who has which run.
    holders: HashMap<(Tenant, RunKey), Key>,
}

struct Known {
    written_at: Moment,
    draining: bool,
    holds: BTreeMap<RunKey, Moment>,
    /// Runs that it has no more, since it was last written down.
    left: Vec<RunKey>,
}

impl Presences {
    /// A worker asks for something to do, and is given these.
    pub(crate) async fn asked<D: Ports>(&self, ports: &D, asked: &Presence, now: Moment) {
        let (pool, worker) = asked.key();
        let key = (asked.tenant.clone(), pool, worker);
        let Some(holding) = self.heard(&key, &asked.holds, Some(asked.draining), now) else { return };
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
    fn heard(&self, key: &Key, kept: &[Hold], draining: Option<bool>, now: Moment) -> Option<Holding> {
        let mut heard = self.lock();
        if heard.workers.len() >= WORKERS && !heard.workers.contains_key(key) {
            *heard = Heard::default();
        }
        let Heard { workers, holders } = &mut *heard;
        let known = workers.entry(key.clone()).or_insert_with(Known::unwritten);
        known.holds.extend(kept.iter().map(|hold| (hold.run, hold.until)));
        holders.extend(kept.iter().map(|hold| ((key.0.clone(), hold.run), key.clone())));
        let has_turned = draining.is_some_and(|draining| draining != known.draining);
        if !has_turned && now.since(known.written_at) < SEEN_EVERY {
            return None;
        }
        // Before it is written: of many requests at once one writes, and after a fault the next ten seconds will do.
        known.written_at = now;
        known.draining = draining.unwrap_or(known.draining);
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
        Self { written_at: Moment::EPOCH, draining: false, holds: BTreeMap::new(), left: Vec::new() }
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
            (Some(asked), Some(Presence { first_seen, last_seen, holds, .. })) => {
                Presence { first_seen: *first_seen, last_seen: *last_seen, holds: holds.clone(), ..asked.clone() }
            }
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
