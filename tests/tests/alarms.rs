//! Alarms: each has one name in CloudWatch, in Prometheus' rules and in the runbooks, and all they look at is measured. The app of CDK is
//! built, tested and synthesized; each rule fires and clears.
//!
//! Node with npm is needed, and Prometheus' `promtool`, which is fetched as Debian's package where it is not installed.

#[path = "alarms/faults.rs"]
mod faults;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use minutehand_domain::priority::Priority;
use minutehand_domain::run::ErrorCode;
use minutehand_io::metrics::{ALL, Kind, Metric};
use minutehand_python::prerequisite::{is_there, not_run, run, say};
use minutehand_python::workspace::{locked, root, target};
use minutehand_tests::alarms::PROMTOOL;
use regex::Regex;
use serde_json::Value;

/// Only AWS has what these look at.
const OF_AWS_ALONE: [&str; 5] =
    ["ArchiveIncomplete", "FunctionsDown", "FunctionsFail", "HintsGivenUp", "SweepsStopped"];
/// Only a process watches jobs one by one.
const OF_PROMETHEUS_ALONE: [&str; 1] = ["JobOverdue"];
/// They are the template's own.
const OF_THE_TEMPLATE: [&str; 2] = ["CorruptItems", "LaterItems"];

/// The app of CDK beside its packages, tested; nothing where there is no Node.
static APP: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    if !is_there("npm") || !is_there("node") {
        not_run("Node 20 with npm was not found", "the tests of CDK's alarms");
        return None;
    }
    let (from, app) = (root().join("infra"), target().join("cdk"));
    let _turn = locked(&app.join(".lock"));
    for part in ["bin", "lib", "test"] {
        copy_sources(&from.join(part), &app.join(part));
    }
    for file in ["package.json", "package-lock.json", "tsconfig.json"] {
        fs::copy(from.join(file), app.join(file)).expect("a file of the app");
    }
    // What was installed says which list of packages it is of.
    let installed = fs::read(app.join("node_modules/installed.json")).ok();
    let wanted = fs::read(app.join("package-lock.json")).expect("the list of packages");
    if installed.as_ref() != Some(&wanted) {
        say("Installing infra/package-lock.json into target/cdk (once)");
        run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&app));
        fs::write(app.join("node_modules/installed.json"), wanted).expect("the packages' folder can be written");
    }
    let template = root().join("template.yaml");
    run(Command::new("npm").arg("test").env("MINUTEHAND_TEMPLATE", template).current_dir(&app));
    Some(app)
});

/// Those that are gone from the checkout go here, too.
fn copy_sources(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("a folder of sources");
    }
    fs::create_dir_all(to).expect("a folder under target/");
    for entry in fs::read_dir(from).expect("a folder of sources") {
        let path = entry.expect("a source").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a source that can be copied");
    }
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

