//! Creating a job. The same key and request again are answered as the first time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderName, HeaderValue, StatusCode};
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::Job;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Doors, Fault};
use minutehand_protocol::bodies;
use minutehand_protocol::create::{Created, NewJob, create as create_job};
use minutehand_protocol::lookup::job_of;

use crate::Api;
use crate::auth::Caller;
use crate::body::Body;
use crate::idempotency::{KeyHeader, fingerprint};
use crate::problem::{Kind, Problem};
use crate::wire::body_view::BodyView;
use crate::wire::job_request::{JobRequest, Understood};
use crate::wire::job_view::JobView;

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Which job a request makes, and what it asked for if it may ask again.
struct Identity {
    id: JobId,
    fingerprint: Option<Fingerprint>,
}

pub(crate) async fn create<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let mut request: JobRequest<'_> = body.parse()?;
    let key = header.agreed(request.idempotency_key.take())?;
    let (doors, tenant, now) = (&*api.doors, caller.tenant(), api.doors.clock().now());
    let identity = match &key {
        Some(key) => Identity { id: JobId::from_key(tenant, key), fingerprint: Some(fingerprint(&body)?) },
        None => Identity { id: JobId::new(now, doors.chance().bytes()), fingerprint: None },
    };
    match request.understood(now, &api.target_check) {
        Ok(understood) => make(doors, identity.of_job(tenant, understood, now)).await,
        Err(problem) => made_before(doors, tenant, identity, problem).await,
    }
}

async fn make<D: Doors>(doors: &D, new: NewJob) -> Result<Response, Problem> {
    let has_key = new.fingerprint.is_some();
    match create_job(doors, new).await? {
        Created::Replayed(job) if has_key => replayed(doors, &job).await,
        // Without a key the id is this request's own: what was there is what it wrote itself.
        Created::New(job) | Created::Replayed(job) => created(doors, &job).await,
        Created::Taken => Err(Problem::field(Kind::KeyReused, "/idempotency_key", "belongs to another request")),
        Created::TooSlow => Err(Problem::too_slow()),
    }
}

/// A request that is impossible now, an `at` that has passed, may have been possible the first time.
async fn made_before<D: Doors>(
    doors: &D,
    tenant: &Tenant,
    identity: Identity,
    problem: Problem,
) -> Result<Response, Problem> {
    if identity.fingerprint.is_none() {
        return Err(problem);
    }
    match job_of(doors, tenant, identity.id).await? {
        Some(job) if job.fingerprint == identity.fingerprint => replayed(doors, &job).await,
        Some(_) | None => Err(problem),
    }
}

impl Identity {
    fn of_job(self, tenant: &Tenant, understood: Understood, now: Moment) -> NewJob {
        NewJob {
            tenant: tenant.clone(),
            id: self.id,
            schedule: understood.schedule,
            definition: understood.definition,
            payload: understood.payload,
            fingerprint: self.fingerprint,
            now,
        }
    }
}

async fn created<D: Doors>(doors: &D, job: &Job) -> Result<Response, Problem> {
    let location = HeaderValue::try_from(format!("/v1/jobs/{}", job.id)).expect("base 32 is visible ASCII");
    let view = first_answer(doors, job).await?;
    Ok((StatusCode::CREATED, [(LOCATION, location)], view).into_response())
}

async fn replayed<D: Doors>(doors: &D, job: &Job) -> Result<Response, Problem> {
    Ok(([(REPLAYED, HeaderValue::from_static("true"))], first_answer(doors, job).await?).into_response())
}

/// The job as it was when it was made, so that one due at once shows its run, each time it is asked; or as it is, if
/// it was changed since.
async fn first_answer<D: Doors>(doors: &D, job: &Job) -> Result<Response, Fault> {
    let seen_from = if job.generation == 1 { job.created_at } else { doors.clock().now() };
    let payload = bodies::fetch(doors, &job.tenant, job.id, &job.definition.payload).await?;
    Ok(Json(JobView::new(job, BodyView::of(payload.as_ref()), seen_from)).into_response())
}
