//! The cost of a sweep depends on the timers that are due, not on those held: counted in items read, so that it holds on any
//! machine.

use minutehand_bench::world::{Cost, World};
use minutehand_io::store::embedded::{Embedded, Engine, FileStore, MemoryStore};

const DUE: u32 = 100;
const FEW: u32 = 1_000;
/// `minutehand-bench sweep` measures a million; this many take a debug build a few seconds.
const MANY: u32 = 100_000;

/// The first pass, which hints and inspects; and the next, which has nothing to do.
async fn passes<E: Engine>(store: Embedded<E>, pending: u32) -> [Cost; 2] {
    let world = World::filled(store, pending, DUE).await.unwrap();
    [world.pass().await.unwrap(), world.pass().await.unwrap()]
}

fn reads(costs: [Cost; 2]) -> [u64; 2] {
    costs.map(|cost| cost.items_read)
}

#[tokio::test]
async fn a_pass_of_the_sweep_reads_as_many_items_at_1_000_as_at_100_000_pending_timers() {
    let few = passes(MemoryStore::in_memory(), FEW).await;
    let many = passes(MemoryStore::in_memory(), MANY).await;

    assert_eq!(reads(few), reads(many));
    assert_eq!(few[0].hinted + few[0].looked_at, u64::from(DUE), "and it did what was due: {few:?}");
    assert!(few[0].items_read < 10 * u64::from(DUE), "{few:?}");
}

#[tokio::test]
async fn on_a_file_a_pass_reads_what_it_reads_in_memory() {
    let directory = tempfile::tempdir().unwrap();

    let in_memory = passes(MemoryStore::in_memory(), FEW).await;
    let on_a_file = passes(FileStore::open(directory.path()).unwrap(), 10 * FEW).await;

    assert_eq!(reads(in_memory), reads(on_a_file));
}
