//! Alarms: each has one name in CloudWatch, in Prometheus' rules and in the runbooks, and all they look at is measured. The app of CDK is
//! built, tested and synthesized; each rule fires and clears.
//!
//! Node with npm is needed, and Prometheus' `promtool`, which is fetched as Debian's package where it is not installed.

#[path = "alarms/cloudwatch.rs"]
mod cloudwatch;
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
use minutehand_python::prerequisite::{fetched, is_there, not_run, run, say, succeeded};
use minutehand_python::workspace::{locked, root, target};
use minutehand_tests::alarms::promtool;
use regex::Regex;
use serde_json::Value;

/// Only AWS has what these look at.
const OF_AWS_ALONE: [&str; 6] =
    ["ArchiveIncomplete", "FunctionsDown", "FunctionsFail", "HintsGivenUp", "SweepsStopped", "SwitchNotPushed"];
/// Only a process watches jobs one by one.
const OF_PROMETHEUS_ALONE: [&str; 1] = ["JobOverdue"];
/// They are the template's own.
const OF_THE_TEMPLATE: [&str; 2] = ["CorruptItems", "LaterItems"];
/// Each measures under its own word.
const FUNCTIONS: [&str; 4] = ["api", "archiver", "executor", "sweeper"];
/// Which functions measure what CloudWatch is asked for. Found by hand, from what a metric is measured of (`shared/io/src/metrics/measured.rs`, or what is added
/// beside events) to where that is emitted (`emit(` and `changed(` in `shared/protocol` and `functions`), and from there up to what the crate of a function
/// calls. What a process alone measures stands nowhere here.
const MEASURED_BY: [(&[&str], &[&str]); 7] = [
    // A run has changed, or has missed its SLA: all of them write runs but the archiver. Not told apart is which changes of a run each of them makes.
    (
        &[
            "attempts_total",
            "dead_letters_total",
            "heartbeats_lost_total",
            "leases_rescued_total",
            "notifications_total",
            "retries_total",
            "runs_total",
            "skipped_total",
            "sla_missed_total",
        ],
        &["api", "executor", "sweeper"],
    ),
    // A hint is claimed, its run is offered, or it is given back: `run/claim.rs`, `run/offer.rs` and the executor's own.
    (&["hints_given_back_total", "run_lag_seconds", "unattended_seconds", "worker_wait_seconds"], &["executor"]),
    // A worker takes a run: `run/take.rs`.
    (&["run_lag_stage_seconds.take"], &["api"]),
    // A pass: `sweep.rs`, its looks (`look` of `graph/attend.rs`), and what the sweeper's own adds.
    (
        &[
            "dead_letters_oldest_seconds",
            "sweep_age_seconds",
            "sweeps_failed_total",
            "switch_pushes_total.failed",
            "workflow_stalls_total",
        ],
        &["sweeper"],
    ),
    // A request is refused. For `connections` no function has a seat, and none has as much at once as `bodies` allows.
    (
        &[
            "quota_refusals_total.fires",
            "quota_refusals_total.jobs",
            "quota_refusals_total.requests",
            "quota_refusals_total.runs",
        ],
        &["api"],
    ),
    // Added by the archiver's own.
    (&["archived_runs_total.partial", "archived_runs_total.unreadable"], &["archiver"]),
    // Added by `shared/cloud`, over which each of them stands.
    (&["store_throttles_total", "store_units_total", "telemetry_dropped_total"], &FUNCTIONS),
];

/// The app of CDK beside its packages, tested.
fn app() -> Result<PathBuf, String> {
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
        fetched(|| succeeded(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&app)))?;
        fs::write(app.join("node_modules/installed.json"), wanted).expect("the packages' folder can be written");
    }
    let template = root().join("template.yaml");
    succeeded(Command::new("npm").arg("test").env("MINUTEHAND_TEMPLATE", template).current_dir(&app))?;
    Ok(app)
}

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

fn runbooks_page() -> String {
    let page = text("docs/operations.md");
    let (_, runbooks) = page.split_once("\n## Runbooks\n").expect("runbooks");
    runbooks.split("\n## ").next().expect("their end").to_owned()
}

fn runbooks() -> BTreeSet<String> {
    let runbooks = runbooks_page();
    for section in runbooks.split("\n### ").skip(1) {
        let name = section.lines().next().expect("a heading");
        let is_whole = ["**First**:", "**Mend**:", "**Ignore**"].iter().all(|part| section.matches(part).count() == 1);
        let says_how_loud = section.contains("\n*Page.*") != section.contains("\n*Ticket.*");
        assert!(is_whole && says_how_loud, "{name}: how loud, what to ask first, how to mend it, when to ignore it");
    }
    set(captured(r"(?m)^### (\w+)$", &runbooks))
}

