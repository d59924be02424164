//! Creating a job. A repeated request with the same key gets the same answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::Job;
use minutehand_domain::trace::TraceContext;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::bodies;
use minutehand_protocol::job::create::{Created, NewJob, create as create_job};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::job_request::CheckedJob;
use minutehand_wire::{BodyView, JobRequest, JobView};

use crate::app_state::AppState;
use crate::body::{Body, parse};
use crate::calendars::not_heeded;
use crate::following::{it_may_follow, not_to_follow};
use crate::idempotency::{KeyHeader, fingerprint, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::precondition::etag;
use crate::problem::Problem;
use crate::secrets::{Naming, must_be_there};
use crate::traced::Traced;
use crate::workflows::its_workflow_must_be_there;

/// The address in the fingerprint of every request for a new job, alone or in a batch.
const ADDRESS: &str = "POST /v1/jobs";

/// The id of a request's job, and the request's fingerprint if it has an idempotency key.
struct Identity {
    id: JobId,
    fingerprint: Option<Fingerprint>,
}

/// The job of a request.
pub(super) enum Made {
    Now(Job),
    /// Created by an earlier identical request.
    Before(Job),
}

pub(crate) async fn create<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    header: KeyHeader,
    Traced(trace): Traced,
    body: Body,
) -> Result<Response, Problem> {
    let request: JobRequest = body.parse()?;
    let key = header.agreed(request.idempotency_key.clone())?;
    let made = made(&app, caller.tenant(), request, Asked { key, trace, text: body.text() }).await?;
    answer(&*app.ports, &made).await
}

/// Creates one job of a batch: its text is parsed like a body of its own.
pub(super) async fn made_of<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    trace: Option<TraceContext>,
    text: &str,
) -> Result<Made, Problem> {
    let request: JobRequest = parse(text)?;
    let key = KeyHeader::absent().agreed(request.idempotency_key.clone())?;
    made(app, tenant, request, Asked { key, trace, text }).await
}

/// How a request was made, beside what it asks for.
struct Asked<'a> {
    key: Option<String>,
    trace: Option<TraceContext>,
    text: &'a str,
}

async fn made<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    request: JobRequest,
    Asked { key, trace, text }: Asked<'_>,
) -> Result<Made, Problem> {
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let identity = match &key {
        Some(key) => Identity { id: JobId::from_key(tenant, key), fingerprint: Some(fingerprint(ADDRESS, text)?) },
        None => Identity { id: JobId::new(now, ports.chance().bytes()), fingerprint: None },
    };
    let admitted = match request.checked(identity.id, now, &|target| app.target_check.check(tenant, target)) {
        Ok(checked) => admit(app, tenant, &identity, &checked, text).await.map(|()| checked),
        Err(refusal) => Err(refusal.into()),
    };
    if let Ok(checked) = &admitted {
        app.pools.note(ports, tenant, checked.definition.target.pool()).await;
    }
    match admitted {
        Ok(checked) => make(ports, NewJob { trace, ..identity.of_job(tenant, checked, now) }).await,
        Err(problem) => made_before(ports, tenant, identity, problem).await,
    }
}

/// Admits the job by the quota, if the secrets and the workflow that it names are there. A repeated request takes nothing: its job exists already.
async fn admit<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    identity: &Identity,
    checked: &CheckedJob,
    text: &str,
) -> Result<(), Problem> {
    let ports = &*app.ports;
    must_be_there(ports, tenant, &checked.secrets, Naming { text, otherwise: "" }).await?;
    its_workflow_must_be_there(ports, tenant, &checked.definition.target).await?;
    let may_be_there = identity.fingerprint.is_some() && app.meters.bounds_jobs(ports, tenant).await;
    if may_be_there && job_of(ports, tenant, identity.id).await?.is_some() {
        return Ok(());
    }
    it_may_follow(ports, tenant, identity.id, &checked.schedule).await?;
    app.meters.admit_job(ports, tenant, &checked.schedule, None).await
}

async fn make<D: Ports>(ports: &D, new: NewJob) -> Result<Made, Problem> {
    let has_key = new.fingerprint.is_some();
    match create_job(ports, new).await? {
        Created::Replayed(job) if has_key => Ok(Made::Before(job)),
        // Without a key the id is unique to this request: an existing job is its own write.
        Created::New(job) | Created::Replayed(job) => Ok(Made::Now(job)),
        Created::Taken => Err(taken()),
        Created::TooSlow => Err(Problem::too_slow()),
        Created::NotHeeded(why) => Err(not_heeded(&why)),
        Created::NotToFollow(no) => Err(not_to_follow(&no)),
    }
}

/// The job of an earlier identical request. A request that is impossible now (a past `at`, a used-up quota) may have been
/// possible the first time.
async fn made_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    identity: Identity,
    problem: Problem,
) -> Result<Made, Problem> {
    if identity.fingerprint.is_none() {
        return Err(problem);
    }
    match job_of(ports, tenant, identity.id).await? {
        Some(job) if job.fingerprint == identity.fingerprint => Ok(Made::Before(job)),
        Some(_) | None => Err(problem),
    }
}

impl Identity {
    fn of_job(self, tenant: &Tenant, checked: CheckedJob, now: Moment) -> NewJob {
        NewJob {
            tenant: tenant.clone(),
            id: self.id,
            schedule: checked.schedule,
            definition: checked.definition,
            payload: checked.payload,
            fingerprint: self.fingerprint,
            trace: None,
            now,
        }
    }
}

impl Made {
    pub(super) fn job(&self) -> &Job {
        match self {
            Self::Now(job) | Self::Before(job) => job,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Now(_) => StatusCode::CREATED,
            Self::Before(_) => StatusCode::OK,
        }
    }

    /// The instant to show the job at: that of its creation, so that each repeat shows the run of a job due at once; or now,
    /// if the job was changed since.
    pub(super) fn seen_from(&self, now: Moment) -> Moment {
        let job = self.job();
        if job.generation == 1 { job.created_at } else { now }
    }
}

async fn answer<D: Ports>(ports: &D, made: &Made) -> Result<Response, Problem> {
    let job = made.job();
    let payload = bodies::fetch(ports, &job.tenant, job.id, &job.definition.payload).await?;
    let view = JobView::of(job, BodyView::of(payload.as_ref()), made.seen_from(ports.clock().now()));
    let whole = (made.status(), etag(job), Json(view));
    Ok(match made {
        Made::Now(job) => (location(format!("/v1/jobs/{}", job.id)), whole).into_response(),
        Made::Before(_) => (replayed(), whole).into_response(),
    })
}
