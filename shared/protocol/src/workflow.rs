//! Workflows: made, changed and deleted. A version is written before the workflow names it, and the workflow before its own job, so that
//! whatever starts finds what it is to carry out.

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::Definition as JobDefinition;
use minutehand_domain::order::Terms;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports, plans};

use crate::job::create::{Created as CreatedJob, NewJob, create as create_job};

/// Numbers of versions that a writer passes over which another left half written.
const TRIES: u32 = 8;

/// What a client asks for, parsed and compiled once.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    pub tenant: Tenant,
    pub id: WorkflowId,
    pub name: String,
    pub definition: Definition,
    /// When its own job fires; on demand where nobody says.
    pub schedule: Schedule,
    pub fingerprint: Option<Fingerprint>,
    pub by: By,
    pub now: Moment,
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
    let job = NewJob {
        tenant: new.tenant.clone(),
        id: new.id.job(),
        schedule: new.schedule.clone(),
        definition: job_of(&there),
        payload: None,
        fingerprint: new.fingerprint,
        now: new.now,
    };
    match create_job(ports, job).await? {
        CreatedJob::New(_) if is_new => Ok(Created::New(there)),
        CreatedJob::New(_) | CreatedJob::Replayed(_) => Ok(Created::Replayed(there)),
        CreatedJob::Taken => Ok(Created::Taken),
        CreatedJob::TooSlow => Ok(Created::TooSlow),
    }
}

/// What the job of a workflow's own is: it carries out the newest version, for as long as that says.
fn job_of(workflow: &Workflow) -> JobDefinition {
    let target = Target::Workflow(WorkflowTarget { id: workflow.id, version: None });
    JobDefinition { name: Some(workflow.name.clone()), target, terms: Terms::default(), ..JobDefinition::default() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Done(Workflow),
    NotFound,
    /// It has another version by now than it was to have.
    NotAsSeen(Workflow),
}

/// Makes the next version. `expected`: the one that it is to come after.
pub async fn change<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    name: &str,
    definition: &Definition,
    expected: Option<u32>,
    (now, by): (Moment, &By),
) -> Result<Changed, Fault> {
    for skipped in 0..TRIES {
        let Some(Seen { item: there, version: seen }) = ports.store().get::<Workflow>(tenant, id).await? else {
            return Ok(Changed::NotFound);
        };
        if there.deleted {
            return Ok(Changed::NotFound);
        }
        if expected.is_some_and(|expected| expected != there.version) {
            return Ok(Changed::NotAsSeen(there));
        }
        let version = there.version + 1 + skipped;
        if !plans::write(ports.store(), tenant, (id, version), definition, (now, by)).await? {
            continue; // another's, who died before the workflow named it
        }
        let next = Workflow { name: name.to_owned(), version, changed_at: now, ..there };
        if ports.store().put(tenant, id, &next, Guard::Seen(seen)).await?.is_written() {
            return Ok(Changed::Done(next));
        }
    }
    Err(Fault::unavailable("workflow", "it is being changed by too many at once"))
}
