//! Looking a job up, or the owner of a run: what every flow and every route about one begins with.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::owner::RunOwner;
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// The tenant's job of this id. A tombstone is no job, and another tenant's is not there.
pub async fn job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Fault> {
    Ok(seen_job_of(ports, tenant, id).await?.map(|seen| seen.item))
}

/// Who gives this run its order.
pub async fn owner_of<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<RunOwner>, Fault> {
    match key.owner() {
        Owner::Job(id) => Ok(job_of(ports, tenant, id).await?.map(RunOwner::Job)),
    }
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
