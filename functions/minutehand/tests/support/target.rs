//! A target: an HTTP server of the test's own, which records every call by its own clock.
//!
//! Its paths say how it behaves: `/ok`, `/slow/{ms}`, `/fail/{n}` (500 to the first n attempts, with what they said), `/hang/{n}` (no answer
//! to the first n attempts), `/accept/{ms}` (taken on: the work is still to come), `/give` (another payload), `/veto` (no).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::client::millis;
use crate::patience::now;

pub(crate) struct Target {
    address: SocketAddr,
    witness: Witness,
    serving: JoinHandle<()>,
}

/// One call, as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) run: String,
    pub(crate) job: String,
    pub(crate) attempt: u32,
    pub(crate) authorization: String,
    pub(crate) traceparent: String,
    pub(crate) tracestate: String,
    /// How often that is said.
    pub(crate) states: usize,
    pub(crate) baggage: String,
    pub(crate) body: String,
    /// Under which it may be said later how it went, and what is shown then.
    pub(crate) lease: String,
    pub(crate) token: String,
    pub(crate) scheduled_at: i64,
    pub(crate) at: i64,
    /// When it was answered, or its caller was gone.
    pub(crate) ended_at: Option<i64>,
}

#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<Call>>>);

/// A call that is being answered. When its caller goes away hyper drops the answer, and this with it.
struct Answering {
    witness: Witness,
    index: usize,
    attempt: u32,
}

impl Target {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let witness = Witness::default();
        let router = Router::new()
            .route("/ok", post(ok))
            .route("/slow/{ms}", post(slow))
            .route("/fail/{n}", post(fail))
            .route("/hang/{n}", post(hang))
            .route("/accept/{ms}", post(accept))
            .route("/give", post(give))
            .route("/veto", post(veto))
            .with_state(witness.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, witness, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All calls so far, as they arrived.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.witness.calls().clone()
    }

    pub(crate) fn calls_of(&self, job: &str) -> Vec<Call> {
        self.witness.calls().iter().filter(|call| call.job == job).cloned().collect()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn ok(State(witness): State<Witness>, headers: HeaderMap, body: String) -> StatusCode {
    let _answering = witness.see(&headers, &body);
    StatusCode::OK
}

async fn slow(State(witness): State<Witness>, Path(ms): Path<u64>, headers: HeaderMap, body: String) -> StatusCode {
    let _answering = witness.see(&headers, &body);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    StatusCode::OK
}

async fn fail(
    State(witness): State<Witness>,
    Path(n): Path<u32>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, String) {
    let answering = witness.see(&headers, &body);
    if answering.attempt <= n {
        return (StatusCode::INTERNAL_SERVER_ERROR, format!("of no use: {body}"));
    }
    (StatusCode::OK, String::new())
}

async fn hang(State(witness): State<Witness>, Path(n): Path<u32>, headers: HeaderMap, body: String) -> StatusCode {
    let answering = witness.see(&headers, &body);
    if answering.attempt <= n {
        std::future::pending::<()>().await;
    }
    StatusCode::OK
}

async fn accept(
    State(witness): State<Witness>,
    Path(ms): Path<u64>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, [(&'static str, &'static str); 1]) {
    let _answering = witness.see(&headers, &body);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    (StatusCode::ACCEPTED, [("minutehand-async", "true")])
}

async fn give(State(witness): State<Witness>, headers: HeaderMap, body: String) -> Json<Value> {
    let _answering = witness.see(&headers, &body);
    Json(json!({ "payload": { "given": 1.5 } }))
}

async fn veto(State(witness): State<Witness>, headers: HeaderMap, body: String) -> (StatusCode, &'static str) {
    let _answering = witness.see(&headers, &body);
    (StatusCode::CONFLICT, "the books are closed")
}

impl Witness {
    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.lock().expect("no witness panics")
    }

    fn see(&self, headers: &HeaderMap, body: &str) -> Answering {
        let told = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let attempt = told("minutehand-attempt").parse().expect("a number");
        let call = Call {
            run: told("minutehand-run"),
            job: told("minutehand-job"),
            attempt,
            authorization: told("authorization"),
            traceparent: told("traceparent"),
            tracestate: told("tracestate"),
            states: headers.get_all("tracestate").iter().count(),
            baggage: told("baggage"),
            body: body.to_owned(),
            lease: told("minutehand-lease"),
            token: told("minutehand-token"),
            scheduled_at: millis(&told("minutehand-scheduled-at")),
            at: now(),
            ended_at: None,
        };
        let mut calls = self.calls();
        calls.push(call);
        Answering { witness: self.clone(), index: calls.len() - 1, attempt }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.witness.calls()[self.index].ended_at = Some(now());
    }
}
