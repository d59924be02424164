//! The keyring: the keys that are valid without a record in the store, and the caller of a request.

use std::fmt;
use std::sync::Arc;

use minutehand_domain::access::{ApiKey, By, Role, SecretHash};
use minutehand_domain::id::Tenant;

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
        self.entries
            .push(Entry { hash, caller: Caller { tenant: Arc::new(tenant), role, by: By::host(), name: None } });
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

/// The tenant and the role of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    tenant: Arc<Tenant>,
    pub role: Role,
    /// The name in the audit trail.
    pub by: By,
    /// What its key is called; the deployment's own has no name.
    pub name: Option<Arc<str>>,
}

impl Caller {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    pub(crate) fn of(key: &ApiKey) -> Self {
        Self {
            tenant: Arc::new(key.tenant.clone()),
            role: key.role,
            by: By::key(key.id),
            name: Some(key.name.as_str().into()),
        }
    }
}
