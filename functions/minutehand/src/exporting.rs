//! Exporting: what this process tells a collector by OTLP, where it is asked to.

use std::sync::Arc;

use minutehand_api::Metrics;
use minutehand_io::Ports;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::metrics::Measure;
use minutehand_otel::{Exporter, Exporting, Identity, Settings};

use crate::arguments::Serve;
use crate::host::{Drained, stop_signal};
use crate::serve_error::ServeError;

/// None where nobody asks for it. Who asks by an argument wants it; the variables are often set for everything on a machine.
pub(crate) fn exporter(options: &Serve, dropped: Arc<dyn Measure>) -> Result<Option<Exporter>, ServeError> {
    let asked = options.otlp_endpoint.as_deref();
    let settings = match Settings::read(&|name| std::env::var(name).ok(), asked) {
        Err(why) if asked.is_none() => {
            tracing::warn!(%why, "nothing is exported");
            None
        }
        read => read?,
    };
    let Some(settings) = settings else { return Ok(None) };
    let service = "minutehand".to_owned();
    let identity = Identity { service, instance: SystemChance.number(), now: || SystemClock.now() };
    match Exporter::new(settings, identity, dropped) {
        Err(why) if asked.is_none() => {
            tracing::warn!(%why, "OTEL_EXPORTER_OTLP_ENDPOINT is set, and nothing is exported");
            Ok(None)
        }
        made => Ok(Some(made?)),
    }
}

/// Sends what there is when all that ran is over, or when it could not go on: what it did last is what is asked for then. Not where somebody is in a
/// hurry, or gets into one.
pub(crate) async fn stop(exporting: Option<Exporting>, ended: &Result<Drained, ServeError>) {
    let has_time = matches!(ended, Ok(Drained::Whole) | Err(ServeError::StoreFailed(_) | ServeError::Panicked(_)));
    if let Some(exporting) = exporting.filter(|_| has_time) {
        tokio::select! {
            () = exporting.stop() => {}
            _stopped = stop_signal() => {}
        }
    }
}

/// Begins to send; of the metrics what the process has counted by then.
pub(crate) fn start<D: Ports>(exporter: Exporter, ports: &Arc<D>, metrics: &Metrics) -> Exporting {
    let (ports, metrics) = (Arc::clone(ports), metrics.clone());
    exporter.start(Box::new(move || {
        let (ports, metrics) = (Arc::clone(&ports), metrics.clone());
        Box::pin(async move { metrics.gathered(&*ports).await })
    }))
}
