//! The flusher of a function: what an invocation made is sent at its end, since the process is frozen then. It takes half a second at most, and no
//! invocation fails by it. A collector that said nothing all that time is left alone for a while, with spans or with metrics, as it was with those that it
//! said nothing: what waits for it meanwhile is kept as far as there is room.

use std::fmt;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use minutehand_io::metrics::{Measure, Metric};
use minutehand_io::spans::{Span, Spans};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::batch::{Batch, Delivery};
use crate::collector::Collector;
use crate::delta::Delta;
use crate::dropped::Dropped;
use crate::leaving::leaving;
use crate::queue::{Queue, Waiting, queue};
use crate::resource::resource;
use crate::settings::Settings;
use crate::signal::Signal;
use crate::{ExportError, Identity, points, spans};

/// How long an invocation waits for the collector. It is paid for, and of the API somebody waits for it.
const FLUSH: Duration = Duration::from_millis(500);
/// How long a collector is left alone that did not answer in time: each invocation would else be half a second longer, and all that waits for its turn later.
const REST: Duration = Duration::from_secs(30);

pub struct Flusher {
    collector: Collector,
    resource: Resource,
    spans: Arc<Queue<Span>>,
    waiting: Mutex<Waiting<Span>>,
    measured: Arc<Both>,
    dropped: Arc<Dropped>,
    identity: Identity,
    deadline: Duration,
    spans_rest: Rest,
    metrics_rest: Rest,
}

/// Until when a collector is left alone with one signal: the two may go to different ones.
#[derive(Default)]
struct Rest(Lock<Option<Instant>>);

/// What is measured goes where it went, and is told to the collector too.
struct Both {
    other: Arc<dyn Measure>,
    delta: Delta,
}

impl Measure for Both {
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
        self.other.add(metric, words, value);
        self.delta.add(metric, words, value);
    }
}

impl Flusher {
    /// `other`: where measurements go beside.
    pub fn new(settings: &Settings, identity: Identity, other: Arc<dyn Measure>) -> Result<Self, ExportError> {
        let (collector, resource) = (Collector::new(settings, &identity)?, resource(settings, &identity));
        let measured = Arc::new(Both { other, delta: Delta::new((identity.now)()) });
        let dropped = Arc::new(Dropped::new(measured.clone()));
        let (queue, waiting) = queue(&dropped);
        let deadline = FLUSH.min(settings.timeout);
        Ok(Self {
            collector,
            resource,
            spans: Arc::new(queue),
            waiting: Mutex::new(waiting),
            measured,
            dropped,
            identity,
            deadline,
            spans_rest: Rest::default(),
            metrics_rest: Rest::default(),
        })
    }

    /// Where spans are put in.
    pub fn spans(&self) -> Arc<dyn Spans> {
        self.spans.clone()
    }

    /// Where measurements go.
    pub fn sink(&self) -> Arc<dyn Measure> {
        self.measured.clone()
    }

    /// Sends what there is. What is under way when the time is over is dropped and counted, which is the next invocation's to tell of.
    pub async fn flush(&self) {
        let until = Instant::now() + self.deadline;
        tokio::join!(self.flush_spans(until), self.flush_metrics(until));
    }

    /// Batch after batch, as long as there is time for one that takes as long as the last: what is begun and cut would be lost.
    async fn flush_spans(&self, until: Instant) {
        if self.spans_rest.is_on() {
            return;
        }
        let Ok(mut waiting) = timeout_at(until, self.waiting.lock()).await else { return };
        let mut last = None;
        while Instant::now() + last.unwrap_or_default() < until {
            let spans = waiting.batch_now();
            if spans.is_empty() {
                return;
            }
            let (begin, count) = (Instant::now(), spans.len());
            let batch = Batch::new(Signal::Traces, count, &spans::request(&self.resource, spans), &self.dropped);
            if self.send(batch, until).await == Delivery::Unanswered && last.is_none() {
                return self.spans_rest.begin();
            }
            last = Some(begin.elapsed());
        }
    }

    async fn flush_metrics(&self, until: Instant) {
        if self.metrics_rest.is_on() {
            return;
        }
        let (metrics, left_out) = self.measured.delta.take((self.identity.now)());
        self.dropped.count(Signal::Metrics, left_out);
        let count = points::count(&metrics);
        if count == 0 {
            return;
        }
        let batch = Batch::new(Signal::Metrics, count, &points::request(&self.resource, metrics), &self.dropped);
        if self.send(batch, until).await == Delivery::Unanswered {
            self.metrics_rest.begin();
        }
    }

    async fn send(&self, batch: Batch, until: Instant) -> Delivery {
        let (_nobody_leaves, leaving) = leaving();
        batch.deliver(&self.collector, until, &leaving, self.identity.instance).await
    }
}

impl Rest {
    fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }

    fn is_on(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }
}

impl fmt::Debug for Flusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flusher")
    }
}

#[cfg(test)]
mod tests {
    use minutehand_io::metrics::{ATTEMPTS, TELEMETRY_DROPPED};
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use prost::Message as _;

    use super::*;
    use crate::collector::tests::{Asked, Said, Stub, identity};
    use crate::queue::BATCH;
    use crate::spans::tests::span;

