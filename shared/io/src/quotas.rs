//! Quotas as a process remembers them: what bounds a tenant's runs is asked for before each claim, and seldom read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::quota::{Limits, Quota};

use crate::store::Store;

/// How old what is remembered may be: so long a new quota takes to be in force everywhere.
pub const READ_AGAIN: Duration = Duration::from_secs(60);
/// And of a tenant that has none: most have none, and pay for this read.
const READ_AGAIN_OF_NONE: Duration = Duration::from_secs(300);
/// Tenants of whom anything is remembered.
const TENANTS: usize = 10_000;

#[derive(Default)]
pub struct Quotas {
    known: Mutex<BTreeMap<Tenant, (Limits, Moment)>>,
    /// Nobody sets any.
    are_none: bool,
}

impl Quotas {
    /// Those of a deployment in which nobody sets any: nothing is read.
    pub fn none() -> Self {
        Self { are_none: true, ..Self::default() }
    }

    /// What bounds a tenant. A quota that cannot be read bounds nothing new: the last one read stays in force.
    pub async fn of<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Limits {
        if self.are_none {
            return Limits::default();
        }
        let known = self.known(tenant);
        if let Some((limits, at)) = known
            && now >= at
            && now.since(at) < keeps_for(&limits)
        {
            return limits;
        }
        let limits = match Box::pin(store.get::<Quota>(&Tenant::deployment(), tenant.clone())).await {
            Ok(there) => there.map(|seen| seen.item.limits).unwrap_or_default(),
            Err(_fault) => known.map(|(limits, _)| limits).unwrap_or_default(),
        };
        self.remember(tenant, limits, now);
        limits
    }

    fn known(&self, tenant: &Tenant) -> Option<(Limits, Moment)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).copied()
    }

    fn remember(&self, tenant: &Tenant, limits: Limits, now: Moment) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS && !known.contains_key(tenant) {
            known.clear();
        }
        known.insert(tenant.clone(), (limits, now));
    }
}

fn keeps_for(limits: &Limits) -> Duration {
    let bounds_runs =
        limits.max_concurrent_runs.is_some() || limits.max_catch_up_per_minute.is_some() || limits.retention.is_some();
    if bounds_runs { READ_AGAIN } else { READ_AGAIN_OF_NONE }
}

impl fmt::Debug for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quotas")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use super::*;
    use crate::store::Guard;
    use crate::store::embedded::MemoryStore;

    #[tokio::test]
    async fn a_quota_is_read_again_when_it_is_old_and_nowhere_where_there_are_none() {
        let (store, quotas, tenant) = (MemoryStore::in_memory(), Quotas::default(), Tenant::new("acme").unwrap());
        let (now, limits) = (Moment::from_secs(1_000), Limits { max_concurrent_runs: Some(3), ..Limits::default() });

        let before = quotas.of(&store, &tenant, now).await;
        let quota = Quota { tenant: tenant.clone(), limits };
        let put = store.put(&Tenant::deployment(), tenant.clone(), &quota, Guard::Absent).await.unwrap();
        let meanwhile = quotas.of(&store, &tenant, now + READ_AGAIN_OF_NONE / 2).await;
        let after = quotas.of(&store, &tenant, now + READ_AGAIN_OF_NONE).await;
        let of_none = Quotas::none().of(&store, &tenant, now).await;

        assert!(put.is_written());
        let limits = [before, meanwhile, after, of_none].map(|limits| limits.max_concurrent_runs);
        assert_eq!(limits, [None, None, Some(3), None]);
    }
}
