//! A proxy between a client and an emulator: it records requests, and injects faults that no emulator has: it loses an answer
//! after the act, throttles before it, cuts pages short, leaves a part of a batch unprocessed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// More than any request needs.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// A fault that is injected into a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The request is executed, and its answer is an error.
    LosesTheAnswer,
    /// The request is not executed, and its answer is the error of this name.
    Refused(&'static str),
    /// A query returns at most two items a page.
    ShortPages,
    /// Only some keys of a batch are read, and the others are unprocessed.
    LeavesAllBut(usize),
    /// Only some keys of a batch are read, and the others are reported missing.
    FindsOnly(usize),
}

/// One request as sent: `PutItem` and its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub operation: String,
    pub body: Value,
}

#[derive(Clone, Debug)]
pub struct Between {
    pub endpoint: String,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    to: String,
    client: Client<HttpConnector, Body>,
    /// The faults for the requests of this operation, in order.
    troubles: Mutex<VecDeque<(&'static str, Trouble)>>,
    asked: Mutex<Vec<Asked>>,
}

impl Between {
    pub async fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
        let client = Client::builder(TokioExecutor::new()).build_http();
        let inner = Arc::new(Inner { to: to.to_owned(), client, troubles: Mutex::default(), asked: Mutex::default() });
        let app = Router::new().fallback(pass_on).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { endpoint, inner }
    }

    /// Injects a fault into the next request of this operation; one fault for one request, in order.
    pub fn trouble(&self, operation: &'static str, trouble: Trouble) {
        locked(&self.inner.troubles).push_back((operation, trouble));
    }

    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.inner.asked).clone()
    }
}

async fn pass_on(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES).await.expect("a request of ours");
    let operation = operation_of(&head.headers);
    let asked = Asked { operation: operation.clone(), body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    let trouble = inner.next_trouble(&operation);
    locked(&inner.asked).push(asked.clone());
    let Some(trouble) = trouble else { return inner.pass(head, body).await };
    let mut changed = asked.body;
    match trouble {
        Trouble::Refused(code) => error(StatusCode::BAD_REQUEST, code),
        Trouble::LosesTheAnswer => {
            inner.pass(head, body).await;
            error(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError")
        }
        Trouble::ShortPages => {
            changed["Limit"] = json!(2);
            inner.pass(head, changed.to_string().into()).await
        }
        Trouble::FindsOnly(some) => {
            let _at_the_others_is_nothing = split_batch(&mut changed, some);
            inner.pass(head, changed.to_string().into()).await
        }
        Trouble::LeavesAllBut(some) => {
            let left = split_batch(&mut changed, some);
            // An empty batch may not be sent.
            if some == 0 {
                return json_of(&json!({"UnprocessedKeys": left}));
            }
            also(inner.pass(head, changed.to_string().into()).await, "UnprocessedKeys", left).await
        }
    }
}

/// Keeps the first `some` keys of a batch; returns the same request with the others.
fn split_batch(request: &mut Value, some: usize) -> Value {
    let mut others = request["RequestItems"].clone();
    let tables = request["RequestItems"].as_object_mut().into_iter().flatten();
    for (table, asked) in tables {
        let keys = asked["Keys"].as_array_mut().expect("a batch has keys");
        others[table]["Keys"] = keys.split_off(some.min(keys.len())).into();
    }
    others
}

/// The same answer with one more field.
async fn also(answer: Response, name: &str, what: Value) -> Response {
    let body = to_bytes(answer.into_body(), BODY_BYTES).await.expect("an answer");
    let mut said: Value = serde_json::from_slice(&body).expect("an answer of DynamoDB's");
    said[name] = what;
    json_of(&said)
}

impl Inner {
    async fn pass(&self, mut head: Parts, body: Bytes) -> Response {
        head.headers.remove(CONTENT_LENGTH);
        head.uri = format!("{}{}", self.to, head.uri.path()).parse::<Uri>().expect("an address");
        let answer = self.client.request(Request::from_parts(head, Body::from(body))).await;
        answer.expect("somebody is there").map(Body::new).into_response()
    }

    fn next_trouble(&self, operation: &str) -> Option<Trouble> {
        let mut troubles = locked(&self.troubles);
        let place = troubles.iter().position(|(of, _)| *of == operation)?;
        troubles.remove(place).map(|(_, trouble)| trouble)
    }
}

/// `DynamoDB_20120810.PutItem`
fn operation_of(headers: &http::HeaderMap) -> String {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

fn error(status: StatusCode, code: &str) -> Response {
    let body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "so it was to be"});
    (status, json_of(&body)).into_response()
}

fn json_of(body: &Value) -> Response {
    ([(CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
