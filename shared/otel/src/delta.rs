//! The delta: what was measured since the last time that this was taken. A function has no more to tell, since its process may be gone tomorrow.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_io::metrics::{Kind, Measure, Metric};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::{self as otlp};

use crate::points::{Since, Window, gauges, metric, text};

/// Labels are words of bounded lists; of all lists together these are more than an invocation has.
const SERIES: usize = 2000;

#[derive(Debug)]
pub(crate) struct Delta(Mutex<Measured>);

#[derive(Debug)]
struct Measured {
    since: Moment,
    metrics: BTreeMap<&'static str, One>,
    /// Measurements of series that there is no room for.
    left_out: u64,
}

#[derive(Debug)]
struct One {
    metric: &'static Metric,
    series: BTreeMap<Vec<String>, Sum>,
}

/// How much it came to, or of a gauge what it was the last time, and of spans of time how many there were between each two bounds.
#[derive(Debug, Default)]
struct Sum {
    sum: f64,
    counts: Vec<u64>,
}

impl Delta {
    pub(crate) fn new(now: Moment) -> Self {
        Self(Mutex::new(Measured { since: now, metrics: BTreeMap::new(), left_out: 0 }))
    }

    /// What was measured until now, each once, and how many measurements are left out of it.
    pub(crate) fn take(&self, now: Moment) -> (Vec<otlp::Metric>, u64) {
        let empty = Measured { since: now, metrics: BTreeMap::new(), left_out: 0 };
        let taken = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), empty);
        let window = Window { since: Since::TheLast(taken.since), now };
        (taken.metrics.into_values().map(|one| one.told(window)).collect(), taken.left_out)
    }
}

impl Measure for Delta {
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
        let mut measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = measured.metrics.values().map(|one| one.series.len()).sum::<usize>() < SERIES;
        let Measured { metrics, left_out, .. } = &mut *measured;
        let one = metrics.entry(metric.name).or_insert_with(|| One { metric, series: BTreeMap::new() });
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        if has_room || one.series.contains_key(&words) {
            one.series.entry(words).or_default().add(metric.kind, value);
        } else {
            *left_out += 1;
        }
    }
}

impl Sum {
    fn add(&mut self, kind: Kind, value: f64) {
        self.sum = if kind == Kind::Gauge { value } else { self.sum + value };
        if let Kind::Seconds(bounds) = kind {
            self.counts.resize(bounds.len() + 1, 0);
            self.counts[bounds.partition_point(|bound| *bound < value)] += 1;
        }
    }
}

impl One {
    fn told(self, window: Window) -> otlp::Metric {
        let Self { metric: of, series } = self;
        let words = |words: &[String]| -> Vec<KeyValue> {
            of.labels.iter().zip(words).map(|(label, word)| text(label, word)).collect()
        };
        let data = match of.kind {
            Kind::Counter | Kind::Gauge => {
                let points = series.iter().map(|(of, sum)| window.number(words(of), sum.sum)).collect();
                if of.kind == Kind::Gauge { gauges(points) } else { window.sums(points) }
            }
            Kind::Seconds(bounds) => {
                let points = series
                    .iter()
                    .map(|(of, sum)| window.histogram(words(of), bounds.to_vec(), sum.counts.clone(), sum.sum));
                window.histograms(points.collect())
            }
        };
        metric(of.name, of.help, data)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_io::metrics::{ATTEMPTS, CALLS_MADE, JOB_CHANGES, OLDEST_LETTER, START_LAG};
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
    use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, NumberDataPoint};

    use super::*;
    use crate::points::count;

    const BEGAN: Moment = Moment::from_secs(1_800_000_000);
    const NOW: Moment = Moment::from_secs(1_800_000_002);

    #[test]
    fn each_measurement_is_told_once_as_what_was_added_since_the_last_time() {
        let delta = Delta::new(BEGAN);
        delta.add(&ATTEMPTS, &[], 1.0);
        delta.add(&ATTEMPTS, &[], 1.0);
        for (target, took) in [("http", 0.005), ("http", 0.006), ("http", 1000.0), ("noop", 0.1)] {
            delta.add(&CALLS_MADE, &[target, "succeeded"], took);
        }

        let (metrics, left_out) = delta.take(NOW);

        assert_eq!((metrics.len(), count(&metrics), left_out), (2, 3, 0));
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        let window = Window { since: Since::TheLast(BEGAN), now: NOW };
        assert_eq!(sum.data_points, [window.number(Vec::new(), 2.0)]);
        assert_eq!(sum.aggregation_temporality, AggregationTemporality::Delta as i32);
        assert_eq!(sum.data_points[0].start_time_unix_nano, 1_800_000_000_000_000_000);
        let Some(Data::Histogram(calls)) = &metrics[1].data else { panic!("{metrics:?}") };
        let [http, noop] = &calls.data_points[..] else { panic!("{calls:?}") };
        assert_eq!((http.count, http.sum), (3, Some(0.005 + 0.006 + 1000.0)));
        let [first, second, .., last] = http.bucket_counts[..] else { panic!("{http:?}") };
        assert_eq!((first, second, last, http.bucket_counts.len()), (1, 1, 1, http.explicit_bounds.len() + 1));
        assert_eq!(noop.attributes, [text("target", "noop"), text("outcome", "succeeded")]);

        for seconds in [90.0, 60.0] {
            delta.add(&OLDEST_LETTER, &[], seconds);
        }
        let (metrics, _) = delta.take(NOW);
        let Some(Data::Gauge(oldest)) = &metrics[0].data else { panic!("{metrics:?}") };
        let [NumberDataPoint { value, start_time_unix_nano: 0, .. }] = &oldest.data_points[..] else {
            panic!("{oldest:?}")
        };
        assert_eq!(*value, Some(Value::AsDouble(60.0)), "as it is now");

        delta.add(&START_LAG, &["low"], 1.0);
        let (metrics, _) = delta.take(NOW);
        assert_eq!((metrics.len(), metrics[0].name.as_str()), (1, START_LAG.name));
        assert_eq!(delta.take(NOW).0, []);
    }

    /// Removed: the bound of series.
    #[test]
    fn what_there_is_no_room_for_is_left_out_and_said() {
        let delta = Delta::new(BEGAN);
        for number in 0..SERIES + 5 {
            delta.add(&JOB_CHANGES, &[&number.to_string()], 1.0);
        }
        delta.add(&JOB_CHANGES, &["0"], 1.0);

        let (metrics, left_out) = delta.take(NOW);

        assert_eq!((count(&metrics), left_out), (SERIES, 5));
    }
}
