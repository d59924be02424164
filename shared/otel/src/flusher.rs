//! The flusher of a function: what an invocation made is sent at its end, since the process is frozen then. It takes half a second at most, and no
//! invocation fails by it. A collector that took all of it is left alone for a while: what waits for it meanwhile is kept as far as there is room.

use std::fmt;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use minutehand_io::metrics::{Measure, Metric};
use minutehand_io::spans::{Span, Spans};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::batch::Batch;
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
    rests_until: Lock<Option<Instant>>,
}

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
            rests_until: Lock::default(),
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
        if self.rests() {
            return;
        }
        let until = Instant::now() + self.deadline;
        let all = async { tokio::join!(self.flush_spans(until), self.flush_metrics(until)) };
        let _too_late_is_counted = timeout_at(until, all).await;
        if Instant::now() >= until {
            *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
        }
    }

    fn rests(&self) -> bool {
        let until = *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    async fn flush_spans(&self, until: Instant) {
        let mut waiting = self.waiting.lock().await;
        loop {
            let spans = waiting.batch_now();
            if spans.is_empty() {
                return;
            }
            let (count, request) = (spans.len(), spans::request(&self.resource, spans));
            self.send(Batch::new(Signal::Traces, count, &request, &self.dropped), until).await;
        }
    }

    async fn flush_metrics(&self, until: Instant) {
        let (metrics, left_out) = self.measured.delta.take((self.identity.now)());
        self.dropped.count(Signal::Metrics, left_out);
        let count = points::count(&metrics);
        if count > 0 {
            let request = points::request(&self.resource, metrics);
            self.send(Batch::new(Signal::Metrics, count, &request, &self.dropped), until).await;
        }
    }

    async fn send(&self, batch: Batch, until: Instant) {
        let (_nobody_leaves, leaving) = leaving();
        batch.deliver(&self.collector, until, &leaving, self.identity.instance).await;
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
    use crate::spans::tests::span;

    /// For a flush that is to succeed, over real sockets: beside other tests it may take much longer than an invocation gives it.
    const PATIENCE: Duration = Duration::from_secs(20);

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
        *flusher.rests_until.lock().unwrap() = None;
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

    /// Removed: a collector that did not answer is asked again at once. Each invocation took half a second longer, and with few of them at once all
    /// that waited for its turn came later and later.
    #[tokio::test]
    async fn a_collector_that_hangs_is_left_alone_for_a_while_and_nothing_of_that_time_is_lost() {
        let stub = Stub::saying(vec![Said::Nothing; 1]).await;
        let (mut flusher, heard) = flusher(&stub);
        flusher.deadline = Duration::from_secs(3); // beside other tests it may take a while until the request is there
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.flush().await;
        let asked = stub.seen().len();

        flusher.deadline = PATIENCE;
        flusher.sink().add(&ATTEMPTS, &[], 1.0);
        flusher.spans().ended(span());
        flusher.flush().await;
        assert_eq!(stub.seen().len(), asked, "it rests");
        rested(&flusher);
        flusher.flush().await;

        assert_eq!(stub.seen().len(), asked + 2);
        assert_eq!(heard.of(TELEMETRY_DROPPED.name), "1", "what it was asked to take when it hung");
    }
}
