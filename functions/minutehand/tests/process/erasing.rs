//! Erasing a tenant by a process that is killed on the way: the next one goes on where it was.

use std::path::Path;

use http::Method;
use minutehand_domain::id::Tenant;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::FileStore;
use serde_json::{Value, json};

use crate::SOON;
use crate::client::{Client, text};
use crate::patience::eventually;
use crate::server::Server;

/// More than the request that asks for it erases: a job, its timer and what else each of them has.
const BATCHES: usize = 4;
const JOBS: usize = 1000;

/// That it says `left: 0` twenty minutes later is for a clock that can be set: the simulation's, and the API's own tests'.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_goes_on_when_its_process_was_killed_and_nothing_is_left() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let admin = server.client();
    let gone = key_of(&server, "gone").await;
    let stays = key_of(&server, "gone2").await;
    for _ in 0..BATCHES {
        assert_eq!(gone.post("/v1/jobs/batch", json!({"jobs": jobs(JOBS)})).await.status, 200);
    }
    assert_eq!(stays.post("/v1/jobs/batch", json!({"jobs": jobs(10)})).await.status, 200);

    let begun = admin.ask(Method::DELETE, "/v1/tenants/gone", None, None).await.unwrap();
    assert_eq!(begun.status, 202, "{begun:?}");
    let closed = gone.get("/v1/jobs").await.status;
    server.kill();
    let (left, theirs) = (remains(data.path(), "gone").await, remains(data.path(), "gone2").await);
    assert!(left > 0, "it was killed on the way");

    let server = Server::on(data.path());
    let admin = server.client();
    let operation = text(&begun.body, "operation_id");
    let walked = eventually(3 * SOON, "all is erased once", async || {
        let operation = admin.get(&format!("/v1/operations/{operation}")).await.body;
        operation["erasure"]["left"].is_u64().then_some(operation)
    })
    .await;
    let again = admin.ask(Method::DELETE, "/v1/tenants/gone", None, None).await.unwrap();
    server.stop();

    assert_eq!((closed, &walked["state"]), (401, &json!("running")), "{walked}");
    assert!(
        walked["erasure"]["waits_until"].is_string() && walked["erasure"]["left"].as_u64() > Some(4000),
        "{walked}"
    );
    assert_eq!((again.status, &again.body["operation_id"]), (202, &json!(operation)));
    assert_eq!(remains(data.path(), "gone").await, 0);
    assert!(remains(data.path(), "gone2").await >= theirs, "the other goes on");
}

async fn key_of(server: &Server, tenant: &str) -> Client {
    let made = server.client().post("/v1/keys", json!({"name": "admin", "role": "admin", "tenant": tenant})).await;
    assert_eq!(made.status, 201, "{made:?}");
    Client::new(server.address(), Some(&text(&made.body, "secret")))
}

fn jobs(count: usize) -> Vec<Value> {
    (0..count).map(|_| json!({"target": {"noop": {}}, "schedule": {"every_seconds": 86_400}})).collect()
}

/// How much lies under a tenant in a directory that nothing serves.
async fn remains(data: &Path, tenant: &str) -> usize {
    let (store, tenant) = (FileStore::open(data).unwrap(), Tenant::new(tenant).unwrap());
    let (mut all, mut behind) = (0, None);
    loop {
        let page = store.remains(&tenant, behind).await.unwrap();
        all += page.lying.len();
        behind = page.next;
        if behind.is_none() {
            return all;
        }
    }
}
