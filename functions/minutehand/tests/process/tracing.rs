//! Tracing: what a caller says of its trace reaches targets, as the run's own, over real HTTP.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::client::text;
use crate::patience::eventually;
use crate::server::{KEY, Server};
use crate::target::{Call, Target};
use crate::{SOON, calling, calls_of, finished_runs};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Asked as somebody does whose trace is sampled so, and who carries baggage.
pub(crate) async fn create(server: &Server, sampled: &str, job: &Value) -> Value {
    let request = Request::post(format!("http://{}/v1/jobs", server.address()))
        .header("authorization", format!("Bearer {KEY}"))
        .header("content-type", "application/json")
        .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-{sampled}"))
        .header("tracestate", "rojo=1")
        .header("baggage", "who=nobody-may-know")
        .body(Full::new(Bytes::from(job.to_string())))
        .unwrap();
    let client = legacy::Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let answer = client.request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&answer).unwrap()
}

/// The trace, the span and the flags of a call.
fn parts(call: &Call) -> [String; 3] {
    let parts: Vec<_> = call.traceparent.split('-').map(str::to_owned).collect();
    let [version, trace, span, flags] = &parts[..] else { panic!("{call:?}") };
    assert_eq!(version, "00", "{call:?}");
    [trace.clone(), span.clone(), flags.clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_attempts_of_a_run_are_spans_of_its_trace_sampled_as_its_creators_is() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    for sampled in ["00", "01"] {
        let retry =
            json!({ "retry": { "max_retries": 2, "initial_delay_seconds": 1, "backoff": "fixed", "jitter": "none" } });
        let job = create(&server, sampled, &calling(&target, "/fail/1", &retry)).await;
        let calls = calls_of(&target, &job, 2).await;
        let run = finished_runs(&server.client(), &job, 1).await.remove(0);

        let [first, second] = &calls[..] else { panic!("{calls:?}") };
        let ([trace, one, flags], [same, another, still]) = (parts(first), parts(second));
        assert_eq!([&trace, &same], [&text(&run["trace"], "trace_id"); 2], "{calls:?}");
        assert_ne!((one, &*trace), (another, TRACE), "{calls:?}");
        assert_eq!([&*flags, &*still], [sampled; 2], "{calls:?}");
        assert_eq!([&*first.tracestate, &*second.tracestate], ["rojo=1"; 2]);
    }
}

/// Whoever is asked before, the target and whoever is told after it: none is told what the creator carried.
#[tokio::test(flavor = "multi_thread")]
async fn baggage_goes_to_nobody() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let hooks = json!({ "before": { "url": target.url("/ok") }, "after": { "url": target.url("/ok") } });

    create(&server, "01", &calling(&target, "/ok", &json!({ "hooks": hooks }))).await;
    let calls =
        eventually(SOON, "three calls", || async { Some(target.calls()).filter(|calls| calls.len() == 3) }).await;

    let [asked, called, told] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(parts(asked), parts(called), "it is asked within the attempt");
    assert_ne!(parts(told)[0], parts(called)[0], "what tells of an end is in a trace of its own");
    let said = calls.iter().any(|call| !call.baggage.is_empty() || call.body.contains("nobody-may-know"));
    assert!(!said, "{calls:?}");
}

/// It would say of another trace what is the trace's own to say.
#[tokio::test(flavor = "multi_thread")]
async fn a_jobs_own_header_is_not_sent_beside_the_traces() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let with = |name: &str| {
        let mut job = calling(&target, "/ok", &json!({}));
        job["target"]["http"]["headers"] = json!({ name: "mine=7" });
        job
    };

    let refused = create(&server, "01", &with("traceparent")).await;
    let job = create(&server, "01", &with("tracestate")).await;
    let call = calls_of(&target, &job, 1).await.remove(0);

    assert_eq!(refused["status"], 422, "{refused}");
    assert_eq!((&*call.tracestate, call.states), ("rojo=1", 1), "{call:?}");
}
