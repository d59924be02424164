//! Workflows, from the command line: written in a file, looked at, made, run, watched, decided about.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Done, Here, client, run, text};

/// Nobody listens there: the port needs a privilege that no test has.
const NOBODY: &str = "http://127.0.0.1:1/";
/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

const DIAMOND: &str = "\
name: etl
params:
  properties:
    day: {type: string, default: today}
tasks:
  - {key: extract, target: {noop: {}}}
  - {key: clean, depends_on: [extract], target: {noop: {}}}
  - {key: enrich, depends_on: [extract], target: {noop: {}}}
  - {key: load, depends_on: [clean, enrich], target: {noop: {}}}
finally:
  - {key: tidy, target: {noop: {}}}
";

/// Files of a test's own.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    fn written(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }
}

/// A new workflow of this file: its id.
fn made(here: &Here, yaml: &str) -> String {
    let files = Files::new();
    text(&here.json(&["workflows", "create", &files.written("workflow.yaml", yaml)]), "workflow_id")
}

fn started(here: &Here, workflow: &str) -> String {
    text(&here.json(&["workflows", "run", workflow]), "run_id")
}

/// The run, once it is shown so.
fn seen(here: &Here, run: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let shown = here.json(&["workflow-runs", "show", run]);
        if is_so(&shown) {
            return shown;
        }
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a card that draw the graph.
fn drawn(done: &Done) -> Vec<&str> {
    done.stdout.lines().filter(|line| line.starts_with([' ', '*']) && !line.trim().is_empty()).collect()
}

#[test]
fn a_workflow_is_made_of_a_file_run_and_drawn() {
    let (here, files) = (Here::start(), Files::new());
    let file = files.written("etl.yaml", DIAMOND);

    let valid = here.ok(&["workflow", "validate", &file]);
    let workflow = text(&here.json(&["workflows", "create", &file]), "workflow_id");
    let waited =
        here.ok(&["workflows", "run", &workflow, "--params={\"day\": \"Monday\"}", "--priority=high", "--wait"]);
    let run_id = text(&here.json(&["workflow-runs", "list", "--workflow", &workflow])["items"][0], "workflow_run_id");
    let shown = here.ok(&["workflow-runs", "show", &run_id]);
    let mut without = here.command(&["workflow-runs", "show", &run_id]);
    without.env("NO_COLOR", "1");
    let tailed = here.ok(&["workflow-runs", "tail", &run_id]);

    assert!(valid.stdout.starts_with(&format!("{file} is good: 5 tasks\n")), "{valid:?}");
    assert!(waited.says("Status", "succeeded") && waited.says("Priority", "high"), "{waited:?}");
    assert!(waited.says("Payload", "{\"day\":\"Monday\"}"), "{waited:?}");
    let graph = drawn(&shown);
    let begins = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = graph.iter().map(|line| begins(line)).collect();
    assert!(lines[1].starts_with("┌─ ✓ extract"), "{shown:?}");
    assert!(lines[3].starts_with("├─ ✓ clean") && lines[4].starts_with("├─ ✓ enrich"), "{shown:?}");
    assert!(lines[6].starts_with("├─ ✓ load") && lines[8].starts_with("└─ ✓ tidy"), "{shown:?}");
    assert_eq!(lines[7], "│ finally", "{shown:?}");
    assert!(!shown.stdout.contains('\u{1b}'), "what is piped has no colours");
    assert_eq!(drawn(&run(without)), graph, "nor is it drawn otherwise without them");
    let times: Vec<&str> = tailed.stdout.lines().filter_map(|line| line.split_once("  ").map(|(at, _)| at)).collect();
    assert!(times.is_sorted() && times.len() == 6, "{tailed:?}");
    assert!(tailed.stdout.lines().last().unwrap().ends_with("succeeded"), "{tailed:?}");
}

#[test]
fn who_waits_learns_which_tasks_failed_and_why() {
    let here = Here::start();
    let workflow = made(
        &here,
        &format!(
            "name: charge
on_failure: continue
tasks:
  - {{key: charge, target: {{http: {{url: '{NOBODY}'}}}}, retry: {{max_retries: 0}}}}
  - {{key: mail, target: {{http: {{url: '{NOBODY}'}}}}, retry: {{max_retries: 0}}, allow_failure: true}}
  - {{key: each, for_each: [1, 2], target: {{http: {{url: '{NOBODY}'}}}}, retry: {{max_retries: 0}}}}
  - {{key: confirm, depends_on: [charge], target: {{noop: {{}}}}}}
"
        ),
    );

    let waited = here.run(&["workflows", "run", &workflow, "--wait"]);
    let run_id = text(&here.json(&["workflow-runs", "list", "--status=failed"])["items"][0], "workflow_run_id");
    let tailed = here.run(&["workflow-runs", "tail", &run_id]);
    let json = here.run(&["workflow-runs", "tail", &run_id, "--json"]);

    for done in [&waited, &tailed] {
        assert_eq!(done.code, 5, "{done:?}");
        assert!(done.stderr.starts_with("minutehand: the run ended as failed: a task of it failed\n"), "{done:?}");
        assert!(done.stderr.contains("\n  charge failed: connect: "), "{done:?}");
        assert!(done.stderr.contains(" (which was allowed)\n"), "{done:?}");
        assert!(done.stderr.contains("\n  each failed: 2 of its 2 branches failed\n"), "{done:?}");
        assert!(!done.stderr.contains("confirm"), "{done:?}");
    }
    assert_eq!((json.code, &json.json()["status"]), (5, &json!("failed")));
}

#[test]
fn an_approval_is_waited_for_answered_once_and_a_run_is_cancelled() {
    let here = Here::start();
    let workflow = made(
        &here,
        "name: pay\ntasks:\n- {key: ask, approval: {roles: [admin]}}\n- {key: pay, depends_on: [ask], target: {noop: {}}}\n",
    );
    let run = started(&here, &workflow);
    seen(&here, &run, |shown| shown["tasks"][0]["state"] == "waiting");

    let shown = here.ok(&["workflow-runs", "show", &run]);
    let approved =
        here.ok(&["workflow-runs", "approve", &run, "ask", "--note=as agreed", "--result={\"limit\": 1.50}"]);
    let again = here.run(&["workflow-runs", "reject", &run, "ask"]);
    let tailed = here.ok(&["workflow-runs", "tail", &run]);
    let other = started(&here, &workflow);
    seen(&here, &other, |shown| shown["tasks"][0]["state"] == "waiting");
    let cancelled = here.ok(&["workflow-runs", "cancel", &other, "--note=wrong day"]);
    let ended = here.run(&["workflow-runs", "tail", &other]);
    let late = here.run(&["workflow-runs", "cancel", &other]);

    assert!(shown.stdout.contains("waits for the approval of an admin since "), "{shown:?}");
    assert!(approved.says("Decision", "approve") && approved.says("State", "succeeded"), "{approved:?}");
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("`ask` was approved by "), "{again:?}");
    assert!(tailed.stdout.contains("  pay  succeeded"), "{tailed:?}");
    assert!(cancelled.stdout.contains(&other), "{cancelled:?}");
    assert_eq!((ended.code, late.code), (5, 1), "{ended:?} {late:?}");
    let events = here.ok(&["workflow-runs", "events", &other]);
    assert!(events.stdout.contains("wrong day"), "{events:?}");
}

