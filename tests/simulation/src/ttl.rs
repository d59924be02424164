//! The TTL of the table: each thing is deleted by the clock alone, also what lies beneath a run that is not over. One machine's store, on which the
//! simulation runs, deletes that with its run and keeps no such instant.

use std::collections::BTreeMap;
use std::fmt;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::store::item::Item;

use crate::witness::at_once;

/// By where it lies: from when on something may go, as it was written last, and how.
#[derive(Default)]
pub(crate) struct Ttl(BTreeMap<String, (Moment, Delete)>);

type Delete = Box<dyn Fn(&MemoryStore) + Send>;

impl Ttl {
    /// Something was written.
    pub(crate) fn note<T: Item>(&mut self, tenant: &Tenant, key: &T::Key, item: &T) {
        let lies = || format!("{} {} {key:?}", tenant.as_str(), T::KIND);
        match item.given_up_at() {
            Some(at) => drop(self.0.insert(lies(), (at, delete::<T>(tenant, key)))),
            None if self.0.is_empty() => {}
            None => drop(self.0.remove(&lies())),
        }
    }

    pub(crate) fn expire(&mut self, now: Moment, store: &MemoryStore) {
        self.0.retain(|_, (at, delete)| {
            let is_over = *at <= now;
            if is_over {
                delete(store);
            }
            !is_over
        });
    }
}

fn delete<T: Item>(tenant: &Tenant, key: &T::Key) -> Delete {
    let (tenant, key) = (tenant.clone(), key.clone());
    Box::new(move |store| {
        if let Some(seen) = at_once(store.get::<T>(&tenant, key.clone())).expect("memory") {
            let _it_is_gone = at_once(store.delete::<T>(&tenant, key.clone(), seen.version)).expect("memory");
        }
    })
}

impl fmt::Debug for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ttl of {}", self.0.len())
    }
}
