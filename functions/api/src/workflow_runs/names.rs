//! The names of keys: who did something is on record by a key's id, which nobody remembers. A revoked key has its record still, and so
//! its name.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::access::{ApiKey, KeyId};
use minutehand_domain::id::Tenant;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

/// Keys that one answer names; it tells the others by their ids alone.
const MOST: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Of those among `who` that are keys.
    pub(super) async fn of<D: Ports>(
        ports: &D,
        tenant: &Tenant,
        who: impl IntoIterator<Item = &str>,
    ) -> Result<Self, Fault> {
        let keys: BTreeSet<KeyId> = who.into_iter().filter_map(|by| by.parse().ok()).collect();
        let mut names = BTreeMap::new();
        for id in keys.into_iter().take(MOST) {
            if let Some(key) = ports.store().get::<ApiKey>(tenant, id).await? {
                names.insert(id.to_string(), key.item.name);
            }
        }
        Ok(Self(names))
    }

    pub(super) fn name(&self, by: &str) -> Option<String> {
        self.0.get(by).cloned()
    }

    /// For a sentence.
    pub(super) fn said<'a>(&'a self, by: &'a str) -> &'a str {
        self.0.get(by).map_or(by, String::as_str)
    }
}
