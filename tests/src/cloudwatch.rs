//! The alarms that ring in CloudWatch over what functions have written. No emulator has its engine, so that what an alarm asks is worked out here, as
//! far as the alarms of `infra` ask it: each is looked at each minute, by windows that end there.
//!
//! CloudWatch itself looks further back than an alarm asks, for values that were measured, before it counts a window as missing: what rings for want
//! of them (`TelemetryMissing`) rings there some minutes later. What is usual of a metric (`ANOMALY_DETECTION_BAND`) is learned from weeks that no
//! test has: such an alarm never rings here. And nothing is measured by AWS itself, but what a test says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

mod expression;

use self::expression::Expression;

/// What everything is named by that belongs to the stack.
const STACK: &str = "prod-";
const SECONDS_A_MINUTE: i64 = 60;

/// The alarms of a template, and what was measured, by the minute.
#[derive(Clone, Debug)]
pub struct CloudWatch {
    alarms: BTreeMap<String, Alarm>,
    series: BTreeMap<String, BTreeMap<i64, Vec<f64>>>,
}

#[derive(Clone, Debug)]
struct Alarm {
    name: String,
    is_page: bool,
    looks_at: LooksAt,
}

#[derive(Clone, Debug)]
enum LooksAt {
    /// Other alarms, by their ids.
    Parts(Expression),
    Metrics(Condition),
    /// Weeks that no test has.
    Habits,
}

#[derive(Clone, Debug)]
struct Condition {
    asked: BTreeMap<String, Asked>,
    returned: String,
    /// In minutes.
    period: i64,
    comparison: String,
    threshold: f64,
    /// Windows that are looked at, and how many of them must be bad.
    of: i64,
    bad: i64,
    missing_is_bad: bool,
}

#[derive(Clone, Debug)]
enum Asked {
    Statistic { series: String, statistic: String },
    Expression(Expression),
}

impl CloudWatch {
    /// Of a template that CDK has made.
    pub fn of(template: &Value) -> Self {
        let resources = template["Resources"].as_object().expect("resources").iter();
        let alarms =
            resources.filter(|(_, resource)| resource["Type"].as_str().is_some_and(|kind| kind.ends_with("Alarm")));
        let alarms = alarms.map(|(id, resource)| (id.clone(), Alarm::of(&resource["Properties"]))).collect();
        Self { alarms, series: BTreeMap::new() }
    }

    /// A line in the embedded metric format, in this minute.
    pub fn told(&mut self, line: &str, minute: i64) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        for directive in line["_aws"]["CloudWatchMetrics"].as_array().expect("directives") {
            let names = directive["Dimensions"][0].as_array().expect("one set of dimensions").iter();
            let dimensions = names.map(|name| (word(name), word(&line[word(name)]))).collect();
            for metric in directive["Metrics"].as_array().expect("metrics") {
                let name = word(&metric["Name"]);
                let values = match &line[&name] {
                    Value::Array(values) => values.iter().filter_map(Value::as_f64).collect(),
                    value => vec![value.as_f64().expect("a number")],
                };
                self.measured(series(&word(&directive["Namespace"]), &name, &dimensions), minute, values);
            }
        }
    }

    /// AWS has measured this under each set of dimensions by which an alarm asks for it.
    pub fn measured_by_aws(&mut self, metric: &str, minute: i64, value: f64) {
        let (aws, name) = ("AWS/", format!(" {metric} "));
        let asked = self.alarms.values().flat_map(Alarm::series);
        let its: BTreeSet<_> =
            asked.filter(|series| series.starts_with(aws) && series.contains(&name)).cloned().collect();
        assert!(!its.is_empty(), "no alarm asks for {metric}");
        for series in its {
            self.measured(series, minute, vec![value]);
        }
    }

    fn measured(&mut self, series: String, minute: i64, values: Vec<f64>) {
        self.series.entry(series).or_default().entry(minute).or_default().extend(values);
    }

    /// Which rang in these minutes. The parts of an alarm tell nobody by themselves.
    pub fn rang(&self, minutes: Range<i64>) -> BTreeSet<String> {
        let whole = self.alarms.values().filter(|alarm| !alarm.is_a_part());
        let rings = |alarm: &&Alarm| minutes.clone().any(|minute| self.is_on(alarm, minute));
        whole.filter(rings).map(|alarm| alarm.name.clone()).collect()
    }

    /// Those that wake somebody.
    pub fn pages(&self) -> BTreeSet<String> {
        self.alarms.values().filter(|alarm| alarm.is_page).map(|alarm| alarm.name.clone()).collect()
    }

    fn is_on(&self, alarm: &Alarm, minute: i64) -> bool {
        match &alarm.looks_at {
            LooksAt::Habits => false,
            LooksAt::Parts(rule) => {
                let part = |id: &str, _| Some(f64::from(u8::from(self.is_on(&self.alarms[id], minute))));
                rule.value(minute, 1, &part) == Some(1.0)
            }
            LooksAt::Metrics(condition) => {
                let windows = (0..condition.of).map(|window| minute - window * condition.period);
                let bad = windows.filter(|end| self.is_bad(condition, *end)).count();
                i64::try_from(bad).is_ok_and(|bad| bad >= condition.bad)
            }
        }
    }

    fn is_bad(&self, condition: &Condition, end: i64) -> bool {
        let Some(value) = self.value(condition, &condition.returned, end) else { return condition.missing_is_bad };
        match condition.comparison.as_str() {
            "GreaterThanThreshold" => value > condition.threshold,
            "GreaterThanOrEqualToThreshold" => value >= condition.threshold,
            "LessThanThreshold" => value < condition.threshold,
            other => panic!("a comparison that no alarm had: {other}"),
        }
    }

    fn value(&self, condition: &Condition, id: &str, end: i64) -> Option<f64> {
        match &condition.asked[id] {
            Asked::Expression(expression) => {
                expression.value(end, condition.period, &|id, end| self.value(condition, id, end))
            }
            Asked::Statistic { series, statistic } => {
                let minutes = self.series.get(series)?.range(end - condition.period + 1..=end);
                statistic_of(statistic, minutes.flat_map(|(_, values)| values.clone()).collect())
            }
        }
    }
}

