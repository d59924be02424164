//! Workflows: made, changed and deleted. A version is written before the workflow names it, and the workflow before its own job, so that
//! whatever starts finds what it is to carry out.

pub mod change;
pub mod delete;

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::callback::Callback;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::follow::NotToFollow;
use minutehand_domain::hook::Hooks;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::Definition as JobDefinition;
use minutehand_domain::order::Terms;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::Retention;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::trace::TraceContext;
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports, plans};

use crate::job::create::{Created as CreatedJob, NewJob, create as create_job};
use crate::job::heed::NotHeeded;

/// What a client asks for, parsed and compiled once.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    pub tenant: Tenant,
    pub id: WorkflowId,
    pub name: String,
    pub definition: Definition,
    /// When its own job fires; on demand where nobody says.
    pub schedule: Schedule,
    pub about: About,
    pub fingerprint: Option<Fingerprint>,
    pub by: By,
    /// The trace that the request was made in.
    pub trace: Option<TraceContext>,
    pub now: Moment,
}

/// What the job of a workflow's own says beside what it carries out. It belongs to no version: a change of it is in force at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub owner: Option<String>,
    pub tags: BTreeSet<String>,
    pub priority: Priority,
    pub catch_up: CatchUp,
    pub overlap: Overlap,
    pub callback: Option<Callback>,
    pub hooks: Hooks,
    pub sla: Option<Duration>,
    pub retention: Option<Retention>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    New(Workflow),
    /// The same request made it before.
    Replayed(Workflow),
    /// The key belongs to another request.
    Taken,
    /// This creator slept so long that its promise was given up: ask again.
    TooSlow,
    /// Its schedule names calendars that it cannot heed.
    NotHeeded(NotHeeded),
    /// The job that its own is to run behind does not let it.
    NotToFollow(NotToFollow),
}

pub async fn create<D: Ports>(ports: &D, new: NewWorkflow) -> Result<Created, Fault> {
    if let Some(there) = ports.store().get::<Workflow>(&new.tenant, new.id).await? {
        return finish(ports, &new, there.item, false).await;
    }
    let stamp = (new.now, &new.by);
    if !plans::write(ports.store(), &new.tenant, (new.id, 1), &new.definition, stamp).await? {
        return Ok(Created::Taken);
    }
    let workflow = Workflow {
        tenant: new.tenant.clone(),
        id: new.id,
        name: new.name.clone(),
        version: 1,
        deleted: false,
        created_at: new.now,
        changed_at: new.now,
        fingerprint: new.fingerprint,
    };
    match ports.store().put(&new.tenant, new.id, &workflow, Guard::Absent).await? {
        Put::Written(_) => finish(ports, &new, workflow, true).await,
        Put::Conflict(Some(there)) => finish(ports, &new, there.item, false).await,
        Put::Conflict(None) => Err(Fault::unavailable("store", "a workflow came and went")),
    }
}

/// Its own job, made by whoever comes so far.
async fn finish<D: Ports>(ports: &D, new: &NewWorkflow, there: Workflow, is_new: bool) -> Result<Created, Fault> {
    if there.fingerprint != new.fingerprint {
        return Ok(Created::Taken);
    }
    let definition = job_of(&there, new.about.clone());
    match create_job(ports, NewJob { trace: new.trace.clone(), ..own_job(&there, definition, &new.schedule, new.now) })
        .await?
    {
        CreatedJob::New(_) if is_new => Ok(Created::New(there)),
        CreatedJob::New(_) | CreatedJob::Replayed(_) => Ok(Created::Replayed(there)),
        CreatedJob::Taken => Ok(Created::Taken),
        CreatedJob::TooSlow => Ok(Created::TooSlow),
        CreatedJob::NotHeeded(why) => Ok(Created::NotHeeded(why)),
        CreatedJob::NotToFollow(no) => Ok(Created::NotToFollow(no)),
    }
}

/// The job of a workflow's own, as its creator makes it.
fn own_job(workflow: &Workflow, definition: JobDefinition, schedule: &Schedule, now: Moment) -> NewJob {
    NewJob {
        tenant: workflow.tenant.clone(),
        id: workflow.id.job(),
        schedule: schedule.clone(),
        definition,
        payload: None,
        fingerprint: workflow.fingerprint,
        trace: None,
        now,
    }
}

/// What the job of a workflow's own is: it carries out the newest version, for as long as that says.
fn job_of(workflow: &Workflow, about: About) -> JobDefinition {
    let target = Target::Workflow(WorkflowTarget { id: workflow.id, version: None });
    let About { owner, tags, priority, catch_up, overlap, callback, hooks, sla, retention } = about;
    let (name, terms) = (Some(workflow.name.clone()), Terms::default());
    JobDefinition {
        name,
        owner,
        tags,
        target,
        priority,
        terms,
        catch_up,
        overlap,
        callback,
        hooks,
        sla,
        retention,
        ..JobDefinition::default()
    }
}
