//! A process's cache of what secrets say, so that a burst of calls does not open the same secret for each. What is in it is at most
//! four seconds old, and a call that is prepared with it begins within another: a rotation, and a delete, are everywhere after five.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::secret::{Label, Secret, SecretName, SecretValue};

use super::material::NoValue;
use crate::Fault;
use crate::store::Store;
use crate::vault::{Vault, VaultError};

/// How old a value may be when a call is prepared with it.
pub const VALUE_KNOWN_FOR: Duration = Duration::from_secs(4);
/// At most four megabytes. A process that calls with more secrets than this within four seconds opens some of them again: those of
/// the tenant that has the most of them.
const VALUES: usize = 1024;

pub(super) struct KnownValues<S> {
    store: Arc<S>,
    known: Mutex<HashMap<Tenant, HashMap<SecretName, Known>>>,
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
        let values = names.into_iter().map(async |name| {
            let value = match self.remembered(tenant, &name, now) {
                Some(value) => Ok(value),
                None => self.opened(tenant, &name, vault, now).await?,
            };
            Ok((name, value))
        });
        // All at once: one after the other, the last of them would make the first too old.
        Ok(try_join_all(values).await?.into_iter().collect())
    }

    async fn opened(
        &self,
        tenant: &Tenant,
        name: &SecretName,
        vault: &impl Vault,
        now: Moment,
    ) -> Result<Value, Fault> {
        let seen = match self.store.get::<Secret>(tenant, name.clone()).await {
            // It says nothing to anybody, and a run that waited for it would wait unseen. A later release's is that release's.
            Err(why @ Fault::Unreadable { .. }) => return Ok(Err(unopened(tenant, name, &why))),
            read => read?,
        };
        let Some(sealed) = seen.as_ref().and_then(|seen| seen.item.sealed()) else {
            return Ok(Err(NoValue::NoSecret));
        };
        // By the name it was asked for, not the one it says: an item in another's place does not open.
        let label = Label { tenant, name };
        match vault.open(label, sealed).await {
            Ok(value) => Ok(Ok(self.remember(tenant, name, value, now))),
            Err(why @ (VaultError::Refused(_) | VaultError::Fault(Fault::Unreadable { .. }))) => {
                Ok(Err(unopened(tenant, name, &why)))
            }
            Err(VaultError::Fault(fault)) => Err(fault),
        }
    }

    fn remembered(&self, tenant: &Tenant, name: &SecretName, now: Moment) -> Option<Arc<SecretValue>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(tenant)?.get(name).filter(|known| known.is_fresh(now))?;
        Some(Arc::clone(&known.value))
    }

    /// What is no longer fresh goes; where there is no room left, the oldest of the tenant with the most, if
    /// it has more than this one.
    fn remember(&self, tenant: &Tenant, name: &SecretName, value: SecretValue, now: Moment) -> Arc<SecretValue> {
        let value = Arc::new(value);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, values| {
            values.retain(|_, known| known.is_fresh(now));
            !values.is_empty()
        });
        if has_room(&mut known, tenant) {
            let entry = Known { value: Arc::clone(&value), since: now };
            known.entry(tenant.clone()).or_default().insert(name.clone(), entry);
        }
        value
    }
}

fn unopened(tenant: &Tenant, name: &SecretName, why: &impl fmt::Display) -> NoValue {
    tracing::error!(tenant = tenant.as_str(), secret = name.as_str(), %why, "a secret cannot be opened");
    NoValue::Sealed
}