impl Alarm {
    fn of(properties: &Value) -> Self {
        let name = properties["AlarmName"].as_str().expect("a name");
        let is_page = |action: &Value| action["Ref"].as_str().is_some_and(|topic| topic.contains("Pages"));
        let actions = properties["AlarmActions"].as_array().map_or(&[][..], Vec::as_slice);
        let looks_at = if let Some(rule) = properties.get("AlarmRule") {
            LooksAt::Parts(Expression::of(&rule_of(rule)))
        } else if properties.get("ThresholdMetricId").is_some() {
            LooksAt::Habits
        } else {
            LooksAt::Metrics(Condition::of(properties))
        };
        let name = name.strip_prefix(STACK).unwrap_or(name).to_owned();
        Self { name, is_page: actions.iter().any(is_page), looks_at }
    }

    fn is_a_part(&self) -> bool {
        self.name.contains('-')
    }

    fn series(&self) -> impl Iterator<Item = &String> {
        let asked = if let LooksAt::Metrics(condition) = &self.looks_at { Some(&condition.asked) } else { None };
        asked.into_iter().flat_map(BTreeMap::values).filter_map(|asked| match asked {
            Asked::Statistic { series, .. } => Some(series),
            Asked::Expression(_) => None,
        })
    }
}

impl Condition {
    fn of(properties: &Value) -> Self {
        let alone = [serde_json::json!({"Id": "alone", "ReturnData": true, "MetricStat": {
            "Metric": properties, "Period": properties["Period"], "Stat": properties["Statistic"],
        }})];
        let queries = properties["Metrics"].as_array().map_or(&alone[..], Vec::as_slice);
        let returned = queries.iter().find(|query| query["ReturnData"] == true).expect("one is looked at");
        let periods: BTreeSet<_> = queries.iter().filter_map(|query| query["MetricStat"]["Period"].as_i64()).collect();
        let [period] = periods.into_iter().collect::<Vec<_>>()[..] else { panic!("several periods: {properties}") };
        let of = properties["EvaluationPeriods"].as_i64().expect("a number");
        Self {
            asked: queries.iter().map(|query| (word(&query["Id"]), Asked::of(query))).collect(),
            returned: word(&returned["Id"]),
            period: period / SECONDS_A_MINUTE,
            comparison: word(&properties["ComparisonOperator"]),
            threshold: properties["Threshold"].as_f64().expect("a number"),
            of,
            bad: properties["DatapointsToAlarm"].as_i64().unwrap_or(of),
            missing_is_bad: properties["TreatMissingData"] == "breaching",
        }
    }
}

impl Asked {
    fn of(query: &Value) -> Self {
        if let Some(text) = query["Expression"].as_str() {
            return Self::Expression(Expression::of(text));
        }
        let (metric, statistic) = (&query["MetricStat"]["Metric"], word(&query["MetricStat"]["Stat"]));
        let dimensions = metric["Dimensions"].as_array().map_or(&[][..], Vec::as_slice).iter();
        let dimensions =
            dimensions.map(|one| (word(&one["Name"]), one["Value"].to_string().replace('"', ""))).collect();
        Self::Statistic {
            series: series(&word(&metric["Namespace"]), &word(&metric["MetricName"]), &dimensions),
            statistic,
        }
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a word: {value}")).to_owned()
}

fn series(namespace: &str, name: &str, dimensions: &BTreeMap<String, String>) -> String {
    format!("{namespace} {name} {dimensions:?}")
}

/// With the ids of the alarms in place of their ARNs.
fn rule_of(rule: &Value) -> String {
    let parts = rule["Fn::Join"][1].as_array().expect("its parts").iter();
    let text: String = parts.map(|part| part.as_str().or(part["Fn::GetAtt"][0].as_str()).expect("a word")).collect();
    text.replace("ALARM(\"", "").replace("\")", "")
}

/// Nothing where nothing was measured.
fn statistic_of(statistic: &str, mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let (first, last) = (*values.first()?, *values.last()?);
    #[expect(clippy::cast_precision_loss, reason = "few are measured in a test")]
    let share = |part: usize| part as f64 / count as f64;
    Some(match statistic {
        "Sum" => values.iter().sum(),
        "Minimum" => first,
        "Maximum" => last,
        #[expect(clippy::cast_precision_loss, reason = "few are measured in a test")]
        "SampleCount" => count as f64,
        "p99" => *values.iter().enumerate().find(|(at, _)| share(at + 1) >= 0.99)?.1,
        "PR(:5)" => 100.0 * share(values.iter().filter(|value| **value <= 5.0).count()),
        other => panic!("a statistic that no alarm had: {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statistic_is_of_all_values() {
        let values = || vec![7.0, 1.0, 4.0, 4.0];
        let wanted =
            [("Sum", 16.0), ("Minimum", 1.0), ("Maximum", 7.0), ("SampleCount", 4.0), ("p99", 7.0), ("PR(:5)", 75.0)];
        for (statistic, wanted) in wanted {
            assert_eq!(statistic_of(statistic, values()), Some(wanted), "{statistic}");
            assert_eq!(statistic_of(statistic, vec![]), None, "{statistic}");
        }
    }
}
