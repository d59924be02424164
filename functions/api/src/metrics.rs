//! Metrics of a long-running process, in Prometheus' text format. They count all tenants together, so only the deployment's
//! own key may read them.

use std::time::Duration;

use http::StatusCode;
use minutehand_io::Fault;
use minutehand_io::metrics::series::Series;
use minutehand_io::metrics::{Measure as _, REQUEST_SECONDS, REQUESTS_ANSWERED};
use prometheus::{Registry, TextEncoder};

/// The host's registry, and the request metrics in it.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    series: Series,
}

impl Metrics {
    /// Exports `registry`, and counts requests into it.
    pub fn new(registry: Registry) -> Result<Self, prometheus::Error> {
        let series = Series::new(&[&REQUESTS_ANSWERED, &REQUEST_SECONDS], &registry)?;
        Ok(Self { registry, series })
    }

    /// Counts a request. `route` is the template of the table of routes: ids would make a series each.
    pub(crate) fn answered(&self, method: &str, route: &str, status: StatusCode, took: Duration) {
        self.series.add(&REQUESTS_ANSWERED, &[method, route, status.as_str()], 1.0);
        self.series.add(&REQUEST_SECONDS, &[method, route], took.as_secs_f64());
    }

    pub(crate) fn text(&self) -> Result<String, Fault> {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather());
        text.map_err(|error| Fault::unavailable("metrics", error.to_string()))
    }
}
