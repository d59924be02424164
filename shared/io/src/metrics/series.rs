//! The registry as Prometheus' series, of a process that stays to be asked.

use std::collections::BTreeMap;

use prometheus::core::{Atomic, GenericGaugeVec};
use prometheus::{CounterVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::{Kind, MEASURED, Measure, Metric};

/// Series of the metrics that were named, in Prometheus' registry.
#[derive(Clone, Debug)]
pub struct Series {
    of: BTreeMap<&'static str, One>,
}

#[derive(Clone, Debug)]
enum One {
    Counter(CounterVec),
    Seconds(HistogramVec),
}

impl Series {
    /// Of what a host measures into it.
    pub fn of_a_host(registry: &Registry) -> Result<Self, prometheus::Error> {
        Self::new(MEASURED, registry)
    }

    /// Of these metrics, each of which has no series in `registry` yet. A gauge is read when it is asked for: see [`gauge`].
    pub fn new(metrics: &[&'static Metric], registry: &Registry) -> Result<Self, prometheus::Error> {
        let mut of = BTreeMap::new();
        for metric in metrics {
            let one = match metric.kind {
                Kind::Counter => {
                    let counter = counter(metric)?;
                    registry.register(Box::new(counter.clone()))?;
                    for words in from_start(metric) {
                        counter.with_label_values(words).inc_by(0.0);
                    }
                    One::Counter(counter)
                }
                Kind::Seconds(bounds) => {
                    let options = HistogramOpts::new(metric.name, metric.help).buckets(bounds.to_vec());
                    let seconds = HistogramVec::new(options, metric.labels)?;
                    registry.register(Box::new(seconds.clone()))?;
                    for words in from_start(metric) {
                        seconds.with_label_values(words);
                    }
                    One::Seconds(seconds)
                }
                Kind::Gauge => continue,
            };
            of.insert(metric.name, one);
        }
        Ok(Self { of })
    }
}

impl Measure for Series {
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
        match self.of.get(metric.name) {
            Some(One::Counter(counter)) => counter.with_label_values(words).inc_by(value),
            Some(One::Seconds(seconds)) => seconds.with_label_values(words).observe(value),
            None => {}
        }
    }
}

/// The words of each series that stands at 0 before there is anything to count: so that the first of them can be seen to come.
fn from_start(metric: &Metric) -> Vec<&[&'static str]> {
    let unlabelled: &[&[&str]] = if metric.labels.is_empty() { &[&[]] } else { &[] };
    unlabelled.iter().copied().chain(metric.from_start.chunks(1)).collect()
}

/// Units of capacity are halves too.
fn counter(metric: &Metric) -> Result<CounterVec, prometheus::Error> {
    CounterVec::new(Opts::new(metric.name, metric.help), metric.labels)
}

/// A counter that shows what somebody else has counted.
pub fn counter_read(metric: &Metric) -> Result<IntCounterVec, prometheus::Error> {
    IntCounterVec::new(Opts::new(metric.name, metric.help), metric.labels)
}

/// Of whole numbers or of fractions.
pub fn gauge<P: Atomic>(metric: &Metric) -> Result<GenericGaugeVec<P>, prometheus::Error> {
    GenericGaugeVec::new(Opts::new(metric.name, metric.help), metric.labels)
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::super::{ALL, ATTEMPTS, LANE_HINTS, RUNS, START_LAG};
    use super::*;

    #[test]
    fn what_was_measured_is_in_the_text() {
        let registry = Registry::new();
        let series = Series::new(ALL, &registry).unwrap();

        series.add(&RUNS, &["failed"], 2.0);
        series.add(&START_LAG, &["high"], 0.3);
        series.add(&LANE_HINTS, &["high", "ready"], 7.0);
        series.add(&ATTEMPTS, &[], 1.0);

        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        for line in [
            "minutehand_runs_total{status=\"failed\"} 2",
            "minutehand_run_lag_seconds_bucket{priority=\"high\",le=\"0.5\"} 1",
            "minutehand_attempts_total 1",
            "minutehand_dead_letters_total 0",
            "minutehand_skipped_total{reason=\"missed\"} 0",
            "minutehand_run_lag_seconds_count{priority=\"critical\"} 0",
            "minutehand_sweep_age_seconds_count 0",
            "# HELP minutehand_workflow_stalls_total Runs of workflows found without progress",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!text.contains("lane_hints"), "a gauge is read when it is asked for");
    }
}
