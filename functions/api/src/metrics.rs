//! Metrics of a long-running process, in Prometheus' text format. They count all tenants together, so only the deployment's
//! own key may read them.

use std::time::Duration;

use http::StatusCode;
use minutehand_io::Fault;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder};

/// Buckets of request durations, in seconds.
const SPANS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 10.0];

/// The host's registry, and the request metrics in it.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    spans: HistogramVec,
}

impl Metrics {
    /// Exports `registry`, and counts requests into it.
    pub fn new(registry: Registry) -> Result<Self, prometheus::Error> {
        let requests = Opts::new("minutehand_http_requests_total", "Requests answered, by route and status.");
        let spans = HistogramOpts::new("minutehand_http_request_seconds", "How long requests took, by route.");
        let requests = IntCounterVec::new(requests, &["method", "route", "status"])?;
        let spans = HistogramVec::new(spans.buckets(SPANS.to_vec()), &["method", "route"])?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(spans.clone()))?;
        Ok(Self { registry, requests, spans })
    }

    /// Counts a request. `route` is the template of the table of routes: ids would make a series each.
    pub(crate) fn answered(&self, method: &str, route: &str, status: StatusCode, took: Duration) {
        self.requests.with_label_values(&[method, route, status.as_str()]).inc();
        self.spans.with_label_values(&[method, route]).observe(took.as_secs_f64());
    }

    pub(crate) fn text(&self) -> Result<String, Fault> {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather());
        text.map_err(|error| Fault::unavailable("metrics", error.to_string()))
    }
}
