//! What a process has counted since it began, from Prometheus' registry to OTLP: counters as sums, gauges, histograms with their bounds.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prometheus::proto::{Histogram, Metric as Series, MetricFamily, MetricType};

use crate::points::{Window, gauges, metric, text};

pub(crate) fn metrics(families: &[MetricFamily], window: Window) -> Vec<Metric> {
    let metric = |family: &MetricFamily| Some(metric(family.name(), family.help(), data(family, window)?));
    families.iter().filter_map(metric).collect()
}

/// Nothing of ours is a summary, or without a type.
fn data(family: &MetricFamily, window: Window) -> Option<Data> {
    let number = |of: fn(&Series) -> f64| {
        family.get_metric().iter().map(move |series| window.number(words(series), of(series))).collect()
    };
    match family.get_field_type() {
        MetricType::COUNTER => Some(window.sums(number(|series| series.get_counter().get_value()))),
        MetricType::GAUGE => Some(gauges(number(|series| series.get_gauge().get_value()))),
        MetricType::HISTOGRAM => {
            let point = |series: &Series| {
                let histogram = series.get_histogram();
                let (bounds, counts) = buckets(histogram);
                window.histogram(words(series), bounds, counts, histogram.get_sample_sum())
            };
            Some(window.histograms(family.get_metric().iter().map(point).collect()))
        }
        MetricType::SUMMARY | MetricType::UNTYPED => None,
    }
}

fn words(series: &Series) -> Vec<KeyValue> {
    series.get_label().iter().map(|label| text(label.name(), label.value())).collect()
}

/// Prometheus counts what is below each bound, OTLP what is between two; the last bucket is of what is above all bounds.
fn buckets(histogram: &Histogram) -> (Vec<f64>, Vec<u64>) {
    let bounded = histogram.get_bucket().iter().filter(|bucket| bucket.upper_bound().is_finite());
    let (bounds, mut below): (Vec<f64>, Vec<u64>) =
        bounded.map(|bucket| (bucket.upper_bound(), bucket.cumulative_count())).unzip();
    below.push(histogram.get_sample_count().max(below.last().copied().unwrap_or_default()));
    let before = [0].into_iter().chain(below.clone());
    let counts = below.iter().zip(before).map(|(upto, before)| upto.saturating_sub(before)).collect();
    (bounds, counts)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_io::metrics::{CALLS_MADE, RUNS};
    use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
    use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, HistogramDataPoint, NumberDataPoint};
    use prometheus::{Counter, Gauge, HistogramOpts, HistogramVec, Registry};

    use super::*;
    use crate::points::{Since, count};

    const BEGAN: Moment = Moment::from_secs(1_800_000_000);
    const NOW: Moment = Moment::from_millis(1_800_000_060_250);

    fn registry() -> Registry {
        let registry = Registry::new();
        let runs = Counter::new(RUNS.name, RUNS.help).unwrap();
        runs.inc_by(2.5);
        let depth = Gauge::new("minutehand_lane_hints", "How deep.").unwrap();
        depth.set(-3.0);
        let calls = HistogramOpts::new(CALLS_MADE.name, CALLS_MADE.help).buckets(vec![0.1, 1.0, 10.0]);
        let calls = HistogramVec::new(calls, &["target", "outcome"]).unwrap();
        for took in [0.05, 0.1, 0.5, 7.0, 70.0, 700.0] {
            calls.with_label_values(&["http", "failed"]).observe(took);
        }
        registry.register(Box::new(runs)).unwrap();
        registry.register(Box::new(depth)).unwrap();
        registry.register(Box::new(calls)).unwrap();
        registry
    }

    /// Removed, one after the other: what Prometheus counts below a bound is told as if it were between two; the bucket above all bounds; the start.
    #[test]
    fn the_registry_says_the_same_in_otlp() {
        let window = Window { since: Since::TheStart(BEGAN), now: NOW };

        let metrics = metrics(&registry().gather(), window);

        assert_eq!(count(&metrics), 3);
        let named = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap();
        let number = |attributes, value| NumberDataPoint {
            attributes,
            start_time_unix_nano: 1_800_000_000_000_000_000,
            time_unix_nano: 1_800_000_060_250_000_000,
            value: Some(Value::AsDouble(value)),
            ..NumberDataPoint::default()
        };
        let Some(Data::Sum(sum)) = &named(RUNS.name).data else { panic!("{metrics:?}") };
        assert_eq!(sum.data_points, [number(Vec::new(), 2.5)]);
        assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Cumulative as i32);
        assert_eq!((named(RUNS.name).unit.as_str(), named(RUNS.name).description.as_str()), ("", RUNS.help));

        let Some(Data::Gauge(gauge)) = &named("minutehand_lane_hints").data else { panic!("{metrics:?}") };
        assert_eq!(gauge.data_points, [NumberDataPoint { start_time_unix_nano: 0, ..number(Vec::new(), -3.0) }]);

        let Some(Data::Histogram(histogram)) = &named(CALLS_MADE.name).data else { panic!("{metrics:?}") };
        let wanted = HistogramDataPoint {
            attributes: vec![text("outcome", "failed"), text("target", "http")],
            start_time_unix_nano: 1_800_000_000_000_000_000,
            time_unix_nano: 1_800_000_060_250_000_000,
            count: 6,
            sum: Some(0.05 + 0.1 + 0.5 + 7.0 + 70.0 + 700.0),
            bucket_counts: vec![2, 1, 1, 2],
            explicit_bounds: vec![0.1, 1.0, 10.0],
            ..HistogramDataPoint::default()
        };
        assert_eq!(histogram.data_points, [wanted]);
        assert_eq!(histogram.aggregation_temporality, AggregationTemporality::Cumulative as i32);
        assert_eq!(named(CALLS_MADE.name).unit, "s");
    }
}
