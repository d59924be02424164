//! Runs of a workflow: one that is asked for now, and those there were.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::AskedName;
use minutehand_io::Ports;
use minutehand_protocol::run::on_demand::{RunRequest, run_now_at as ask};
use minutehand_wire::{RunsOfWorkflowQuery, RunsQuery, WorkflowRunRequest};

use super::{Whole, deleted};
use crate::app_state::AppState;
use crate::body::Body;
use crate::idempotency::{KeyHeader, fingerprint, named_before};
use crate::keyring::Caller;
use crate::params::{Params, WorkflowPath};
use crate::problem::{Kind, Problem};
use crate::runs::{admit, answer, page};
use crate::traced::Traced;

/// Queues a run now. What it is given is looked at at once, by the newest version. Who was answered before is answered again, also when the workflow
/// was deleted since.
pub(crate) async fn run_now<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
    header: KeyHeader,
    Traced(trace): Traced,
    body: Body,
) -> Result<Response, Problem> {
    let request: WorkflowRunRequest = body.parse_or_default()?;
    let address = format!("POST /v1/workflows/{id}/run");
    let once = match header.agreed(request.idempotency_key.clone())? {
        Some(key) => Some((AskedName::of(&key), fingerprint(&address, body.text())?)),
        None => None,
    };
    let whole = Whole::find(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_workflow)?;
    if whole.workflow.deleted {
        let _its_run_is_the_answer = named_before(&*app.ports, caller.tenant(), once, deleted()).await?;
    } else if let Err(no) = admitted(&app, caller.tenant(), &whole, &request).await {
        admit(&app, caller.tenant(), once.as_ref(), no).await?;
    }
    let priority = request.priority;
    let request = RunRequest { payload: request.payload(), by: caller.by.clone(), note: None, trace, once };
    let answered = ask(&*app.ports, caller.tenant(), id.job(), priority, request).await?;
    answer(&*app.ports, answered, Problem::no_workflow).await
}

/// Takes the run out of the quota, if its workflow may be given that.
async fn admitted<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    whole: &Whole,
    request: &WorkflowRunRequest,
) -> Result<(), Problem> {
    request.checked(whole.definition.policy.params.as_ref())?;
    app.meters.admit_run(&*app.ports, tenant).await
}

/// The runs of its own job, newest first.
pub(crate) async fn runs<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
    Params(params): Params<RunsOfWorkflowQuery>,
) -> Result<Response, Problem> {
    Whole::find(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_workflow)?;
    if params.version == Some(0) {
        return Err(Problem::field(Kind::Invalid, "?version", "versions are numbered from 1"));
    }
    let RunsOfWorkflowQuery { limit, cursor, status, version, from, to } = params;
    let params = RunsQuery { limit, cursor, status, from, to };
    page(&app, &caller, Some(id.job()), params, version).await
}