fn has_room(known: &mut HashMap<Tenant, HashMap<SecretName, Known>>, tenant: &Tenant) -> bool {
    if known.values().map(HashMap::len).sum::<usize>() < VALUES {
        return true;
    }
    let own = known.get(tenant).map_or(0, HashMap::len);
    let Some(most) = known.values_mut().max_by_key(|values| values.len()).filter(|most| most.len() > own) else {
        return false;
    };
    let oldest = most.iter().min_by_key(|(_, known)| known.since).map(|(name, _)| name.clone());
    oldest.is_some_and(|oldest| most.remove(&oldest).is_some())
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
    use minutehand_domain::secret::Sealed;
    use zeroize::Zeroizing;

    use super::*;
    use crate::store::Guard;
    use crate::store::embedded::{Codec, MemoryStore};
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
            self.write_as(&self.acme, &self.name, text).await;
        }

        async fn write_as(&self, tenant: &Tenant, name: &SecretName, text: &str) {
            let label = Label { tenant, name };
            let value = SecretValue::new(Zeroizing::new(text.to_owned())).unwrap();
            let sealed = self.vault.seal(label, &value).await.unwrap();
            let store = &self.known.store;
            let seen = store.get::<Secret>(tenant, name.clone()).await.unwrap();
            let guard = seen.as_ref().map_or(Guard::Absent, crate::store::Seen::guard);
            let secret = seen
                .map_or_else(|| Secret::new(label, sealed.clone(), NOW), |seen| seen.item.written(sealed.clone(), NOW));
            assert!(store.put(tenant, name.clone(), &secret, guard).await.unwrap().is_written());
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
    async fn a_secret_is_opened_once_in_four_seconds_and_a_rotation_is_seen_after_them() {
        let world = World::new();
        world.write("first").await;
        assert_eq!(world.read(NOW).await.as_deref(), Ok("first"));
        world.write("second").await;
        let reads = world.reads();
        let after = |millis| NOW + Duration::from_millis(millis);

        assert_eq!(world.read(after(3_999)).await.as_deref(), Ok("first"));
        assert_eq!(world.reads(), reads);
        assert_eq!(world.read(after(4_000)).await.as_deref(), Ok("second"));
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

    /// Opens what is no secret.
    struct Nonsense(KeyFile);

    impl Vault for Nonsense {
        async fn seal(&self, label: Label<'_>, value: &SecretValue) -> Result<Sealed, VaultError> {
            self.0.seal(label, value).await
        }

        async fn open(&self, _label: Label<'_>, _sealed: &Sealed) -> Result<SecretValue, VaultError> {
            Err(Fault::unreadable("the vault", "no text").into())
        }
    }

    /// Tried: as a fault its run waits for it unseen, hinted again and again.
    #[tokio::test]
    async fn one_that_nobody_can_read_is_no_fault() {
        let world = World::new();
        world.write("first").await;
        let damaged = Arc::new(world.known.store.seen_through(Codec::Damaging));
        let seen = damaged.get::<Secret>(&world.acme, world.name.clone()).await.unwrap().unwrap();
        let read = async |vault: &Nonsense| {
            let values = world.known.of(&world.acme, [world.name.clone()].into(), vault, NOW).await;
            values.map(|mut values| values.remove(&world.name).unwrap().map(|_| ()))
        };
        let vault = Nonsense(KeyFile::in_memory());

        assert_eq!(read(&vault).await, Ok(Err(NoValue::Sealed)), "what opens is no text");
        let put = damaged.put(&world.acme, world.name.clone(), &seen.item, seen.guard()).await.unwrap();
        assert!(put.is_written());
        assert_eq!(read(&vault).await, Ok(Err(NoValue::Sealed)), "the item is damaged");
    }

    /// Opens only together with so many others.
    struct Together(KeyFile, tokio::sync::Barrier);

    impl Vault for Together {
        async fn seal(&self, label: Label<'_>, value: &SecretValue) -> Result<Sealed, VaultError> {
            self.0.seal(label, value).await
        }

        async fn open(&self, label: Label<'_>, sealed: &Sealed) -> Result<SecretValue, VaultError> {
            self.1.wait().await;
            self.0.open(label, sealed).await
        }
    }

    /// Tried: one after the other, the first waits for ever.
    #[tokio::test(start_paused = true)]
    async fn the_secrets_of_a_call_are_opened_all_at_once() {
        let world = World::new();
        let names: BTreeSet<SecretName> = (0..32).map(|number| format!("s{number}").parse().unwrap()).collect();
        for name in &names {
            world.write_as(&world.acme, name, name.as_str()).await;
        }
        let vault = Together(world.vault, tokio::sync::Barrier::new(32));

        let opened = world.known.of(&world.acme, names, &vault, NOW);
        let opened =
            tokio::time::timeout(Duration::from_secs(60), opened).await.expect("none waits for another").unwrap();

        assert!(opened.iter().all(|(name, value)| value.as_ref().unwrap().reveal() == name.as_str()), "each its own");
        assert_eq!(opened.len(), 32);
    }

    /// Tried: with room for those who come first, the other's is opened for each of its calls.
    #[tokio::test]
    async fn one_with_more_secrets_than_there_is_room_for_leaves_room_for_another() {
        let world = World::new();
        let flooding = Tenant::new("flooding").unwrap();
        for number in 0..=VALUES {
            let name = format!("s{number}").parse::<SecretName>().unwrap();
            world.write_as(&flooding, &name, "x").await;
            world.known.of(&flooding, [name].into(), &world.vault, NOW).await.unwrap();
        }
        world.write("first").await;
        world.read(NOW).await.unwrap();
        let reads = world.reads();

        assert_eq!(world.read(NOW).await.as_deref(), Ok("first"));
        assert_eq!(world.reads(), reads, "it is known");
        let known = world.known.known.lock().unwrap();
        assert_eq!((known[&flooding].len(), known[&world.acme].len()), (VALUES - 1, 1));
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
