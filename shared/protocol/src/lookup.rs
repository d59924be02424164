//! Looking a job up, or the owner of a run: what every flow and every route about one begins with.

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

/// A job, for whoever is going to change it.
pub async fn seen_job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Seen<Job>>, Fault> {
    let Some(Seen { item, version }) = ports.store().head(tenant, id).await? else { return Ok(None) };
    Ok(item.into_job().map(|item| Seen { item, version }))
}
