//! A client of a deployed API: JSON over HTTP with one key, by default the deployment's own.

use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct ApiClient {
    base: String,
    key: String,
    client: Client<HttpConnector, Body>,
}

/// Longer than any awaited event takes: the end of a lease, an overdue inspection.
const PATIENCE: Duration = Duration::from_secs(150);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl ApiClient {
    /// A client of the API at this address; paths are appended to it.
    pub fn new(base: &str, key: &str) -> Self {
        Self { base: base.to_owned(), key: key.to_owned(), client: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// The same API with another key.
    #[must_use]
    pub fn by(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let answer = self.client.request(self.request(method, path, body)).await.expect("the API answers");
        let status = answer.status();
        let bytes = to_bytes(Body::new(answer.into_body()), usize::MAX).await.expect("a whole answer");
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// The text at this path; none where nobody says it.
    pub async fn text(&self, path: &str) -> Option<String> {
        let answer = self.client.request(self.request("GET", path, None)).await.ok()?;
        let is_there = answer.status().is_success();
        let bytes = to_bytes(Body::new(answer.into_body()), usize::MAX).await.ok()?;
        String::from_utf8(bytes.into()).ok().filter(|_| is_there)
    }

    /// Creates a job and returns its id.
    pub async fn create(&self, job: &Value) -> String {
        let (status, created) = self.ask("POST", "/v1/jobs", Some(job)).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        created["job_id"].as_str().expect("a job has an id").to_owned()
    }

    /// Creates a job like a client that expects lost answers: with a key, repeated until there is an answer.
    pub async fn create_surely(&self, job: &Value, idempotency_key: &str) -> String {
        let (begin, mut job) = (Instant::now(), job.clone());
        job["idempotency_key"] = idempotency_key.into();
        loop {
            let (status, created) = self.ask("POST", "/v1/jobs", Some(&job)).await;
            if status.is_success() {
                return created["job_id"].as_str().expect("a job has an id").to_owned();
            }
            assert!(status.is_server_error() && begin.elapsed() < PATIENCE, "{status}: {created}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The runs of a job with all their attempts, once there is one and all have finished.
    pub async fn ended_runs(&self, job: &str) -> Vec<Value> {
        let begin = Instant::now();
        loop {
            let (status, runs) = self.ask("GET", &format!("/v1/jobs/{job}/runs"), None).await;
            let runs = runs["items"].as_array().cloned().unwrap_or_default();
            if status.is_success() && !runs.is_empty() && runs.iter().all(has_ended) {
                return runs;
            }
            assert!(begin.elapsed() < PATIENCE, "{job} does not end: {runs:?}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// A run, once it has ended.
    pub async fn ended_run(&self, run: &str) -> Value {
        let begin = Instant::now();
        loop {
            let (status, seen) = self.ask("GET", &format!("/v1/runs/{run}"), None).await;
            if status.is_success() && has_ended(&seen) {
                return seen;
            }
            assert!(begin.elapsed() < PATIENCE, "{run} does not end: {seen}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .expect("a well-made request")
    }
}

fn has_ended(run: &Value) -> bool {
    let status = run["status"].as_str().unwrap_or_default();
    !["", "scheduled", "queued", "running", "waiting"].contains(&status)
}