fn captured(pattern: &str, text: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn set(names: Vec<String>) -> BTreeSet<String> {
    let (count, set) = (names.len(), BTreeSet::from_iter(names));
    assert_eq!(set.len(), count, "one of these is there twice: {set:?}");
    set
}

fn without(names: &BTreeSet<String>, others: &[&str]) -> BTreeSet<String> {
    names.iter().filter(|name| !others.contains(&name.as_str())).cloned().collect()
}

fn with(names: &BTreeSet<String>, others: &[&str]) -> BTreeSet<String> {
    names.iter().cloned().chain(others.iter().map(|name| (*name).to_owned())).collect()
}

fn rules() -> BTreeSet<String> {
    set(captured(r"(?m)^ +- alert: (\w+)$", &text("infra/prometheus/alerts.yaml")))
}

fn runbooks() -> BTreeSet<String> {
    let page = text("docs/operations.md");
    let (_, runbooks) = page.split_once("\n## Runbooks\n").expect("runbooks");
    let runbooks = runbooks.split("\n## ").next().expect("their end");
    for section in runbooks.split("\n### ").skip(1) {
        let name = section.lines().next().expect("a heading");
        let is_whole = ["**First**:", "**Mend**:", "**Ignore**"].iter().all(|part| section.matches(part).count() == 1);
        let says_how_loud = section.contains("\n*Page.*") != section.contains("\n*Ticket.*");
        assert!(is_whole && says_how_loud, "{name}: how loud, what to ask first, how to mend it, when to ignore it");
    }
    set(captured(r"(?m)^### (\w+)$", runbooks))
}

/// What the app makes of the outputs of a stack, once for all who look at it: it is made in one folder. Nothing where there is no Node.
static SYNTHESIZED: LazyLock<Option<Value>> = LazyLock::new(|| APP.as_deref().map(synthesized));

fn synthesized(app: &Path) -> Value {
    let template = text("template.yaml");
    let (_, outputs) = template.split_once("\nOutputs:\n").expect("outputs");
    let named = |key: String| serde_json::json!({"OutputKey": key, "OutputValue": format!("https://sqs.test/1/{key}")});
    let outputs: Vec<Value> = captured(r"(?m)^  (\w+):$", outputs).into_iter().map(named).collect();
    let file = app.join("outputs.json");
    fs::write(&file, serde_json::json!({"Stacks": [{"StackName": "prod", "Outputs": outputs}]}).to_string())
        .expect("outputs");
    let context = serde_json::json!({"outputs": file, "dollars": "100"}).to_string();
    let made = app.join("cdk.out");
    let mut synthesize = Command::new("node");
    synthesize
        .arg("target/bin/minutehand.js")
        .env("CDK_CONTEXT_JSON", context)
        .env("CDK_OUTDIR", &made)
        .current_dir(app);
    run(&mut synthesize);
    let made = fs::read(made.join("prod-observed.template.json")).expect("a template");
    serde_json::from_slice(&made).expect("JSON")
}

fn alarms_of(template: &Value) -> BTreeSet<String> {
    let resources = template["Resources"].as_object().expect("resources").values();
    let name = |resource: &Value| {
        let name = ["AlarmName", "CompositeAlarmName"].into_iter().find_map(|key| resource["Properties"][key].as_str());
        name.and_then(|name| name.strip_prefix("prod-")).map(str::to_owned)
    };
    // The parts of an alarm are named behind it.
    let alarms = resources.filter(|resource| resource["Type"].as_str().is_some_and(|kind| kind.contains("Alarm")));
    set(alarms.filter_map(name).filter(|name| !name.contains('-')).collect())
}

#[test]
fn each_alarm_has_one_runbook_and_each_runbook_an_alarm() {
    let (rules, runbooks) = (rules(), runbooks());

    assert_eq!(with(&rules, &OF_AWS_ALONE), runbooks, "rules of Prometheus and sections of docs/operations.md");
    let anchors = set(captured(r#"runbook: "docs/operations.md#(\w+)""#, &text("infra/prometheus/alerts.yaml")));
    assert_eq!(anchors, rules.iter().map(|name| name.to_lowercase()).collect());
    let template = text("template.yaml");
    for name in OF_THE_TEMPLATE {
        assert!(template.contains(&format!("\n  {name}Alarm:\n")), "{name}");
    }
    let Some(made) = &*SYNTHESIZED else { return };
    let alarms = alarms_of(made);
    let elsewhere = [&OF_THE_TEMPLATE[..], &OF_PROMETHEUS_ALONE].concat();
    assert_eq!(alarms, without(&runbooks, &elsewhere), "alarms of CloudWatch and sections of docs/operations.md");
}

/// What wakes somebody does so wherever it rings, but for one that is worse on AWS: what is not archived there is lost.
#[test]
fn each_alarm_is_as_loud_as_its_runbook_says() {
    let loudness = |pattern: &str, text: &str| -> BTreeMap<String, String> {
        let pattern = Regex::new(pattern).expect("a pattern");
        let found = pattern.captures_iter(text);
        found.map(|found| (found[1].to_owned(), found[2].to_lowercase())).collect()
    };
    let runbooks = loudness(r"(?m)^### (\w+)\n\n\*(Page|Ticket)\.", &text("docs/operations.md"));
    let mut rules = loudness(r"- alert: (\w+)\n(?:.*\n)*?.*severity: (\w+)", &text("infra/prometheus/alerts.yaml"));
    let alarms = loudness(r"\('(\w+)', '(page|ticket)'", &text("infra/lib/alarms.ts"));

    assert_eq!(rules.insert("ArchiveBehind".to_owned(), "page".to_owned()).as_deref(), Some("ticket"));
    assert!(rules.len() > 20 && alarms.len() > 20, "{} rules, {} alarms", rules.len(), alarms.len());
    for (name, loud) in rules.iter().chain(&alarms) {
        assert_eq!(runbooks.get(name), Some(loud), "{name}");
    }
}

#[test]
fn what_is_looked_at_is_measured() {
    let known = |name: &str| {
        let of = |metric: &&&Metric| match metric.kind {
            Kind::Seconds(_) => ["_bucket", "_count", "_sum"].iter().any(|end| name == format!("{}{end}", metric.name)),
            Kind::Counter | Kind::Gauge => name == metric.name,
        };
        ALL.iter().find(of).is_some()
    };
    let mut looked_at = 0;
    for path in ["infra/prometheus/alerts.yaml", "infra/prometheus/alerts_test.yaml", "infra/grafana/minutehand.json"] {
        for name in captured(r"(minutehand_\w+)", &text(path)) {
            assert!(known(&name), "{path}: {name}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

#[test]
fn words_that_rules_choose_by_are_words_of_their_metrics() {
    let mut chosen = 0;
    let selector = Regex::new(r"(minutehand_\w+)\{([^}]*)\}").expect("a pattern");
    for path in ["infra/prometheus/alerts.yaml", "infra/grafana/minutehand.json"] {
        let text = text(path).replace("\\\"", "\"");
        for found in selector.captures_iter(&text) {
            let metric = ALL.iter().find(|metric| found[1].starts_with(metric.name)).expect("a metric");
            for (label, word) in captured(r"(\w+)[=!~]", &found[2]).into_iter().zip(captured(r#""([^"]*)""#, &found[2]))
            {
                chosen += 1;
                if label == "le" {
                    assert!(is_a_bound(metric, &word), "{path}: {} le={word}", metric.name);
                    continue;
                }
                assert!(metric.labels.contains(&label.as_str()), "{path}: {} by {label}", metric.name);
                let all_are_known = word.split('|').all(|word| is_a_word(metric, &label, word));
                assert!(all_are_known, "{path}: {} {label}={word}", metric.name);
            }
        }
    }
    assert!(chosen >= 20, "{chosen}");
}

/// Whether a metric may stand under this word: one of those that it has from its start on, or that its help names.
fn is_a_word(metric: &Metric, label: &str, word: &str) -> bool {
    match label {
        "error" => word == "other" || ErrorCode::ALL.into_iter().any(|code| code.as_str() == word),
        "priority" => Priority::ALL.into_iter().any(|priority| priority.as_str() == word),
        _ if metric.from_start.is_empty() => metric.help.contains(&format!("`{word}`")),
        _ => metric.from_start.contains(&word),
    }
}

/// In both spellings: what a process writes as `5` is `5.0` in Prometheus 3, and a rule that knows one of them is silent under the other.
fn is_a_bound(metric: &Metric, word: &str) -> bool {
    let Kind::Seconds(bounds) = metric.kind else { return false };
    bounds.iter().any(|bound| word == format!("{bound}|{bound:?}"))
}

#[test]
fn words_that_are_summed_by_are_labels_of_their_metrics() {
    let mut summed = 0;
    let sum = Regex::new(r"by \(([^)]*)\) \((?:\w+\()?(minutehand_\w+)").expect("a pattern");
    for path in ["infra/prometheus/alerts.yaml", "infra/grafana/minutehand.json"] {
        for found in sum.captures_iter(&text(path)) {
            let metric = ALL.iter().find(|metric| found[2].starts_with(metric.name)).expect("a metric");
            let is_known = |label: &str| match label {
                "instance" => true, // Prometheus' own
                "le" => found[2].ends_with("_bucket"),
                label => metric.labels.contains(&label),
            };
            assert!(found[1].split(", ").all(is_known), "{path}: {} by {}", metric.name, &found[1]);
            summed += 1;
        }
    }
    assert!(summed >= 20, "{summed}");
}

/// As the functions write them: without `minutehand_`, the first word behind a dot. Those of AWS, and of the template's filters, begin with a capital, or with a digit.
#[test]
fn what_cloudwatch_is_asked_for_is_written_by_functions() {
    let Some(made) = &*SYNTHESIZED else { return };
    let made = made.to_string().replace("\\\"", "\"");
    let names = captured(r#""MetricName":"([a-z][a-z_0-9.]+)""#, &made);
    let drawn = captured(r#""Minutehand/prod","([a-z_0-9.]+)""#, &made);
    assert!(names.len() > 50 && drawn.len() > 10, "{} in alarms, {} drawn", names.len(), drawn.len());
    for name in names.into_iter().chain(drawn).collect::<BTreeSet<_>>() {
        let (metric, word) = name.split_once('.').map_or((name.as_str(), None), |(metric, word)| (metric, Some(word)));
        let metric = ALL.iter().find(|known| known.name.strip_prefix("minutehand_") == Some(metric));
        let metric = metric.unwrap_or_else(|| panic!("{name}"));
        let by_word = !metric.labels.is_empty() && metric.labels[0] != "priority";
        assert_eq!(word.is_some(), by_word, "{name}");
        assert!(!by_word || is_a_word(metric, metric.labels[0], word.unwrap_or_default()), "{name}");
    }
}

#[test]
fn each_rule_fires_and_clears_and_none_fires_where_nothing_is_wrong() {
    let Some(promtool) = &*PROMTOOL else { return };
    let rules = root().join("infra/prometheus");
    run(Command::new(promtool).args(["check", "rules", "alerts.yaml"]).current_dir(&rules));
    let said = run(Command::new(promtool).args(["test", "rules", "alerts_test.yaml"]).current_dir(&rules));
    assert!(said.contains("SUCCESS"), "{said}");

    let tried = set(captured(r"- name: (\w+) fires and clears", &text("infra/prometheus/alerts_test.yaml")));
    assert_eq!(tried, self::rules(), "each rule is tried");
}
