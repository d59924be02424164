//! Schedules: the fires of a schedule in a request, and the next fires of a job.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::job::Status;
use minutehand_domain::limits::PREVIEW_FIRES;
use minutehand_domain::schedule::Spread;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::lookup::job_of;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app_state::AppState;
use crate::body::Body;
use crate::field_errors::FieldErrors;
use crate::keyring::Caller;
use crate::params::{JobPath, Params, bounded};
use crate::problem::Problem;
use crate::wire::instant::Instant;
use crate::wire::object::object;
use crate::wire::preview_view::PreviewView;
use crate::wire::schedule_request::ScheduleRequest;
use crate::wire::whole_number::whole_number;

const DEFAULT_FIRES: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    #[serde(deserialize_with = "object")]
    schedule: ScheduleRequest,
    /// Fires strictly after this are shown: from now on if it is not given.
    from: Option<Instant>,
    /// How many at most.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = PREVIEW_FIRES), extend("default" = DEFAULT_FIRES))]
    count: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NextParams {
    /// How many at most.
    #[schemars(range(min = 1, max = PREVIEW_FIRES), extend("default" = DEFAULT_FIRES))]
    count: Option<usize>,
}

/// The fires after `from` of a job with this schedule, created now, or at `from` where that is earlier. `H` and jitter
/// depend on a job's id, so a real job fires at other instants.
pub(crate) async fn preview<D: Ports>(State(app): State<Arc<AppState<D>>>, body: Body) -> Result<Response, Problem> {
    let request: PreviewRequest = body.parse()?;
    let count = bounded("/count", request.count.unwrap_or(DEFAULT_FIRES), PREVIEW_FIRES)?;
    let now = app.ports.clock().now();
    let (made_at, from) = request.from.map_or((now, now.just_before()), |from| (from.0.min(now), from.0));
    let mut errors = FieldErrors::default();
    let schedule = request.schedule.understood(Spread::default(), made_at, &mut errors);
    let schedule = errors.settle(schedule)?;
    // `from` is compared with the nominal instant; jitter is added to that.
    let view = PreviewView::walk(&schedule, schedule.effective(from), from, count, |t| schedule.next_after(t));
    Ok(Json(view).into_response())
}

/// The next fires of a job.
pub(crate) async fn next<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    Params(params): Params<NextParams>,
) -> Result<Response, Problem> {
    let count = bounded("?count", params.count.unwrap_or(DEFAULT_FIRES), PREVIEW_FIRES)?;
    let job = job_of(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
    let now = app.ports.clock().now();
    let view = match job.status {
        Status::Active => PreviewView::walk(&job.schedule, now.just_before(), now, count, |t| job.next_after(t)),
        Status::Paused => PreviewView::silent(&job.schedule, now, false),
        Status::Cancelled => PreviewView::silent(&job.schedule, now, true),
    };
    Ok(Json(view).into_response())
}
