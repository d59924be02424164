//! Bodies: where a payload or a result goes that is too large for its item, and how it comes back.

use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{JobId, Tenant};
use minutehand_io::store::{Guard, KeptBody, Store as _};
use minutehand_io::{Fault, Ports};

/// Keeps `json` inside the item if it has at most `limit` bytes; else writes it apart first. Content names it, so that
/// racing writers cannot overwrite each other's.
pub async fn keep<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    json: Option<Json>,
    limit: usize,
) -> Result<Body, Fault> {
    let Some(json) = json else { return Ok(Body::Empty) };
    let (body, apart) = Body::split(json, limit);
    if let Some(json) = apart {
        let key = (job, json.digest());
        // Where it stands already it is the same.
        let _put = ports.store().put(tenant, key, &KeptBody { json }, Guard::Absent).await?;
    }
    Ok(body)
}

/// Reads a body wherever it is.
pub async fn fetch<D: Ports>(ports: &D, tenant: &Tenant, job: JobId, body: &Body) -> Result<Option<Json>, Fault> {
    match body {
        Body::Empty => Ok(None),
        Body::Inside(json) => Ok(Some(json.clone())),
        Body::Apart(digest) => match ports.store().get::<KeptBody>(tenant, (job, *digest)).await? {
            Some(seen) => Ok(Some(seen.item.json)),
            None => Err(Fault::unreadable("store", "a body that was written first is not there")),
        },
    }
}
