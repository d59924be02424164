//! Crowded: many bad clients at once, of every kind, and some good ones.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::Client;
use crate::open_files::open_files;
use crate::patience::{eventually, say};
use crate::raw::{Raw, get, head, post};
use crate::server::{KEY, Server};
use crate::watched::{busy_ms, most_unread_kib, resident_mib};
use crate::{HEAD, IDLE, LATE, bounded, bounded_with_files};

const BAD: usize = 200;
const GOOD: usize = 200;
/// What a good client may have to wait for nine of ten answers, on two cores that the bad ones and the other tests share; for
/// half of them; and for any, whatever else the machine has to do.
const SERVED_WITHIN: Duration = Duration::from_secs(8);
const ANY_WITHIN: Duration = Duration::from_secs(15);
const HALF_WITHIN: Duration = Duration::from_secs(2);
/// They are a crowd, not a flood: what a processor cannot do it cannot do for anybody.
const BETWEEN: Duration = Duration::from_millis(500);
/// What two hundred of them may take together: far less than what they send and ask for.
const MEMORY_MIB: u64 = 64;
/// What the kernel may keep for one of those who never read. Measured on sockets alone: some 370 KiB where a connection asks for as much as
/// the front does, 2,900 where it asks for nothing.
const UNREAD_KIB: u64 = 1_024;
/// What an answer begins with whose request says that it waits for it.
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// Tried: with as much of unread answers as the kernel would keep, those who never read keep the process busy with filling
/// it, and good ones wait for seconds.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_bad_clients_neither_delay_a_good_one_nor_take_the_memory() {
    let data = tempfile::tempdir().unwrap();
    // A good client may be kept from the processor for a while, between its connection and its first word as well.
    let server = bounded(data.path(), "idle=5000,head=3000");
    let good = server.client();
    for _ in 0..100 {
        assert_eq!(good.post("/v1/jobs", waiting_job()).await.status, 201);
    }
    let (files, memory) = (open_files(&server), resident_mib(&server));
    let mut bad = JoinSet::new();
    for number in 0..BAD {
        bad.spawn(misbehaves(server.address(), number));
    }
    eventually(LATE, "they are there", || async { (open_files(&server) > files + BAD / 2).then_some(()) }).await;

    let mut took = Vec::new();
    let (mut most, mut unread) = (memory, 0_u64);
    for number in 0..GOOD {
        took.push(served(&good, server.address(), number).await);
        most = most.max(resident_mib(&server));
        unread = unread.max(most_unread_kib(&server));
    }
    bad.shutdown().await;

    took.sort_unstable();
    let (half, most_of_them, slowest) = (took[GOOD / 2], took[GOOD / 10 * 9], took[GOOD - 1]);
    say(&format!(
        "{GOOD} good requests beside {BAD} bad clients: p50 {half:?}, p90 {most_of_them:?}, max {slowest:?}; memory {memory} to {most} MiB; {unread} KiB unread by one"
    ));
    assert!(most_of_them < SERVED_WITHIN && half < HALF_WITHIN, "{half:?} {most_of_them:?}");
    assert!(slowest < ANY_WITHIN, "{slowest:?}");
    assert!(most < memory + MEMORY_MIB, "{memory} to {most} MiB");
    assert!(unread < UNREAD_KIB, "{unread} KiB are kept for one who does not read");
}

/// They hold what they have, and nothing more is heard of them. Tried: without `header_read_timeout`, without `IncomingBody` or
/// without `TimedIo` some of them never leave.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_bad_client_is_gone_when_its_time_is_over() {
    let data = tempfile::tempdir().unwrap();
    with_waiting_jobs(data.path()).await;
    let server = bounded(data.path(), "");
    // By then it has opened what it opens at its start.
    sleep(IDLE + HEAD).await;
    let files = open_files(&server);
    let mut held = Vec::new();
    for number in 0..BAD {
        held.push(begin(server.address(), number).await);
    }

    let all_gone = || async { (open_files(&server) <= files).then_some(()) };
    eventually(LATE + LATE, "all of them are cut", all_gone).await;

    drop(held);
}

