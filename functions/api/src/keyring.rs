//! The keyring: the keys that open without a record of theirs in the store, and the caller that a key makes of a request.

use std::fmt;
use std::sync::Arc;

use minutehand_domain::access::{ApiKey, By, Role, SecretHash};
use minutehand_domain::id::Tenant;

/// The keys that are let in without a record of them: first of all the deployment's own.
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
    /// The deployment's own key, and whose jobs it makes.
    pub fn single(key: &str, tenant: Tenant) -> Self {
        Self::default().with(SecretHash::of(key), tenant, Role::Host)
    }

    /// The same for whoever does not know the key itself.
    pub fn of_hash(sha256: [u8; 32], tenant: Tenant) -> Self {
        Self::default().with(SecretHash::from_bytes(sha256), tenant, Role::Host)
    }

    /// Another tenant's admin.
    #[must_use]
    pub fn and(self, key: &str, tenant: Tenant) -> Self {
        self.with(SecretHash::of(key), tenant, Role::Admin)
    }

    fn with(mut self, hash: SecretHash, tenant: Tenant, role: Role) -> Self {
        self.entries.push(Entry { hash, caller: Caller { tenant: Arc::new(tenant), role, by: By::host() } });
        self
    }

    /// Every entry is compared, and each to its end, so that the time it takes says nothing about any.
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

/// Whose request this is, and what they may.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    tenant: Arc<Tenant>,
    pub role: Role,
    /// What the audit trail calls them.
    pub by: By,
}

impl Caller {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    pub(crate) fn of(key: &ApiKey) -> Self {
        Self { tenant: Arc::new(key.tenant.clone()), role: key.role, by: By::key(key.id) }
    }
}
