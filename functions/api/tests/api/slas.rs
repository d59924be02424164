//! SLAs, as clients ask for them and as they see that one was missed; and deliveries that go with some targets only.

use serde_json::json;

use crate::world::{World, succeeded};

#[tokio::test]
async fn a_jobs_sla_is_shown_changed_and_taken_back() {
    let world = World::new();

    let made = world.post("/v1/jobs", json!({"target": {"noop": {}}, "sla_seconds": 300})).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let changed = world.patch(&path, json!({"sla_seconds": 60})).await;
    let taken_back = world.patch(&path, json!({"sla_seconds": null})).await;
    let without = world.post("/v1/jobs", json!({"target": {"noop": {}}})).await;

    assert_eq!(
        (made.field("/sla_seconds"), changed.field("/sla_seconds")),
        (json!(300), json!(60)),
        "{}",
        changed.text
    );
    assert_eq!((taken_back.json().get("sla_seconds"), without.json().get("sla_seconds")), (None, None));
}

#[tokio::test]
async fn an_sla_is_from_a_second_to_thirty_days() {
    let world = World::new();
    for bad in [json!(0), json!(2_592_001), json!(-1)] {
        let answer = world.post("/v1/jobs", json!({"target": {"noop": {}}, "sla_seconds": bad})).await;

        assert_eq!(answer.problem(422, "invalid"), ["/sla_seconds"], "{bad}");
    }
}

#[tokio::test]
async fn a_run_says_by_when_it_is_to_end_and_when_it_was_found_late() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "sla_seconds": 60})).await;
    let run = world.post(&format!("/v1/jobs/{job}/run"), json!({})).await;
    let path = format!("/v1/runs/{}", run.word("/run_id"));
    let waits = world.get(&path).await;

    world.pass(61);
    world.work(|_job, _run| succeeded()).await;
    let ended = world.get(&path).await;
    let events = world.get(&format!("{path}/events")).await;

    assert_eq!(waits.field("/sla/missed_at"), json!(null), "{}", waits.text);
    assert_eq!(ended.field("/status"), json!("succeeded"), "it goes on: {}", ended.text);
    assert_eq!(ended.field("/sla/missed_at"), ended.field("/started_at"));
    let all = events.field("/items");
    let missed = all.as_array().unwrap().iter().find(|event| event["type"] == "sla_missed").expect("it is told");
    assert!(missed["detail"].as_str().unwrap().ends_with("and began after that"), "{missed}");
}

#[tokio::test]
async fn a_workflow_has_an_sla_of_its_own() {
    let world = World::new();
    let tasks = json!([{"key": "a", "target": {"noop": {}}}]);

    let made = world.post("/v1/workflows", json!({"name": "etl", "tasks": tasks, "sla_seconds": 300})).await;
    let path = format!("/v1/workflows/{}", made.word("/workflow_id"));
    let run = world.post(&format!("{path}/run"), json!({})).await;
    let without = world.put(&path, json!({"name": "etl", "tasks": tasks})).await;

    assert_eq!(made.field("/sla_seconds"), json!(300), "{}", made.text);
    assert!(run.text.contains("due_by"), "{}", run.text);
    assert_eq!(without.json().get("sla_seconds"), None, "{}", without.text);
}

/// What is given no token can claim no effect.
#[tokio::test]
async fn effectively_once_goes_with_targets_that_can_claim_effects() {
    let world = World::new();
    let http = json!({"http": {"url": "https://example.com/"}});
    let worker = json!({"worker": {"pool": "web1", "handler": "send"}});
    let wish = |target| json!({"target": target, "delivery": "effectively_once", "schedule": {"on_demand": true}});
    for good in [&http, &worker] {
        let made = world.post("/v1/jobs", wish(good)).await;
        let path = format!("/v1/jobs/{}", made.word("/job_id"));
        let changed = world.patch(&path, json!({"target": {"noop": {}}})).await;

        assert_eq!(made.field("/delivery"), json!("effectively_once"));
        assert_eq!(changed.problem(422, "invalid"), ["/delivery"]);
    }

    let refused = world.post("/v1/jobs", wish(&json!({"noop": {}}))).await;
    let task = json!({"key": "a", "target": {"noop": {}}, "delivery": "effectively_once"});
    let of_a_task = world.post("/v1/workflows", json!({"name": "etl", "tasks": [task]})).await;

    assert_eq!(refused.problem(422, "invalid"), ["/delivery"]);
    assert_eq!(of_a_task.problem(422, "invalid"), ["/tasks/0/delivery"]);
}
