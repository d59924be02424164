//! When keys were last used: written down at most once an hour for each key, so that nobody's requests become as many writes. A process
//! reads what is written once before it writes, and remembers it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::access::{KeyId, KeyUse};
use minutehand_domain::id::Tenant;
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// About half a megabyte. A process that sees more keys than this in an hour reads again when they were used.
const KEYS: usize = 8192;

#[derive(Default)]
pub(crate) struct KeyUses(Mutex<HashMap<(Tenant, KeyId), Moment>>);

impl KeyUses {
    /// Notes a use, if the last one that was noted is old. A request is not refused because this could not be written.
    pub(crate) async fn note<D: Ports>(&self, ports: &D, tenant: &Tenant, id: KeyId, now: Moment) {
        if self.is_noted(tenant, id, now) {
            return;
        }
        // Before it is written: of many requests at once one writes, and after a fault the next hour will do.
        self.remember(tenant, id, now);
        match write(ports, tenant, id, now).await {
            Ok(noted) => self.remember(tenant, id, noted),
            Err(fault) => tracing::warn!(key = %id, %fault, "the use of a key is not written down"),
        }
    }

    fn is_noted(&self, tenant: &Tenant, id: KeyId, now: Moment) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(tenant.clone(), id)).is_some_and(|&last_used_at| !KeyUse { id, last_used_at }.is_outdated(now))
    }

    fn remember(&self, tenant: &Tenant, id: KeyId, at: Moment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEYS && !known.contains_key(&(tenant.clone(), id)) {
            known.clear();
        }
        known.insert((tenant.clone(), id), at);
    }
}

/// Answers with what stands there afterwards, whoever wrote it.
async fn write<D: Ports>(ports: &D, tenant: &Tenant, id: KeyId, now: Moment) -> Result<Moment, Fault> {
    let seen = ports.store().get::<KeyUse>(tenant, id).await?;
    if let Some(seen) = seen.as_ref().filter(|seen| !seen.item.is_outdated(now)) {
        return Ok(seen.item.last_used_at);
    }
    let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
    // A conflict is another process's note of the same hour.
    let _put = ports.store().put(tenant, id, &KeyUse { id, last_used_at: now }, guard).await?;
    Ok(now)
}
