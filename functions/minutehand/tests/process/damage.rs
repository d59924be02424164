//! Damage: a process starts over a store in which a job, a timer and the cursor of the sweep can be read by nobody.

use std::time::Duration;

use minutehand_domain::cursor::Cursor;
use minutehand_domain::id::Tenant;
use minutehand_io::store::embedded::{Codec, FileStore};
use minutehand_io::store::{Guard, Store as _};
use serde_json::json;

use crate::repairing::{damaged_job, damaged_timer, now, timer_of};
use crate::server::Server;
use crate::{SOON, create, eventually, finished_runs, runs_of};

/// Removed (that what is wrong with one item is a fault of the start): the process ended at once, and nobody's jobs ran.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_over_what_nobody_can_read_and_everybody_elses_jobs_run() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let each_second =
        create(&server.client(), json!({ "target": { "noop": {} }, "schedule": { "every_seconds": 1 } })).await;
    finished_runs(&server.client(), &each_second, 1).await;
    assert!(server.stop().status.success());
    let store = FileStore::open(data.path()).unwrap();
    let overdue = now() - Duration::from_secs(120);
    let (job, _key) = damaged_job(&store, 2).await;
    store.put_timer(&timer_of(job, overdue)).await.unwrap();
    let timer = damaged_timer(&store, 3, overdue).await;
    damage_cursor(&store).await;
    store.close();

    let server = Server::on(data.path());
    let ran = runs_of(&server.client(), &each_second).await.len();
    eventually(SOON, "the job of each second goes on", async || {
        (runs_of(&server.client(), &each_second).await.len() > ran + 1).then_some(())
    })
    .await;
    eventually(SOON, "what nobody can read is said by its key", async || {
        let said = server.stderr();
        let is_said = |what: &str, key: &str| said.lines().any(|line| line.contains(what) && line.contains(key));
        let all = is_said("the cursor of the sweep cannot be read", "shard=0")
            && is_said("a timer that nobody can read", &timer)
            && is_said("a timer points at what nobody can read", &format!("{job:?}"));
        all.then_some(())
    })
    .await;
    assert!(server.stop().status.success());
}

async fn damage_cursor(store: &FileStore) {
    let cursor = store.get::<Cursor>(&Tenant::deployment(), 0).await.unwrap().expect("it was swept");
    let damaging = store.seen_through(Codec::Damaging);
    let put = damaging.put(&Tenant::deployment(), 0, &cursor.item, Guard::Seen(cursor.version)).await.unwrap();
    assert!(put.is_written());
}
