//! Malformed: bytes that are no valid request.

use serde_json::json;

use crate::bounded;
use crate::raw::{Raw, get, head, post};
use crate::server::Server;

/// Far longer than anybody takes here who does nothing wrong, on a busy machine too; and who says nothing more is cut at last.
const UNHURRIED: &str = "head=20000,idle=5000,frame=20000,body=20000";
/// The end of a head after which nobody says anything more, so that no idle time has to pass.
const CLOSE: &str = "connection: close\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_request_are_refused_and_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let both = post("/v1/jobs", "content-length: 3\r\ncontent-length: 30");
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\x00\x00\x00\x00\x00\x00\x00\x00\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/health HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /v1/he alth HTTP/1.1\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        both.as_bytes(),
    ] {
        let said = String::from_utf8_lossy(garbage);
        let mut stranger = Raw::to(server.address()).await;
        stranger.say(garbage).await;

        let (answer, _) = stranger.until_cut().await;

        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{said}: {answer}");
    }
    assert_serves(&server).await;
}

/// Tried: with hyper's own buffer it takes ten times as much.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_end_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let long = format!("x-long: {}\r\n", "a".repeat(1000)).repeat(40);
    let many = "a: b\r\n".repeat(200);
    for (more, status) in [(long, "431"), (many, "431")] {
        let mut stranger = Raw::to(server.address()).await;
        stranger.say((head("GET /v1/health HTTP/1.1") + &more).as_bytes()).await;

        let (answer, _) = stranger.until_cut().await;

        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    assert_serves(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_of_half_the_bound_is_let_in() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let mut wordy = Raw::to(server.address()).await;
    let cookies = format!("cookie: {}\r\n", "a".repeat(1000)).repeat(16);
    wordy.say((head("GET /v1/health HTTP/1.1") + &cookies + CLOSE).as_bytes()).await;

    let (answer, _) = wordy.until_cut().await;

    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_their_order() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let mut eager = Raw::to(server.address()).await;
    let asked = ["/v1/health", "/v1/nothing", "/v1/jobs"].map(get).concat();
    let last = head("GET /v1/jobs?limit=banana HTTP/1.1") + CLOSE;
    eager.say((asked + &last).as_bytes()).await;

    let (answers, _) = eager.until_cut().await;

    let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "404", "200", "422"], "{answers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_0_is_answered_and_ended() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), "head=20000,idle=20000");
    let mut old = Raw::to(server.address()).await;
    old.say(b"GET /v1/health HTTP/1.0\r\n\r\n").await;

    let (answer, took) = old.until_cut().await;

    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && took < crate::LATE, "{answer}");
}

/// What follows a chunk that lies is not the next request.
#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_that_lies_is_refused_and_cut() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let next = get("/v1/health");
    for lie in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{} and more\r\n0\r\n\r\n", "ffffffffffffffffff\r\n{}", "-1\r\n{}\r\n"] {
        let mut liar = Raw::to(server.address()).await;
        liar.say(post("/v1/jobs", "transfer-encoding: chunked").as_bytes()).await;
        liar.say((lie.to_owned() + &next).as_bytes()).await;

        let (answer, _) = liar.until_cut().await;

        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.matches("HTTP/1.1 ").count() == 1, "{lie}: {answer}");
    }
    assert_serves(&server).await;
}

/// A length and chunks at once are how a request is smuggled past a proxy in front: one of them is taken, and nothing
/// else is heard on this connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_two_lengths_hides_no_second_request() {
    let data = tempfile::tempdir().unwrap();
    let server = bounded(data.path(), UNHURRIED);
    let hidden = get("/v1/health");
    let mut smuggler = Raw::to(server.address()).await;
    let length = format!("content-length: {}\r\ntransfer-encoding: chunked", 5 + hidden.len());
    smuggler.say((post("/v1/schedules/preview", &length) + "0\r\n\r\n" + &hidden).as_bytes()).await;

    let (answers, _) = smuggler.until_cut().await;

    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
}

async fn assert_serves(server: &Server) {
    let answer = server.client().post("/v1/jobs", json!({ "target": { "noop": {} } })).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}
