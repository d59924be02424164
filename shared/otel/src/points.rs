//! Data points of metrics in OTLP's own words, whatever they were counted in.

use minutehand_domain::Moment;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// What points are of: all since the process began, or since those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    TheStart(Moment),
    TheLast(Moment),
}

/// The span of time that points are of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) since: Since,
    pub(crate) now: Moment,
}

impl Window {
    fn start(self) -> u64 {
        match self.since {
            Since::TheStart(at) | Since::TheLast(at) => nanos(at),
        }
    }

    fn temporality(self) -> i32 {
        match self.since {
            Since::TheStart(_) => AggregationTemporality::Cumulative.into(),
            Since::TheLast(_) => AggregationTemporality::Delta.into(),
        }
    }

    pub(crate) fn number(self, attributes: Vec<KeyValue>, value: f64) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            start_time_unix_nano: self.start(),
            time_unix_nano: nanos(self.now),
            value: Some(Value::AsDouble(value)),
            ..NumberDataPoint::default()
        }
    }

    /// `counts` are of each bucket alone, the last one of what is above all bounds.
    pub(crate) fn histogram(
        self,
        attributes: Vec<KeyValue>,
        bounds: Vec<f64>,
        counts: Vec<u64>,
        sum: f64,
    ) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes,
            start_time_unix_nano: self.start(),
            time_unix_nano: nanos(self.now),
            count: counts.iter().sum(),
            sum: Some(sum),
            bucket_counts: counts,
            explicit_bounds: bounds,
            ..HistogramDataPoint::default()
        }
    }

    pub(crate) fn sums(self, data_points: Vec<NumberDataPoint>) -> Data {
        Data::Sum(Sum { data_points, aggregation_temporality: self.temporality(), is_monotonic: true })
    }

    pub(crate) fn histograms(self, data_points: Vec<HistogramDataPoint>) -> Data {
        Data::Histogram(Histogram { data_points, aggregation_temporality: self.temporality() })
    }
}

/// A gauge is as it is now, and of no span of time.
pub(crate) fn gauges(data_points: Vec<NumberDataPoint>) -> Data {
    let read = |point| NumberDataPoint { start_time_unix_nano: 0, ..point };
    Data::Gauge(Gauge { data_points: data_points.into_iter().map(read).collect() })
}

/// Named as everywhere else, so that a query need not know which way they came. `1` as a unit would have Prometheus call a gauge a ratio.
pub(crate) fn metric(name: &str, help: &str, data: Data) -> Metric {
    let unit = if name.ends_with("_seconds") { "s" } else { "" };
    Metric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

pub(crate) fn count(metrics: &[Metric]) -> usize {
    let points = |metric: &Metric| match &metric.data {
        Some(Data::Sum(sum)) => sum.data_points.len(),
        Some(Data::Gauge(gauge)) => gauge.data_points.len(),
        Some(Data::Histogram(histogram)) => histogram.data_points.len(),
        Some(Data::ExponentialHistogram(_) | Data::Summary(_)) | None => 0, // none are made
    };
    metrics.iter().map(points).sum()
}

pub(crate) fn request(resource: &Resource, metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
    let scope_metrics = ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource.clone()),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

pub(crate) fn scope() -> InstrumentationScope {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    InstrumentationScope { name: "minutehand".to_owned(), version, ..InstrumentationScope::default() }
}

pub(crate) fn attribute(name: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

pub(crate) fn text(name: &str, value: &str) -> KeyValue {
    attribute(name, any_value::Value::StringValue(value.to_owned()))
}

pub(crate) fn nanos(at: Moment) -> u64 {
    u64::try_from(at.millis()).unwrap_or_default().saturating_mul(1_000_000)
}
