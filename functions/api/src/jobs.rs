//! Jobs: read one, list all, pause, resume, delete.

mod batch;
mod create;
mod filter;
pub(crate) mod newest;
mod patch;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::audit::Deed;
use minutehand_domain::health::Extent;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal};
use minutehand_domain::limits::PAGE;
use minutehand_domain::operation::JobFilter;
use minutehand_domain::run::Said;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies;
use minutehand_protocol::day::day_of;
use minutehand_protocol::job::change::{Changed, Want, change};
use minutehand_protocol::lookup::{job_of, jobs_of};
use minutehand_wire::{BodyView, DayView, DeleteJobQuery, JobView, JobsQuery, NoteRequest, OneJobView, Page};

pub(crate) use self::batch::batch;
pub(crate) use self::create::create;
pub(crate) use self::filter::filter_of;
use self::newest::{Newest, expanded};
pub(crate) use self::patch::patch;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::calendars::not_heeded;
use crate::cursor::Scope;
use crate::following::not_to_follow;
use crate::keyring::Caller;
use crate::params::{JobPath, Params, limit_of};
use crate::precondition::{IfMatch, etag};
use crate::problem::{Kind, Problem};
use crate::runs::FullRun;

/// Jobs that one filtered request reads at most; its page may then hold fewer jobs than requested, and a cursor. So many a forecast asks.
pub(crate) const LOOKED_THROUGH: usize = 10_000;
/// Jobs of one page that are shown with what their runs say: fifty times the newest hundred are what a function reads in a second.
const EXPANDED: usize = 50;

/// The tenant's jobs, by id.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<JobsQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?.min(params.expand.map_or(PAGE, |_| EXPANDED));
    let (filter, now) = (filter_of(&params)?, app.ports.clock().now());
    let scope = Scope::new(caller.tenant(), &format!("jobs {filter:?}"));
    let after = params.cursor.map(|cursor| scope.open(&cursor)).transpose()?.map(JobId::from_bytes);
    let page = looked_through(&*app.ports, caller.tenant(), after, &filter, limit, now).await?;
    let next_cursor = page.last_seen.map(|last| scope.seal(last.as_bytes()));
    let items = expanded(&*app.ports, page.jobs, params.expand, now).await?;
    Ok(Json(Page { items, next_cursor }).into_response())
}

struct JobsPage {
    jobs: Vec<Job>,
    /// Where to go on, if there may be more.
    last_seen: Option<JobId>,
}

async fn looked_through<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    mut after: Option<JobId>,
    filter: &JobFilter,
    limit: usize,
    now: Moment,
) -> Result<JobsPage, Fault> {
    let (mut jobs, mut looked) = (Vec::new(), 0);
    // Without a filter, one job more than the page shows whether there is another page; with one, most jobs are left out.
    let at_once = if filter.wants_all() { limit + 1 } else { PAGE };
    while looked < LOOKED_THROUGH {
        let read = jobs_of(ports, tenant, after, at_once).await?;
        let is_last = read.len() < at_once;
        for job in read {
            looked += 1;
            let id = job.id;
            if filter.admits(&job, now) {
                if jobs.len() == limit {
                    return Ok(JobsPage { jobs, last_seen: after });
                }
                jobs.push(job);
            }
            after = Some(id);
        }
        if is_last {
            return Ok(JobsPage { jobs, last_seen: None });
        }
    }
    Ok(JobsPage { jobs, last_seen: after })
}

/// One job with its newest run, and its health.
pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<Response, Problem> {
    let job = job_of(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
    let now = app.ports.clock().now();
    let newest = Newest::for_health(&*app.ports, &job, now).await?;
    let mut health = newest.health(&*app.ports, &job, now).await?;
    if job.definition.health == Extent::Full {
        health.day = Some(DayView::of(&day_of(&*app.ports, &job, now).await?, now));
    }
    let last_run = match newest.runs.into_iter().next() {
        Some(run) => Some(FullRun::load(&*app.ports, run, Some(&job)).await?.view(now)),
        None => None,
    };
    let payload = bodies::fetch(&*app.ports, &job.tenant, job.id, &job.definition.payload).await?;
    let view = JobView::of(&job, BodyView::of(payload.as_ref()), now).with_health(health);
    Ok((etag(&job), Json(OneJobView { job: view, last_run })).into_response())
}

pub(crate) async fn pause<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    JobPath(id): JobPath,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    let command = Command { change: Change::Pause, precondition, by: caller.by.clone(), note };
    apply(&app, &caller, acting, id, &command).await
}

