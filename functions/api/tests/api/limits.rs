//! Limits that jobs share, as clients ask for them and as they see who waits.

use minutehand_domain::run::Outcome;
use serde_json::{Value, json};

use crate::world::World;

fn limited(more: &Value) -> Value {
    json!({
        "schedule": {"on_demand": true}, "target": {"worker": {"pool": "web1", "handler": "send"}},
        "concurrency": more,
    })
}

/// A run of a job of its own that is ready in the pool.
async fn ready(world: &World) -> String {
    let made = world.post("/v1/jobs", limited(&json!({"key": "billing", "limit": 1}))).await;
    let run = world.run_of(&made.word("/job_id")).await;
    work(world).await;
    run
}

async fn work(world: &World) {
    world.work(|_job, _run| -> Outcome { panic!("a worker's run is called by nobody") }).await;
}

async fn leases(world: &World) -> Vec<Value> {
    let asked = json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0, "max": 10});
    world.post("/v1/leases", asked).await.field("/leases").as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_jobs_limits_are_shown_changed_and_taken_back() {
    let world = World::new();
    let bounds = json!({"target": {"noop": {}}, "concurrency": {"key": "Konto Süd", "limit": 4}, "rate": {"key": "b", "per_minute": 100}});

    let made = world.post("/v1/jobs", bounds).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let changed = world.patch(&path, json!({"concurrency": {"limit": 5}, "rate": null})).await;
    let taken_back = world.patch(&path, json!({"concurrency": null})).await;

    assert_eq!(made.field("/concurrency"), json!({"key": "Konto Süd", "limit": 4}), "{}", made.text);
    assert_eq!(made.field("/rate"), json!({"key": "b", "per_minute": 100}));
    assert_eq!(changed.field("/concurrency"), json!({"key": "Konto Süd", "limit": 5}), "{}", changed.text);
    assert_eq!((changed.json().get("rate"), taken_back.json().get("concurrency")), (None, None));
}

/// Two jobs of one key, and one worker with hands for both.
#[tokio::test]
async fn a_worker_is_given_no_more_of_a_key_than_may_be_under_way() {
    let world = World::new();
    let runs = [ready(&world).await, ready(&world).await];

    let first = leases(&world).await;
    let [one, other] = &runs;
    let behind = if first[0]["run_id"] == json!(one) { other } else { one };
    let waits = world.get(&format!("/v1/runs/{behind}")).await;
    let done = json!({"token": first[0]["token"]});
    world.post(&format!("/v1/leases/{}/complete", first[0]["lease_id"].as_str().unwrap()), done).await;
    work(&world).await;
    let second = leases(&world).await;

    assert_eq!(first.len(), 1);
    assert_eq!(waits.word("/status"), "waiting");
    let words = waits.word("/waiting_for");
    assert!(words.starts_with("waits for a place of key \"billing\"") && words.ends_with("1 of 1 taken"), "{words}");
    assert_eq!((second.len(), &second[0]["run_id"]), (1, &json!(behind)), "whoever gave the place back woke it");
}
