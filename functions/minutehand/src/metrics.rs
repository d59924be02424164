//! Metrics of this process: counts of its events and, read at each scrape, the depths of the queues and the counters of the
//! store.

use std::sync::Arc;
use std::time::Duration;

use minutehand_api::Metrics;
use minutehand_domain::priority::Priority;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::metrics::series::{counter_read, gauge};
use minutehand_io::metrics::{LANE_HINTS, LANE_OLDEST, STORE_ITEMS};
use minutehand_io::store::embedded::{Embedded, Engine};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec, Registry};

use crate::arguments::Serve;
use crate::local::Local;
use crate::serve_error::ServeError;

/// Metrics that are read when they are collected.
struct Gauges<E> {
    ports: Arc<Local<Embedded<E>>>,
    queues: IntGaugeVec,
    oldest: GaugeVec,
    store: IntCounterVec,
}

/// What a scrape is shown, with the jobs that are watched one by one.
pub(crate) async fn exposed<D: Ports>(registry: Registry, options: &Serve, ports: &D) -> Result<Metrics, ServeError> {
    let watched = options.watched()?;
    for job in &watched {
        job.warn_if_absent(ports).await;
    }
    Ok(Metrics::new(registry)?.watching(watched))
}

/// Registers the metrics of these ports.
pub(crate) fn watch<E: Engine>(registry: &Registry, ports: &Arc<Local<Embedded<E>>>) -> Result<(), prometheus::Error> {
    let gauges = Gauges {
        ports: Arc::clone(ports),
        queues: gauge(&LANE_HINTS)?,
        oldest: gauge(&LANE_OLDEST)?,
        store: counter_read(&STORE_ITEMS)?,
    };
    registry.register(Box::new(gauges))
}

impl<E: Engine> Gauges<E> {
    fn read_queues(&self) {
        let depths = self.ports.queues().depths();
        for (priority, depth) in Priority::ALL.into_iter().zip(depths) {
            for (state, hints) in [("ready", depth.ready), ("delayed", depth.delayed), ("in_flight", depth.in_flight)] {
                let hints = i64::try_from(hints).unwrap_or(i64::MAX);
                self.queues.with_label_values(&[priority.as_str(), state]).set(hints);
            }
        }
    }

    fn read_waits(&self) {
        let now = self.ports.clock().now();
        for (priority, oldest) in Priority::ALL.into_iter().zip(self.ports.queues().oldest()) {
            let waits = oldest.map_or(Duration::ZERO, |since| now.since(since));
            self.oldest.with_label_values(&[priority.as_str()]).set(waits.as_secs_f64());
        }
    }

    /// The store counts by itself; these counters only show its counts.
    fn read_store(&self) {
        let meter = self.ports.store().meter();
        let counts = [
            ("read", meter.reads),
            ("written", meter.writes),
            ("commits", meter.commits),
            ("later", meter.later),
            ("corrupt", meter.corrupt),
        ];
        for (what, count) in counts {
            let counter = self.store.with_label_values(&[what]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
    }
}

impl<E: Engine> Collector for Gauges<E> {
    fn desc(&self) -> Vec<&Desc> {
        [self.queues.desc(), self.oldest.desc(), self.store.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.read_queues();
        self.read_waits();
        self.read_store();
        [self.queues.collect(), self.oldest.collect(), self.store.collect()].concat()
    }
}
