//! Looking a job up, or the owner of a run: what every flow and every route about one begins with.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::notification::Rule;
use minutehand_domain::owner::{RunOwner, TaskOwner};
use minutehand_domain::run::{Run, TaskPlace};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// The tenant's job of this id. A tombstone is no job, and another tenant's is not there.
pub async fn job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Fault> {
    Ok(seen_job_of(ports, tenant, id).await?.map(|seen| seen.item))
}

/// Who gives this run its order: read after it.
pub async fn owner_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<RunOwner>, Fault> {
    match (run.key.owner(), &run.task) {
        (Owner::Job(id), _) => Ok(job_of(ports, &run.tenant, id).await?.map(RunOwner::Job)),
        (Owner::Parent, Some(task)) => parent_of(ports, run, task.parent).await,
        (Owner::Parent, None) => Ok(None),
        (Owner::Rule(id), _) => {
            let rule = rule_of(ports, &run.tenant, id).await?;
            let task = rule.map_or_else(|| TaskOwner::gone(run.priority), |rule| TaskOwner::telling(&rule));
            Ok(Some(RunOwner::Parent(task)))
        }
    }
}

/// The rule of notifications of this id, as it stands now.
pub async fn rule_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Rule>, Fault> {
    let rules = ports.rules().read(ports.store(), tenant, ports.clock().now()).await?;
    Ok(rules.iter().find(|rule| rule.id == id).cloned())
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
