//! Shares: one tenant has more connections than there are, of every kind; another one is served meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::bounded;
use crate::client::Client;
use crate::patience::{eventually, say};
use crate::raw::Raw;
use crate::server::Server;
use crate::watched::open_files;

/// All of a process's connections, and some more.
const CONNECTIONS: usize = 1_000;
const HELD: usize = 1_100;
/// Nothing but the shares frees any of them while the test lasts.
const PATIENT: &str = "connections=1000,head=60000,idle=60000,frame=60000,body=60000";
const REQUESTS: usize = 50;
/// The other tenant's nine of ten requests, each on a new connection, and each of them, on cores that others use too: far less than the minute
/// after which one of the held connections would be cut.
const MOST_WITHIN: Duration = Duration::from_secs(8);
const ANY_WITHIN: Duration = Duration::from_secs(15);

/// Tried: without `make_room` in `front/places.rs`, which is as it was, the other one waits until a connection has idled for a
/// minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_idle_connections_keep_nobody_out() {
    held_by_one_tenant("idle connections", |key| {
        format!("GET /v1/quotas HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    held_by_one_tenant("silent connections", |_key| String::new()).await;
}

/// Tried: without the share of a tenant (`is_taken_by` is always true) all connections are uploads, and none gives way.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_slow_uploads_keep_nobody_out() {
    held_by_one_tenant("slow uploads", |key| {
        let head = format!("POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n");
        head + "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
    })
    .await;
}

async fn held_by_one_tenant(what: &str, says: impl Fn(&str) -> String) {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), PATIENT);
    let (noisy, quiet) = (key_of(&server, "noisy").await, key_of(&server, "quiet").await);
    let (files, mut held) = (open_files(&server), Vec::new());
    for _ in 0..HELD {
        let mut connection = Raw::to(server.address()).await;
        connection.say(says(&noisy).as_bytes()).await;
        held.push(connection);
    }
    let full = || async { (open_files(&server) >= files + CONNECTIONS * 7 / 10).then_some(()) };
    eventually(ANY_WITHIN, "they are in", full).await;
    sleep(Duration::from_millis(200)).await;

    let mut took = Vec::new();
    for _ in 0..REQUESTS {
        took.push(served(server.address(), &quiet).await);
    }

    took.sort_unstable();
    let (half, most, slowest) = (took[REQUESTS / 2], took[REQUESTS * 9 / 10], took[REQUESTS - 1]);
    say(&format!(
        "{REQUESTS} requests on new connections beside {HELD} {what}: p50 {half:?}, p90 {most:?}, max {slowest:?}"
    ));
    assert!(most < MOST_WITHIN && slowest < ANY_WITHIN, "{took:?}");
    drop(held);
}

async fn served(address: SocketAddr, key: &str) -> Duration {
    let begin = Instant::now();
    let answer = Client::new(address, Some(key)).post("/v1/jobs", json!({ "target": { "noop": {} } })).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    begin.elapsed()
}

async fn key_of(server: &Server, tenant: &str) -> String {
    let wanted = json!({ "name": tenant, "role": "operator", "tenant": tenant });
    let made = server.client().post("/v1/keys", wanted).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.text("secret")
}
