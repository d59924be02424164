//! Quotas as a process remembers them: what bounds a tenant's runs is asked for before each claim, and seldom read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::keeping::{Keeping, Keepings};
use minutehand_domain::quota::{Limits, Quota};

use crate::Fault;
use crate::store::Store;

/// How old what is remembered may be: so long a new quota takes to be in force everywhere.
pub const READ_AGAIN: Duration = Duration::from_secs(60);
/// And of a tenant that has none: most have none, and pay for this read.
const READ_AGAIN_OF_NONE: Duration = Duration::from_secs(300);
/// Tenants of whom anything is remembered.
const TENANTS: usize = 10_000;

/// What is remembered of a quota.
#[derive(Clone, Copy, Default)]
struct Known {
    limits: Limits,
    /// None of one that could not be read: nobody knows then what is on record still.
    keepings: Option<Keepings>,
}

#[derive(Default)]
pub struct Quotas {
    known: Mutex<BTreeMap<Tenant, (Known, Moment)>>,
    /// Nobody sets any.
    are_none: bool,
}

impl Quotas {
    /// Those of a deployment in which nobody sets any: nothing is read.
    pub fn none() -> Self {
        Self { are_none: true, ..Self::default() }
    }

    /// Of a tenant whose quota this process has just set.
    pub fn forget(&self, tenant: &Tenant) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
    }

    /// What bounds a tenant. A quota that cannot be read bounds nothing new: the last one read stays in force.
    pub async fn of<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Limits {
        self.read(store, tenant, now).await.limits
    }

    /// For how long its runs are kept by its quota, and were before.
    pub async fn keepings_of<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Result<Keepings, Fault> {
        let known = self.read(store, tenant, now).await.keepings;
        known.ok_or_else(|| Fault::unavailable("store", "the quota could not be read"))
    }

    async fn read<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Known {
        if self.are_none {
            return Known::of(None);
        }
        let known = self.known(tenant);
        if let Some((known, at)) = known
            && now >= at
            && now.since(at) < keeps_for(&known)
        {
            return known;
        }
        let read = match Box::pin(store.get::<Quota>(&Tenant::deployment(), tenant.clone())).await {
            Ok(there) => Known::of(there.as_ref().map(|seen| &seen.item)),
            Err(fault) => known.map(|(known, _)| known).unwrap_or_default().without(&fault),
        };
        self.remember(tenant, read, now);
        read
    }

    fn known(&self, tenant: &Tenant) -> Option<(Known, Moment)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).copied()
    }

    fn remember(&self, tenant: &Tenant, read: Known, now: Moment) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS && !known.contains_key(tenant) {
            known.clear();
        }
        known.insert(tenant.clone(), (read, now));
    }
}

impl Known {
    fn of(quota: Option<&Quota>) -> Self {
        let limits = quota.map(|quota| quota.limits).unwrap_or_default();
        Self { limits, keepings: Some(quota.map(Quota::keepings).unwrap_or_default()) }
    }

    /// The same, where it could not be read again. Whose quota nobody can read, or only a later release, is taken for one who keeps the least that can be
    /// asked for: what waits for an answer would wait for ever.
    fn without(self, fault: &Fault) -> Self {
        let least = Keepings { today: Keeping::LEAST, lengthened: None };
        Self { keepings: if fault.is_of_an_item() { Some(least) } else { self.keepings }, ..self }
    }
}

fn keeps_for(Known { limits, keepings }: &Known) -> Duration {
    let bounds_runs =
        limits.max_concurrent_runs.is_some() || limits.max_catch_up_per_minute.is_some() || limits.retention.is_some();
    if bounds_runs || keepings.is_none() { READ_AGAIN } else { READ_AGAIN_OF_NONE }
}

impl fmt::Debug for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quotas")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use minutehand_domain::retention::Retention;

    use super::*;
    use crate::store::Guard;
    use crate::store::embedded::MemoryStore;

    #[test]
    fn of_a_quota_that_could_not_be_read_nobody_knows_what_it_keeps_but_whoever_read_it_before() {
        let of_a_year = Limits { retention: Retention::of_days(365), ..Limits::default() };
        let before = Known::of(Some(&Quota::new(Tenant::new("acme").unwrap(), of_a_year)));
        let away = Fault::unavailable("store", "throttled");
        let unreadable = Fault::unreadable("store", "torn");

        let later = Fault::later("store", "shape 9");
        let least = Some(Keepings { today: Keeping::LEAST, lengthened: None });
        let rows = [
            (Known::default(), &away, None),
            (Known::default(), &unreadable, least),
            (Known::default(), &later, least),
            (before, &away, before.keepings),
            (before, &unreadable, least),
            (before, &later, least),
        ];
        for (known, fault, keepings) in rows {
            let without = known.without(fault);
            assert_eq!((without.keepings, without.limits), (keepings, known.limits), "{fault}");
        }
    }

    #[tokio::test]
    async fn a_quota_is_read_again_when_it_is_old_and_nowhere_where_there_are_none() {
        let (store, quotas, tenant) = (MemoryStore::in_memory(), Quotas::default(), Tenant::new("acme").unwrap());
        let (now, limits) = (Moment::from_secs(1_000), Limits { max_concurrent_runs: Some(3), ..Limits::default() });

        let before = quotas.of(&store, &tenant, now).await;
        let quota = Quota::new(tenant.clone(), limits);
        let put = store.put(&Tenant::deployment(), tenant.clone(), &quota, Guard::Absent).await.unwrap();
        let meanwhile = quotas.of(&store, &tenant, now + READ_AGAIN_OF_NONE / 2).await;
        let after = quotas.of(&store, &tenant, now + READ_AGAIN_OF_NONE).await;
        let of_none = Quotas::none().of(&store, &tenant, now).await;

        assert!(put.is_written());
        let limits = [before, meanwhile, after, of_none].map(|limits| limits.max_concurrent_runs);
        assert_eq!(limits, [None, None, Some(3), None]);
    }
}
