//! A small HTTP client for one Minutehand. It keeps its connections, and says so where nobody answered.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Nothing here takes this long; a test that waits longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    key: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The answer to an earlier request with the same key.
    pub(crate) replayed: bool,
    /// Null where there is none.
    pub(crate) body: Value,
}

/// Why nobody answered. Whether the request was carried out, nobody knows.
pub(crate) type Unanswered = String;

impl Client {
    pub(crate) fn new(address: SocketAddr, key: Option<&str>) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { http, address, key: key.map(str::to_owned) }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None, None).await.expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, None, Some(&body)).await.expect("an answer")
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        idempotency_key: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Answer, Unanswered> {
        let request = self.request(method, path, idempotency_key, body);
        let exchange = async {
            let response = self.http.request(request).await.map_err(|error| format!("{error:?}"))?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            let replayed = head.headers.contains_key("idempotency-replayed");
            let body = serde_json::from_slice(&body).unwrap_or_else(|_no_json| text_or_null(&body));
            Ok(Answer { status: head.status.as_u16(), replayed, body })
        };
        let late = |_| Err(format!("nothing within {PATIENCE:?}"));
        tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(late)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        idempotency_key: Option<&str>,
        body: Option<&Value>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        request.header("content-type", "application/json").body(Full::new(bytes)).expect("a request")
    }
}

fn text_or_null(body: &[u8]) -> Value {
    if body.is_empty() { Value::Null } else { String::from_utf8_lossy(body).into() }
}

impl Answer {
    /// A field of the body that is a text.
    pub(crate) fn text(&self, field: &str) -> String {
        text(&self.body, field)
    }
}

pub(crate) fn text(body: &Value, field: &str) -> String {
    body[field].as_str().unwrap_or_else(|| panic!("no text `{field}` in {body}")).to_owned()
}

/// A field that is an instant, in milliseconds since the epoch.
pub(crate) fn instant(body: &Value, field: &str) -> i64 {
    millis(&text(body, field))
}

pub(crate) fn millis(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text).expect("an instant").timestamp_millis()
}

/// An instant as requests write it.
pub(crate) fn rfc3339(millis: i64) -> String {
    let instant = chrono::DateTime::from_timestamp_millis(millis).expect("an instant");
    instant.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
