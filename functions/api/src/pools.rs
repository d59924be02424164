//! Pools: one is there as soon as somebody names it, in a job, a workflow, or a request for something to do. That is written down once, so that
//! a pool is listed for which nobody works.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::pace;
use minutehand_domain::pool::presence::{Presence, Status};
use minutehand_domain::pool::{Offer, Pool, PoolId, PoolName};
use minutehand_domain::priority::Priority;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Line, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_wire::{Instant, Page, PoolView, PoolsQuery, WaitingCounted, WorkersCounted};

use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::Problem;

/// Pools that one process remembers to be written down.
const POOLS: usize = 8192;
/// To how many the waiting are counted, in each line: whoever looks wants to know whether they are few or many.
const COUNTED: usize = 1000;
/// Workers of one pool that are counted.
const WORKERS: usize = 1000;

#[derive(Default)]
pub(crate) struct NamedPools(Mutex<HashMap<(Tenant, PoolName), Moment>>);

impl NamedPools {
    /// Notes that these are named. What names them is not refused because this could not be written. Written again from time to time: a tenant that was
    /// erased and begins anew names the same ones.
    pub(crate) async fn note<D: Ports>(&self, ports: &D, tenant: &Tenant, names: impl IntoIterator<Item = &PoolName>) {
        for name in names {
            let (key, now) = ((tenant.clone(), name.clone()), ports.clock().now());
            if self.lock().get(&key).is_some_and(|noted_at| pace::is_known(*noted_at, now)) {
                continue;
            }
            let pool = Pool { tenant: tenant.clone(), name: name.clone(), named_at: now };
            // Where it stands already it is the same but for its instant.
            match ports.store().put(tenant, name.clone(), &pool, Guard::Absent).await {
                Ok(_there_now) => self.remember(key, now),
                Err(fault) => tracing::warn!(pool = %name, %fault, "that a pool is named is not written down"),
            }
        }
    }

    fn remember(&self, key: (Tenant, PoolName), now: Moment) {
        let mut known = self.lock();
        if known.len() >= POOLS {
            known.clear();
        }
        known.insert(key, now);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Tenant, PoolName), Moment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tenant's pools, by name.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<PoolsQuery>,
) -> Result<Response, Problem> {
    let (ports, tenant, now) = (&*app.ports, caller.tenant(), app.ports.clock().now());
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(tenant, "pools"));
    let past = params.cursor.map(|cursor| scope.name(&cursor)).transpose()?;
    let mut pools = ports.store().list::<Pool>(tenant, (), past, limit + 1).await?.items;
    let next_cursor = scope.cut(&mut pools, limit, |last| last.name.as_str().into());
    let mut items = Vec::with_capacity(pools.len());
    for pool in &pools {
        items.push(view(ports, tenant, &pool.name, now).await?);
    }
    Ok(Json(Page { items, next_cursor }).into_response())
}

async fn view<D: Ports>(ports: &D, tenant: &Tenant, pool: &PoolName, now: Moment) -> Result<PoolView, Fault> {
    let workers = ports.store().list::<Presence>(tenant, Some(pool.clone()), None, WORKERS).await?.items;
    let is_alive = |worker: &&Presence| worker.status(now) != Status::Dead;
    let slots = workers.iter().filter(is_alive).filter_map(|worker| worker.slots).map(u64::from).sum();
    let running = workers.iter().map(|worker| worker.held(now).count() as u64).sum();
    let (waiting, since) = waiting(ports, tenant, pool).await?;
    let (workers, waiting_since) = (WorkersCounted::of(&workers, now), since.map(Instant));
    Ok(PoolView { pool: pool.to_string(), workers, slots, running, waiting, waiting_since })
}

/// How much is ready in each line, and since when the longest.
async fn waiting<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    pool: &PoolName,
) -> Result<(WaitingCounted, Option<Moment>), Fault> {
    let pool = PoolId::of(tenant, pool);
    let line = |priority| ports.store().list::<Offer>(tenant, Line { pool, priority }, None, COUNTED);
    let [critical, high, normal, low] = Priority::ALL.map(line);
    let (critical, high, normal, low) = futures_util::try_join!(critical, high, normal, low)?;
    let lines = [critical.items, high.items, normal.items, low.items];
    let since = lines.iter().filter_map(|line| line.first()).map(|first| first.since).min();
    let [critical, high, normal, low] = lines.map(|line| line.len() as u64);
    Ok((WaitingCounted { critical, high, normal, low }, since))
}
