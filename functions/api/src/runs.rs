//! Runs: read one, list those of a job or of all jobs, cancel, retry.

mod effects;
pub(crate) mod full_run;
pub(crate) mod list;
mod logs;
mod on_demand;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Owner;
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::graph::judge::may_end;
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::run::cancel::{Cancelled, cancel_with};
use minutehand_wire::{NoteRequest, RunView};

pub(crate) use self::effects::{claim_effect, claim_effect_by_path, list_effects};
pub(crate) use self::full_run::FullRun;
pub(crate) use self::list::{across, no_index, of_job, page};
pub(crate) use self::logs::logs;
pub(crate) use self::on_demand::{admit, answer, queued, retry, run_now, whole};
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::RunPath;
use crate::problem::{Kind, Problem};

/// A run as [`show`] answers it, for whoever keeps it elsewhere.
pub(crate) async fn shown<D: Ports>(ports: &D, run: Run) -> Result<RunView, Fault> {
    let job = match run.key.owner() {
        Owner::Job(id) => job_of(ports, &run.tenant, id).await?,
        Owner::Parent | Owner::Rule(_) => None,
    };
    Ok(FullRun::load(ports, run, job.as_ref()).await?.view(ports.clock().now()))
}

/// One run, with all its attempts.
pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = FullRun::find(&*app.ports, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.view(app.ports.clock().now())).into_response())
}

/// The audit trail of a run.
pub(crate) async fn events<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = FullRun::find(&*app.ports, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.events()).into_response())
}

/// Cancels a waiting run; a running one finishes its attempt and is not retried.
pub(crate) async fn cancel<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    if !may_end(&*app.ports, caller.tenant(), key, caller.role).await? {
        return Err(Problem::new(Kind::Forbidden, "whoever may not answer this approval may not end it"));
    }
    let cancelling = async {
        match cancel_with(&*app.ports, caller.tenant(), key, &caller.by, note.as_deref()).await? {
            Cancelled::Done(run) => Ok(run),
            Cancelled::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
            Cancelled::NotFound => Err(Problem::no_run()),
        }
    };
    let acting = acting.noting(note.as_deref());
    let run = acting.on_record(&*app.ports, caller.tenant(), Deed::CancelRun, &key.to_string(), cancelling).await?;
    let run = FullRun::of(&*app.ports, run).await?;
    Ok(Json(run.view(app.ports.clock().now())).into_response())
}
