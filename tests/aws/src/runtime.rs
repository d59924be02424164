//! Lambda's runtime API for a bootstrap under test: it serves one event after the other, and records the answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

/// An action of the bootstrap.
#[derive(Debug)]
pub enum Did {
    /// It requested an event.
    Polled(Instant),
    Answered(Value),
    Failed(Value),
}

#[derive(Debug)]
pub struct RuntimeApi {
    /// The value of `AWS_LAMBDA_RUNTIME_API`.
    pub address: String,
    did: mpsc::UnboundedReceiver<Did>,
}

struct Inner {
    events: Mutex<VecDeque<Value>>,
    did: mpsc::UnboundedSender<Did>,
}

/// A bootstrap is slow when the machine is busy; one that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

impl RuntimeApi {
    pub async fn start(events: impl IntoIterator<Item = Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (sender, did) = mpsc::unbounded_channel();
        let inner = Arc::new(Inner { events: Mutex::new(events.into_iter().collect()), did: sender });
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(answered))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(failed))
            .route("/2018-06-01/runtime/init/error", post(failed_to_begin))
            .with_state(inner);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, did }
    }

    pub async fn next(&mut self) -> Did {
        let did = tokio::time::timeout(PATIENCE, self.did.recv()).await;
        did.expect("the bootstrap does something").expect("the server lives as long as we do")
    }
}

/// The next event; without one the bootstrap waits for ever, like a function that is not invoked.
async fn next(State(inner): State<Arc<Inner>>) -> Response {
    let _nobody_listens_any_more = inner.did.send(Did::Polled(Instant::now()));
    let event = inner.events.lock().await.pop_front();
    let Some(event) = event else { return std::future::pending().await };
    let deadline = SystemTime::now() + Duration::from_secs(30);
    let deadline = deadline.duration_since(UNIX_EPOCH).expect("it is later than 1970").as_millis().to_string();
    let headers = [
        ("lambda-runtime-aws-request-id", "11111111-2222-3333-4444-555555555555"),
        ("lambda-runtime-deadline-ms", &deadline),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:123456789012:function:it"),
    ];
    (headers, event.to_string()).into_response()
}

async fn answered(State(inner): State<Arc<Inner>>, Path(_id): Path<String>, body: Bytes) -> StatusCode {
    inner.tell(Did::Answered(serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

async fn failed(State(inner): State<Arc<Inner>>, Path(_id): Path<String>, body: Bytes) -> StatusCode {
    inner.tell(Did::Failed(serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

async fn failed_to_begin(State(inner): State<Arc<Inner>>, body: Bytes) -> StatusCode {
    inner.tell(Did::Failed(serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

impl Inner {
    fn tell(&self, did: Did) -> StatusCode {
        let _nobody_listens_any_more = self.did.send(did);
        StatusCode::ACCEPTED
    }
}
