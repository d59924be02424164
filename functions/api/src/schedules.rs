//! Schedules: the fires of a schedule in a request, and the next fires of a job.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::job::Status;
use minutehand_domain::schedule::Patience;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::lookup::job_of;
use minutehand_wire::{NextQuery, PreviewRequest, PreviewView};

use crate::app_state::AppState;
use crate::body::Body;
use crate::calendars::heeded;
use crate::keyring::Caller;
use crate::params::{JobPath, Params};
use crate::problem::Problem;

/// What a job with this schedule would fire.
pub(crate) async fn preview<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let request: PreviewRequest = body.parse()?;
    let mut preview = request.checked(app.ports.clock().now())?;
    preview.schedule = heeded(&*app.ports, caller.tenant(), preview.schedule).await?;
    Ok(Json(preview.shown()).into_response())
}

/// The next fires of a job.
pub(crate) async fn next<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    Params(params): Params<NextQuery>,
) -> Result<Response, Problem> {
    let count = params.checked()?;
    let job = job_of(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
    let now = app.ports.clock().now();
    let view = match job.status {
        Status::Active => {
            let next = |t: Moment, patience: &mut Patience| {
                let next = job.next_within(t, patience)?;
                Some((next, job.nominal_of(next)))
            };
            PreviewView::walk(&job.schedule, now.just_before(), now, count, next)
        }
        Status::Paused => PreviewView::silent(&job.schedule, now, false),
        Status::Cancelled => PreviewView::silent(&job.schedule, now, true),
    };
    Ok(Json(view).into_response())
}
