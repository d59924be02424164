//! The exporter of a process that stays: one task, which sends spans as they come, and beside that reads the metrics each minute. Of each signal one
//! request is under way at a time, so that a collector which hangs costs two connections and what the queue holds; and with one of them holds up no other.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use minutehand_io::metrics::Measure;
use minutehand_io::spans::{Span, Spans};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prometheus::proto::MetricFamily;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::batch::Batch;
use crate::collector::Collector;
use crate::dropped::Dropped;
use crate::leaving::{Leave, Leaving, leaving};
use crate::points::{self, Since, Window};
use crate::queue::{Queue, Waiting, queue};
use crate::resource::resource;
use crate::settings::Settings;
use crate::signal::Signal;
use crate::{ExportError, Identity, families, spans};

/// How long the end of a process waits for the collector.
const LEAVING: Duration = Duration::from_secs(5);

/// Reads all metrics of the process.
pub type Reading = Box<dyn Fn() -> BoxFuture<'static, Vec<MetricFamily>> + Send + Sync>;

/// Takes spans in; nothing is sent before it is started.
pub struct Exporter {
    spans: Arc<Queue<Span>>,
    task: Task,
}

/// An exporter at work.
#[derive(Debug)]
pub struct Exporting {
    leave: Leave,
    task: JoinHandle<()>,
}

struct Task {
    waiting: Waiting<Span>,
    sending: Sending,
    /// How long its end may take.
    end: Duration,
}

struct Sending {
    collector: Collector,
    resource: Resource,
    settings: Settings,
    dropped: Arc<Dropped>,
    identity: Identity,
    /// Since when counters count.
    began: Since,
}

impl Exporter {
    /// `dropped`: where it is counted what is dropped.
    pub fn new(settings: Settings, identity: Identity, dropped: Arc<dyn Measure>) -> Result<Self, ExportError> {
        let (collector, resource) = (Collector::new(&settings, &identity)?, resource(&settings, &identity));
        let dropped = Arc::new(Dropped::new(dropped));
        let (queue, waiting) = queue(&dropped);
        let began = Since::TheStart((identity.now)());
        let sending = Sending { collector, resource, settings, dropped, identity, began };
        Ok(Self { spans: Arc::new(queue), task: Task { waiting, sending, end: LEAVING } })
    }

    /// Where spans are put in.
    pub fn spans(&self) -> Arc<dyn Spans> {
        self.spans.clone()
    }

    pub fn start(self, reading: Reading) -> Exporting {
        let (leave, leaving) = leaving();
        let Settings { traces, metrics, .. } = &self.task.sending.settings;
        tracing::info!(%traces, %metrics, "exporting by OTLP");
        Exporting { leave, task: tokio::spawn(self.task.until(leaving, reading)) }
    }
}

impl Exporting {
    /// Sends what there is, for a few seconds at most.
    pub async fn stop(self) {
        self.leave.now();
        let _ended = self.task.await;
    }
}

impl Task {
    /// What is under way or waits when the time is over is dropped with this.
    async fn until(mut self, leaving: Leaving, reading: Reading) {
        let end = self.end;
        let deadline = async {
            leaving.told().await;
            sleep(end).await;
        };
        tokio::select! {
            () = self.work(&leaving, &reading) => {}
            () = deadline => tracing::warn!("the collector is too slow for what is left to be exported"),
        }
    }

    async fn work(&mut self, leaving: &Leaving, reading: &Reading) {
        tokio::join!(
            self.sending.spans_as_they_come(&mut self.waiting, leaving),
            self.sending.metrics_each_interval(leaving, reading)
        );
    }
}

impl Sending {
    async fn spans_as_they_come(&self, waiting: &mut Waiting<Span>, leaving: &Leaving) {
        loop {
            tokio::select! {
                biased;
                () = leaving.told() => break,
                spans = waiting.batch() => self.send_spans(spans, leaving).await,
            }
        }
        loop {
            let left = waiting.batch_now();
            if left.is_empty() {
                return;
            }
            self.send_spans(left, leaving).await;
        }
    }