/// What the app makes of the outputs of a stack, once for all who look at it: it is made in one folder. Nothing where there is no Node.
static SYNTHESIZED: LazyLock<Option<Result<Value, String>>> =
    LazyLock::new(|| (is_there("npm") && is_there("node")).then(|| app().and_then(|app| made_by(&app))));

/// Each test that looks at it says why it could not be made.
fn synthesized() -> Option<&'static Value> {
    if SYNTHESIZED.is_none() {
        not_run("Node 20 with npm was not found", "the tests of CDK's alarms");
    }
    SYNTHESIZED.as_ref().map(|made| made.as_ref().unwrap_or_else(|why| panic!("{why}")))
}

fn made_by(app: &Path) -> Result<Value, String> {
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
    succeeded(&mut synthesize)?;
    let made = fs::read(made.join("prod-observed.template.json")).expect("a template");
    Ok(serde_json::from_slice(&made).expect("JSON"))
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
    let Some(made) = synthesized() else { return };
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

/// What the code says: of each source below these folders the lines that are no comment, without its tests. A text that goes on in the next line is one.
fn said_below(folders: &[&str]) -> String {
    let mut files = Vec::new();
    for folder in folders {
        find_sources(&root().join(folder), &mut files);
    }
    let goes_on = Regex::new(r"\\\n\s*").expect("a pattern");
    let said = |file: &PathBuf| {
        let source = fs::read_to_string(file).expect("a source");
        let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        goes_on.replace_all(&code.join("\n"), "").into_owned()
    };
    files.iter().map(said).collect::<Vec<_>>().join("\n")
}

fn find_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a source").path();
        if path.is_dir() && !path.ends_with("tests") {
            find_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Somebody looks for them in a log: of a phrase that was changed there is no line, as if all were well. What begins with a capital names a graph.
#[test]
fn what_runbooks_look_for_in_a_log_is_what_is_said_there() {
    let (said, graphs) = (said_below(&["functions", "shared"]), text("infra/lib/overview.ts"));
    let page = runbooks_page();
    let prose: Vec<&str> = page.split('`').step_by(2).collect();
    let typed: Vec<&str> = page.split('`').skip(1).step_by(2).collect();

    let patterns = captured(r"--filter-pattern '([^']*)'", &typed.join("\n"));
    let mut phrases = captured(r#""([^"]+)""#, &patterns.join("\n"));
    for quoted in captured(r"\*([^*]+)\*", &prose.join(" ").replace("**", "")) {
        let quoted = quoted.split_whitespace().collect::<Vec<_>>().join(" ");
        match quoted.to_lowercase().trim_end_matches('.') {
            "page" | "ticket" => {}
            _ if quoted.starts_with(char::is_uppercase) => assert!(graphs.contains(&quoted), "no graph: {quoted}"),
            _ => phrases.push(quoted),
        }
    }
    for phrase in &phrases {
        assert!(said.contains(phrase), "no log says: {phrase}");
    }
    assert!(phrases.len() > 30, "{}", phrases.len());
}

/// Whether a series of this name is made of the registry.
fn is_measured(name: &str) -> bool {
    let of = |metric: &&&Metric| match metric.kind {
        Kind::Seconds(_) => ["_bucket", "_count", "_sum"].iter().any(|end| name == format!("{}{end}", metric.name)),
        Kind::Counter | Kind::Gauge => name == metric.name,
    };
    ALL.iter().find(of).is_some()
}

#[test]
fn what_is_looked_at_is_measured() {
    let mut looked_at = 0;
    for path in ["infra/prometheus/alerts.yaml", "infra/prometheus/alerts_test.yaml", "infra/grafana/minutehand.json"] {
        for name in captured(r"(minutehand_\w+)", &text(path)) {
            assert!(is_measured(&name), "{path}: {name}");
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

/// A graph without a series, or of what nobody measures, is drawn empty, as if all were well.
#[test]
fn each_graph_of_grafana_draws_what_is_measured() {
    let board: Value = serde_json::from_str(&text("infra/grafana/minutehand.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let mut drawn = 0;
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let targets = panel["targets"].as_array().filter(|targets| !targets.is_empty());
        for target in targets.unwrap_or_else(|| panic!("{} draws nothing", panel["title"])) {
            let series = captured(r"(minutehand_\w+)", target["expr"].as_str().unwrap_or_default());
            let is_drawn = !series.is_empty() && series.iter().all(|name| is_measured(name));
            assert!(is_drawn, "{}: {}", panel["title"], target["expr"]);
            drawn += 1;
        }
    }
    assert!(drawn > 20, "{drawn}");
    let ids = set(panels.iter().map(|panel| panel["id"].to_string()).collect());
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
}

/// A metric of the functions' own: its name, which function's, and of which priority.
type Asked = (String, String, Option<String>);

/// What alarms ask for.
fn add_asked(value: &Value, asked: &mut BTreeSet<Asked>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_asked(value, asked)),
        Value::Object(fields) => {
            let dimension = |name: &str| {
                let found = value["Dimensions"].as_array()?.iter().find(|dimension| dimension["Name"] == name)?;
                found["Value"].as_str().map(str::to_owned)
            };
            if let (Some("Minutehand/prod"), Some(name)) = (value["Namespace"].as_str(), value["MetricName"].as_str()) {
                asked.insert((name.to_owned(), dimension("function").unwrap_or_default(), dimension("priority")));
            }
            fields.values().for_each(|value| add_asked(value, asked));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What the dashboard asks for, which is a text of its own.
fn drawn(made: &str) -> BTreeSet<Asked> {
    let pattern = r#""Minutehand/prod","([A-Za-z_0-9.]+)"(?:,"function","(\w+)")?(?:,"priority","(\w+)")?"#;
    let pattern = Regex::new(pattern).expect("a pattern");
    let asked = pattern.captures_iter(made).map(|found| {
        let word = |group| found.get(group).map(|word| word.as_str().to_owned());
        (word(1).unwrap_or_default(), word(2).unwrap_or_default(), word(3))
    });
    asked.collect()
}

fn is_of(name: &str, metric: &str) -> bool {
    name.strip_prefix(metric).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// As the functions write them: without `minutehand_`, the first word behind a dot. Those of AWS, and of the template's filters, begin with a capital, or with a digit.
#[test]
fn what_cloudwatch_is_asked_for_is_written_by_functions() {
    let Some(made) = synthesized() else { return };
    let (mut asked, drawn) = (BTreeSet::new(), drawn(&made.to_string().replace("\\\"", "\"")));
    add_asked(made, &mut asked);
    assert!(asked.len() > 50 && drawn.len() > 10, "{} in alarms, {} drawn", asked.len(), drawn.len());
    asked.extend(drawn);
    asked.retain(|(name, ..)| name.starts_with(|letter: char| letter.is_ascii_lowercase()));
    for (name, function, priority) in &asked {
        let (metric, word) = name.split_once('.').map_or((name.as_str(), None), |(metric, word)| (metric, Some(word)));
        let metric = ALL.iter().find(|known| known.name.strip_prefix("minutehand_") == Some(metric));
        let metric = metric.unwrap_or_else(|| panic!("{name}"));
        let by_word = !metric.labels.is_empty() && metric.labels[0] != "priority";
        assert_eq!(word.is_some(), by_word, "{name}");
        assert!(!by_word || is_a_word(metric, metric.labels[0], word.unwrap_or_default()), "{name}");

        let is_its = |(metrics, functions): &(&[&str], &[&str])| {
            functions.contains(&function.as_str()) && metrics.iter().any(|metric| is_of(name, metric))
        };
        assert!(MEASURED_BY.iter().any(is_its), "{name} is not measured by the function {function:?}");
        assert_eq!(priority.is_some(), function == "executor", "{name} of {function}");
        let is_known = |priority: &str| Priority::ALL.into_iter().any(|known| known.as_str() == priority);
        assert!(priority.as_deref().is_none_or(is_known), "{name} of {priority:?}");
    }
    let is_asked = |metric: &&&str| asked.iter().any(|(name, ..)| is_of(name, metric));
    let idle: Vec<_> =
        MEASURED_BY.iter().flat_map(|(metrics, _)| *metrics).filter(|metric| !is_asked(metric)).collect();
    assert!(idle.is_empty(), "nobody asks for {idle:?}");
}

/// The dimensions that alarms ask for: the word of a function, and of the executor the priority of its queue.
#[test]
fn each_function_measures_under_its_own_word_and_the_executor_alone_by_priority() {
    for function in FUNCTIONS {
        let main = text(&format!("functions/{function}/src/main.rs"));
        assert!(main.contains(&format!("Measuring::of(\"{function}\", ")), "{function}");
        assert_eq!(main.contains("measuring.tell(None)"), function != "executor", "{function}");
    }
}

#[test]
fn each_rule_fires_and_clears_and_none_fires_where_nothing_is_wrong() {
    let Some(promtool) = promtool() else { return };
    let rules = root().join("infra/prometheus");
    run(Command::new(promtool).args(["check", "rules", "alerts.yaml"]).current_dir(&rules));
    let said = run(Command::new(promtool).args(["test", "rules", "alerts_test.yaml"]).current_dir(&rules));
    assert!(said.contains("SUCCESS"), "{said}");

    let tried = set(captured(r"- name: (\w+) fires and clears", &text("infra/prometheus/alerts_test.yaml")));
    assert_eq!(tried, self::rules(), "each rule is tried");
}
