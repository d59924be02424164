//! The registry in the embedded metric format: what one invocation of a function measured, as one line of its log, from which
//! CloudWatch makes metrics.
//!
//! Dimensions are the function and, of a queue's own invocation, its priority: together, since each set of them is a metric more to pay for. Any other word stands in the metric's name
//! (`runs_total.failed`), since a document has one value of each dimension; of several words only the first does. A counter is its sum;
//! spans of time are the values themselves, a hundred at most, as the format has it; and so is
//! a gauge, which is of seconds too, each time that it was looked at.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::priority::Priority;
use serde_json::{Map, Value, json};

use super::{Kind, Measure, Metric};

/// As many as the format has of one metric, and of metrics in one document.
const MOST: usize = 100;
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
        if measured.dropped > 0 {
            tracing::warn!(
                measured.dropped,
                "measurements of this invocation are left out: CloudWatch takes no more in one document"
            );
        }
        let Sums { counted, took, .. } = measured;
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
        let has_room = measured.counted.len() + measured.took.len() < MOST;
        let Sums { counted, took, dropped } = &mut *measured;
        match metric.kind {
            Kind::Counter if has_room || counted.contains_key(&name) => *counted.entry(name).or_default() += value,
            Kind::Gauge | Kind::Seconds(_) if has_room || took.contains_key(&name) => {
                let all = took.entry(name).or_default();
                if all.len() < MOST { all.push(value) } else { *dropped += 1 }
            }
            Kind::Gauge | Kind::Counter | Kind::Seconds(_) => *dropped += 1,
        }
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

    #[test]
    fn what_the_format_has_no_room_for_is_left_out() {
        let document = document();
        for _ in 0..150 {
            document.add(&CALLS_MADE, &["http", "succeeded"], 1.0);
        }
        assert_eq!(document.measured.lock().unwrap().dropped, 50);
        let line = read(document.take(None, Moment::EPOCH));
        assert_eq!(line["call_seconds.http"].as_array().map(Vec::len), Some(100));
    }
}
