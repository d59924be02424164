//! The registry in the embedded metric format: what one invocation of a function measured, as one line of its log, from which
//! CloudWatch makes metrics.
//!
//! Dimensions are the function and, of a queue's own invocation, its priority: together, since each set of them is a metric more to pay for. Any other word stands in the metric's name
//! (`runs_total.failed`), since a document has one value of each dimension; of several words only the first does. A counter is its sum;
//! spans of time are the values themselves, a hundred at most, as the format has it, and of more the largest; and so is
//! a gauge, which is of seconds too, each time that it was looked at. What there is no room for is counted in the same line.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::priority::Priority;
use serde_json::{Map, Value, json};

use super::{Kind, Measure, Metric, TELEMETRY_DROPPED};

/// As many as the format has of one metric, and of metrics in one document.
const MOST: usize = 100;
/// One is left for the count of what there is no room for.
const MOST_MEASURED: usize = MOST - 1;
const PREFIX: &str = "minutehand_";

/// What has been measured since the last line.
#[derive(Debug)]
pub struct Document {
    namespace: String,
    function: &'static str,
    measured: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    counted: BTreeMap<String, f64>,
    took: BTreeMap<String, Vec<f64>>,
    /// Measurements that the format has no room for.
    dropped: u64,
}

impl Document {
    pub fn new(namespace: String, function: &'static str) -> Self {
        Self { namespace, function, measured: Mutex::default() }
    }

    /// The line of an invocation that ends at `now`, of a queue of this priority if it is one. None where nothing was measured.
    pub fn take(&self, priority: Option<Priority>, now: Moment) -> Option<String> {
        let measured = std::mem::take(&mut *self.measured.lock().unwrap_or_else(PoisonError::into_inner));
        let Sums { mut counted, took, dropped } = measured;
        if dropped > 0 {
            tracing::warn!(dropped, "telemetry is dropped: CloudWatch takes no more measurements in one document");
            #[expect(clippy::cast_precision_loss, reason = "no invocation measures so much")]
            let dropped = dropped as f64;
            *counted.entry(named(&TELEMETRY_DROPPED, &["metrics"])).or_default() += dropped;
        }
        if counted.is_empty() && took.is_empty() {
            return None;
        }
        let defined = counted.keys().map(|name| json!({"Name": name, "Unit": "Count"}));
        let defined = defined.chain(took.keys().map(|name| json!({"Name": name, "Unit": "Seconds"})));
        let mut dimensions = vec!["function"];
        let mut line = Map::from_iter([("function".to_owned(), json!(self.function))]);
        if let Some(priority) = priority {
            dimensions.push("priority");
            line.insert("priority".to_owned(), json!(priority.as_str()));
        }
        let directive = json!({
            "Namespace": self.namespace, "Dimensions": [dimensions], "Metrics": defined.collect::<Vec<_>>(),
        });
        line.insert("_aws".to_owned(), json!({"Timestamp": now.millis(), "CloudWatchMetrics": [directive]}));
        line.extend(counted.into_iter().map(|(name, sum)| (name, json!(sum))));
        line.extend(took.into_iter().map(|(name, all)| (name, json!(all))));
        Some(Value::Object(line).to_string())
    }
}

impl Measure for Document {
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
        let name = named(metric, words);
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = measured.counted.len() + measured.took.len() < MOST_MEASURED;
        let Sums { counted, took, dropped } = &mut *measured;
        match metric.kind {
            Kind::Counter if has_room || counted.contains_key(&name) => *counted.entry(name).or_default() += value,
            Kind::Gauge | Kind::Seconds(_) if has_room || took.contains_key(&name) => {
                let all = took.entry(name).or_default();
                if all.len() < MOST {
                    all.push(value);
                } else {
                    keep_the_largest(all, value);
                    // Of a gauge the largest is what is asked for.
                    *dropped += u64::from(metric.kind != Kind::Gauge);
                }
            }
            Kind::Gauge | Kind::Counter | Kind::Seconds(_) => *dropped += 1,
        }
    }
}

/// Of spans of time the longest tell that something is wrong, whenever in the invocation they were measured.
fn keep_the_largest(all: &mut [f64], value: f64) {
    let smallest = all.iter_mut().min_by(|one, other| one.total_cmp(other));
    if let Some(smallest) = smallest.filter(|smallest| **smallest < value) {
        *smallest = value;
    }
}

