//! Shares: one tenant has more connections than there are, of every kind, or sends more than its part of the memory; another one is served meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::open_files::open_files;
use crate::patience::{eventually, say};
use crate::raw::Raw;
use crate::server::Server;
use crate::watched::unread_kib;
use crate::{LATE, bounded};

/// All of a process's connections, and some more.
const CONNECTIONS: usize = 1_000;
const HELD: usize = 1_100;
/// Nothing but the shares frees any of them while the test lasts.
const PATIENT: &str = "connections=1000,head=60000,idle=60000,frame=60000,body=60000";
/// All of another process's connections, and clients that read nothing on each. Nothing else frees any of them while the test lasts.
const FEW: usize = 8;
const UNREAD: &str = "connections=8,head=60000,idle=60000,answer=60000";
/// Less than the kernel keeps of answers that nobody reads, and more than of one that is being read.
const MANY_KIB: u64 = 64;
const REQUESTS: usize = 50;
/// The other tenant's nine of ten requests, each on a new connection, and each of them, on cores that others use too: far less than the minute
/// after which one of the held connections would be cut.
const MOST_WITHIN: Duration = Duration::from_secs(8);
const ANY_WITHIN: Duration = Duration::from_secs(15);
/// The bytes of the largest batch.
const BATCH: usize = 4 * 1024 * 1024;
/// Of those eight fill a tenant's share of the memory of bodies.
const UPLOADS: usize = 9;

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

/// Each lacks its last byte, and one is refused; the other tenant's is as large, and whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_unfinished_batches_take_no_memory_from_others() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), PATIENT);
    let (noisy, quiet) = (key_of(&server, "noisy").await, key_of(&server, "quiet").await);
    let jobs = json!({ "jobs": [{ "target": { "noop": {} } }] }).to_string();
    let batch = format!("{jobs}{}", " ".repeat(BATCH - jobs.len()));
    let mut uploads = JoinSet::new();
    for _ in 0..UPLOADS {
        let unfinished = upload(&noisy) + &batch[..BATCH - 1];
        uploads.spawn(answer_to(server.address(), unfinished));
    }

    let refused = uploads.join_next().await.unwrap().unwrap();
    let beside = answer_to(server.address(), upload(&quiet) + &batch).await;

    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    assert!(beside.starts_with("HTTP/1.1 200 ") && beside.contains(r#""status":201"#), "{beside}");
}

/// The head of the largest batch.
fn upload(key: &str) -> String {
    let head = format!("POST /v1/jobs/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n");
    head + &format!("connection: close\r\ncontent-type: application/json\r\ncontent-length: {BATCH}\r\n\r\n")
}

async fn answer_to(address: SocketAddr, request: String) -> String {
    let mut connection = Raw::to(address).await;
    connection.say(request.as_bytes()).await;
    connection.until_cut().await.0
}

/// Removed: that the answer to a request without a key keeps no place. All places were held for as long as an answer may take to be read.
#[tokio::test(flavor = "multi_thread")]
async fn answers_without_a_key_that_nobody_reads_keep_nobody_out() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNREAD);

    let _deaf = deaf_to(&server, &"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100)).await;

    assert_lets_in(&server).await;
}

/// Six of eight connections are its share, and their answers keep their places.
///
/// Removed: that the refusal of a request past a share keeps no place. The refusals that nobody read held the other two.
#[tokio::test(flavor = "multi_thread")]
async fn answers_past_a_tenants_share_that_nobody_reads_keep_nobody_out() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNREAD);
    let key = key_of(&server, "noisy").await;

    let asks = format!("GET /v1/quotas HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n");
    let _deaf = deaf_to(&server, &asks.repeat(4_000)).await;

    assert_lets_in(&server).await;
}

/// A connection on each place whose client asks and reads nothing, until nothing more is written to any of them.
async fn deaf_to(server: &Server, asks: &str) -> Vec<Raw> {
    let listens_alone = || async { (unread_kib(server).len() == 1).then_some(()) };
    eventually(LATE, "no other connection has a place", listens_alone).await;
    let mut deaf = Vec::new();
    for _ in 0..FEW {
        deaf.push(Raw::deaf(server.address()).await);
    }
    for connection in &mut deaf {
        let _until_it_is_full = timeout(Duration::from_millis(50), connection.say(asks.as_bytes())).await;
    }
    let all_wait = || async {
        let before = sorted(unread_kib(server));
        sleep(Duration::from_millis(300)).await;
        let many = before.iter().filter(|unread| **unread >= MANY_KIB).count();
        (many == FEW && before == sorted(unread_kib(server))).then_some(())
    };
    eventually(ANY_WITHIN * 2, "nothing more is written", all_wait).await;
    deaf
}

fn sorted(mut unread: Vec<u64>) -> Vec<u64> {
    unread.sort_unstable();
    unread
}

async fn assert_lets_in(server: &Server) {
    let begin = Instant::now();
    let status = Client::new(server.address(), None).get("/v1/health").await.status;

    assert_eq!(status, 200);
    assert!(begin.elapsed() < LATE, "{:?}", begin.elapsed());
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
