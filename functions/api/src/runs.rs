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
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::graph::judge::may_end;
use minutehand_protocol::run::cancel::{Cancelled, cancel as cancel_run};

pub(crate) use self::effects::{claim_effect, list_effects};
pub(crate) use self::full_run::FullRun;
pub(crate) use self::list::{across, no_index, of_job, page};
pub(crate) use self::logs::logs;
pub(crate) use self::on_demand::{admit, answer, retry, run_now};
use crate::app_state::AppState;
use crate::body::{Body, Nothing};
use crate::keyring::Caller;
use crate::params::RunPath;
use crate::problem::{Kind, Problem};

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
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    if !may_end(&*app.ports, caller.tenant(), key, caller.role).await? {
        return Err(Problem::new(Kind::Forbidden, "whoever may not answer this approval may not end it"));
    }
    match cancel_run(&*app.ports, caller.tenant(), key, &caller.by).await? {
        Cancelled::Done(run) => {
            let run = FullRun::of(&*app.ports, run).await?;
            Ok(Json(run.view(app.ports.clock().now())).into_response())
        }
        Cancelled::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Cancelled::NotFound => Err(Problem::no_run()),
    }
}
