//! What others find wrong with templates in general: Checkov's rules, each exception with its reason, and SAM's own validation.

use std::collections::BTreeSet;
use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

use minutehand_aws_tests::workspace;
use minutehand_python::Requirements;
use serde_json::Value;

use crate::template;

const CHECKOV: Requirements = Requirements {
    path: "tests/aws/tests/template/rules/checkov.txt",
    text: include_str!("rules/checkov.txt"),
    tests: "Checkov's rules",
};

const SAM: Requirements = Requirements {
    path: "tests/aws/tests/template/rules/sam.txt",
    text: include_str!("rules/sam.txt"),
    tests: "SAM's validation",
};

const FUNCTIONS: &[&str] = &["ApiFunction", "ArchiverFunction", "ExecutorFunction", "SweeperFunction"];

/// A rule that is not kept, by which resources, and why.
const EXCEPTIONS: [(&str, &[&str], &str); 8] = [
    (
        "CKV_AWS_28",
        &["TimersTable"],
        "point-in-time recovery: timers are pointers, made again from the state; yesterday's are useless",
    ),
    (
        "CKV_AWS_115",
        &["ApiFunction"],
        "a limit of its own: the stage's throttle bounds it, and a request that it refused would be lost",
    ),
    (
        "CKV_AWS_116",
        FUNCTIONS,
        "dead letters of asynchronous calls: there is one, the tick, and the next one does its work; the queues have theirs, and the stream keeps what failed",
    ),
    (
        "CKV_AWS_117",
        FUNCTIONS,
        "a VPC: targets are on the internet, and each function's rights are its own; an operator's VPC is the operator's to add",
    ),
    (
        "CKV_AWS_18",
        &["ArchiveBucket"],
        "access logs of the bucket: they need a second bucket; who has CloudTrail's data events has them for all buckets",
    ),
    (
        "CKV_AWS_19",
        &["ArchiveBucket"],
        "encryption: it is encrypted either way; the rule does not read what a condition decides",
    ),
    (
        "CKV_AWS_21",
        &["ArchiveBucket"],
        "versions: a batch that comes again replaces what it wrote, and the archiver has no right to delete",
    ),
    (
        "CKV_AWS_173",
        FUNCTIONS,
        "a key for variables: Lambda's own encrypts them. All but OtlpHeaders are names, URLs and the hash of a key; that one opens the collector, and docs/operations.md says who can read it",
    ),
];

/// An exception that nothing needs any more fails too. Tried: without the `SSESpecification` of a table; without the access log; an action
/// of `*`; point-in-time recovery for the timers, whose exception nothing needs then.
#[test]
fn what_others_find_wrong_is_excepted_with_a_reason() {
    let Some(template) = template() else { return };
    let Some(tools) = CHECKOV.installed() else { return };
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file can be made");
    // What is there only where it is asked for is looked at too.
    let mut whole = template.json.clone();
    whole["Parameters"]["Archive"]["Default"] = "on".into();
    write!(file, "{whole:#}").expect("the file can be written");

    let mut checkov = Command::new(tools.program("checkov"));
    // Nothing is fetched: a rule is known by its number.
    checkov.args([
        "--framework",
        "cloudformation",
        "--output",
        "json",
        "--compact",
        "--quiet",
        "--skip-download",
        "--file",
    ]);
    let output = checkov.arg(file.path()).env_remove("BC_API_KEY").output().expect("checkov starts");

    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let failed = said["results"]["failed_checks"].as_array().expect("a list").iter();
    // A resource is `type.name`.
    let name = |resource: &Value| text(resource).rsplit('.').next().map(str::to_owned).expect("a name");
    let found: BTreeSet<(String, String)> =
        failed.map(|one| (text(&one["check_id"]), name(&one["resource"]))).collect();
    let of = |(rule, names, _): &(&str, &[&str], &str)| {
        let rule = (*rule).to_owned();
        names.iter().map(|name| (rule.clone(), (*name).to_owned())).collect::<Vec<_>>()
    };
    let excepted: BTreeSet<(String, String)> = EXCEPTIONS.iter().flat_map(of).collect();
    assert_eq!(found, excepted);
    assert!(said["summary"]["passed"].as_u64() > Some(50), "{}", said["summary"]);
}

/// The same transform and the same linter as above, but as their user meets them: a second set of tools of 340 MB, so not each time. AWS is not asked.
/// Tried: a queue with `VisibilityTimout`.
#[test]
#[ignore = "cargo test -p minutehand-aws-tests --test template -- --ignored: installs SAM's command line; .ci/run asks"]
fn sam_takes_the_template_as_it_stands() {
    let Some(tools) = SAM.installed() else { return };

    let mut sam = Command::new(tools.program("sam"));
    sam.args(["validate", "--lint", "--template-file"]).arg(workspace::root().join("template.yaml"));
    sam.env("SAM_CLI_TELEMETRY", "0").env("AWS_DEFAULT_REGION", "us-east-1").env("HOME", env::temp_dir());
    let output = sam.stdin(Stdio::null()).output().expect("sam starts");

    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("is a valid SAM Template"), "{said}");
}