    /// For a flush that is to succeed, over real sockets: beside other tests it may take much longer than an invocation gives it.
    const PATIENCE: Duration = Duration::from_secs(20);
    /// For one in which requests are to arrive, and one of them to hang.
    const ARRIVING: Duration = Duration::from_secs(8);

    /// The names of what was measured.
    #[derive(Default)]
    struct Heard(Lock<Vec<(&'static str, f64)>>);

    impl Heard {
        /// How much of it, in whole ones.
        fn of(&self, name: &str) -> String {
            let heard = self.0.lock().unwrap();
            heard.iter().filter(|(heard, _)| *heard == name).fold(0.0, |all, (_, value)| all + value).to_string()
        }
    }

    impl Measure for Heard {
        fn add(&self, metric: &'static Metric, _words: &[&str], value: f64) {
            self.0.lock().unwrap().push((metric.name, value));
        }
    }

    fn flusher(stub: &Stub) -> (Flusher, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        (Flusher::new(&stub.settings(), identity(), heard.clone()).unwrap(), heard)
    }

    /// As if it had been left alone for long enough.
    fn rested(flusher: &Flusher) {
        for rest in [&flusher.spans_rest, &flusher.metrics_rest] {
            *rest.0.lock().unwrap() = None;
        }
    }

    fn paths(stub: &Stub) -> Vec<String> {
        stub.seen().into_iter().map(|asked| asked.path).collect()
    }

    fn named(asked: Asked) -> Vec<String> {
        let read = ExportMetricsServiceRequest::decode(asked.body).unwrap();
        read.resource_metrics[0].scope_metrics[0].metrics.iter().map(|metric| metric.name.clone()).collect()
    }

    #[tokio::test]
    async fn what_an_invocation_made_is_sent_at_its_end_once() {
        let stub = Stub::saying(Vec::new()).await;
        let (mut flusher, heard) = flusher(&stub);
        flusher.deadline = PATIENCE;
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.spans().ended(span());

        flusher.flush().await;
        flusher.flush().await;

        let mut seen = stub.seen();
        seen.sort_by(|one, other| one.path.cmp(&other.path));
        assert_eq!(seen.iter().map(|asked| asked.path.as_str()).collect::<Vec<_>>(), ["/v1/metrics", "/v1/traces"]);
        assert_eq!(named(seen.remove(0)), [ATTEMPTS.name]);
        assert_eq!((&*heard.of(ATTEMPTS.name), &*heard.of(TELEMETRY_DROPPED.name)), ("1", "0"));
    }

    /// Removed: the deadline. The invocation hung with the collector.
    #[tokio::test]
    async fn a_collector_that_hangs_costs_an_invocation_half_a_second_and_is_told_of() {
        let stub = Stub::saying(vec![Said::Nothing; 2]).await;
        let (mut flusher, heard) = flusher(&stub);
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.spans().ended(span());
        let begin = std::time::Instant::now();

        flusher.flush().await;

        let took = begin.elapsed();
        assert!((FLUSH..Duration::from_secs(30)).contains(&took), "{took:?}");
        assert_eq!(heard.of(TELEMETRY_DROPPED.name), "2");
        flusher.deadline = PATIENCE;
        rested(&flusher);
        flusher.flush().await;
        assert_eq!(named(stub.seen().pop().unwrap()), [TELEMETRY_DROPPED.name], "the next one tells of it");
    }

    /// Removed, one after the other: a collector that did not answer is asked again at once, whereby each invocation took half a second longer, and
    /// with few of them at once all that waited for its turn came later and later; what rests is both signals, though one of them is taken.
    #[tokio::test]
    async fn a_collector_that_hangs_with_metrics_is_left_alone_with_them_and_nothing_of_that_time_is_lost() {
        let stub = Stub::saying(vec![Said::Nothing; 1]).await;
        let (mut flusher, heard) = flusher(&stub);
        flusher.deadline = ARRIVING;
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.flush().await;
        let asked = stub.seen().len();

        flusher.deadline = PATIENCE;
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.spans().ended(span());
        flusher.flush().await;
        assert_eq!(paths(&stub)[asked..], ["/v1/traces"], "metrics rest");
        rested(&flusher);
        flusher.flush().await;

        assert_eq!(paths(&stub)[asked..], ["/v1/traces", "/v1/metrics"]);
        assert_eq!(heard.of(TELEMETRY_DROPPED.name), "1", "what it was asked to take when it hung");
    }

    /// Removed: a collector that took a batch before the time was over is no hanging one. It was left alone, and what came meanwhile found no room.
    #[tokio::test]
    async fn a_collector_that_has_more_to_take_than_there_is_time_for_is_not_left_alone() {
        let stub = Stub::saying(vec![Said::taken(), Said::Nothing]).await;
        let (mut flusher, _) = flusher(&stub);
        flusher.deadline = ARRIVING;
        for _ in 0..=BATCH {
            flusher.spans().ended(span());
        }
        flusher.flush().await;
        assert_eq!(paths(&stub), ["/v1/traces"; 2]);

        flusher.spans().ended(span());
        flusher.deadline = PATIENCE;
        flusher.flush().await;

        let mut then = paths(&stub).split_off(2);
        then.sort_unstable();
        assert_eq!(then, ["/v1/metrics", "/v1/traces"], "and it is told of what was cut");
    }
}
