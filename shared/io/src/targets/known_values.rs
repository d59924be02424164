//! A process's cache of what secrets say, so that a burst of calls does not open the same secret for each. What is in it is at most
//! five seconds old: a rotation, and a delete, are everywhere by then.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::secret::{Label, Secret, SecretName, SecretValue};

use super::material::NoValue;
use crate::Fault;
use crate::store::Store;
use crate::vault::{Vault, VaultError};

/// How old a value may be when a call is prepared with it.
pub const VALUE_KNOWN_FOR: Duration = Duration::from_secs(5);
/// At most four megabytes. A process that calls with more secrets than this within five seconds opens them again.
const VALUES: usize = 1024;

pub(super) struct KnownValues<S> {
    store: Arc<S>,
    known: Mutex<HashMap<(Tenant, SecretName), Known>>,
}

struct Known {
    value: Arc<SecretValue>,
    since: Moment,
}

type Value = Result<Arc<SecretValue>, NoValue>;

impl<S: Store> KnownValues<S> {
    pub(super) fn new(store: Arc<S>) -> Self {
        Self { store, known: Mutex::default() }
    }

    pub(super) async fn of(
        &self,
        tenant: &Tenant,
        names: BTreeSet<SecretName>,
        vault: &impl Vault,
        now: Moment,
    ) -> Result<BTreeMap<SecretName, Value>, Fault> {
        let mut values = BTreeMap::new();
        for name in names {
            let value = match self.remembered(tenant, &name, now) {
                Some(value) => Ok(value),
                None => self.opened(tenant, &name, vault, now).await?,
            };
            values.insert(name, value);
        }
        Ok(values)
    }

    async fn opened(
        &self,
        tenant: &Tenant,
        name: &SecretName,
        vault: &impl Vault,
        now: Moment,
    ) -> Result<Value, Fault> {
        let seen = self.store.get::<Secret>(tenant, name.clone()).await?;
        let Some(sealed) = seen.as_ref().and_then(|seen| seen.item.sealed()) else {
            return Ok(Err(NoValue::NoSecret));
        };
        // By the name it was asked for, not the one it says: an item in another's place does not open.
        let label = Label { tenant, name };
        match vault.open(label, sealed).await {
            Ok(value) => Ok(Ok(self.remember(tenant, name, value, now))),
            Err(VaultError::Fault(fault)) => Err(fault),
            Err(VaultError::Refused(why)) => {
                tracing::error!(tenant = tenant.as_str(), secret = name.as_str(), %why, "a secret cannot be opened");
                Ok(Err(NoValue::Sealed))
            }
        }
    }

    fn remembered(&self, tenant: &Tenant, name: &SecretName, now: Moment) -> Option<Arc<SecretValue>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&(tenant.clone(), name.clone())).filter(|known| known.is_fresh(now))?;
        Some(Arc::clone(&known.value))
    }

    /// What is no longer fresh goes.
    fn remember(&self, tenant: &Tenant, name: &SecretName, value: SecretValue, now: Moment) -> Arc<SecretValue> {
        let value = Arc::new(value);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, known| known.is_fresh(now));
        if known.len() < VALUES {
            let entry = Known { value: Arc::clone(&value), since: now };
            known.insert((tenant.clone(), name.clone()), entry);
        }
        value
    }
}

impl Known {
    /// An entry from the future, before the clock was set back, is not fresh: it would be kept for as long as that.
    fn is_fresh(&self, now: Moment) -> bool {
        self.since <= now && now < self.since + VALUE_KNOWN_FOR
    }
}

impl<S> fmt::Debug for KnownValues<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownValues")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::store::Guard;
    use crate::store::embedded::MemoryStore;
    use crate::vault::NoVault;
    use crate::vault::key_file::KeyFile;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    struct World {
        known: KnownValues<MemoryStore>,
        vault: KeyFile,
        acme: Tenant,
        name: SecretName,
    }

    impl World {
        fn new() -> Self {
            let store = Arc::new(MemoryStore::in_memory());
            let (acme, name) = (Tenant::new("acme").unwrap(), "stripe".parse().unwrap());
            Self { known: KnownValues::new(store), vault: KeyFile::in_memory(), acme, name }
        }

        async fn write(&self, text: &str) {
            let label = Label { tenant: &self.acme, name: &self.name };
            let value = SecretValue::new(Zeroizing::new(text.to_owned())).unwrap();
            let sealed = self.vault.seal(label, &value).await.unwrap();
            let store = &self.known.store;
            let seen = store.get::<Secret>(&self.acme, self.name.clone()).await.unwrap();
            let guard = seen.as_ref().map_or(Guard::Absent, crate::store::Seen::guard);
            let secret = seen
                .map_or_else(|| Secret::new(label, sealed.clone(), NOW), |seen| seen.item.written(sealed.clone(), NOW));
            assert!(store.put(&self.acme, self.name.clone(), &secret, guard).await.unwrap().is_written());
        }

        async fn read(&self, now: Moment) -> Result<String, NoValue> {
            let values = self.known.of(&self.acme, [self.name.clone()].into(), &self.vault, now).await.unwrap();
            values[&self.name].clone().map(|value| value.reveal().to_owned())
        }

        fn reads(&self) -> u64 {
            self.known.store.meter().reads
        }
    }

    #[tokio::test]
    async fn a_secret_is_opened_once_in_five_seconds_and_a_rotation_is_seen_after_them() {
        let world = World::new();
        world.write("first").await;
        assert_eq!(world.read(NOW).await.as_deref(), Ok("first"));
        world.write("second").await;
        let reads = world.reads();

        assert_eq!(world.read((NOW + VALUE_KNOWN_FOR).just_before()).await.as_deref(), Ok("first"));
        assert_eq!(world.reads(), reads);
        assert_eq!(world.read(NOW + VALUE_KNOWN_FOR).await.as_deref(), Ok("second"));
    }

    #[tokio::test]
    async fn a_clock_set_back_does_not_keep_a_value_for_longer() {
        let world = World::new();
        world.write("first").await;
        world.read(NOW).await.unwrap();
        world.write("second").await;

        assert_eq!(world.read(NOW.just_before()).await.as_deref(), Ok("second"));
    }

    #[tokio::test]
    async fn one_that_is_not_there_is_looked_for_again_each_time() {
        let world = World::new();
        assert_eq!(world.read(NOW).await, Err(NoValue::NoSecret));

        world.write("first").await;

        assert_eq!(world.read(NOW).await.as_deref(), Ok("first"));
    }

    #[tokio::test]
    async fn one_that_cannot_be_opened_is_no_fault_and_tells_the_tenant_nothing_of_the_key() {
        let world = World::new();
        world.write("first").await;

        let values = world.known.of(&world.acme, [world.name.clone()].into(), &NoVault, NOW).await.unwrap();

        assert!(matches!(&values[&world.name], Err(NoValue::Sealed)), "{values:?}");
    }

    #[tokio::test]
    async fn what_is_no_longer_fresh_is_not_kept() {
        let world = World::new();
        world.write("first").await;
        world.read(NOW).await.unwrap();

        world.read(NOW + 10 * VALUE_KNOWN_FOR).await.unwrap();

        assert_eq!(world.known.known.lock().unwrap().len(), 1);
    }
}
