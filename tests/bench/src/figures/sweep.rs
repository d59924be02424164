//! Sweep: the cost of a pass with few and with a million pending timers. In this process, counted by the store's meter.

use minutehand_io::store::embedded::{Embedded, Engine, FileStore, MemoryStore};

use crate::failure::{Outcome, ensure};
use crate::lag::{count, millis};
use crate::sheet::Reading;
use crate::stage::Stage;
use crate::world::{Cost, World};

const FEW: u32 = 1_000;
const MANY: u32 = 1_000_000;
const DUE: u32 = 100;

pub(super) fn meaning() -> String {
    format!(
        "One pass over {FEW} and over {MANY} pending timers, with the same {DUE} jobs due: half are overdue and looked at, half\n  \
         are due within the horizon and hinted. The items read must be as many, in memory and on a file. Then a second pass,\n  \
         which finds that done. (Pending: timers alone, spread over the hour past the horizon; a pass never reads their jobs.)"
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let [few, few_again] = passes(MemoryStore::in_memory(), FEW).await?;
    let [many, many_again] = passes(MemoryStore::in_memory(), MANY).await?;
    let [few_on_file, _] = passes_on_a_file(stage, FEW).await?;
    let [many_on_file, _] = passes_on_a_file(stage, MANY).await?;
    let first = [few, many, few_on_file, many_on_file].map(|cost| cost.items_read);
    ensure(first.iter().all(|reads| *reads == first[0]), || {
        format!("a pass reads more if more is pending: {first:?}")
    })?;
    ensure(few_again.items_read == many_again.items_read, || "a second pass reads more if more is pending".to_owned())?;
    Ok(vec![
        reads("items read, 1,000 pending", few),
        reads("items read, 1,000,000 pending", many),
        reads("items read by the second pass, 1,000 pending", few_again),
        reads("items read by the second pass, 1,000,000 pending", many_again),
        Reading::new("items written", "", items(many.items_written)),
        Reading::new("in memory, 1,000 pending", "ms", millis(few.took)),
        Reading::new("in memory, 1,000,000 pending", "ms", millis(many.took)),
        Reading::new("on a file, 1,000 pending", "ms", millis(few_on_file.took)),
        Reading::new("on a file, 1,000,000 pending", "ms", millis(many_on_file.took)),
    ])
}

async fn passes_on_a_file(stage: &Stage, pending: u32) -> Outcome<[Cost; 2]> {
    let data = tempfile::Builder::new().prefix("minutehand-bench-").tempdir_in(&stage.directory)?;
    passes(FileStore::open(data.path())?, pending).await
}

async fn passes<E: Engine>(store: Embedded<E>, pending: u32) -> Outcome<[Cost; 2]> {
    let world = World::filled(store, pending, DUE).await?;
    let costs = [world.pass().await?, world.pass().await?];
    let done = costs[0].hinted + costs[0].looked_at;
    ensure(done == u64::from(DUE), || format!("{done} of {DUE} due timers were handled"))?;
    Ok(costs)
}

fn reads(what: &'static str, cost: Cost) -> Reading {
    Reading::new(what, "", items(cost.items_read))
}

fn items(number: u64) -> f64 {
    count(usize::try_from(number).unwrap_or(usize::MAX))
}
