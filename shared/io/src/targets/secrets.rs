//! The secrets that a tenant's calls are signed with: made when they are first needed, whoever needs them first.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::signing::SigningSecrets;

use crate::Fault;
use crate::chance::Chance;
use crate::store::{Guard, Put, Seen, Store};

/// A tenant's secrets. Where it has none they are made, and of several that make them at once all answer with the same.
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