    async fn metrics_each_interval(&self, leaving: &Leaving, reading: &Reading) {
        let each = self.settings.interval;
        let mut ticks = interval_at(Instant::now() + each, each);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = leaving.told() => break,
                _at = ticks.tick() => self.send_metrics(leaving, reading).await,
            }
        }
        self.send_metrics(leaving, reading).await;
    }

    async fn send_spans(&self, spans: Vec<Span>, leaving: &Leaving) {
        let count = spans.len();
        let request = spans::request(&self.resource, spans);
        self.send(Batch::new(Signal::Traces, count, &request, &self.dropped), leaving).await;
    }

    async fn send_metrics(&self, leaving: &Leaving, reading: &Reading) {
        let families = reading().await;
        let metrics = families::metrics(&families, Window { since: self.began, now: (self.identity.now)() });
        let count = points::count(&metrics);
        let request = points::request(&self.resource, metrics);
        self.send(Batch::new(Signal::Metrics, count, &request, &self.dropped), leaving).await;
    }

    async fn send(&self, batch: Batch, leaving: &Leaving) {
        let until = Instant::now() + self.settings.timeout;
        let _counted = batch.deliver(&self.collector, until, leaving, self.identity.instance).await;
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use prometheus::{IntCounter, Registry};
    use prost::Message as _;

    use super::*;
    use crate::batch::tests::Counted;
    use crate::collector::tests::{Said, Stub, identity};
    use crate::queue::{BATCH, ROOM};
    use crate::spans::tests::span;

    fn reading() -> Reading {
        let registry = Registry::new();
        let runs = IntCounter::new("minutehand_runs_total", "Runs.").unwrap();
        runs.inc_by(3);
        registry.register(Box::new(runs)).unwrap();
        Box::new(move || {
            let families = registry.gather();
            Box::pin(async move { families })
        })
    }

    /// For what is to succeed, over real sockets, beside other tests.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn exporter(stub: &Stub, settings: impl FnOnce(Settings) -> Settings) -> (Exporter, Arc<Counted>) {
        let counted = Arc::new(Counted::default());
        let settings = settings(Settings { timeout: PATIENCE, ..stub.settings() });
        (Exporter::new(settings, identity(), counted.clone()).unwrap(), counted)
    }

    /// Looks until it is so.
    async fn until(what: &str, is_so: impl Fn() -> bool) {
        let begin = std::time::Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < PATIENCE, "never: {what}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn spans_at(stub: &Stub) -> Vec<usize> {
        let traces = stub.seen().into_iter().filter(|asked| asked.path == "/v1/traces");
        let read = traces.map(|asked| ExportTraceServiceRequest::decode(asked.body).unwrap());
        read.map(|request| request.resource_spans[0].scope_spans[0].spans.len()).collect()
    }

    /// Removed: what is left is sent; the metrics are sent.
    #[tokio::test]
    async fn what_is_left_at_the_end_is_sent_in_whole_batches_and_the_metrics_beside_it() {
        let stub = Stub::saying(Vec::new()).await;
        let (mut exporter, counted) = exporter(&stub, |settings| settings);
        exporter.task.end = PATIENCE;
        let spans = exporter.spans();
        let exporting = exporter.start(reading());
        for _ in 0..BATCH + 10 {
            spans.ended(span());
        }

        exporting.stop().await;

        assert_eq!(spans_at(&stub).iter().sum::<usize>(), BATCH + 10);
        assert!(spans_at(&stub).iter().all(|count| *count <= BATCH), "{:?}", spans_at(&stub));
        let last = stub.seen().into_iter().rfind(|asked| asked.path == "/v1/metrics").unwrap();
        let metrics = ExportMetricsServiceRequest::decode(last.body).unwrap();
        assert_eq!(metrics.resource_metrics[0].scope_metrics[0].metrics[0].name, "minutehand_runs_total");
        assert_eq!((counted.of(Signal::Traces), counted.of(Signal::Metrics)), (0, 0));
    }

    #[tokio::test]
    async fn metrics_are_read_again_and_again() {
        let stub = Stub::saying(Vec::new()).await;
        let each = Duration::from_millis(20);
        let (exporter, _) = exporter(&stub, |settings| Settings { interval: each, ..settings });
        let exporting = exporter.start(reading());
        until("three readings", || stub.asked() >= 3).await;
        exporting.stop().await;
    }

    /// Removed: the deadline of the end. Then it lasted for as long as two batches may take, a minute.
    #[tokio::test]
    async fn a_collector_that_hangs_holds_nobody_up_and_costs_no_more_than_the_queue() {
        let stub = Stub::saying(vec![Said::Nothing; 100]).await;
        let long = Duration::from_secs(30);
        let (exporter, counted) = exporter(&stub, |settings| Settings { timeout: long, ..settings });
        let spans = exporter.spans();
        let exporting = exporter.start(reading());
        let begin = std::time::Instant::now();
        spans.ended(span());
        until("a batch is under way", || stub.asked() > 0).await;

        for _ in 0..3 * ROOM {
            spans.ended(span());
        }
        let put_in = begin.elapsed();
        assert!(put_in < PATIENCE, "{put_in:?}");
        assert_eq!(counted.of(Signal::Traces), 2 * ROOM as u64, "what finds no room");
        let begin = std::time::Instant::now();
        exporting.stop().await;

        let took = begin.elapsed();
        assert!((LEAVING..Duration::from_secs(30)).contains(&took), "{took:?}");
        assert_eq!(counted.of(Signal::Traces), 1 + 3 * ROOM as u64, "and in the end all of it");
    }

    /// Removed: each signal has a task's half of its own. The metrics waited behind spans that the collector would not answer, and were cut with them.
    #[tokio::test]
    async fn the_last_metrics_do_not_wait_for_spans_under_way() {
        let stub = Stub::saying(vec![Said::Nothing; 1]).await;
        let (mut exporter, counted) = exporter(&stub, |settings| settings);
        exporter.task.end = Duration::from_secs(8);
        exporter.spans().ended(span());
        let exporting = exporter.start(reading());
        until("a batch is under way", || stub.asked() > 0).await;

        exporting.stop().await;

        let paths: Vec<_> = stub.seen().into_iter().map(|asked| asked.path).collect();
        assert_eq!(paths, ["/v1/traces", "/v1/metrics"]);
        assert_eq!((counted.of(Signal::Traces), counted.of(Signal::Metrics)), (1, 0));
    }

    /// A collector that is away: each batch is given up in its time.
    #[tokio::test]
    async fn a_collector_that_is_away_costs_the_batches_of_that_time() {
        let stub = Stub::saying(Vec::new()).await;
        let short = Duration::from_millis(100);
        let (mut exporter, counted) = exporter(&stub, |settings| Settings { timeout: short, ..settings });
        exporter.task.end = PATIENCE;
        drop(stub);
        let spans = exporter.spans();
        let exporting = exporter.start(reading());
        spans.ended(span());
        until("a batch is given up", || counted.of(Signal::Traces) > 0).await;
        spans.ended(span());

        exporting.stop().await;

        assert_eq!((counted.of(Signal::Traces), counted.of(Signal::Metrics)), (2, 1));
    }
}
