//! Letters: everybody's, in the index that says how old the oldest is.

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, State};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_protocol::sweep::repair::{Position, Repair, repair};

use super::*;

/// As a release wrote it that knew no such index. Removed: that the repair writes it once more; and that a repair which only checks writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_of_before_there_was_the_index_is_listed_by_a_repair() {
    let stage = Stage::new(Listing::Off).await;
    let (client, table, store) = (Client::new(&stage.dynamo().config()), tables().state, stage.api.store());
    let key = RunKey::occurrence(JobId::from_bytes([7; 16]), BEGIN);
    let run =
        Run { state: State::TimedOut { at: BEGIN }, ..Run::new(Tenant::new("acme").unwrap(), key, Priority::Normal) };
    assert!(store.put(&run.tenant, key, &run, Guard::Absent).await.unwrap().is_written());
    assert_eq!(store.oldest_letter().await, Ok(Some(BEGIN)));
    for mut item in all(&stage, &table).await {
        item.remove("letter");
        client.put_item().table_name(&table).set_item(Some(item)).send().await.expect("a put");
    }
    let repaired = async |check| {
        repair(&*stage.api, Position::default(), Repair { check, until: Moment::END }).await.expect("a repair");
        store.oldest_letter().await
    };

    assert_eq!(repaired(true).await, Ok(None));
    assert_eq!(repaired(false).await, Ok(Some(BEGIN)));
    assert_eq!(store.get::<Run>(&run.tenant, key).await.unwrap().map(|seen| seen.item), Some(run));
}
