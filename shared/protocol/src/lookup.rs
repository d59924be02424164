//! Looking a job up: what every flow and every route about one begins with.

use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;
use minutehand_io::store::Store as _;
use minutehand_io::{Doors, Fault};

/// The tenant's job of this id. A tombstone is no job, and another tenant's is not there.
pub async fn job_of<D: Doors>(doors: &D, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Fault> {
    let head = doors.store().head(tenant, id).await?;
    Ok(head.and_then(|seen| seen.item.into_job()))
}
