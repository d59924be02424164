//! Slow: slow heads, bodies and readers, on purpose or because the client is gone.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::raw::{Raw, get, head, post};
use crate::server::Server;
use crate::{BODY, FRAME, HEAD, LATE, bounded};

/// How long somebody who trickles waits before each byte: less than any bound.
const DRIP: Duration = Duration::from_millis(50);
/// No bound that anybody meets here, beside the one on an answer.
const PATIENT: &str = "head=20000,idle=20000,frame=20000,body=20000";

/// Also on a connection that was good before. Tried: without `head_deadline` both are cut when an idle one would be.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_comes_byte_by_byte_is_cut() {
    let data = tempfile::tempdir().unwrap();
    let (server, within) = (bounded(data.path(), "head=3000,idle=20000"), Duration::from_secs(3));
    let (mut silent, mut good) = (Raw::to(server.address()).await, Raw::to(server.address()).await);
    let drips = head("GET /v1/jobs HTTP/1.1") + "x-slow: " + &"y".repeat(700);
    good.say(get("/v1/health").as_bytes()).await;
    sleep(within + within).await;
    let mut new = Raw::to(server.address()).await;

    let (silent_took, good_took, new_took) = tokio::join!(
        silent.trickle(drips.as_bytes(), DRIP),
        good.trickle(drips.as_bytes(), DRIP),
        new.trickle(drips.as_bytes(), DRIP),
    );

    assert!(silent_took < within, "it had said nothing for as long as it may: {silent_took:?}");
    // Its time begins with its first byte, and not with what it said before.
    assert_about(good_took, good_took, within);
    assert_about(new_took, new.lasted(), within);
}

/// Tried: without `head_deadline` the first is cut as late as an idle one; without `header_read_timeout` none ever is.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_connection_is_cut_before_its_first_request_and_after_an_answer() {
    let data = tempfile::tempdir().unwrap();
    let (server, before, between) =
        (bounded(data.path(), "head=3000,idle=9000"), Duration::from_secs(3), Duration::from_secs(9));
    let (mut silent, mut idle) = (Raw::to(server.address()).await, Raw::to(server.address()).await);
    idle.say(get("/v1/health").as_bytes()).await;

    let ((nothing, first), (answer, second)) = tokio::join!(silent.until_cut(), idle.until_cut());

    assert!(nothing.is_empty() && answer.starts_with("HTTP/1.1 200 OK\r\n"), "{nothing} {answer}");
    assert_about(first, silent.lasted(), before);
    assert_about(second, idle.lasted(), between);
}

/// Tried: without `IncomingBody` it is never answered; with its error alone it is answered 400.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stalls_is_answered_408_and_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "head=20000,idle=5000,body=20000");
    for length in ["content-length: 1000", "transfer-encoding: chunked", "content-length: 5000000"] {
        let mut slow = Raw::to(server.address()).await;
        slow.say((post("/v1/jobs/batch", length) + "40\r\n{").as_bytes()).await;

        let (answer, took) = slow.until_cut().await;

        if length.ends_with("5000000") {
            // Nobody waits for what would be refused.
            assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        } else {
            assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n") && answer.ends_with('}'), "{answer}");
            assert!(answer.contains("request-id: req_") && answer.contains("application/problem+json"), "{answer}");
            assert!(answer.contains(r#""request_id":"req_"#), "{answer}");
            assert_about(took, slow.lasted(), FRAME);
        }
    }
}

/// Tried: without `whole_by` it goes on as long as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_is_answered_408_and_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "head=20000,idle=5000,frame=20000");
    let mut slow = Raw::to(server.address()).await;
    slow.say(post("/v1/jobs", "content-length: 9000").as_bytes()).await;

    let took = slow.trickle(&[b' '; 9000], DRIP).await;
    let lasted = slow.lasted();
    let (answer, _) = slow.until_cut().await;

    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_about(took, lasted, BODY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_pieces_that_comes_in_time_is_read() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), PATIENT);
    let body = json!({ "target": { "noop": {} } }).to_string();
    let mut steady = Raw::to(server.address()).await;
    let length = format!("content-length: {}\r\nconnection: close", body.len());
    steady.say(post("/v1/jobs", &length).as_bytes()).await;

    steady.trickle(body.as_bytes(), DRIP / 5).await;
    let (answer, _) = steady.until_cut().await;

    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
}

/// Tried: without `bound_write` it is held for ever, with all that it has asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), PATIENT);
    with_long_lists(&server).await;
    let mut deaf = Raw::deaf(server.address()).await;
    // More than the kernel keeps for anybody.
    let _until_it_is_full =
        tokio::time::timeout(HEAD, deaf.say(get("/v1/jobs?limit=100").repeat(2000).as_bytes())).await;

    let took = deaf.until_nobody_is_there().await;

    assert!(took < HEAD + LATE, "{took:?}");
}

/// Tried: without `bound_write` it goes on for as long as there is something; what is taken now and then is `timed_io.rs`'s own test.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_too_slowly_is_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), PATIENT);
    with_long_lists(&server).await;
    let mut slow = Raw::deaf(server.address()).await;
    let _until_it_is_full =
        tokio::time::timeout(HEAD, slow.say(get("/v1/jobs?limit=100").repeat(2000).as_bytes())).await;

    let took = slow.sip_until_cut(512, DRIP).await;

    assert!(took < HEAD + LATE, "{took:?}");
}

/// It has said all it will say: half a request, or nothing. It is not waited for as a slow one would be.
#[tokio::test(flavor = "multi_thread")]
async fn a_half_closed_connection_is_cut_at_once() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "head=60000,idle=60000,frame=60000,body=60000");
    for said in [String::new(), head("GET /v1/jobs HTTP/1.1"), post("/v1/jobs", "content-length: 99") + "{"] {
        let mut half = Raw::to(server.address()).await;
        half.say(said.as_bytes()).await;
        half.half_close().await;

        let (answer, took) = half.until_cut().await;

        assert!(took < LATE, "{took:?} after {said}");
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
}

/// As long as the bound says, on a machine that may have much to do: no less since the other end can have begun to count, and not much more
/// since this one began to wait.
fn assert_about(took: Duration, lasted: Duration, bound: Duration) {
    assert!(lasted + DRIP >= bound && took < bound + LATE, "{took:?} {lasted:?}");
}

/// So much that a page of them is larger than what anybody's kernel keeps of a few hundred pages.
async fn with_long_lists(server: &Server) {
    let client = server.client();
    let job = json!({
        "name": "n".repeat(100), "tags": (0..20).map(|n| format!("{n}{}", "t".repeat(40))).collect::<Vec<_>>(),
        "schedule": { "after_seconds": 86_400 }, "target": { "noop": {} },
    });
    for _ in 0..100 {
        let answer = client.post("/v1/jobs", job.clone()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
}
