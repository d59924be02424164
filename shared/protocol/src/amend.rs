//! Amending: one item is read, changed by a rule and written as it was seen; again, where somebody was faster.

use minutehand_domain::id::Tenant;
use minutehand_io::store::item::Item;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// What stands there afterwards; none where the rule has nothing to write.
pub async fn amend<D: Ports, T: Item>(
    ports: &D,
    tenant: &Tenant,
    key: T::Key,
    rule: impl Fn(Option<&T>) -> Option<T> + Send,
) -> Result<Option<T>, Fault> {
    let mut seen = ports.store().get::<T>(tenant, key.clone()).await?;
    loop {
        let Some(next) = rule(seen.as_ref().map(|seen| &seen.item)) else { return Ok(None) };
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        match ports.store().put(tenant, key.clone(), &next, guard).await? {
            Put::Written(_) => return Ok(Some(next)),
            Put::Conflict(there) => seen = there,
        }
    }
}
