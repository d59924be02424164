//! Looking a job up, or the owner of a run: what every flow and every route about one begins with.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Origin, Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::operation::OperationHead;
use minutehand_domain::owner::{RunOwner, TaskOwner};
use minutehand_domain::run::{Run, TaskPlace};
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// The tenant's job of this id. A tombstone is no job, and another tenant's is not there.
pub async fn job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Fault> {
    Ok(seen_job_of(ports, tenant, id).await?.map(|seen| seen.item))
}

/// Who gives this run its order: read after it.
pub async fn owner_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<RunOwner>, Fault> {
    match (run.key.owner(), &run.task) {
        (Owner::Job(id), _) => {
            let owner = job_of(ports, &run.tenant, id).await?.map(RunOwner::Job);
            if is_withdrawn(ports, run).await? { Ok(owner.map(RunOwner::withdrawn)) } else { Ok(owner) }
        }
        (Owner::Parent, Some(task)) => parent_of(ports, run, task.parent).await,
        (Owner::Parent, None) => Ok(None),
    }
}

/// Whether the backfill that made it was cancelled, and nothing of it is to begin any more. Read after the run, as its job is: who
/// cancels a backfill need not find each of its runs.
async fn is_withdrawn<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    let (Origin::Backfill, Some(made)) = (run.key.origin, run.made) else { return Ok(false) };
    let seen = ports.store().get::<OperationHead>(&run.tenant, made.by).await?;
    Ok(seen.and_then(|seen| seen.item.operation()).is_some_and(|operation| !operation.wants_its_runs()))
}

async fn parent_of<D: Ports>(ports: &D, run: &Run, parent: RunKey) -> Result<Option<RunOwner>, Fault> {
    let Some(parent) = ports.store().get::<Run>(&run.tenant, parent).await?.map(|seen| seen.item) else {
        return Ok(None);
    };
    let (Some(graph), Some(place)) = (&parent.graph, TaskPlace::of(run.key)) else { return Ok(None) };
    let Some(plan) = ports.plans().of(ports.store(), &run.tenant, graph.workflow, graph.version).await? else {
        return Ok(None);
    };
    Ok(TaskOwner::of(&plan, &parent, place).map(RunOwner::Parent))
}

/// A tenant's jobs by id, past the last one seen.
pub async fn jobs_of<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    past: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, Fault> {
    let heads = ports.store().list::<Head>(tenant, (), past, limit).await?;
    Ok(heads.items.into_iter().filter_map(Head::into_job).collect())
}

/// A job, to be changed.
pub async fn seen_job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Seen<Job>>, Fault> {
    let Some(Seen { item, version }) = ports.store().get::<Head>(tenant, id).await? else { return Ok(None) };
    Ok(item.into_job().map(|item| Seen { item, version }))
}
