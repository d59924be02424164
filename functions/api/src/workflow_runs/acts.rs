//! What people do to a whole run: they cancel it, and go on with one that failed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Refusal, Run, Stop};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::graph::judge::{Resumed, resume as resume_run};
use minutehand_protocol::run::cancel::{Cancelled, cancel_with};
use minutehand_wire::NoteRequest;

use super::page::{found, shown};
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::idempotency::replayed;
use crate::keyring::Caller;
use crate::location::location;
use crate::params::RunPath;
use crate::problem::Problem;

/// Nothing more of it begins, what runs is asked to end, and `finally` runs; a cancel while that goes on stops it too.
pub(crate) async fn cancel<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    found(&app, &caller, key).await?;
    let cancelling = async {
        match cancel_with(ports, tenant, key, &caller.by, note.as_deref()).await? {
            Cancelled::Done(_) => Ok(()),
            Cancelled::Refused(why, run) => not_cancelled(why, &run, ports.clock().now()),
            Cancelled::NotFound => Err(Problem::no_run()),
        }
    };
    let acting = acting.noting(note.as_deref());
    acting.on_record(ports, tenant, Deed::CancelWorkflowRun, &key.to_string(), cancelling).await?;
    let whole = found(&app, &caller, key).await?;
    Ok(Json(shown(ports, &whole).await?).into_response())
}

/// Who asks for what is being done already is answered as if they had been first.
fn not_cancelled(why: Refusal, run: &Run, now: minutehand_domain::Moment) -> Result<(), Problem> {
    match (why, run.tasks().and_then(|tasks| tasks.stop)) {
        (Refusal::Stopping, Some(Stop::Cancelled)) => Ok(()),
        (Refusal::Stopping, Some(stop)) => Err(Problem::conflict(format!(
            "the run is being stopped already, and ends as {}; when its `finally` has begun, a cancel stops that",
            stop.as_str()
        ))),
        _ => Err(Problem::conflict(format!("the run is over: it is {}", run.status(now)))),
    }
}

/// A new run that does what this one has not done.
pub(crate) async fn resume<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let whole = found(&app, &caller, key).await?;
    // What was done before is answered also when the quota is used up; another try at it was not this.
    if whole.run.redriven_as() != Some(RunKey::resuming(key)) {
        app.meters.admit_run(ports, tenant).await?;
    }
    let resuming = async {
        match resume_run(ports, tenant, key, &caller.by, note.as_deref()).await? {
            Resumed::Queued(run) => Ok((run, true)),
            Resumed::Already(run) => Ok((run, false)),
            Resumed::Refused(_) => Err(Problem::conflict(not_resumed(&whole.run, ports.clock().now()))),
            Resumed::Forgotten => Err(Problem::conflict(
                "the run is so old that what was done in it goes off the record, and would be done again: run its workflow instead"
                    .to_owned(),
            )),
            Resumed::NotFound => {
                Err(Problem::conflict("nothing of this run has begun: run its workflow instead".to_owned()))
            }
        }
    };
    let acting = acting.noting(note.as_deref());
    let (run, is_new) = acting.on_record(ports, tenant, Deed::ResumeWorkflowRun, &key.to_string(), resuming).await?;
    let resumed = found(&app, &caller, run.key).await?;
    let shown = Json(shown(ports, &resumed).await?);
    if is_new {
        let location = location(format!("/v1/workflow-runs/{}", run.key));
        return Ok((StatusCode::ACCEPTED, location, shown).into_response());
    }
    Ok((replayed(), shown).into_response())
}

fn not_resumed(run: &Run, now: minutehand_domain::Moment) -> String {
    match (run.is_finished(), &run.task) {
        (_, Some(_)) => "this is the run of a task: resume the run that it is a task of".to_owned(),
        (true, None) if run.graph.is_none() => {
            format!("the run is {} and nothing of it began: run its workflow instead", run.status(now))
        }
        (true, None) if ["failed", "timed_out", "cancelled"].contains(&run.status(now)) => {
            format!(
                "the run is {}, and its job carries out something else by now, or that or its workflow was deleted",
                run.status(now)
            )
        }
        (true, None) => {
            format!("the run is {}: only one that failed, timed out or was cancelled is resumed", run.status(now))
        }
        (false, None) => format!("the run is {}: it goes on by itself", run.status(now)),
    }
}
