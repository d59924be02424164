//! A scripted AWS: it records requests, and the test's own function answers them. For cases that no emulator has: entries
//! that fail, throttles, missing answers.

use std::sync::{Arc, Mutex, PoisonError};

use aws_config::SdkConfig;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::ministack::sdk_for;

/// One request: `SendMessageBatch` and its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub operation: String,
    pub body: Value,
}

#[derive(Clone, Debug)]
pub enum Answer {
    Ok(Value),
    Error(StatusCode, &'static str),
    /// The request is never answered.
    None,
}

#[derive(Clone)]
pub struct Scripted {
    endpoint: String,
    inner: Arc<Inner>,
}

struct Inner {
    asked: Mutex<Vec<Asked>>,
    script: Box<Script>,
}

/// The answer to a request, given the number of requests before it.
type Script = dyn Fn(usize, &Asked) -> Answer + Send + Sync;

impl Scripted {
    pub async fn start(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has free ports");
        let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
        let inner = Arc::new(Inner { asked: Mutex::default(), script: Box::new(script) });
        let app = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { endpoint, inner }
    }

    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub fn sdk(&self) -> SdkConfig {
        sdk_for(&self.endpoint)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.inner.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Asked {
    /// The entries of a batch.
    pub fn entries(&self) -> &[Value] {
        self.body["Entries"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The answer that accepts all entries but those that fail with a code.
    pub fn taken_but(&self, code: impl Fn(&Value) -> Option<&'static str>) -> Answer {
        let (failed, taken): (Vec<_>, Vec<_>) = self.entries().iter().partition(|entry| code(entry).is_some());
        let failed: Vec<_> = failed
            .into_iter()
            .map(|entry| json!({"Id": entry["Id"], "SenderFault": false, "Code": code(entry), "Message": "so it was to be"}))
            .collect();
        let taken: Vec<_> = taken
            .into_iter()
            .map(|entry| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "m"}))
            .collect();
        Answer::Ok(json!({"Successful": taken, "Failed": failed}))
    }
}

async fn answer(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let asked = Asked { operation, body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    let before = inner.keep(asked.clone());
    match (inner.script)(before, &asked) {
        Answer::Ok(body) => json_response(StatusCode::OK, &body),
        Answer::Error(status, code) => json_response(status, &json!({"__type": code, "message": "so it was to be"})),
        Answer::None => std::future::pending().await,
    }
}

impl Inner {
    /// Returns the number of requests recorded before.
    fn keep(&self, asked: Asked) -> usize {
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(asked);
        all.len() - 1
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}