/// Tried: without `make_room` the ninth waits until a head has taken twenty seconds; without the permits nobody is cut.
#[tokio::test(flavor = "multi_thread")]
async fn when_it_is_full_a_new_connection_takes_the_place_of_a_silent_one() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "connections=8,head=20000,idle=20000");
    let files = open_files(&server);
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(Raw::to(server.address()).await);
    }
    eventually(LATE, "they are in", || async { (open_files(&server) >= files + 8).then_some(()) }).await;

    let begin = Instant::now();
    let status = Client::new(server.address(), None).get("/v1/health").await.status;

    assert_eq!(status, 200);
    assert!(begin.elapsed() < LATE, "{:?}", begin.elapsed());
    let (answer, took) = silent.remove(0).until_cut().await;
    assert!(answer.is_empty() && took < LATE, "the first one was cut: {answer} {took:?}");
    assert!(open_files(&server) <= files + 8, "{} of {files}", open_files(&server));
}

/// Tried: with a connection that is without a request once its answer has begun, and with one that is when the last of it waits to be written: the reader
/// is cut after what the kernel had taken.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_on_its_way_gives_its_place_to_nobody() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "connections=4,head=20000,idle=20000,answer=20000");
    let (client, name) = (server.client(), "n".repeat(150));
    for number in 0..900 {
        let job = json!({"name": format!("{number} {name}"), "schedule": {"on_demand": true}, "target": {"noop": {}}});
        assert_eq!(client.post("/v1/jobs", job).await.status, 201);
    }
    drop(client);
    let mut reader = TcpStream::connect(server.address()).await.unwrap();
    let asks = format!(
        "GET /v1/jobs?limit=1000 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\r\n"
    );
    reader.write_all(asks.as_bytes()).await.unwrap();
    let mut begun = [0; 1024];
    reader.read_exact(&mut begun).await.unwrap();

    let mut silent = Vec::new();
    for source in 2..12 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, source], 0))).unwrap();
        silent.push(socket.connect(server.address()).await.unwrap());
        sleep(LATE / 20).await;
    }
    let mut answer = begun.to_vec();
    reader.read_to_end(&mut answer).await.unwrap();

    let whole = String::from_utf8(answer).unwrap();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect(head);
    assert_eq!(body.len().to_string(), length);
    assert!(body.len() > 650_000, "it does not fit into what the kernel keeps: {}", body.len());
}

/// Tried: without the pause the loop spins; with an end to it at the first error, nobody is served again.
#[tokio::test(flavor = "multi_thread")]
async fn when_there_are_no_files_left_it_waits_for_some() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded_with_files(data.path(), 48, "connections=1000,head=3000");
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(Raw::to(server.address()).await);
    }
    let refused = || async { server.stderr().contains("a connection cannot be accepted").then_some(()) };
    eventually(LATE, "there are no files left", refused).await;

    let before = busy_ms(&server);
    sleep(Duration::from_secs(1)).await;
    let spent = busy_ms(&server) - before;
    drop(silent);
    let answered = server.client().get("/v1/jobs").await;

    assert!(spent < 200, "{spent} ms of a second were spent on accepting nobody");
    assert_eq!(answered.status, 200, "{}", answered.body);
}

/// Tried: with connections on all files, a call to a target finds no free file.
#[tokio::test(flavor = "multi_thread")]
async fn connections_leave_half_of_the_files_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded_with_files(data.path(), 64, "head=20000");
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(Raw::to(server.address()).await);
    }
    sleep(Duration::from_millis(300)).await;

    let open = open_files(&server);

    assert!(open < 60, "{open} files are open");
    assert!(!server.stderr().contains("cannot be accepted"), "{}", server.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_answers_what_is_under_way_and_waits_for_no_bad_client() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "head=60000,idle=60000,frame=60000,body=60000");
    let (mut silent, mut slow) = (Raw::to(server.address()).await, Raw::to(server.address()).await);
    slow.say(head("GET /v1/health HTTP/1.1").as_bytes()).await;
    let body = json!({ "target": { "noop": {} } }).to_string();
    let mut under_way = Raw::to(server.address()).await;
    let length = format!("content-length: {}\r\nexpect: 100-continue", body.len());
    under_way.say((post("/v1/jobs", &length) + &body[..5]).as_bytes()).await;
    // That is said when somebody wants the body: by then the request is under way.
    under_way.hears(CONTINUE).await;

    server.terminate();
    let (_, silent_took) = silent.until_cut().await;
    under_way.say(&body.as_bytes()[5..]).await;
    let (answers, _) = under_way.until_cut().await;
    let begin = Instant::now();
    let ended = server.ended(Duration::from_secs(15));

    assert!(begin.elapsed() < LATE, "{:?}", begin.elapsed());
    let answer = answers.strip_prefix(CONTINUE).expect("what it has heard before");
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert!(silent_took < LATE, "{silent_took:?}");
    assert!(ended.status.success(), "{ended:?}");
    drop(slow);
}

