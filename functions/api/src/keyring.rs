//! The keyring: the keys that are valid without a record in the store, and the caller of a request.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use minutehand_domain::access::{ApiKey, By, Role, SecretHash};
use minutehand_domain::id::Tenant;
use minutehand_domain::pool::PoolName;

/// The keys that are valid without a record in the store, such as the deployment's own.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    hash: SecretHash,
    caller: Caller,
}

impl Keyring {
    /// The deployment's own key, and the tenant of its jobs.
    pub fn single(key: &str, tenant: Tenant) -> Self {
        Self::default().with(SecretHash::of(key), tenant, Role::Host)
    }

    /// The same for a host that knows only the key's hash.
    pub fn of_hash(sha256: [u8; 32], tenant: Tenant) -> Self {
        Self::default().with(SecretHash::from_bytes(sha256), tenant, Role::Host)
    }

    /// Adds the admin key of another tenant.
    #[must_use]
    pub fn and(self, key: &str, tenant: Tenant) -> Self {
        self.with(SecretHash::of(key), tenant, Role::Admin)
    }

    fn with(mut self, hash: SecretHash, tenant: Tenant, role: Role) -> Self {
        self.entries.push(Entry {
            hash,
            caller: Caller { tenant: Arc::new(tenant), role, by: By::host(), name: None, pools: None },
        });
        self
    }

    /// Compares every entry to its end, so that the time taken reveals nothing about any of them.
    pub(crate) fn caller(&self, key: &str) -> Option<Caller> {
        self.entries
            .iter()
            .fold(None, |found, entry| if entry.hash.is_of(key) { Some(&entry.caller) } else { found })
            .cloned()
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring of {}", self.entries.len())
    }
}

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Role(Role),
    /// A worker, or whoever may make jobs.
    Work,
}

impl From<Role> for Need {
    fn from(role: Role) -> Self {
        Self::Role(role)
    }
}

/// The tenant and the role of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    tenant: Arc<Tenant>,
    pub role: Role,
    /// The name in the audit trail.
    pub by: By,
    /// What its key is called; the deployment's own has no name.
    pub name: Option<Arc<str>>,
    /// Of a worker: the pools that it works for. It may do nothing else.
    pools: Option<Arc<BTreeSet<PoolName>>>,
}

impl Caller {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    pub(crate) fn may(&self, needed: Need) -> bool {
        match needed {
            Need::Role(role) => self.pools.is_none() && self.role >= role,
            Need::Work => self.pools.is_some() || self.role >= Role::Operator,
        }
    }

    pub(crate) fn is_worker(&self) -> bool {
        self.pools.is_some()
    }

    /// Whether it may take runs out of this pool.
    pub(crate) fn works_for(&self, pool: &PoolName) -> bool {
        self.pools.as_ref().is_none_or(|pools| pools.contains(pool))
    }

    pub(crate) fn of(key: &ApiKey) -> Self {
        Self {
            tenant: Arc::new(key.tenant.clone()),
            role: key.role,
            by: By::key(key.id),
            name: Some(key.name.as_str().into()),
            pools: key.pools.clone().map(Arc::new),
        }
    }
}
