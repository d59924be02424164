//! A batch: what is sent together, within its deadline, in a few tries or none. It is taken by the collector, or dropped and counted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::time::{Instant, sleep, timeout_at};

use crate::collector::{Answer, Collector};
use crate::dropped::Dropped;
use crate::leaving::Leaving;
use crate::signal::Signal;

/// Before the second try; twice that before the third, and so on.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub(crate) struct Batch {
    signal: Signal,
    body: Bytes,
    /// Spans or data points that the collector has not taken yet. Those are dropped with the batch, whatever becomes of whoever sends it.
    left: u64,
    dropped: Arc<Dropped>,
}

/// What a collector did about a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It said something, or could not be reached.
    Told,
    /// It said nothing in time.
    Unanswered,
}

impl Batch {
    pub(crate) fn new(signal: Signal, records: usize, message: &impl Message, dropped: &Arc<Dropped>) -> Self {
        let body = Bytes::from(message.encode_to_vec());
        Self { signal, body, left: records as u64, dropped: Arc::clone(dropped) }
    }

    /// Sends it until it is taken or refused, or until then; who leaves waits for no other try.
    pub(crate) async fn deliver(
        mut self,
        collector: &Collector,
        until: Instant,
        leaving: &Leaving,
        spread: u64,
    ) -> Delivery {
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = timeout_at(until, collector.post(self.signal, self.body.clone())).await;
            let (after, why) = match sent {
                Ok(Answer::Taken { rejected, why }) => {
                    self.taken(rejected, &why);
                    return Delivery::Told;
                }
                Ok(Answer::Refused { why }) => return self.lost(&why, Delivery::Told),
                Ok(Answer::Later { after, why }) => (after, why),
                Err(_elapsed) => return self.lost("the collector did not answer in time", Delivery::Unanswered),
            };
            let wait = wait_before_another_try(tries, after, spread);
            if Instant::now() + wait >= until {
                return self.lost(&why, Delivery::Told);
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = leaving.told() => return self.lost(&why, Delivery::Told),
            }
        }
    }

    fn taken(&mut self, rejected: u64, why: &str) {
        self.left = rejected.min(self.left);
        if self.left > 0 {
            self.dropped.tell(self.signal, why);
        }
    }

    fn lost(&self, why: &str, delivery: Delivery) -> Delivery {
        self.dropped.tell(self.signal, why);
        delivery
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.dropped.count(self.signal, self.left);
    }
}

