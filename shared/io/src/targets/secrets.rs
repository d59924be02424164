//! The secrets that a tenant's calls are signed with, made by their first reader.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::signing::SigningSecrets;

use crate::Fault;
use crate::chance::Chance;
use crate::store::{Guard, Put, Seen, Store};

/// A tenant's secrets. Where the tenant has none they are made; concurrent callers all return the same ones.
pub async fn signing_secrets<S: Store>(
    store: &S,
    tenant: &Tenant,
    chance: &impl Chance,
    now: Moment,
) -> Result<Seen<SigningSecrets>, Fault> {
    if let Some(seen) = store.get::<SigningSecrets>(tenant, ()).await? {
        return Ok(seen);
    }
    let made = SigningSecrets::new(chance.secret(), now);
    match store.put(tenant, (), &made, Guard::Absent).await? {
        Put::Written(version) => Ok(Seen { item: made, version }),
        Put::Conflict(Some(seen)) => Ok(seen),
        Put::Conflict(None) => Err(Fault::unavailable("the store", "signing secrets came and went")),
    }
}
