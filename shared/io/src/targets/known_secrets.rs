//! A process's cache of its tenants' signing secrets, so that not every call reads them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::signing::SigningSecrets;

use super::signing_secrets;
use crate::Fault;
use crate::chance::Chance;
use crate::store::Store;

/// How long a process may keep signing with the former secret alone after a rotation.
pub const KNOWN_FOR: Duration = Duration::from_secs(60);
/// About two megabytes. A process that calls for more tenants than this within a minute reads their secrets again.
const TENANTS: usize = 8192;

pub(super) struct KnownSecrets<S> {
    store: Arc<S>,
    known: Mutex<HashMap<Tenant, Known>>,
}

struct Known {
    secrets: Arc<SigningSecrets>,
    since: Moment,
}

impl<S: Store> KnownSecrets<S> {
    pub(super) fn new(store: Arc<S>) -> Self {
        Self { store, known: Mutex::default() }
    }

    pub(super) async fn of(
        &self,
        tenant: &Tenant,
        chance: &impl Chance,
        now: Moment,
    ) -> Result<Arc<SigningSecrets>, Fault> {
        if let Some(secrets) = self.remembered(tenant, now) {
            return Ok(secrets);
        }
        let seen = signing_secrets(&*self.store, tenant, chance, now).await?;
        let secrets = Arc::new(seen.item);
        self.remember(tenant, Known { secrets: Arc::clone(&secrets), since: now });
        Ok(secrets)
    }

    fn remembered(&self, tenant: &Tenant, now: Moment) -> Option<Arc<SigningSecrets>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(tenant).filter(|known| known.is_fresh(now)).map(|known| Arc::clone(&known.secrets))
    }

    fn remember(&self, tenant: &Tenant, read: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS && !known.contains_key(tenant) {
            known.clear();
        }
        known.insert(tenant.clone(), read);
    }
}

impl Known {
    /// An entry from the future, before the clock was set back, is not fresh: it would be kept for as long as that.
    fn is_fresh(&self, now: Moment) -> bool {
        self.since <= now && now < self.since + KNOWN_FOR
    }
}

impl<S> fmt::Debug for KnownSecrets<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSecrets")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::chance::SystemChance;
    use crate::store::embedded::{FileStore, MemoryStore};

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn known() -> KnownSecrets<MemoryStore> {
        KnownSecrets::new(Arc::new(MemoryStore::in_memory()))
    }

    async fn rotate(store: &MemoryStore, of: &Tenant) -> SigningSecrets {
        let seen = signing_secrets(store, of, &SystemChance, NOW).await.unwrap();
        let rotated = seen.item.rotated([1; 32], Duration::from_secs(3600), NOW);
        assert!(store.put(of, (), &rotated, seen.guard()).await.unwrap().is_written());
        rotated
    }

    #[tokio::test]
    async fn secrets_are_made_once_and_kept() {
        let (known, acme) = (known(), tenant("acme"));

        let made = known.of(&acme, &SystemChance, NOW).await.unwrap();

        let kept = signing_secrets(&*known.store, &acme, &SystemChance, NOW).await.unwrap();
        assert_eq!((*made).clone(), kept.item);
        assert_ne!(made, known.of(&tenant("other"), &SystemChance, NOW).await.unwrap(), "each tenant has its own");
    }

    #[tokio::test]
    async fn concurrent_first_readers_all_get_the_same_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(FileStore::open(directory.path()).unwrap());
        let mut makers = JoinSet::new();
        for _ in 0..24 {
            let store = Arc::clone(&store);
            makers.spawn(async move { signing_secrets(&*store, &tenant("acme"), &SystemChance, NOW).await.unwrap() });
        }

        let mut made = makers.join_all().await;

        made.dedup();
        assert_eq!((made.len(), store.meter().reads), (1, 24), "all looked before any of them wrote");
    }

    #[tokio::test]
    async fn secrets_are_read_once_a_minute() {
        let (known, acme) = (known(), tenant("acme"));
        let first = known.of(&acme, &SystemChance, NOW).await.unwrap();
        let rotated = rotate(&known.store, &acme).await;
        let reads = known.store.meter().reads;

        let within = known.of(&acme, &SystemChance, NOW + KNOWN_FOR - Duration::from_millis(1)).await.unwrap();
        assert_eq!((within, known.store.meter().reads), (first, reads));

        let after = known.of(&acme, &SystemChance, NOW + KNOWN_FOR).await.unwrap();
        assert_eq!(((*after).clone(), known.store.meter().reads), (rotated, reads + 1));
    }

    #[tokio::test]
    async fn a_clock_set_back_does_not_keep_secrets_cached_for_longer() {
        let (known, acme) = (known(), tenant("acme"));
        known.of(&acme, &SystemChance, NOW).await.unwrap();
        let rotated = rotate(&known.store, &acme).await;

        assert_eq!(*known.of(&acme, &SystemChance, NOW - Duration::from_secs(3600)).await.unwrap(), rotated);
    }

    #[tokio::test]
    async fn the_cache_is_bounded() {
        let known = known();

        for number in 0..TENANTS + 10 {
            known.of(&tenant(&format!("tenant-{number}")), &SystemChance, NOW).await.unwrap();
        }

        assert_eq!(known.known.lock().unwrap().len(), 10);
    }
}
