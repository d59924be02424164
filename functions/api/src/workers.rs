//! Workers: who asks for something to do, when it was last heard of, and what it has.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::Worker;
use minutehand_domain::pool::presence::Presence;
use minutehand_domain::pool::{NotAName, PoolName};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_wire::{Page, WorkerView, WorkersQuery};

use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::{Kind, Problem};

/// The tenant's workers, pool by pool.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<WorkersQuery>,
) -> Result<Response, Problem> {
    let (tenant, now) = (caller.tenant(), app.ports.clock().now());
    let pool = params.pool.as_deref().map(pool_named).transpose()?;
    let query = format!("workers {}", params.pool.as_deref().unwrap_or_default());
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(tenant, &query));
    let past = params.cursor.map(|cursor| position(&scope, &cursor)).transpose()?;
    let mut workers = app.ports.store().list::<Presence>(tenant, pool, past, limit + 1).await?.items;
    let next_cursor = scope.cut(&mut workers, limit, bytes_of);
    let items = workers.iter().map(|worker| WorkerView::of(worker, now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

fn pool_named(name: &str) -> Result<PoolName, Problem> {
    let no_name = |why: NotAName| Problem::field(Kind::Invalid, "?pool", why.to_string());
    name.parse().map_err(no_name)
}

fn bytes_of(last: &Presence) -> Vec<u8> {
    let (pool, worker) = last.key();
    [&worker.0.to_be_bytes(), pool.as_str().as_bytes()].concat()
}

fn position(scope: &Scope, cursor: &str) -> Result<(PoolName, Worker), Problem> {
    let bytes = scope.position(cursor)?;
    let (worker, pool) = bytes.split_first_chunk::<8>().ok_or_else(foreign)?;
    let pool = std::str::from_utf8(pool).ok().and_then(|pool| pool.parse().ok()).ok_or_else(foreign)?;
    Ok((pool, Worker(u64::from_be_bytes(*worker))))
}
