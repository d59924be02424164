//! Stats of a tenant's runs and jobs. Counted at the request, from the tenant's own records only, so that they reveal
//! nothing of other tenants; an incomplete count is marked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::Run;
use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Across, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::jobs_of;
use minutehand_wire::{Instant, JobStatus, LagView, RunStatus, StatsQuery, StatsView, Word};

use crate::app_state::AppState;
use crate::keyring::Caller;
use crate::params::Params;
use crate::problem::Problem;

/// Runs and jobs that are counted at most: beyond it the numbers are "at least".
const COUNTED: usize = 20_000;

pub(crate) async fn stats<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<StatsQuery>,
) -> Result<Response, Problem> {
    let minutes = params.checked()?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let window = now - Duration::from_secs(60 * minutes as u64)..now + pace::SKEW;
    let (runs, all_runs) = recent(ports, caller.tenant(), window.clone()).await?;
    let (jobs, all_jobs) = by_status(ports, caller.tenant(), now).await?;
    let mut counts = BTreeMap::new();
    for run in &runs {
        *counts.entry(RunStatus::of(run, now)).or_default() += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "both are small")]
    let runs_per_minute = runs.len() as f64 / minutes as f64;
    let (from, to, lag_ms) = (Instant(window.start), Instant(now), lag_of(&runs));
    let complete = all_runs && all_jobs;
    Ok(Json(StatsView { from, to, runs: counts, runs_per_minute, lag_ms, jobs, complete }).into_response())
}

/// The runs of a window, newest first, and whether these are all.
async fn recent<D: Ports>(ports: &D, tenant: &Tenant, window: Range<Moment>) -> Result<(Vec<Run>, bool), Fault> {
    let (mut runs, mut before) = (Vec::new(), None);
    loop {
        let page = ports.store().runs_across(tenant, Across::All, window.clone(), before, PAGE).await?;
        let Some(page) = page else { return Ok((runs, false)) };
        let is_last = page.len() < PAGE;
        before = page.last().map(|run| run.key);
        runs.extend(page);
        if is_last || runs.len() >= COUNTED {
            return Ok((runs, is_last));
        }
    }
}

async fn by_status<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    now: Moment,
) -> Result<(BTreeMap<Word<JobStatus>, usize>, bool), Fault> {
    let (mut counts, mut counted, mut after) = (BTreeMap::new(), 0, None);
    loop {
        let page = jobs_of(ports, tenant, after, PAGE).await?;
        for job in &page {
            *counts.entry(JobStatus::of(job, now).into()).or_default() += 1;
        }
        (counted, after) = (counted + page.len(), page.last().map(|job| job.id));
        if page.len() < PAGE || counted >= COUNTED {
            return Ok((counts, page.len() < PAGE));
        }
    }
}

fn lag_of(runs: &[Run]) -> Option<LagView> {
    let lag = |run: &Run| u64::try_from(run.started_at?.since(run.key.at).as_millis()).ok();
    let mut lags: Vec<u64> = runs.iter().filter_map(lag).collect();
    lags.sort_unstable();
    let at = |share: usize| lags.get((lags.len() * share / 100).min(lags.len().saturating_sub(1))).copied();
    Some(LagView { p50: at(50)?, p99: at(99)?, max: *lags.last()? })
}
