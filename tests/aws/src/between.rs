//! Between a client and an emulator: passes requests on, keeps what was asked, and does what no emulator does: loses an
//! answer after the act, throttles before it, cuts pages short.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// More than any request of ours.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// What befalls a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is carried out, and its answer says that something broke.
    LosesTheAnswer,
    /// It is not carried out: the error of this name.
    Refused(&'static str),
    /// A query gives at most two items a page.
    ShortPages,
}

/// One request as it was asked: `PutItem` and its body.
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
    /// Of the requests of this operation, in order.
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

    /// The next request of this operation meets this trouble; one trouble for one request, in the order they are given.
    pub fn trouble(&self, operation: &'static str, trouble: Trouble) {
        locked(&self.inner.troubles).push_back((operation, trouble));
    }

    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.inner.asked).clone()
    }
}

async fn pass_on(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let mut body = to_bytes(body, BODY_BYTES).await.expect("a request of ours");
    let operation = operation_of(&head.headers);
    let asked = Asked { operation: operation.clone(), body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    let trouble = inner.next_trouble(&operation);
    locked(&inner.asked).push(asked.clone());
    match trouble {
        Some(Trouble::Refused(code)) => return error(StatusCode::BAD_REQUEST, code),
        Some(Trouble::ShortPages) => {
            let mut short = asked.body;
            short["Limit"] = json!(2);
            body = short.to_string().into();
            head.headers.remove(http::header::CONTENT_LENGTH);
        }
        Some(Trouble::LosesTheAnswer) | None => {}
    }
    head.uri = format!("{}{}", inner.to, head.uri.path()).parse::<Uri>().expect("an address");
    let answer = inner.client.request(Request::from_parts(head, Body::from(body))).await;
    match (answer, trouble) {
        (_acted, Some(Trouble::LosesTheAnswer)) => error(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
        (Ok(answer), _) => answer.map(Body::new).into_response(),
        (Err(why), _) => panic!("nobody there: {why}"),
    }
}

impl Inner {
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
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
