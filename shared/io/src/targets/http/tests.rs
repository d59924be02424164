//! Calls over the wire: every way in which a target can answer or fail to.

mod dns;
pub(in crate::targets) mod server;
#[cfg(feature = "embedded")]
mod signed;
mod tls;

use std::time::{Duration, Instant};

use minutehand_domain::body::Json;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::limits::{PAYLOAD_BYTES, RESULT_BYTES};
use minutehand_domain::order::TaskName;
use minutehand_domain::run::AttemptError;
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::target::{Method, Target, Timeouts};
use minutehand_domain::timer::{TimerKey, TimerStamp};
use minutehand_domain::trace::TraceContext;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use self::server::{Server, read_request};
use super::*;
use crate::targets::Material;

const PATIENT: Duration = Duration::from_secs(20);
const HASTY: Duration = Duration::from_millis(100);
const EMPTY: &str = "HTTP/1.1 204 No Content\r\n\r\n";

fn get(url: impl Into<String>) -> HttpTarget {
    HttpTarget { url: url.into(), method: Method::Get, headers: [].into(), timeouts: Timeouts::default() }
}

fn run() -> RunKey {
    RunKey::occurrence(JobId::from_bytes([7; 16]), Moment::from_secs(1_763_640_000))
}

fn lease_of(run: RunKey) -> LeaseId {
    let stamp = TimerStamp { generation: 1, written: run.at };
    LeaseId { run, fence: 1, timer: TimerKey::run(run, run.at), stamp }
}

fn secrets() -> SigningSecrets {
    SigningSecrets::new([1; 32], Moment::EPOCH)
}

pub(super) fn trace() -> TraceContext {
    TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", Some("rojo=1")).unwrap()
}

async fn call_with(caller: HttpCaller, target: HttpTarget, payload: Option<&Json>, timeout: Duration) -> Answer {
    call_by("acme", caller, target, payload, timeout).await
}

async fn call_by(
    tenant: &str,
    caller: HttpCaller,
    target: HttpTarget,
    payload: Option<&Json>,
    timeout: Duration,
) -> Answer {
    let (named, tenant) = (Target::Http(target.clone()), Tenant::new(tenant).unwrap());
    let (run, now) = (run(), run().at + Duration::from_millis(12));
    let (material, scheduled_at) = (Material::default(), run.at);
    let (attempt, material) = (3, &material);
    let call = Call {
        target: &named,
        tenant: &tenant,
        run,
        attempt,
        scheduled_at,
        now,
        payload,
        follows: None,
        trace: &trace(),
        task: None,
        material,
        timeout,
        lease: lease_of(run),
    };
    caller.call(&target, call, &secrets()).await
}

async fn call_for_task(target: &HttpTarget, task: &TaskName) -> Answer {
    let (named, tenant) = (Target::Http(target.clone()), Tenant::new("acme").unwrap());
    let call = Call {
        target: &named,
        tenant: &tenant,
        run: run(),
        attempt: 1,
        scheduled_at: run().at,
        now: run().at,
        payload: None,
        follows: None,
        trace: &trace(),
        task: Some(task),
        material: &Material::default(),
        timeout: PATIENT,
        lease: lease_of(run()),
    };
    HttpCaller::new(Reach::Loopback).unwrap().call(target, call, &secrets()).await
}

async fn call_within(timeout: Duration, target: HttpTarget) -> Answer {
    call_with(HttpCaller::new(Reach::Loopback).unwrap(), target, None, timeout).await
}

async fn call(target: HttpTarget) -> Answer {
    call_within(PATIENT, target).await
}

fn failure(answer: Answer) -> AttemptError {
    match answer {
        Answer::Failed { error, .. } => error,
        Answer::Succeeded { .. } | Answer::Accepted { .. } | Answer::TimedOut => {
            panic!("expected a failure: {answer:?}")
        }
    }
}

fn code_retryable_reached(answer: Answer) -> (String, bool, bool) {
    let error = failure(answer);
    (error.code.into_owned(), error.retryable, error.reached)
}

fn expected(code: &str, retryable: bool, reached: bool) -> (String, bool, bool) {
    (code.to_owned(), retryable, reached)
}

fn result(answer: Answer) -> Option<String> {
    match answer {
        Answer::Succeeded { result } => result.map(|json| json.as_str().to_owned()),
        Answer::Failed { .. } | Answer::Accepted { .. } | Answer::TimedOut => panic!("expected a success: {answer:?}"),
    }
}

