//! The engine in memory: a B-tree for each table. Cheap, deterministic, without threads; the simulation runs on it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::{Future, ready};
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::engine::{Applied, Change, Engine, Span, Table, Write};
use super::{Embedded, MemoryStore};
use crate::Fault;
use crate::store::Version;
use crate::store::place::Order;

/// Boxed slices, not vectors: a million items would keep a million spare capacities.
type Tree = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// More than any item ever sees, so that no two lives share a version.
const WRITINGS_OF_A_LIFE: u64 = 1 << 32;

#[derive(Debug, Default)]
pub struct Memory {
    tables: [Mutex<Tree>; Table::ALL.len()],
    commits: AtomicU64,
    lives: AtomicU64,
}

impl MemoryStore {
    pub fn in_memory() -> Self {
        Embedded::new(Memory::default())
    }

    /// A minute's timers divided as DynamoDB's are, for tests without DynamoDB.
    pub fn with_shards(shards: u16) -> Self {
        Embedded::divided(Memory::default(), shards.max(1))
    }
}

impl Memory {
    fn table(&self, table: Table) -> MutexGuard<'_, Tree> {
        self.tables[table.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply_now(&self, write: Write) -> Result<Applied, Fault> {
        let mut tree = self.table(write.table);
        let standing = tree.get(write.key.as_slice());
        let computed = matches!(write.change, Change::Computed(_));
        let Some(made) = write.change.decide(standing.map(AsRef::as_ref))? else {
            return Ok(Applied::Conflict(standing.map(|value| value.to_vec())));
        };
        let value = made.value.as_ref().filter(|_| computed).cloned();
        put(&mut tree, write.key, made.value);
        for entry in made.entries {
            // While the item's own table is locked still: nobody sees one without the other.
            put(&mut self.table(entry.table), entry.key, entry.value);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(if computed { Applied::Computed(value) } else { Applied::Done })
    }
}

fn put(tree: &mut Tree, key: Vec<u8>, value: Option<Vec<u8>>) {
    match (value, tree.entry(key.into_boxed_slice())) {
        (Some(value), entry) => drop(entry.insert_entry(value.into_boxed_slice())),
        (None, Entry::Occupied(entry)) => drop(entry.remove()),
        (None, Entry::Vacant(_)) => {}
    }
}

impl Engine for Memory {
    fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        see: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.table(table).get(key).map(|value| see(value)).transpose()
    }

    fn walk(
        &self,
        table: Table,
        span: &Span,
        mut see: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let tree = self.table(table);
        let mut entries =
            tree.range::<[u8], _>((Bound::Included(span.from.as_slice()), Bound::Excluded(span.to.as_slice())));
        let mut next = || match span.order {
            Order::Forward => entries.next(),
            Order::Backward => entries.next_back(),
        };
        while let Some((key, value)) = next() {
            if see(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn apply(&self, write: Write) -> impl Future<Output = Result<Applied, Fault>> + Send {
        ready(self.apply_now(write))
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// All lives that there ever were are this process's own: they are counted, so that one seed stays one history.
    fn first_version(&self) -> Version {
        Version(self.lives.fetch_add(1, Ordering::Relaxed) * WRITINGS_OF_A_LIFE + 1)
    }
}
