//! Workflows: make one, read one, list all, pause, resume, delete; and as the targets of jobs and tasks.

mod called;
mod create;
mod list;
mod put;
mod run;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::ETAG;
use http::{HeaderName, HeaderValue, StatusCode};
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::{Change, Job, JobRefusal};
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports, plans};
use minutehand_protocol::job::change::{Changed, Want, change};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::workflow::delete::{Deleted, Deletion, delete as delete_workflow};
use minutehand_wire::{DefinitionView, DeleteWorkflowQuery, OneWorkflowView, WorkflowView};

pub(crate) use self::called::its_workflow_must_be_there;
pub(crate) use self::create::create;
pub(crate) use self::list::list;
pub(crate) use self::put::put;
pub(crate) use self::run::{run_now, runs};
pub(crate) use self::versions::{diff, version, versions};
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::{Body, Nothing};
use crate::calendars::not_heeded;
use crate::following::not_to_follow;
use crate::keyring::Caller;
use crate::params::{Params, WorkflowPath};
use crate::precondition::IfMatch;
use crate::problem::{Kind, Problem};

/// After so long a deletion begins nothing more: API Gateway waits for 30 s, and the cancel of a large run takes some of them.
const LASTS: Duration = Duration::from_secs(10);

/// A workflow and what is read with it.
pub(crate) struct Whole {
    pub workflow: Workflow,
    /// Its own.
    pub job: Job,
    /// What its newest version says.
    pub definition: Definition,
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
) -> Result<Response, Problem> {
    let whole = Whole::find(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_workflow)?;
    Ok(whole.answer(&*app.ports))
}

pub(crate) async fn pause<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    WorkflowPath(id): WorkflowPath,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    apply(&*app.ports, caller.tenant(), (acting, Deed::PauseWorkflow), id, Change::Pause, precondition).await
}

pub(crate) async fn resume<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    WorkflowPath(id): WorkflowPath,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    apply(&*app.ports, caller.tenant(), (acting, Deed::ResumeWorkflow), id, Change::Resume, precondition).await
}

/// Nothing starts of it any more, and what it was and did stays readable. Deleting twice is deleting once.
pub(crate) async fn delete<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    WorkflowPath(id): WorkflowPath,
    Params(query): Params<DeleteWorkflowQuery>,
    precondition: IfMatch,
) -> Result<StatusCode, Problem> {
    let ports = &*app.ports;
    let whole = Whole::find(ports, caller.tenant(), id).await?.ok_or_else(Problem::no_workflow)?;
    // Who deletes again, since there was no time for all of it, has changed it himself.
    if !whole.workflow.deleted {
        precondition.check_tag(&whole.tag(), "workflow")?;
    }
    let deletion = Deletion {
        cancel_runs: query.cancel.unwrap_or_default(),
        by: caller.by.clone(),
        until: ports.clock().now() + LASTS,
    };
    let deleting = async { Ok(delete_workflow(ports, (caller.tenant(), id), &deletion).await?) };
    let is_done = |deleted: &Deleted| match deleted {
        Deleted::Done => true,
        Deleted::NotYet => deletion.cancel_runs,
        Deleted::Open(_) | Deleted::NotFound => false,
    };
    let deed = (Deed::DeleteWorkflow, &*id.to_string());
    let deleted = acting.on_record_as(ports, caller.tenant(), deed, deleting, is_done).await?;
    if is_done(&deleted) {
        app.meters.note_deletion(caller.tenant());
    }
    match deleted {
        Deleted::Done => Ok(StatusCode::NO_CONTENT),
        Deleted::NotYet if deletion.cancel_runs => Err(Problem::new(
            Kind::Unavailable,
            "the workflow is deleted, and not all of its runs were looked at yet; ask again, and the rest of them is cancelled",
        )),
        Deleted::NotYet => Err(Problem::new(
            Kind::Unavailable,
            "its history is too long to be looked through at once for runs that are under way; delete with `?cancel=true`",
        )),
        Deleted::Open(run) => {
            let detail =
                format!("its run {run} is under way: cancel it, or delete with `?cancel=true`, which cancels all");
            Err(Problem::new(Kind::Conflict, detail))
        }
        Deleted::NotFound => Err(Problem::no_workflow()),
    }
}

