//! What the functions read, and what the template gives them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use minutehand_aws_tests::workspace;

use crate::template;

/// What a function reads where its source has this; the names are those of `shared/cloud` and `shared/otel`, all of them.
const READ: [(&str, &[&str]); 7] = [
    (
        "Settings::read(",
        &[
            "MINUTEHAND_STATE_TABLE",
            "MINUTEHAND_TIMERS_TABLE",
            "MINUTEHAND_QUEUE_CRITICAL",
            "MINUTEHAND_QUEUE_CRITICAL_LONG",
            "MINUTEHAND_QUEUE_HIGH",
            "MINUTEHAND_QUEUE_HIGH_LONG",
            "MINUTEHAND_QUEUE_NORMAL",
            "MINUTEHAND_QUEUE_NORMAL_LONG",
            "MINUTEHAND_QUEUE_LOW",
            "MINUTEHAND_QUEUE_LOW_LONG",
            "MINUTEHAND_BUS",
            "MINUTEHAND_RUNS_INDEX",
            "MINUTEHAND_EARLY_SECONDS",
            "MINUTEHAND_SECRETS_KEY",
            "MINUTEHAND_TRACE_RATIO",
        ],
    ),
    (".reach()", &["MINUTEHAND_REACH"]),
    (".targets()", &["MINUTEHAND_TARGETS"]),
    (
        "Measuring::of(",
        &[
            "MINUTEHAND_METRICS",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_RESOURCE_ATTRIBUTES",
        ],
    ),
    ("archive_bucket(", &["MINUTEHAND_ARCHIVE_BUCKET"]),
    ("Switch::of(", &["MINUTEHAND_SWITCH", "MINUTEHAND_SWITCH_MINUTES"]),
    ("logs::", &["RUST_LOG"]),
];

/// Not given, so that it is as if it were not set: whoever has no right to a key is not told of it.
const NOT_GIVEN: [(&str, &str); 2] =
    [("SweeperFunction", "MINUTEHAND_SECRETS_KEY"), ("ArchiverFunction", "MINUTEHAND_SECRETS_KEY")];

/// What is read beside and given by nobody: a function says by itself which one it is, waits half a second at most, and tells its metrics each time.
const AS_THEY_ARE: [&str; 3] = ["OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_SERVICE_NAME"];

/// Tried: without `MINUTEHAND_REACH` of the executor; with it for the sweeper too; a variable `MINUTEHAND_SHARDS`; a setting
/// `MINUTEHAND_LIMIT` in `shared/cloud`, and in the sweeper.
#[test]
fn every_setting_in_code_stands_in_the_template_and_the_reverse() {
    let Some(template) = template() else { return };

    let known = READ.iter().flat_map(|(_, names)| *names).chain(&AS_THEY_ARE);
    let known: BTreeSet<String> = known.map(|name| (*name).to_owned()).collect();
    assert_eq!(settings_in(&[sources("shared/cloud/src"), sources("shared/otel/src")].concat()), known);

    for (id, folder) in [
        ("ApiFunction", "api"),
        ("SweeperFunction", "sweeper"),
        ("ExecutorFunction", "executor"),
        ("ArchiverFunction", "archiver"),
    ] {
        let sources = sources(&format!("functions/{folder}/src"));
        let shared = READ.iter().filter(|(mark, _)| sources.contains(mark)).flat_map(|(_, names)| *names);
        let mut read: BTreeSet<String> = shared.map(|name| (*name).to_owned()).collect();
        read.extend(settings_in(&sources));
        read.retain(|name| !NOT_GIVEN.contains(&(id, name)));

        let variables = template.properties(id)["Environment"]["Variables"].as_object().expect("variables");
        let given: BTreeSet<String> = variables.keys().cloned().collect();
        assert_eq!(given, read, "{id}");
    }
}

/// All that is built into what is deployed.
fn sources(folder: &str) -> String {
    let mut text = String::new();
    collect(&workspace::root().join(folder), &mut text);
    text
}

fn collect(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, text);
        } else {
            let source = fs::read_to_string(&path).expect("a source");
            text.push_str(source.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}

/// The names of variables among the literals.
fn settings_in(source: &str) -> BTreeSet<String> {
    let is_name = |text: &&str| {
        let ours = ["MINUTEHAND_", "OTEL_"].iter().any(|start| text.starts_with(start)) || *text == "RUST_LOG";
        ours && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    source.split('"').filter(is_name).map(str::to_owned).collect()
}
