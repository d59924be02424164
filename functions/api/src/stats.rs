//! Stats of a tenant's runs and jobs. Counted at the request, from the tenant's own records only, so that they reveal
//! nothing of other tenants. However many there are, a page of each is read: then the runs are the newest of a shorter time,
//! the jobs are the least number there is, and the answer says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::head::Head;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::Run;
use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Across, RunsPage, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::{if_readable, knowing};
use minutehand_wire::{Instant, JobStatus, LagView, RunStatus, StatsQuery, StatsView, Word};

use crate::app_state::AppState;
use crate::keyring::Caller;
use crate::params::Params;
use crate::problem::Problem;

/// A shorter span than this says nothing of how many runs a minute there are.
const LEAST_SPAN: Duration = Duration::from_secs(1);

pub(crate) async fn stats<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<StatsQuery>,
) -> Result<Response, Problem> {
    let minutes = params.checked()?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let window = now - Duration::from_secs(60 * minutes as u64)..now + pace::SKEW;
    // None where this deployment keeps no list of them.
    let page = ports.store().runs_across(caller.tenant(), Across::All, window.clone(), None, PAGE).await?;
    let all_runs = page.as_ref().is_some_and(|page| page.next.is_none());
    let RunsPage { runs, next } = page.unwrap_or_default();
    let (jobs, all_jobs) = by_status(ports, caller.tenant(), now).await?;
    let mut counts = BTreeMap::new();
    for run in &runs {
        *counts.entry(RunStatus::of(run, now)).or_default() += 1;
    }
    let from = next.map_or(window.start, |oldest| oldest.at);
    #[expect(clippy::cast_precision_loss, reason = "a page of runs is few")]
    let runs_per_minute = runs.len() as f64 * 60.0 / now.since(from).max(LEAST_SPAN).as_secs_f64();
    let (from, to, lag_ms) = (Instant(from), Instant(now), lag_of(&runs));
    let complete = all_runs && all_jobs;
    Ok(Json(StatsView { from, to, runs: counts, runs_per_minute, lag_ms, jobs, complete }).into_response())
}

/// Some jobs by their status, and whether these are all.
async fn by_status<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    now: Moment,
) -> Result<(BTreeMap<Word<JobStatus>, usize>, bool), Fault> {
    let page = ports.store().sample::<Head>(tenant, (), PAGE).await?;
    let mut counts = BTreeMap::new();
    for job in page.items.into_iter().filter_map(Head::into_job) {
        if let Some(job) = if_readable(knowing(ports, job).await.map(Some))? {
            *counts.entry(JobStatus::of(&job, now)).or_default() += 1;
        }
    }
    Ok((counts, !page.more))
}

fn lag_of(runs: &[Run]) -> Option<LagView> {
    let lag = |run: &Run| u64::try_from(run.started_at?.since(run.could_begin_at()).as_millis()).ok();
    let mut lags: Vec<u64> = runs.iter().filter_map(lag).collect();
    lags.sort_unstable();
    let at = |share: usize| lags.get((lags.len() * share / 100).min(lags.len().saturating_sub(1))).copied();
    Some(LagView { p50: at(50)?, p99: at(99)?, max: *lags.last()? })
}
