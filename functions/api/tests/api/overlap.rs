//! Overlap, as clients ask for it and as they see who makes way for whom.

use minutehand_domain::run::Outcome;
use serde_json::{Value, json};

use crate::world::World;

fn job(overlap: &Value) -> Value {
    json!({
        "schedule": {"on_demand": true}, "target": {"worker": {"pool": "web1", "handler": "send"}}, "overlap": overlap,
    })
}

async fn work(world: &World) {
    world.work(|_job, _run| -> Outcome { panic!("a worker's run is called by nobody") }).await;
}

/// Two runs of one job of which the first is a worker's, after the worker has asked for more.
async fn two_runs(world: &World, overlap: &Value) -> ([String; 2], Value) {
    let made = world.post("/v1/jobs", job(overlap)).await;
    let id = made.word("/job_id");
    let mut runs = Vec::new();
    let mut leased = Vec::new();
    for _ in 0..2 {
        runs.push(world.run_of(&id).await);
        work(world).await;
        let asked = json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0, "max": 10});
        let answer = world.post("/v1/leases", asked).await;
        leased.extend(answer.field("/leases").as_array().cloned().unwrap_or_default());
        world.pass(1);
    }
    assert_eq!(leased.len(), 1, "one at once: {leased:?}");
    (runs.try_into().unwrap(), leased.remove(0))
}

#[tokio::test]
async fn a_jobs_overlap_is_shown_changed_and_taken_back() {
    let world = World::new();

    let made = world.post("/v1/jobs", json!({"target": {"noop": {}}, "overlap": {"policy": "queue"}})).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let wider = world.patch(&path, json!({"overlap": {"max_waiting": 7}})).await;
    let another = world.patch(&path, json!({"overlap": {"policy": "skip"}})).await;
    let allowed = world.patch(&path, json!({"overlap": {"policy": null, "max": 3}})).await;
    let taken_back = world.patch(&path, json!({"overlap": null})).await;

    assert_eq!(made.field("/overlap"), json!({"policy": "queue", "max_waiting": 1}), "{}", made.text);
    assert_eq!(wider.field("/overlap"), json!({"policy": "queue", "max_waiting": 7}), "{}", wider.text);
    assert_eq!(another.field("/overlap"), json!({"policy": "skip"}), "{}", another.text);
    assert_eq!(allowed.field("/overlap"), json!({"policy": "allow", "max": 3}), "{}", allowed.text);
    assert_eq!(taken_back.json().get("overlap"), None, "{}", taken_back.text);
}

#[tokio::test]
async fn a_workflow_has_an_overlap_of_its_own() {
    let world = World::new();
    let tasks = json!([{"key": "a", "target": {"noop": {}}}]);

    let made = world.post("/v1/workflows", json!({"name": "w", "tasks": tasks, "overlap": {"policy": "skip"}})).await;
    let path = format!("/v1/workflows/{}", made.word("/workflow_id"));
    let runs =
        [world.post(&format!("{path}/run"), json!({})).await, world.post(&format!("{path}/run"), json!({})).await];
    let unfolded = |task: &str, _run: &minutehand_domain::run::Run| -> Option<Outcome> {
        assert_eq!(task, "a");
        None
    };
    world.work_tasks(unfolded).await;
    let shown = [&runs[0], &runs[1]].map(|run| format!("/v1/runs/{}", run.word("/run_id")));
    let reasons = [world.get(&shown[0]).await.field("/reason"), world.get(&shown[1]).await.field("/reason")];
    let without = world.put(&path, json!({"name": "w", "tasks": tasks})).await;

    assert_eq!(made.field("/overlap"), json!({"policy": "skip"}), "{}", made.text);
    assert_eq!(reasons.iter().filter(|reason| **reason == json!("overlap")).count(), 1, "{reasons:?}");
    assert_eq!(without.json().get("overlap"), None, "{}", without.text);
}

#[tokio::test]
async fn a_run_that_makes_way_says_for_which() {
    let world = World::new();

    let ([first, second], _) = two_runs(&world, &json!({"policy": "skip"})).await;
    let shown = world.get(&format!("/v1/runs/{second}")).await;
    let events = world.get(&format!("/v1/runs/{second}/events")).await;

    let told = json!(format!("run {first} of its job was not over"));
    assert_eq!((shown.word("/status"), shown.word("/reason")), ("skipped".to_owned(), "overlap".to_owned()));
    assert_eq!(shown.field("/detail"), told, "{}", shown.text);
    assert_eq!(events.field("/items").as_array().unwrap().last().unwrap()["detail"], told, "{}", events.text);
}

#[tokio::test]
async fn a_run_that_waits_says_for_its_job_and_goes_on_when_that_one_ends() {
    let world = World::new();

    let ([_, second], lease) = two_runs(&world, &json!({"policy": "queue"})).await;
    let path = format!("/v1/runs/{second}");
    let waits = world.get(&path).await;
    let done = json!({"token": lease["token"]});
    world.post(&format!("/v1/leases/{}/complete", lease["lease_id"].as_str().unwrap()), done).await;
    work(&world).await;
    let asked = json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0});
    let next = world.post("/v1/leases", asked).await;

    let words = waits.word("/waiting_for");
    assert!(words.starts_with("waits for a place of its job since") && words.ends_with("1 of 1 taken"), "{words}");
    assert_eq!(next.field("/leases/0/run_id"), json!(second), "{}", next.text);
}

#[tokio::test]
async fn a_worker_is_told_that_a_newer_run_has_come() {
    let world = World::new();

    let ([first, second], lease) = two_runs(&world, &json!({"policy": "cancel_previous"})).await;
    let kept = world
        .post(
            &format!("/v1/leases/{}/heartbeat", lease["lease_id"].as_str().unwrap()),
            json!({"token": lease["token"]}),
        )
        .await;
    let events = world.get(&format!("/v1/runs/{first}/events")).await;

    assert_eq!(kept.field("/cancel_requested"), json!(true), "{}", kept.text);
    let all = events.field("/items");
    let asked = all.as_array().unwrap().iter().find(|event| event["type"] == "cancel_asked").expect("it is told");
    assert_eq!(
        (&asked["by"], &asked["note"]),
        (&json!("overlap"), &json!(format!("run {second} of its job has come")))
    );
}