#[test]
fn what_is_held_is_decided_about_one_by_one_or_all_at_once() {
    let here = Here::start();
    let workflow = made(
        &here,
        &format!(
            "name: resize
on_failure: hold
tasks:
  - {{key: each, for_each: [1, 2, 3], target: {{http: {{url: '{NOBODY}'}}}}, retry: {{max_retries: 0}}}}
"
        ),
    );
    let run = started(&here, &workflow);
    let words = "3 of its 3 branches are held: retry, skip, succeed or fail them";
    seen(&here, &run, |shown| shown["tasks"][0]["waiting_for"] == words);

    let shown = here.ok(&["workflow-runs", "show", &run]);
    let held = here.ok(&["workflow-runs", "branches", &run, "each", "--state=held"]);
    let failed = here.ok(&["workflow-runs", "fail", &run, "each", "--branch=0"]);
    let skipped = here.ok(&["workflow-runs", "skip", &run, "each", "--all-held", "--note=no use"]);
    let again = here.ok(&["workflow-runs", "skip", &run, "each", "--all-held"]);
    let ended = here.run(&["workflow-runs", "tail", &run]);

    assert!(shown.stdout.contains(words), "{shown:?}");
    assert_eq!(held.stdout.lines().count(), 4, "{held:?}");
    assert!(failed.says("Task", "each, branch 0"), "{failed:?}");
    assert_eq!(skipped.stdout, "2 branches of each were given the verdict skip.\n");
    assert_eq!(again.stdout, "No branch of each is held.\n");
    assert_eq!(ended.code, 5, "{ended:?}");
    for wrong in [["reject", "--all-held"], ["approve", "--all-held"]] {
        let refused = here.run(&["workflow-runs", wrong[0], &run, "each", wrong[1]]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    let both = here.run(&["workflow-runs", "skip", &run, "each", "--all-held", "--branch=1"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn a_failed_run_is_gone_on_with_once_and_who_asks_again_is_told() {
    let here = Here::start();
    let workflow = made(
        &here,
        &format!(
            "name: two
tasks:
  - {{key: good, target: {{noop: {{}}}}}}
  - {{key: bad, depends_on: [good], target: {{http: {{url: '{NOBODY}'}}}}, retry: {{max_retries: 0}}}}
"
        ),
    );
    let run = started(&here, &workflow);
    here.run(&["workflow-runs", "tail", &run]);

    let first = here.run(&["workflow-runs", "resume", &run, "--wait"]);
    let second = here.ok(&["workflow-runs", "resume", &run]);

    assert_eq!(first.code, 5, "{first:?}");
    assert!(first.stdout.contains("reused: it had succeeded in the run that this one resumes"), "{first:?}");
    let next = text(&here.json(&["workflow-runs", "show", &run]), "resumed_by");
    let told = format!("{run} was resumed before, by {next}, which is failed: to go on once more, resume that one");
    assert!(second.stderr.contains(&told) && !second.stderr.contains("idempotency"), "{second:?}");
    assert!(second.says("Run", &next) && second.says("Resumes", &run), "{second:?}");
    assert!(second.stdout.contains("reused"), "{second:?}");
}

#[test]
fn versions_are_compared_and_what_was_deleted_can_be_listed() {
    let (here, files) = (Here::start(), Files::new());
    let empty = here.ok(&["workflows", "list"]);
    let workflow = made(&here, DIAMOND);
    let next = files.written("next.yaml", DIAMOND.replace("key: tidy", "key: sweep"));

    here.ok(&["workflows", "update", &workflow, &next]);
    let diff = here.ok(&["workflows", "diff", &workflow]);
    let json = here.json(&["workflows", "diff", &workflow, "--from=1", "--to=2"]);
    here.ok(&["workflows", "delete", &workflow]);
    let gone = here.ok(&["workflows", "list"]);
    let deleted = here.json(&["workflows", "list", "--status=cancelled"]);

    assert_eq!((empty.stdout.as_str(), gone.stdout.as_str()), ("No workflows.\n", "No workflows.\n"));
    assert!(diff.stdout.contains("tidy") && diff.stdout.contains("sweep"), "{diff:?}");
    assert_eq!((&json["removed"][0]["key"], &json["added"][0]["key"]), (&json!("tidy"), &json!("sweep")));
    assert_eq!(deleted["items"][0]["workflow_id"], json!(workflow));
    let unknown = here.run(&["workflows", "show", "wf_06hhgq2g003ha8atdy39qcp9x4"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
}

/// Before: `create` named JSON pointers, told the first mistake of form alone, and called JSON YAML.
#[test]
fn a_file_that_is_wrong_is_refused_with_its_lines_by_create_as_by_validate() {
    let (here, files) = (Here::start(), Files::new());
    let wrong = files.written(
        "wrong.yaml",
        "name: x
tasks:
  - key: a
    target: {noop: {}}
    timeout_seconds: 5m
  - key: b
    depends_on: [nobody]
    target: {noop: {}}
    when: true and false
",
    );
    let broken = files.written("broken.json", "{\"name\": \"x\",\n \"tasks\": }\n");
    let lines = [
        format!("{wrong}:5:5: /tasks/0/timeout_seconds: must be a whole number, not the text \"5m\""),
        format!("{wrong}:7:18: /tasks/1/depends_on/0: there is no task `nobody`"),
        format!("{wrong}:9:5: /tasks/1/when: `and` does not belong here, at character 6"),
    ];

    let validated = here.run(&["workflow", "validate", &wrong]);
    let created = here.run(&["workflows", "create", &wrong]);
    let alone = run(client("http://127.0.0.1:1", &["workflow", "validate", &wrong, "--json"]));

    assert_eq!((validated.code, created.code, alone.code), (1, 1, 1), "{validated:?} {created:?} {alone:?}");
    assert_eq!(validated.stdout.lines().collect::<Vec<_>>(), lines);
    assert_eq!(created.stderr.lines().skip(1).map(str::trim_start).collect::<Vec<_>>(), lines);
    assert_eq!((&alone.json()["valid"], &alone.json()["errors"][0]["line"]), (&json!(false), &json!(5)));
    let said = format!("{broken}:2:11: this is not JSON: a value is missing");
    assert_eq!(here.run(&["workflow", "validate", &broken]).stdout.trim_end(), said);
    assert_eq!(here.run(&["workflows", "create", &broken]).stderr, format!("minutehand: {said}\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_another_exit_code() {
    let (here, files) = (Here::start(), Files::new());
    let binary = files.written("binary", [0xff, 0xfe, 0x00, 0x80]);
    let large = files.written("large.yaml", "a".repeat((1 << 20) + 1));
    let directory = files.0.path().to_str().expect("UTF-8").to_owned();

    for (file, why) in [
        ("no-such-file.yaml", "there is no such file"),
        (&binary, "it is not text in UTF-8"),
        (&large, "it has more than 1 MiB"),
        (&directory, "it is a directory"),
    ] {
        for words in [["workflow", "validate", file], ["workflows", "create", file]] {
            let done = here.run(&words);
            assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{done:?}");
            assert_eq!(done.stderr, format!("minutehand: cannot read {file}: {why}\n"));
        }
    }
}
