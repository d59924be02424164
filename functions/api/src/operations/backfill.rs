//! A backfill: what a job was due in a span of the past is made up for, as one operation.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::limits::BACKFILL_COUNTED;
use minutehand_domain::operation::backfill::{has_run, never_begins};
use minutehand_domain::operation::{Backfill, Fires, Operation, Work};
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::{job_of, know};
use minutehand_wire::{BackfillRequest, BackfillView};

use super::{Started, Wanted, begun_before, once, started};
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::idempotency::{KeyHeader, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::params::JobPath;
use crate::problem::Problem;
use crate::traced::Traced;

/// Begins a backfill, or says what it would make. Its span is counted at once; its runs are made at their pace. Who was answered before is answered
/// again, also when the job was deleted since, or has no such schedule any more.
pub(crate) async fn backfill<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    JobPath(id): JobPath,
    header: KeyHeader,
    Traced(trace): Traced,
    body: Body,
) -> Result<Response, Problem> {
    let request: BackfillRequest = body.parse()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let address = format!("POST /v1/jobs/{id}/backfill");
    let once = once(header, request.idempotency_key.clone(), &address, &body)?;
    let (span, most, priority, note) = request.checked(ports.clock().now())?;
    let job = job_of(ports, tenant, id).await?.ok_or_else(Problem::no_job)?;
    let (backfill, fires) = match Backfill::of(&job, span, most, priority) {
        Ok(counted) => counted,
        Err(no) => {
            let once = once.filter(|_| !request.dry_run);
            let begun = begun_before(ports, tenant, once, Problem::conflict(no.to_string())).await?;
            return again(ports, &job, &begun, span.1).await;
        }
    };
    let already = already(ports, tenant, &backfill).await?;
    if request.dry_run {
        return Ok(Json(BackfillView::of(None, &job, &backfill, &fires, already)).into_response());
    }
    let wanted = Wanted { work: Work::Backfill(backfill.clone()), note, trace };
    match started(ports, &caller, &acting, once, wanted).await? {
        Started::New(operation) => {
            let location = location(format!("/v1/operations/{}", operation.id));
            let view = BackfillView::of(Some(operation.id), &job, &backfill, &fires, already);
            Ok((StatusCode::ACCEPTED, location, Json(view)).into_response())
        }
        Started::Replayed(operation) => again(ports, &job, &operation, span.1).await,
    }
}

/// What was begun before, though the schedule of the job may be another by now. `to`: the end of the span that was asked for. What was begun ends
/// before that where the span had more instants than it may.
async fn again<D: Ports>(ports: &D, job: &Job, begun: &Operation, to: Moment) -> Result<Response, Problem> {
    let mut backfill = match &begun.work {
        Work::Backfill(backfill) => backfill.clone(),
        Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => return Err(taken()),
    };
    know(ports, &begun.tenant, backfill.job, &mut backfill.schedule).await?;
    let counted = Fires::of(&backfill.schedule, backfill.from, backfill.until, backfill.runs);
    let fires = Fires { next: Some(backfill.until).filter(|until| *until < to), ..counted };
    let already = already(ports, &begun.tenant, &backfill).await?;
    let view = BackfillView::of(Some(begun.id), job, &backfill, &fires, already);
    Ok((replayed(), Json(view)).into_response())
}

/// How many of its instants have their run, as far as one reading shows.
async fn already<D: Ports>(ports: &D, tenant: &Tenant, backfill: &Backfill) -> Result<u32, Fault> {
    let within = RunsOf { job: backfill.job, window: backfill.from..backfill.until };
    let runs = ports.store().list::<Run>(tenant, within, None, BACKFILL_COUNTED).await?.items;
    let is_one = |run: &&Run| match run.key.origin {
        Origin::Schedule => has_run(run),
        Origin::Backfill => !never_begins(run),
        Origin::Manual
        | Origin::Redrive
        | Origin::Task
        | Origin::Callback
        | Origin::Resume
        | Origin::Follow
        | Origin::Notification => false,
    };
    let instants: std::collections::BTreeSet<_> = runs.iter().filter(is_one).map(|run| run.key.at).collect();
    let named = instants.into_iter().filter(|at| backfill.schedule.fires_at(*at));
    Ok(u32::try_from(named.count()).unwrap_or(u32::MAX))
}