/// The fires of a resumed job count against the quota again.
pub(crate) async fn resume<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    JobPath(id): JobPath,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    let command = Command { change: Change::Resume, precondition, by: caller.by.clone(), note };
    apply(&app, &caller, acting, id, &command).await
}

/// Cancels the job: nothing starts any more, and the record stays readable. Deleting twice is deleting once.
pub(crate) async fn delete<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    JobPath(id): JobPath,
    precondition: IfMatch,
    Params(params): Params<DeleteJobQuery>,
) -> Result<StatusCode, Problem> {
    let note = params.checked()?;
    if let Some(job) = job_of(&*app.ports, caller.tenant(), id).await? {
        is_nobodys_own(&job)?;
    }
    let command = Command { change: Change::Delete, precondition, by: caller.by.clone(), note };
    match changed(&app, &caller, acting, id, &command).await? {
        Changed::Done(_) => {
            app.meters.note_deletion(caller.tenant());
            Ok(StatusCode::NO_CONTENT)
        }
        Changed::AsItWas(_) | Changed::Refused(_, _) | Changed::NotHeeded(_) | Changed::NotToFollow(_) => {
            Ok(StatusCode::NO_CONTENT)
        }
        Changed::NotFound => Err(Problem::no_job()),
    }
}

/// Does it on record.
async fn changed<D: Ports>(
    app: &AppState<D>,
    caller: &Caller,
    acting: Acting,
    id: JobId,
    command: &Command,
) -> Result<Changed, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let acting = acting.noting(command.note.as_deref());
    let changing = change(ports, tenant, id, command);
    acting.on_record_as(ports, tenant, (command.deed(), &id.to_string()), changing, |done| command.is_done(done)).await
}

/// A workflow's own job is what the workflow says: it is changed and deleted there.
fn is_nobodys_own(job: &Job) -> Result<(), Problem> {
    let Some(workflow) = job.workflow() else { return Ok(()) };
    let detail = format!("this is the own job of the workflow {workflow}: change or delete /v1/workflows/{workflow}");
    Err(Problem::new(Kind::Conflict, detail))
}

/// Applies a command and answers with the changed job.
async fn apply<D: Ports>(
    app: &AppState<D>,
    caller: &Caller,
    acting: Acting,
    id: JobId,
    command: &Command,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    match changed(app, caller, acting, id, command).await? {
        // A command that changes nothing has been applied already.
        Changed::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, job) => answer(ports, &job).await,
        changed => answer_to(ports, changed).await,
    }
}

/// The answer to a change.
async fn answer_to<D: Ports>(ports: &D, changed: Changed) -> Result<Response, Problem> {
    match changed {
        Changed::Done(job) | Changed::AsItWas(job) => answer(ports, &job).await,
        Changed::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Changed::NotHeeded(why) => Err(not_heeded(&why)),
        Changed::NotToFollow(no) => Err(not_to_follow(&no)),
        Changed::NotFound => Err(Problem::no_job()),
    }
}

/// A change that can be applied to any version of the job that matches `If-Match`.
struct Command {
    change: Change,
    precondition: IfMatch,
    by: By,
    note: Option<String>,
}

impl Command {
    /// Whether the job is now as it was to be.
    fn is_done(&self, changed: &Changed) -> bool {
        changed.is_as_wanted() || (self.change == Change::Delete && *changed != Changed::NotFound)
    }

    fn deed(&self) -> Deed {
        match self.change {
            Change::Resume => Deed::ResumeJob,
            Change::Delete => Deed::DeleteJob,
            Change::Pause | Change::Edit { .. } => Deed::PauseJob,
        }
    }
}

impl Want for Command {
    type No = Problem;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Problem> {
        self.precondition.check(job)?;
        Ok(Some(self.change.clone()))
    }

    fn said(&self) -> Said<'_> {
        Said { by: Some(&self.by), note: self.note.as_deref() }
    }
}

async fn answer<D: Ports>(ports: &D, job: &Job) -> Result<Response, Problem> {
    let payload = bodies::fetch(ports, &job.tenant, job.id, &job.definition.payload).await?;
    let view = JobView::of(job, BodyView::of(payload.as_ref()), ports.clock().now());
    Ok((etag(job), Json(view)).into_response())
}
