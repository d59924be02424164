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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app_state::AppState;
use crate::keyring::Caller;
use crate::params::{Params, bounded};
use crate::problem::Problem;
use crate::wire::instant::Instant;
use crate::wire::job_view::{JobStatus, status_of};
use crate::wire::run_status::RunStatus;

const DEFAULT_MINUTES: usize = 60;
const MOST_MINUTES: usize = 24 * 60;
/// Runs and jobs counted at most: beyond it the numbers are lower bounds.
const COUNTED: usize = 20_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsParams {
    /// How far back runs are counted.
    #[schemars(range(min = 1, max = MOST_MINUTES), extend("default" = DEFAULT_MINUTES))]
    minutes: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct StatsView {
    from: Instant,
    to: Instant,
    /// By status.
    #[schemars(with = "BTreeMap<RunStatus, usize>")]
    runs: BTreeMap<&'static str, usize>,
    runs_per_minute: f64,
    /// From when a run was due to when it first started.
    lag_ms: Option<LagView>,
    /// By status.
    jobs: BTreeMap<JobStatus, usize>,
    /// Whether everything was counted: of runs, where this deployment keeps their index; of jobs, up to a bound.
    complete: bool,
}

#[derive(Serialize, JsonSchema)]
struct LagView {
    p50: u64,
    p99: u64,
    max: u64,
}

pub(crate) async fn stats<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<StatsParams>,
) -> Result<Response, Problem> {
    let minutes = bounded("?minutes", params.minutes.unwrap_or(DEFAULT_MINUTES), MOST_MINUTES)?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let window = now - Duration::from_secs(60 * minutes as u64)..now + pace::SKEW;
    let (runs, all_runs) = recent(ports, caller.tenant(), window.clone()).await?;
    let (jobs, all_jobs) = by_status(ports, caller.tenant(), now).await?;
    let mut counts = BTreeMap::new();
    for run in &runs {
        *counts.entry(run.status(now)).or_default() += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "both are small")]
    let runs_per_minute = runs.len() as f64 / minutes as f64;
    let (from, to, lag_ms) = (Instant(window.start), Instant(now), LagView::of(&runs));
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
) -> Result<(BTreeMap<JobStatus, usize>, bool), Fault> {
    let (mut counts, mut counted, mut after) = (BTreeMap::new(), 0, None);
    loop {
        let page = ports.store().jobs(tenant, after, PAGE).await?;
        for job in &page {
            *counts.entry(status_of(job, now)).or_default() += 1;
        }
        (counted, after) = (counted + page.len(), page.last().map(|job| job.id));
        if page.len() < PAGE || counted >= COUNTED {
            return Ok((counts, page.len() < PAGE));
        }
    }
}

impl LagView {
    fn of(runs: &[Run]) -> Option<Self> {
        let lag = |run: &Run| u64::try_from(run.started_at?.since(run.key.at).as_millis()).ok();
        let mut lags: Vec<u64> = runs.iter().filter_map(lag).collect();
        lags.sort_unstable();
        let at = |share: usize| lags.get((lags.len() * share / 100).min(lags.len().saturating_sub(1))).copied();
        Some(Self { p50: at(50)?, p99: at(99)?, max: *lags.last()? })
    }
}
