//! What the workspace is built of: who may know whom, whose licences, and one version of each.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Licences that a product under MIT or Apache-2.0 may be built of.
const PERMISSIVE: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Crates of which there are two versions, and whose fault that is.
const TWICE: [(&str, &str); 13] = [
    ("base64", "serde_dynamo is at 0.21, the Lambda events at 0.22, hyper at 0.23"),
    ("embedded-io", "postcard names both behind features that we do not ask for"),
    ("getrandom", "ring is at 0.2"),
    ("hashbrown", "rusqlite, which the emulator brings, is at 0.15"),
    ("indexmap", "serde_with, of the Lambda events, names old ones behind features that nobody asks for"),
    ("phf", "cron is at 0.11, chrono-tz at 0.12"),
    ("phf_shared", "as phf"),
    ("rand", "phf 0.11 is built with 0.8; tests use proptest's"),
    ("rand_core", "as rand"),
    ("schemars", "as indexmap"),
    ("syn", "half of all derive macros have moved to 3"),
    ("synstructure", "as syn"),
    ("windows-sys", "ring is at 0.52, where there are Windows machines"),
];

/// Of each of ours: which of ours it may know. Tests may know everybody.
const MAY_KNOW: [(&str, &[&str]); 8] = [
    ("minutehand-domain", &[]),
    ("minutehand-io", &["minutehand-domain"]),
    ("minutehand-cloud", &["minutehand-domain", "minutehand-io"]),
    ("minutehand-protocol", &["minutehand-domain", "minutehand-io"]),
    ("minutehand-api", &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol"]),
    ("minutehand-sweeper", &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol"]),
    ("minutehand-executor", &["minutehand-cloud", "minutehand-domain", "minutehand-io", "minutehand-protocol"]),
    ("minutehand-judge", &[]),
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
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

/// `(MIT OR Apache-2.0) AND Unicode-3.0`: each part of an AND needs one of its ORs.
fn is_permissive(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| PERMISSIVE.contains(&licence.trim())))
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    let metadata = metadata();
    let refused: Vec<_> = packages(&metadata)
        .filter(|package| !is_permissive(text(package, "license")))
        .map(|package| format!("{} ({})", text(package, "name"), text(package, "license")))
        .collect();

    assert!(refused.is_empty(), "{refused:?}");
    assert!(!is_permissive("GPL-3.0") && !is_permissive("MIT AND GPL-3.0") && !is_permissive(""));
}

#[test]
fn there_is_one_version_of_each_dependency_but_for_those_named() {
    let metadata = metadata();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages(&metadata) {
        versions.entry(text(package, "name")).or_default().insert(text(package, "version"));
    }
    let twice: BTreeSet<&str> =
        versions.iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| *name).collect();
    let named: BTreeSet<&str> = TWICE.iter().map(|(name, _)| *name).collect();

    assert_eq!(twice, named, "left: found, right: named in TWICE");
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
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "-p", "minutehand", "-e", "normal,build", "--prefix", "none"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);

    assert!(tree.lines().count() > 50, "{tree}");
    assert!(!tree.contains("aws"), "{tree}");
}

/// `aws_sdk_*` types never cross a port: only the ports and what holds them in its hand name an SDK.
#[test]
fn only_the_ports_know_an_aws_sdk() {
    let metadata = metadata();
    for package in packages(&metadata).filter(|package| text(package, "name").starts_with("minutehand")) {
        let known = package["dependencies"].as_array().into_iter().flatten().map(|known| text(known, "name"));
        let sdks: Vec<_> = known.filter(|known| known.starts_with("aws-sdk")).collect();
        let may = ["minutehand-io", "minutehand-cloud", "minutehand-aws-tests"].contains(&text(package, "name"));
        assert!(may || sdks.is_empty(), "{} knows {sdks:?}", text(package, "name"));
    }
}
