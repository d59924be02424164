//! `GET /metrics`: the process's metrics, for Prometheus to scrape.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use minutehand_io::Ports;

use crate::app_state::AppState;
use crate::problem::{Kind, Problem};

pub(crate) const PATH: &str = "/metrics";

const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(crate) async fn metrics<D: Ports>(State(app): State<Arc<AppState<D>>>) -> Result<Response, Problem> {
    let none = || Problem::new(Kind::NotFound, "this deployment has no process to ask: its metrics are in CloudWatch");
    let text = app.metrics.as_ref().ok_or_else(none)?.text(&*app.ports).await?;
    Ok(([(CONTENT_TYPE, PROMETHEUS)], text).into_response())
}
