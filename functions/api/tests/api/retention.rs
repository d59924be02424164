//! For how long what is over is kept, as clients ask for it, and as runs are pinned to it.

use minutehand_domain::id::RunKey;
use minutehand_domain::retention::Retention;
use minutehand_domain::run::Run;
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use serde_json::{Value, json};

use crate::world::{World, acme};

#[tokio::test]
async fn a_jobs_retention_is_shown_changed_and_taken_back() {
    let world = World::new();

    let made = world.post("/v1/jobs", json!({"target": {"noop": {}}, "retention_days": 90})).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let changed = world.patch(&path, json!({"retention_days": 7})).await;
    let taken_back = world.patch(&path, json!({"retention_days": null})).await;

    assert_eq!((made.field("/retention_days"), changed.field("/retention_days")), (json!(90), json!(7)));
    assert_eq!(taken_back.json().get("retention_days"), None);
}

#[tokio::test]
async fn a_retention_is_from_a_day_to_ten_years_of_a_job_and_of_a_workflow() {
    let world = World::new();
    for bad in [json!(0), json!(3651), json!(-1)] {
        let job = world.post("/v1/jobs", json!({"target": {"noop": {}}, "retention_days": bad})).await;
        let tasks = json!([{"key": "a", "target": {"noop": {}}}]);
        let workflow = world.post("/v1/workflows", json!({"name": "etl", "tasks": tasks, "retention_days": bad})).await;

        for answer in [job, workflow] {
            assert_eq!(answer.problem(422, "invalid"), ["/retention_days"], "{bad}");
        }
    }
}

/// Removed: the bound at the birth of a run. Whoever pays for the table had no say in how long a job keeps what it left.
#[tokio::test]
async fn a_run_is_kept_as_its_job_says_and_no_longer_than_its_tenant_may() {
    for (job, quota, kept) in [
        (json!(7), Value::Null, Some(7)),
        (json!(7), json!(5), Some(5)),
        (json!(7), json!(9), Some(7)),
        (Value::Null, json!(9), Some(9)),
        (Value::Null, Value::Null, None),
    ] {
        let world = World::new();
        world.put("/v1/quotas/acme", json!({"retention_days": quota})).await;
        let made = json!({"schedule": {"on_demand": true}, "retention_days": job});
        let job = world.job_of(made).await;

        let run = world.post(&format!("/v1/jobs/{job}/run"), json!({})).await;

        let key: RunKey = run.word("/run_id").parse().unwrap();
        let seen = world.ports.store().get::<Run>(&acme(), key).await.unwrap().unwrap();
        assert_eq!(seen.item.kept.retention.map(Retention::days), kept, "{quota}");
    }
}