/// Longer with each try, and not at once with all the others, who lost the same collector; and not before the collector says: by a clock that is behind it
/// may say at once.
fn wait_before_another_try(tries: u32, after: Option<Duration>, spread: u64) -> Duration {
    let longest = (FIRST_WAIT * 2_u32.saturating_pow(tries - 1)).min(LONGEST_WAIT);
    let part = u32::try_from(spread.rotate_left(tries * 11) % 1000).expect("less than a thousand");
    after.unwrap_or_default().max(longest / 2 + longest / 2 * part / 1000)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use http::HeaderMap;
    use minutehand_io::metrics::{Measure, Metric, TELEMETRY_DROPPED};
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };

    use super::*;
    use crate::collector::tests::{Said, Stub};
    use crate::leaving::leaving;

    /// For a batch that is to be taken or refused, over real sockets, beside other tests.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// What was counted as dropped.
    #[derive(Debug, Default)]
    pub(crate) struct Counted(Mutex<BTreeMap<String, f64>>);

    impl Counted {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        pub(crate) fn of(&self, signal: Signal) -> u64 {
            self.0.lock().unwrap().get(signal.as_str()).copied().unwrap_or_default() as u64
        }
    }

    impl Measure for Counted {
        fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
            assert_eq!(metric.name, TELEMETRY_DROPPED.name);
            *self.0.lock().unwrap().entry(words[0].to_owned()).or_default() += value;
        }
    }

    /// Delivers a batch of ten spans to a collector that says this in turn: how often it was asked, how many were dropped, how long it took.
    async fn delivered(said: Vec<Said>, timeout: Duration) -> (usize, u64, Duration) {
        let stub = Stub::saying(said).await;
        let collector = stub.collector();
        let counted = Arc::new(Counted::default());
        let dropped = Arc::new(Dropped::new(counted.clone()));
        let batch = Batch::new(Signal::Traces, 10, &ExportTraceServiceRequest::default(), &dropped);
        let (_leave, leaving) = leaving();
        let begin = Instant::now();

        batch.deliver(&collector, begin + timeout, &leaving, 500).await;

        (stub.asked(), counted.of(Signal::Traces), begin.elapsed())
    }

    fn partly(rejected: i64) -> Said {
        let partial = ExportTracePartialSuccess { rejected_spans: rejected, error_message: "too old".to_owned() };
        let body = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        Said::Answer(200, HeaderMap::new(), body)
    }

    fn later(status: u16, after: Option<&str>) -> Said {
        let headers = after.map(|after| (http::header::RETRY_AFTER, after.parse().unwrap()));
        Said::Answer(status, headers.into_iter().collect(), Vec::new())
    }

    /// Removed, one after the other: the count of what is lost; that of what a collector rejected; the tries; what is not tried again.
    #[tokio::test]
    async fn what_comes_of_a_batch_goes_by_the_answer() {
        let rows: [(&str, Vec<Said>, (usize, u64)); 9] = [
            ("taken", vec![Said::taken()], (1, 0)),
            ("taken but for some", vec![partly(3)], (1, 3)),
            ("more rejected than were sent", vec![partly(30)], (1, 10)),
            ("a warning, and nothing rejected", vec![partly(0)], (1, 0)),
            ("refused", vec![later(400, None)], (1, 10)),
            ("sent elsewhere", vec![later(307, None)], (1, 10)),
            ("an error that is not said to pass", vec![later(500, None)], (1, 10)),
            ("too many, and then taken", vec![later(429, Some("0")), later(503, Some("0")), Said::taken()], (3, 0)),
            ("no hurry at all", vec![later(503, Some("3600"))], (1, 10)),
        ];
        for (what, said, wanted) in rows {
            let (asked, lost, _) = delivered(said, PATIENCE).await;
            assert_eq!((asked, lost), wanted, "{what}");
        }
    }

    #[tokio::test]
    async fn what_passes_is_tried_again_and_nothing_else_is() {
        for status in 300..600 {
            let passes = [429, 502, 503, 504].contains(&status);
            let (asked, lost, _) = delivered(vec![later(status, Some("0")), Said::taken()], PATIENCE).await;
            assert_eq!((asked, lost), if passes { (2, 0) } else { (1, 10) }, "{status}");
        }
    }

    /// Removed: the deadline of a batch. The collector hangs, and so did the test.
    #[tokio::test]
    async fn a_collector_that_hangs_costs_a_batch_and_no_more_than_its_deadline() {
        let deadline = Duration::from_secs(2);

        let (asked, lost, took) = delivered(vec![Said::Nothing], deadline).await;

        assert_eq!((asked, lost), (1, 10));
        assert!((deadline..Duration::from_secs(30)).contains(&took), "{took:?}");
    }

    /// Removed: the batch counts what is left when it goes.
    #[tokio::test]
    async fn a_batch_that_is_under_way_when_everything_ends_is_counted() {
        let stub = Stub::saying(vec![Said::Nothing]).await;
        let (collector, counted) = (stub.collector(), Arc::new(Counted::default()));
        let dropped = Arc::new(Dropped::new(counted.clone()));
        let batch = Batch::new(Signal::Metrics, 7, &ExportTraceServiceRequest::default(), &dropped);
        let (_leave, leaving) = leaving();
        let until = Instant::now() + Duration::from_secs(60);

        let cut = tokio::time::timeout(Duration::from_millis(100), batch.deliver(&collector, until, &leaving, 0)).await;

        assert!(cut.is_err());
        assert_eq!(counted.of(Signal::Metrics), 7);
    }

    #[tokio::test]
    async fn who_leaves_waits_for_no_other_try() {
        let stub = Stub::saying(vec![later(503, Some("30"))]).await;
        let (collector, counted) = (stub.collector(), Arc::new(Counted::default()));
        let dropped = Arc::new(Dropped::new(counted.clone()));
        let batch = Batch::new(Signal::Traces, 10, &ExportTraceServiceRequest::default(), &dropped);
        let (leave, leaving) = leaving();
        let begin = Instant::now();
        leave.now();

        batch.deliver(&collector, begin + Duration::from_secs(60), &leaving, 0).await;

        assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
        assert_eq!(counted.of(Signal::Traces), 10);
    }

    #[test]
    fn another_try_is_later_each_time_and_not_at_once_with_others() {
        let least = |tries| wait_before_another_try(tries, None, 0).as_millis();
        assert_eq!([1, 2, 3, 4, 5, 30].map(least), [500, 1000, 2000, 4000, 4000, 4000]);
        let instances: Vec<Duration> = (1..50).map(|of| wait_before_another_try(1, None, of * 0x9e37_79b9)).collect();
        assert!(instances.iter().all(|wait| (FIRST_WAIT / 2..=FIRST_WAIT).contains(wait)), "{instances:?}");
        let different: std::collections::BTreeSet<&Duration> = instances.iter().collect();
        assert!(different.len() > 20, "{instances:?}");
        assert_eq!(wait_before_another_try(2, Some(Duration::from_secs(3)), 7), Duration::from_secs(3));
        assert_eq!(wait_before_another_try(2, Some(Duration::ZERO), 7), wait_before_another_try(2, None, 7));
    }
}
