//! Runs on demand: run a job now, or retry a run that did not succeed.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::run::Run;
use minutehand_domain::secret::SecretName;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_protocol::run::on_demand::{self, Answered, redrive, run_now as ask};
use minutehand_wire::{RetryRequest, RunRequest};

use super::FullRun;
use super::full_run::run_of;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::idempotency::{KeyHeader, fingerprint, replayed, taken, unsure};
use crate::keyring::Caller;
use crate::location::location;
use crate::params::{JobPath, RunPath};
use crate::problem::{Kind, Problem};
use crate::secrets::{Naming, must_be_there};
use crate::traced::Traced;

/// Queues a run of the job now.
pub(crate) async fn run_now<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    header: KeyHeader,
    Traced(trace): Traced,
    body: Body,
) -> Result<Response, Problem> {
    let (request, secrets) = requested(&caller, header, &body, &format!("POST /v1/jobs/{id}/run"))?;
    let request = on_demand::RunRequest { trace, ..request };
    may_run(&app, caller.tenant(), &request, &secrets, body.text()).await?;
    let answered = ask(&*app.ports, caller.tenant(), id, request).await?;
    answer(&*app.ports, answered, Problem::no_job).await
}

/// Queues another try at a run that failed, timed out, was cancelled or skipped.
pub(crate) async fn retry<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(of): RunPath,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let (asked, note) = body.parse_or_default::<RetryRequest>()?.checked()?;
    let (request, secrets) = read(&caller, header, &body, asked, &format!("POST /v1/runs/{of}/retry"))?;
    let request = on_demand::RunRequest { note, ..request };
    may_run(&app, caller.tenant(), &request, &secrets, body.text()).await?;
    let (run, _job) = run_of(&*app.ports, caller.tenant(), of).await?.ok_or_else(Problem::no_run)?;
    if let Some(of) = run.callback_of {
        let detail =
            format!("this run tells of the end of {of}, and has had its tries: read that run, or run its job again");
        return Err(Problem::new(Kind::Conflict, detail));
    }
    if run.task.is_some() {
        let detail = "this is the run of a task: where its failure is held, its workflow's run takes the verdict `retry`; a run that \
                      has ended is resumed";
        return Err(Problem::new(Kind::Conflict, detail));
    }
    let acting = acting.noting(request.note.as_deref());
    let retrying = async { not_refused(redrive(&*app.ports, &run, request).await?, Problem::no_run) };
    let answered = acting.on_record(&*app.ports, caller.tenant(), Deed::RetryRun, &of.to_string(), retrying).await?;
    answer(&*app.ports, answered, Problem::no_run).await
}

/// What came to nothing is a problem, so that the record of the act says so.
fn not_refused(answered: Answered, not_found: fn() -> Problem) -> Result<Answered, Problem> {
    match answered {
        Answered::Queued(_) | Answered::Replayed(_) => Ok(answered),
        Answered::Taken => Err(taken()),
        Answered::Unsure => Err(unsure()),
        Answered::Refused(why) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Answered::NotToRedo(why) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Answered::NotFound => Err(not_found()),
        Answered::TooSlow => Err(Problem::too_slow()),
    }
}

/// Takes the run out of the quota, and looks for the secrets that it names. Who was answered before is answered again, also when
/// the quota is used up and the secrets are gone.
async fn may_run<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    request: &on_demand::RunRequest,
    secrets: &BTreeSet<SecretName>,
    text: &str,
) -> Result<(), Problem> {
    match admitted(app, tenant, secrets, text).await {
        Ok(()) => Ok(()),
        Err(no) => admit(app, tenant, request.once.as_ref(), no).await,
    }
}

/// Admits what is impossible now, where the same request was answered before.
pub(crate) async fn admit<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    once: Option<&(AskedName, Fingerprint)>,
    no: Problem,
) -> Result<(), Problem> {
    let Some((name, fingerprint)) = once else { return Err(no) };
    match app.ports.store().get::<Asked>(tenant, *name).await? {
        Some(there) if there.item.fingerprint == *fingerprint => Ok(()),
        Some(_) | None => Err(no),
    }
}

async fn admitted<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    secrets: &BTreeSet<SecretName>,
    text: &str,
) -> Result<(), Problem> {
    must_be_there(&*app.ports, tenant, secrets, Naming { text, otherwise: "/payload" }).await?;
    app.meters.admit_run(&*app.ports, tenant).await
}

fn requested(
    caller: &Caller,
    header: KeyHeader,
    body: &Body,
    address: &str,
) -> Result<(on_demand::RunRequest, BTreeSet<SecretName>), Problem> {
    read(caller, header, body, body.parse_or_default()?, address)
}

fn read(
    caller: &Caller,
    header: KeyHeader,
    body: &Body,
    request: RunRequest,
    address: &str,
) -> Result<(on_demand::RunRequest, BTreeSet<SecretName>), Problem> {
    let (payload, secrets) = request.checked()?;
    let once = match header.agreed(request.idempotency_key)? {
        Some(key) => Some((AskedName::of(&key), fingerprint(address, body.text())?)),
        None => None,
    };
    Ok((on_demand::RunRequest { payload, by: caller.by.clone(), note: None, trace: None, once }, secrets))
}

pub(crate) async fn answer<D: Ports>(
    ports: &D,
    answered: Answered,
    not_found: fn() -> Problem,
) -> Result<Response, Problem> {
    match not_refused(answered, not_found)? {
        Answered::Queued(run) => queued(ports, run).await,
        Answered::Replayed(run) => Ok((replayed(), whole(ports, run).await?).into_response()),
        _refused => Err(not_found()),
    }
}

/// The answer to whoever made a run.
pub(crate) async fn queued<D: Ports>(ports: &D, run: Run) -> Result<Response, Problem> {
    let location = location(format!("/v1/runs/{}", run.key));
    Ok((StatusCode::ACCEPTED, location, whole(ports, run).await?).into_response())
}

pub(crate) async fn whole<D: Ports>(ports: &D, run: Run) -> Result<Response, Problem> {
    let run = FullRun::of(ports, run).await?;
    Ok(Json(run.view(ports.clock().now())).into_response())
}
