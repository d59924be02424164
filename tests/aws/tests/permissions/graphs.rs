//! Everything that the functions can be brought to do with workflows: each of them settles what it finds over, so that each closes edges,
//! gives places back and takes waiters out of the line who wait no more.

use std::time::Duration;

use minutehand_aws_tests::stage::Stage;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn play(stage: &Stage) {
    let release = made(stage, &release()).await;
    let left = carried_out(stage, &release).await;
    let left = cancelled(stage, &release, &left).await;
    unanswered(stage, &release, &left).await;
    held_and_resumed(stage).await;
    called_by_another(stage, &release).await;
    watched(stage, &release).await;
    changed_and_deleted(stage, &release).await;
}

/// The executor carries a graph from join to join; of three runs that have one place the second is cancelled while it waits. Answers
/// the third, which has got the place and waits for its answer.
async fn carried_out(stage: &Stage, workflow: &str) -> String {
    let [first, second, third] = [run(stage, workflow).await, run(stage, workflow).await, run(stage, workflow).await];
    work(stage).await;
    done(stage, &format!("{second}/cancel")).await;
    done(stage, &format!("{first}/tasks/ask/approve")).await;
    work(stage).await;
    assert_eq!(status(stage, &first).await, "succeeded");
    assert_eq!(task(stage, &third, "ask").await, "waiting");
    third
}

/// The API takes a run that waits out of the line, ends the one before it and gives its place back. Answers who has got it.
async fn cancelled(stage: &Stage, workflow: &str, holder: &str) -> String {
    let [waiter, next] = [run(stage, workflow).await, run(stage, workflow).await];
    work(stage).await;
    done(stage, &format!("{waiter}/cancel")).await;
    done(stage, &format!("{holder}/cancel")).await;
    work(stage).await;
    assert_eq!(status(stage, holder).await, "cancelled");
    assert_eq!(task(stage, &next, "ask").await, "waiting");
    next
}

/// The sweeper finds a question whose time is up and whose hint was lost: it closes its edge, ends the run, gives the place back and tells the next in the
/// line. The first in it was ended with its caller, and has left it.
async fn unanswered(stage: &Stage, workflow: &str, holder: &str) {
    let outer = made(stage, &json!({"name": "calling", "tasks": [inner(workflow)]})).await;
    let caller = run(stage, &outer).await;
    work(stage).await;
    assert_eq!(task(stage, &caller, "inner").await, "waiting");
    done(stage, &format!("{caller}/cancel")).await;
    work(stage).await;
    assert_eq!(status(stage, &caller).await, "cancelled");
    let begin = stage.now();
    stage.sweep_all().await;
    stage.purge();
    stage.jump_to(begin + 11 * MINUTE);
    stage.sweep_all().await;
    assert_eq!(status(stage, holder).await, "succeeded");
}

/// Each verdict that there is, and a run that goes on with what the others left.
async fn held_and_resumed(stage: &Stage) {
    let verdicts = ["retry", "skip", "succeed", "fail"];
    let pairs = verdicts.iter().flat_map(|verdict| [call(verdict, &[]), call(&format!("after-{verdict}"), &[verdict])]);
    let held = json!({"name": "held", "on_failure": "hold", "tasks": pairs.collect::<Vec<_>>()});
    let workflow = made(stage, &held).await;
    stage.target_fails(true);
    let held = run(stage, &workflow).await;
    work(stage).await;
    stage.target_fails(false);
    for verdict in verdicts {
        done(stage, &format!("{held}/tasks/{verdict}/{verdict}")).await;
    }
    work(stage).await;
    assert_eq!(status(stage, &held).await, "failed");
    let (code, resumed) = stage.ask("POST", &format!("{held}/resume"), None).await;
    assert_eq!(code, 202, "{resumed}");
    work(stage).await;
    let resumed = format!("/v1/workflow-runs/{}", resumed["workflow_run_id"].as_str().expect("an id"));
    assert_eq!(status(stage, &resumed).await, "succeeded");
}

/// A workflow in a workflow, whose question nobody answers for longer than a run may stand still: the sweeper finds its time up.
async fn called_by_another(stage: &Stage, workflow: &str) {
    let outer = json!({"name": "outer", "tasks": [inner(workflow)], "finally": [call("tidy", &[])]});
    let outer = made(stage, &outer).await;
    let run = run(stage, &outer).await;
    work(stage).await;
    assert_eq!(task(stage, &run, "inner").await, "waiting");
    for _ in 0..4 {
        stage.sweep_all().await;
        stage.purge();
        stage.jump_to(stage.now() + 8 * MINUTE);
    }
    for _ in 0..2 {
        stage.sweep_all().await;
        work(stage).await;
        stage.jump_to(stage.now() + 2 * MINUTE);
    }
    assert_eq!(status(stage, &run).await, "succeeded");
}

