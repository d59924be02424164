//! Jobs: one, all, and what may be done with one.

mod create;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Doors, Fault};
use minutehand_protocol::bodies;
use minutehand_protocol::change::{Changed, change};
use minutehand_protocol::lookup::job_of;
use serde::Deserialize;

pub(crate) use self::create::create;
use crate::Api;
use crate::auth::Caller;
use crate::body::{Body, Nothing};
use crate::cursor::Scope;
use crate::params::{JobPath, Params, limit_of};
use crate::problem::{Kind, Problem};
use crate::runs::WholeRun;
use crate::wire::body_view::BodyView;
use crate::wire::job_view::{JobView, OneJobView};
use crate::wire::page::Page;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsParams {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// The tenant's jobs, by id.
pub(crate) async fn list<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    Params(params): Params<JobsParams>,
) -> Result<Response, Problem> {
    let scope = Scope::new(caller.tenant(), "jobs");
    let limit = limit_of(params.limit)?;
    let after = params.cursor.map(|cursor| scope.open(&cursor)).transpose()?.map(JobId::from_bytes);
    let mut jobs = api.doors.store().jobs(caller.tenant(), after, limit + 1).await?;
    let more = jobs.len() > limit;
    jobs.truncate(limit);
    let now = api.doors.clock().now();
    let next_cursor = jobs.last().filter(|_| more).map(|last| scope.seal(last.id.as_bytes()));
    let items = jobs.iter().map(|job| JobView::listed(job, now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// One job, with the newest of its runs.
pub(crate) async fn show<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<Response, Problem> {
    let job = job_of(&*api.doors, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
    let now = api.doors.clock().now();
    let last_run = last_run(&*api.doors, &job, now).await?;
    let payload = bodies::fetch(&*api.doors, &job.tenant, job.id, &job.definition.payload).await?;
    let view = JobView::new(&job, BodyView::of(payload.as_ref()), now);
    let last_run = last_run.as_ref().map(|run| run.view(now));
    Ok(Json(OneJobView { job: view, last_run }).into_response())
}

pub(crate) async fn pause<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    body: Body,
) -> Result<Response, Problem> {
    obey(&*api.doors, caller.tenant(), id, &body, &Change::Pause).await
}

pub(crate) async fn resume<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    body: Body,
) -> Result<Response, Problem> {
    obey(&*api.doors, caller.tenant(), id, &body, &Change::Resume).await
}

/// Cancels it: nothing starts any more, and the record stays to be read. Deleting twice is deleting once.
pub(crate) async fn delete<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<StatusCode, Problem> {
    match change(&*api.doors, caller.tenant(), id, &Change::Delete).await? {
        Changed::Done(_) | Changed::Refused(_, _) => Ok(StatusCode::NO_CONTENT),
        Changed::NotFound => Err(Problem::no_job()),
    }
}

/// Answers with the job as the command leaves it. One that changes nothing is obeyed already.
async fn obey<D: Doors>(
    doors: &D,
    tenant: &Tenant,
    id: JobId,
    body: &Body,
    command: &Change,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    match change(doors, tenant, id, command).await? {
        Changed::Done(job) | Changed::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, job) => {
            answer(doors, &job).await
        }
        Changed::Refused(why @ JobRefusal::Cancelled, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Changed::NotFound => Err(Problem::no_job()),
    }
}

async fn answer<D: Doors>(doors: &D, job: &Job) -> Result<Response, Problem> {
    let payload = bodies::fetch(doors, &job.tenant, job.id, &job.definition.payload).await?;
    let view = JobView::new(job, BodyView::of(payload.as_ref()), doors.clock().now());
    Ok(Json(view).into_response())
}

/// An occurrence that was cancelled ahead of its time is not the last run before that time.
async fn last_run<D: Doors>(doors: &D, job: &Job, now: Moment) -> Result<Option<WholeRun>, Fault> {
    let until_now = Moment::EPOCH..Moment::from_millis(now.millis() + 1);
    let mut newest = doors.store().runs_of(&job.tenant, job.id, until_now, None, 1).await?;
    match newest.pop() {
        Some(run) => WholeRun::load(doors, run, job).await.map(Some),
        None => Ok(None),
    }
}