#[tokio::test]
async fn a_call_says_who_calls_for_which_run_and_carries_the_payload() {
    let server =
        Server::answering("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{\"a\" : 1}")
            .await;
    let headers = [("X-Mine".to_owned(), "yes".into())].into();
    let target = HttpTarget { method: Method::Post, headers, ..get(server.url("http")) };
    let payload = Json::of(&serde_json::json!({"b": 2}));

    let answer = call_with(HttpCaller::new(Reach::Loopback).unwrap(), target, Some(&payload), PATIENT).await;

    assert_eq!(result(answer).unwrap(), r#"{"a":1}"#);
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().map(str::to_owned).collect();
    lines[1..].sort();
    let (run, version) = (run(), env!("CARGO_PKG_VERSION"));
    let signature = secrets().signatures(&run.to_string(), run.at, br#"{"b":2}"#);
    assert_eq!(
        lines,
        [
            "POST /hook?a=b HTTP/1.1".to_owned(),
            "accept-encoding: identity".to_owned(),
            "content-length: 7".to_owned(),
            "content-type: application/json".to_owned(),
            format!("host: {}", server.address),
            format!("idempotency-key: {run}"),
            "minutehand-attempt: 3".to_owned(),
            "minutehand-fence: 3".to_owned(),
            format!("minutehand-job: {}", run.job),
            format!("minutehand-lease: {}", lease_of(run)),
            format!("minutehand-run: {run}"),
            "minutehand-scheduled-at: 2025-11-20T12:00:00.000Z".to_owned(),
            format!("minutehand-token: {}", secrets().lease_token(run, 3)),
            format!("traceparent: {}", trace()),
            "tracestate: rojo=1".to_owned(),
            format!("user-agent: Minutehand/{version}"),
            format!("webhook-id: {run}"),
            format!("webhook-signature: {signature}"),
            "webhook-timestamp: 1763640000".to_owned(),
            "x-mine: yes".to_owned(),
        ]
    );
    assert_eq!(body, r#"{"b":2}"#);
}

#[tokio::test]
async fn a_task_is_told_of_by_its_workflows_run_and_its_key() {
    let server = Server::answering(EMPTY).await;
    let branch = TaskName { workflow_run: run(), key: "load".parse().unwrap(), branch: Some(7) };
    for (task, shows) in [(TaskName { branch: None, ..branch.clone() }, false), (branch, true)] {
        assert_eq!(result(call_for_task(&get(server.url("http")), &task).await), None);

        let request = server.requests().pop().unwrap();
        assert!(
            request.contains(&format!("minutehand-workflow-run: {}\r\nminutehand-task: load\r\n", run())),
            "{request}"
        );
        assert_eq!(request.contains("minutehand-branch: 7\r\n"), shows, "{request}");
        assert!(!request.contains("minutehand-job"), "{request}");
    }
}

#[tokio::test]
async fn every_method_is_sent_and_without_a_payload_there_is_no_body() {
    let server = Server::answering(EMPTY).await;
    for method in [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete] {
        assert_eq!(result(call(HttpTarget { method, ..get(server.url("http")) }).await), None);

        let request = server.requests().pop().unwrap();
        assert!(request.starts_with(&format!("{} /hook?a=b HTTP/1.1\r\n", method.as_str())), "{request}");
        assert!(!request.contains("content-type") && request.ends_with("\r\n\r\n"), "{request}");
    }
}

#[tokio::test]
async fn the_users_content_type_and_agent_are_kept() {
    let server = Server::answering(EMPTY).await;
    let headers = [("Content-Type", "text/csv"), ("User-Agent", "me")]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into();
    let target = HttpTarget { method: Method::Put, headers, ..get(server.url("http")) };

    call_with(HttpCaller::new(Reach::Loopback).unwrap(), target, Some(&Json::null()), PATIENT).await;

    let request = server.requests().remove(0);
    assert!(request.contains("content-type: text/csv\r\n") && request.contains("user-agent: me\r\n"), "{request}");
    assert!(!request.contains("application/json") && !request.contains("Minutehand/"), "{request}");
}

#[tokio::test]
async fn the_largest_payload_is_sent_whole() {
    let server = Server::answering(EMPTY).await;
    let payload = Json::of(&"x".repeat(PAYLOAD_BYTES - 2).into());

    call_with(HttpCaller::new(Reach::Loopback).unwrap(), get(server.url("http")), Some(&payload), PATIENT).await;

    assert!(server.requests().remove(0).ends_with(payload.as_str()));
}

#[tokio::test]
async fn a_status_decides_the_error() {
    for (status, expected) in [
        ("302 Found\r\nlocation: /elsewhere", expected("http_3xx", false, true)),
        ("404 Not Found", expected("http_4xx", false, true)),
        ("429 Too Many Requests", expected("http_4xx", true, true)),
        ("503 Service Unavailable", expected("http_5xx", true, true)),
    ] {
        let server = Server::answering(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")).await;

        assert_eq!(code_retryable_reached(call(get(server.url("http"))).await), expected);
        assert_eq!(server.requests().len(), 1, "nothing is followed or sent again");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_wherever_it_leads() {
    let elsewhere = Server::answering(EMPTY).await;
    for status in [301, 302, 303, 307, 308] {
        for location in [elsewhere.url("http"), "http://169.254.169.254/latest/meta-data/".to_owned()] {
            let redirect = format!("HTTP/1.1 {status} x\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            let server = Server::answering(redirect).await;

            let answer = call(get(server.url("http"))).await;

            assert_eq!(code_retryable_reached(answer), expected("http_3xx", false, true), "{status} {location}");
            assert_eq!(server.requests().len(), 1);
        }
    }
    assert_eq!(elsewhere.accepted(), 0);
}

#[tokio::test]
async fn a_target_sets_the_delay_of_the_retry() {
    for (wait, millis) in [("30", 30_000), ("Thu, 20 Nov 2025 12:00:30 GMT", 29_988)] {
        let server =
            Server::answering(format!("HTTP/1.1 503 Busy\r\nretry-after: {wait}\r\ncontent-length: 4\r\n\r\nbusy"))
                .await;

        let answer = call(get(server.url("http"))).await;

        let Answer::Failed { error, retry_after: Some(wait) } = answer else { panic!("{answer:?}") };
        assert_eq!(error.message, "the target answered 503 Service Unavailable: busy");
        assert_eq!(wait.as_millis(), millis);
    }
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let server = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await.unwrap();
        while stream.write_all("1".repeat(RESULT_BYTES).as_bytes()).await.is_ok() {}
    })
    .await;

    assert_eq!(result(call(get(server.url("http"))).await).unwrap(), format!("\"{}\"", "1".repeat(4096)));
}

#[tokio::test]
async fn a_dripping_body_ends_with_the_timeout() {
    let server = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while stream.write_all(b".").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let start = Instant::now();

    assert_eq!(call_within(HASTY, get(server.url("http"))).await, Answer::TimedOut);

    assert!(start.elapsed() < PATIENT / 2);
}

#[tokio::test]
async fn a_target_that_says_nothing_ends_with_the_timeout() {
    let server = Server::talking(|mut stream| async move { while read_request(&mut stream).await.is_some() {} }).await;

    assert_eq!(call_within(HASTY, get(server.url("http"))).await, Answer::TimedOut);
}

#[tokio::test]
async fn a_slow_body_does_not_delay_a_failure() {
    let server = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 9\r\n\r\nhal").await.unwrap();
        read_request(&mut stream).await;
    })
    .await;

    assert_eq!(failure(call(get(server.url("http"))).await).message, "the target answered 400 Bad Request");
}

#[tokio::test]
async fn a_refused_port_was_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);

    assert_eq!(code_retryable_reached(call(get(url)).await), expected("connect", true, false));
}

#[tokio::test]
async fn a_name_without_an_address_was_not_reached() {
    let error = failure(call(get("http://nobody.invalid/")).await);

    assert_eq!((&*error.code, error.retryable, error.reached), ("dns", true, false), "{error:?}");
    assert!(error.message.starts_with("no address was found for nobody.invalid: "), "{error:?}");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_called_from_outside() {
    let server = Server::answering(EMPTY).await;
    let url = format!("http://localhost:{}/", server.address.port());

    let answer = call_with(HttpCaller::new(Reach::Public).unwrap(), get(&url), None, PATIENT).await;

    assert_eq!(
        failure(answer).message,
        "the name localhost is loopback: that needs serve --reach loopback, not public"
    );
    assert_eq!(result(call(get(url)).await), None);
    assert_eq!(server.accepted(), 1, "only the call from inside arrived");
}

#[tokio::test]
async fn an_address_out_of_reach_is_not_called() {
    let server = Server::answering(EMPTY).await;
    for url in
        [server.url("http"), server.url("https"), "http://[::1]/".to_owned(), "http://169.254.169.254/".to_owned()]
    {
        let answer = call_with(HttpCaller::new(Reach::Public).unwrap(), get(url), None, PATIENT).await;

        assert_eq!(code_retryable_reached(answer), expected("forbidden_address", false, false));
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn a_target_that_should_have_been_refused_is_not_called() {
    let headers = [("Host".to_owned(), "elsewhere".into())].into();
    for target in [
        get("gopher://example.com/"),
        get(""),
        get("http://a:b@example.com/"),
        HttpTarget { headers, ..get("http://localhost/") },
    ] {
        assert_eq!(code_retryable_reached(call(target).await), expected("invalid_target", false, false));
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let caller = HttpCaller::new(Reach::Loopback).unwrap();

    for _ in 0..20 {
        assert!(result(call_with(caller.clone(), get(server.url("http")), None, PATIENT).await).is_some());
    }

    assert_eq!(server.requests().len(), 20);
    assert!(server.accepted() <= 2, "{} connections", server.accepted());
}

#[tokio::test]
async fn a_call_that_broke_after_it_was_sent_may_have_been_seen() {
    for half in
        ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "\u{15}\u{3}\u{1} not HTTP\r\n\r\n"]
    {
        let server = Server::talking(move |mut stream| async move {
            read_request(&mut stream).await;
            stream.write_all(half.as_bytes()).await.unwrap();
        })
        .await;

        assert_eq!(
            code_retryable_reached(call(get(server.url("http"))).await),
            expected("broken", true, true),
            "{half}"
        );
        assert_eq!(server.accepted(), 1, "it is not sent again");
    }
}

#[tokio::test]
async fn a_call_on_a_connection_that_breaks_is_not_sent_again() {
    let server = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(EMPTY.as_bytes()).await.unwrap();
        read_request(&mut stream).await;
    })
    .await;
    let caller = HttpCaller::new(Reach::Loopback).unwrap();
    let first = call_with(caller.clone(), get(server.url("http")), None, PATIENT).await;

    let second = call_with(caller, get(server.url("http")), None, PATIENT).await;

    assert_eq!(result(first), None);
    assert_eq!(code_retryable_reached(second), expected("broken", true, true));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_head_without_end_is_given_up() {
    let server = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        while stream.write_all(b"x-more: and more\r\n").await.is_ok() {}
    })
    .await;

    assert_eq!(code_retryable_reached(call(get(server.url("http"))).await), expected("broken", true, true));
}

/// The code and the message with which a call ends whose phases have these seconds, and how long it took.
async fn ends_with(url: String, connect: Option<u64>, first_byte: Option<u64>) -> (Option<(String, String)>, Duration) {
    let timeouts =
        Timeouts { connect: connect.map(Duration::from_secs), first_byte: first_byte.map(Duration::from_secs) };
    let begun = tokio::time::Instant::now();
    let answer = call(HttpTarget { timeouts, ..get(url) }).await;
    let told = match answer {
        Answer::Failed { error, .. } => Some((error.code.into_owned(), error.message)),
        Answer::TimedOut => None,
        Answer::Succeeded { .. } | Answer::Accepted { .. } => Some(("none".to_owned(), String::new())),
    };
    (told, begun.elapsed())
}

/// Each phase ends with its own code, after its own time; the whole has 20 s. Tried: without the time of the phase, the handshake has its
/// ten seconds, and what never answers has all of them.
#[tokio::test(start_paused = true)]
async fn a_phase_that_takes_longer_than_it_may_says_which_it_was() {
    let silent = Server::talking(|mut stream| async move { while read_request(&mut stream).await.is_some() {} }).await;
    let trickling = Server::talking(|mut stream| async move {
        read_request(&mut stream).await;
        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n".chunks(1) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if stream.write_all(byte).await.is_err() {
                return;
            }
        }
        std::future::pending::<()>().await;
    })
    .await;
    let (plain, tls) = (|server: &Server| server.url("http"), |server: &Server| server.url("https"));
    for (what, url, connect, first_byte, expected, after) in [
        ("no TLS", tls(&silent), None, None, Some(("timeout_connect", "no connection to 127.0.0.1 within 10 s")), 10),
        ("no TLS", tls(&silent), Some(2), None, Some(("timeout_connect", "no connection to 127.0.0.1 within 2 s")), 2),
        ("no TLS", tls(&silent), Some(15), Some(3), Some(("timeout_first_byte", "no answer had begun within 3 s")), 3),
        ("no answer", plain(&silent), Some(2), None, None, 20),
        ("no answer", plain(&silent), None, Some(3), Some(("timeout_first_byte", "no answer had begun within 3 s")), 3),
        (
            "a head in 4 s",
            plain(&trickling),
            None,
            Some(3),
            Some(("timeout_first_byte", "no answer had begun within 3 s")),
            3,
        ),
        ("a head in 4 s and no body", plain(&trickling), None, Some(5), None, 20),
    ] {
        let (told, took) = ends_with(url, connect, first_byte).await;

        let told = told.as_ref().map(|(code, message)| (code.as_str(), message.as_str()));
        assert_eq!((told, took.as_secs()), (expected, after), "{what}");
    }
}