async fn apply<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    (acting, deed): (Acting, Deed),
    id: WorkflowId,
    change_to: Change,
    precondition: IfMatch,
) -> Result<Response, Problem> {
    let workflow = found(ports, tenant, id).await?.ok_or_else(Problem::no_workflow)?;
    let command = Command { change: change_to, precondition, version: workflow.version };
    let changing = change(ports, tenant, id.job(), &command);
    let deed = (deed, &*id.to_string());
    let job = match acting.on_record_as(ports, tenant, deed, changing, Changed::is_as_wanted).await? {
        // A command that changes nothing has been applied already.
        Changed::Done(job)
        | Changed::AsItWas(job)
        | Changed::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, job) => job,
        Changed::Refused(JobRefusal::Cancelled, _) => return Err(deleted()),
        Changed::NotHeeded(why) => return Err(not_heeded(&why)),
        Changed::NotToFollow(no) => return Err(not_to_follow(&no)),
        Changed::NotFound => return Err(Problem::no_workflow()),
    };
    let definition = definition_of(ports, &workflow).await?;
    Ok(Whole { workflow, job, definition }.answer(ports))
}

fn deleted() -> Problem {
    Problem::new(Kind::Conflict, "the workflow was deleted; a deleted workflow stays as it is")
}

struct Command {
    change: Change,
    precondition: IfMatch,
    version: u32,
}

impl Want for Command {
    type No = Problem;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Problem> {
        self.precondition.check_tag(&tag_of(self.version, job), "workflow")?;
        Ok(Some(self.change.clone()))
    }
}

impl Whole {
    /// One whose creator did not come as far as its own job is not there yet.
    pub(crate) async fn find<D: Ports>(ports: &D, tenant: &Tenant, id: WorkflowId) -> Result<Option<Self>, Fault> {
        match found(ports, tenant, id).await? {
            Some(workflow) => Self::of(ports, workflow).await,
            None => Ok(None),
        }
    }

    pub(crate) async fn of<D: Ports>(ports: &D, workflow: Workflow) -> Result<Option<Self>, Fault> {
        let Some(job) = job_of(ports, &workflow.tenant, workflow.id.job()).await? else { return Ok(None) };
        let definition = definition_of(ports, &workflow).await?;
        Ok(Some(Self { workflow, job, definition }))
    }

    /// Two answers with the same tag show the same: a version says what it says, and the job has a generation.
    pub(crate) fn tag(&self) -> String {
        tag_of(self.workflow.version, &self.job)
    }

    fn view<D: Ports>(&self, ports: &D) -> OneWorkflowView {
        let workflow = WorkflowView::of(&self.workflow, &self.job, ports.clock().now());
        OneWorkflowView { workflow, definition: DefinitionView::of(&self.definition) }
    }

    fn answer<D: Ports>(&self, ports: &D) -> Response {
        (self.etag(), Json(self.view(ports))).into_response()
    }

    fn etag(&self) -> [(HeaderName, HeaderValue); 1] {
        [(ETAG, HeaderValue::try_from(self.tag()).expect("digits in quotes"))]
    }
}

fn tag_of(version: u32, job: &Job) -> String {
    format!("\"{version}.{}\"", job.generation)
}

async fn found<D: Ports>(ports: &D, tenant: &Tenant, id: WorkflowId) -> Result<Option<Workflow>, Fault> {
    Ok(ports.store().get::<Workflow>(tenant, id).await?.map(|seen| seen.item))
}

async fn definition_of<D: Ports>(ports: &D, workflow: &Workflow) -> Result<Definition, Fault> {
    let newest = plans::read(ports.store(), &workflow.tenant, workflow.id, workflow.version).await?;
    let missing = || Fault::unreadable("store", format!("{} has no version {}", workflow.id, workflow.version));
    newest.map(|newest| newest.definition).ok_or_else(missing)
}
