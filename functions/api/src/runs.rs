//! Runs: one, those of a job, those of all jobs, and what may be done with one.

mod asking;
mod audit;
mod list;
mod whole;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_io::Doors;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::cancel::{Cancelled, cancel as cancel_run};

pub(crate) use self::asking::{RunRequest, retry, run_now};
pub(crate) use self::audit::AuditView;
pub(crate) use self::list::{AcrossParams, RunsParams, across, of_job};
pub(crate) use self::whole::WholeRun;
use crate::auth::Caller;
use crate::body::{Body, Nothing};
use crate::face::Face;
use crate::params::RunPath;
use crate::problem::{Kind, Problem};

/// One run, with all its attempts.
pub(crate) async fn show<D: Doors>(
    State(face): State<Arc<Face<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = WholeRun::find(&*face.doors, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.view(face.doors.clock().now())).into_response())
}

/// What happened to a run, in order, and who did what.
pub(crate) async fn events<D: Doors>(
    State(face): State<Arc<Face<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = WholeRun::find(&*face.doors, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.audit()).into_response())
}

/// Ends a run that waits; one that runs is not tried again.
pub(crate) async fn cancel<D: Doors>(
    State(face): State<Arc<Face<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    match cancel_run(&*face.doors, caller.tenant(), key, &caller.by).await? {
        Cancelled::Done(run) => {
            let run = WholeRun::of(&*face.doors, run).await?;
            Ok(Json(run.view(face.doors.clock().now())).into_response())
        }
        Cancelled::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Cancelled::NotFound => Err(Problem::no_run()),
    }
}
