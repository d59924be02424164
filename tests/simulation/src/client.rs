//! A client of one API process: real requests through the real router, over that process's ports.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, StatusCode, Uri};
use minutehand_api::{Api, Keyring, TargetCheck, router_at};
use minutehand_domain::id::Tenant;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::ports::SimPorts;

const KEY: &str = "the-key-of-the-simulation";

/// Where a simulation asks. With all addresses of the API a history takes a quarter more.
const ASKED_AT: [&str; 13] = [
    "/v1/calendars/{calendar}",
    "/v1/jobs",
    "/v1/jobs/{job_id}",
    "/v1/jobs/{job_id}/pause",
    "/v1/jobs/{job_id}/resume",
    "/v1/jobs/{job_id}/run",
    "/v1/jobs/{job_id}/runs",
    "/v1/jobs/{job_id}/why",
    "/v1/runs/{run_id}/cancel",
    "/v1/runs/{run_id}/retry",
    "/v1/dead-letters",
    "/v1/dead-letters/{run_id}/redrive",
    "/v1/dead-letters/{run_id}/dismiss",
];

/// Making one costs more than a request through it: whoever asks several times keeps it.
pub struct Client(Router);

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub replayed: bool,
    pub body: Value,
}

impl Client {
    pub fn of(ports: SimPorts, tenant: Tenant) -> Self {
        let target_check = TargetCheck::new(|_| Ok(()));
        let api = Api {
            ports: Arc::new(ports),
            keys: Keyring::single(KEY, tenant),
            target_check,
            metrics: None,
            backups: None,
        };
        Self(router_at(api, |address| ASKED_AT.contains(&address)).fallback(asked_elsewhere))
    }

    pub async fn send(&self, method: &str, path: &str, idempotency_key: Option<&str>, body: &Value) -> Answer {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = match idempotency_key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        self.ask(request, Body::from(body.to_string())).await
    }

    pub async fn command(&self, method: &str, path: &str) -> Answer {
        self.ask(Request::builder().method(method).uri(path), Body::empty()).await
    }

    async fn ask(&self, request: http::request::Builder, body: Body) -> Answer {
        let request = request.header("authorization", format!("Bearer {KEY}")).body(body).expect("a well-made request");
        let response = self.0.clone().oneshot(request).await.expect("a router answers");
        let (status, replayed) = (response.status(), response.headers().contains_key("idempotency-replayed"));
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        Answer { status, replayed, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }
}

async fn asked_elsewhere(uri: Uri) -> StatusCode {
    panic!("{uri} is none of ASKED_AT")
}