/// Everything that can be read of it, and a repair.
async fn watched(stage: &Stage, workflow: &str) {
    let run = run(stage, workflow).await;
    work(stage).await;
    for path in [
        "/v1/workflows".to_owned(),
        "/v1/workflow-runs?limit=5".to_owned(),
        "/v1/workflow-runs?status=failed".to_owned(),
        format!("/v1/workflows/{workflow}/runs"),
        format!("/v1/workflows/{workflow}/versions"),
        format!("{run}/tasks"),
        format!("{run}/tasks/each/branches"),
        format!("{run}/tasks/each/branches?state=succeeded"),
        format!("{run}/events"),
    ] {
        let (status, answer) = stage.ask("GET", &path, None).await;
        assert!(status.is_success(), "{path}: {answer}");
    }
    done(stage, "/v1/repair").await;
}

/// A second version, a rest, and the end while something is under way.
async fn changed_and_deleted(stage: &Stage, workflow: &str) {
    let path = format!("/v1/workflows/{workflow}");
    let second = json!({"name": "release", "tasks": [call("only", &[])]});
    let (status, answer) = stage.ask("PUT", &path, Some(&second)).await;
    assert!(status.is_success(), "{answer}");
    done(stage, &format!("{path}/pause")).await;
    done(stage, &format!("{path}/resume")).await;
    let (status, answer) = stage.ask("DELETE", &format!("{path}?cancel=true"), None).await;
    assert!(status.is_success(), "{answer}");
    work(stage).await;
}

/// Joins of each rule, one that is a tree, a question, what runs at last; and one place for all its runs.
fn release() -> Value {
    let by = |rule: &str, before: &[&str]| {
        let mut task = call(rule, before);
        task["rule"] = rule.into();
        task
    };
    let mut each = call("each", &["all"]);
    each["for_each"] = json!({"items": (0..70).collect::<Vec<_>>(), "max_concurrent": 20, "tolerate": 1});
    each["payload"] = json!({"item": "{{item}}", "long": "x".repeat(600)});
    json!({
        "name": "release",
        "max_concurrent_runs": 1,
        "tasks": [
            call("load", &[]),
            call("clean", &["load"]),
            call("check", &["load"]),
            by("all", &["clean", "check"]),
            by("any", &["clean", "check"]),
            by("none_failed", &["clean", "check"]),
            each,
            {"key": "ask", "depends_on": ["each"], "approval": {"roles": ["operator"], "timeout_seconds": 600, "default": "approve"}},
            {"key": "told", "depends_on": ["each"], "target": {"noop": {}}},
        ],
        "output": {"answers": "{{tasks.each.results}}"},
    })
}

fn call(key: &str, before: &[&str]) -> Value {
    let target = json!({"http": {"url": "https://example.com/hook"}});
    json!({"key": key, "depends_on": before, "target": target, "retry": {"max_retries": 0}})
}

/// The task that calls a workflow.
fn inner(workflow: &str) -> Value {
    json!({"key": "inner", "target": {"workflow": {"id": workflow}}})
}

async fn made(stage: &Stage, workflow: &Value) -> String {
    let (status, made) = stage.ask("POST", "/v1/workflows", Some(workflow)).await;
    assert_eq!(status, 201, "{made}");
    made["workflow_id"].as_str().expect("an id").to_owned()
}

/// The path of a new run.
async fn run(stage: &Stage, workflow: &str) -> String {
    let (status, asked) = stage.ask("POST", &format!("/v1/workflows/{workflow}/run"), None).await;
    assert_eq!(status, 202, "{asked}");
    // A second begins before the next one is asked for: who came first is first in the line.
    stage.jump_to(stage.now() + Duration::from_secs(1));
    format!("/v1/workflow-runs/{}", asked["run_id"].as_str().expect("an id"))
}

async fn work(stage: &Stage) {
    stage.work_until(stage.now() + Duration::from_secs(30)).await;
}

async fn done(stage: &Stage, path: &str) {
    let (status, answer) = stage.ask("POST", path, None).await;
    assert!(status.is_success(), "{path}: {answer}");
}

async fn status(stage: &Stage, run: &str) -> String {
    let (_, run) = stage.ask("GET", run, None).await;
    run["status"].as_str().expect("it is there").to_owned()
}

/// How far a task is.
async fn task(stage: &Stage, run: &str, key: &str) -> String {
    let (_, run) = stage.ask("GET", run, None).await;
    let tasks = run["tasks"].as_array().expect("it has begun");
    let task = tasks.iter().find(|task| task["key"] == key).expect("it has this task");
    task["state"].as_str().expect("it has a state").to_owned()
}