/// One request of a good client, on a connection that it has or a new one, and how long it took. One that it has may be cut for its idleness
/// just when it is used again: then it asks anew, as clients that keep connections do.
async fn served(kept: &Client, address: SocketAddr, number: usize) -> Duration {
    let new = Client::new(address, Some(KEY));
    let (method, path, body, status) = match number % 4 {
        0 | 1 => (Method::GET, "/v1/jobs?limit=1", None, 200),
        _ => (Method::POST, "/v1/jobs", Some(waiting_job()), 201),
    };
    let begin = Instant::now();
    let at_first = if number.is_multiple_of(2) { kept } else { &new };
    let answer = match at_first.ask(method.clone(), path, None, body.as_ref()).await {
        Err(_cut) if number.is_multiple_of(2) => new.ask(method, path, None, body.as_ref()).await,
        answered => answered,
    };
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, status, "{}", answer.body);
    begin.elapsed()
}

/// Over and over, until the test has seen enough.
async fn misbehaves(address: SocketAddr, number: usize) {
    loop {
        let mut bad = begin(address, number).await;
        match number % KINDS {
            0 => _ = bad.trickle(head("GET /v1/jobs HTTP/1.1").repeat(9).as_bytes(), Duration::from_millis(20)).await,
            1 => _ = bad.trickle(&[b' '; 999], Duration::from_millis(20)).await,
            5 => _ = bad.until_nobody_is_there().await,
            _ => _ = bad.until_cut().await,
        }
        sleep(BETWEEN).await;
    }
}

const KINDS: usize = 8;

/// Connects and does what its kind does, without an end.
async fn begin(address: SocketAddr, number: usize) -> Raw {
    let mut bad = if number % KINDS == 5 { Raw::deaf(address).await } else { Raw::to(address).await };
    match number % KINDS {
        0 => _ = bad.say(b"GET /v1/jobs HTTP/1.1\r\nx-slow: ").await,
        1 => _ = bad.say(post("/v1/jobs", "content-length: 1000").as_bytes()).await,
        2 => {
            bad.say(head("GET /v1/jobs HTTP/1.1").as_bytes()).await;
            bad.half_close().await;
        }
        3 => _ = bad.say(&[0xff; 2000]).await,
        4 => _ = bad.say((head("GET / HTTP/1.1") + &"x: y\r\n".repeat(5_000)).as_bytes()).await,
        5 => {
            let asked = get("/v1/jobs?limit=100").repeat(400);
            let _until_it_is_full = tokio::time::timeout(Duration::from_millis(50), bad.say(asked.as_bytes())).await;
        }
        // As much as a body may have but a little.
        6 => {
            bad.say(post("/v1/jobs", "content-length: 300000").as_bytes()).await;
            bad.say(&vec![b' '; 299_990]).await;
        }
        _ => {}
    }
    bad
}

/// Jobs made under the usual bounds, which cut no client of a slow machine.
async fn with_waiting_jobs(data: &Path) {
    let usual = Server::on(data);
    let client = usual.client();
    for _ in 0..100 {
        assert_eq!(client.post("/v1/jobs", waiting_job()).await.status, 201);
    }
    usual.kill();
}

fn waiting_job() -> serde_json::Value {
    json!({ "name": "n".repeat(100), "schedule": { "after_seconds": 86_400 }, "target": { "noop": {} } })
}