/// The priority is a dimension, and no word of the name.
fn named(metric: &Metric, words: &[&str]) -> String {
    let name = metric.name.strip_prefix(PREFIX).unwrap_or(metric.name);
    match (metric.labels.first(), words.first()) {
        (Some(&"priority"), _) | (_, None) => name.to_owned(),
        (_, Some(word)) => format!("{name}.{word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ATTEMPTS, CALLS_MADE, RETRIES, RUNS, START_LAG};
    use super::*;

    fn document() -> Document {
        Document::new("Minutehand/prod".to_owned(), "executor")
    }

    fn read(line: Option<String>) -> Value {
        serde_json::from_str(&line.expect("a line")).expect("JSON")
    }

    #[test]
    fn an_invocation_is_one_line() {
        let document = document();
        document.add(&RUNS, &["failed"], 1.0);
        document.add(&RUNS, &["failed"], 1.0);
        document.add(&ATTEMPTS, &[], 1.0);
        document.add(&RETRIES, &["http_5xx", "2"], 1.0);
        document.add(&START_LAG, &["high"], 0.25);
        document.add(&START_LAG, &["high"], 0.5);

        let line = read(document.take(Some(Priority::High), Moment::from_millis(1_800_000_000_123)));

        let metric = |name: &str, unit: &str| json!({"Name": name, "Unit": unit});
        let wanted = json!({
            "_aws": {
                "Timestamp": 1_800_000_000_123_i64,
                "CloudWatchMetrics": [{
                    "Namespace": "Minutehand/prod",
                    "Dimensions": [["function", "priority"]],
                    "Metrics": [
                        metric("attempts_total", "Count"), metric("retries_total.http_5xx", "Count"),
                        metric("runs_total.failed", "Count"), metric("run_lag_seconds", "Seconds"),
                    ],
                }],
            },
            "function": "executor", "priority": "high",
            "attempts_total": 1.0, "retries_total.http_5xx": 1.0, "runs_total.failed": 2.0, "run_lag_seconds": [0.25, 0.5],
        });
        assert_eq!(line, wanted);
        assert_eq!(document.take(Some(Priority::High), Moment::EPOCH), None, "each measurement is told once");
    }

    #[test]
    fn without_a_priority_there_is_one_dimension() {
        let document = document();
        document.add(&ATTEMPTS, &[], 1.0);
        let line = read(document.take(None, Moment::EPOCH));
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["function"]]));
        assert_eq!(line.get("priority"), None);
    }

    /// What had been dropped by whoever exports is counted beside it.
    ///
    /// Removed, one after the other: what is left out is counted, and nobody heard of it; the largest take the place of the smallest, and the first
    /// hundred stood for all.
    #[test]
    fn of_more_values_than_the_format_has_room_for_the_largest_are_told_and_the_others_counted() {
        let document = document();
        document.add(&TELEMETRY_DROPPED, &["metrics"], 7.0);
        for seconds in (1..=150_u8).chain([1]) {
            document.add(&CALLS_MADE, &["http", "succeeded"], seconds.into());
        }

        let line = read(document.take(None, Moment::EPOCH));

        let told = line["call_seconds.http"].as_array().expect("its values");
        let mut told: Vec<f64> = told.iter().filter_map(Value::as_f64).collect();
        told.sort_unstable_by(f64::total_cmp);
        let wanted: Vec<f64> = (51..=150_u8).map(f64::from).collect();
        assert_eq!(told, wanted);
        assert_eq!(line["telemetry_dropped_total.metrics"], json!(58.0));
        let defined = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(defined[0], json!({"Name": "telemetry_dropped_total.metrics", "Unit": "Count"}), "{defined}");
        assert_eq!(document.take(None, Moment::EPOCH), None, "it is told once");
    }

    /// Removed: a place is left for the count. There were a hundred and one, and CloudWatch takes no such document.
    #[test]
    fn of_more_metrics_than_the_format_has_room_for_the_first_are_told_and_the_others_counted() {
        let document = document();
        for word in 0..150 {
            document.add(&RUNS, &[word.to_string().as_str()], 1.0);
        }

        let line = read(document.take(None, Moment::EPOCH));

        let defined = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().map(Vec::len);
        assert_eq!((defined, &line["telemetry_dropped_total.metrics"]), (Some(100), &json!(51.0)));
    }
}
