//! For how long what is over is kept, as clients ask for it, and as runs are pinned to it.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::retention::Retention;
use minutehand_domain::run::Run;
use minutehand_io::Ports as _;
use minutehand_io::store::{Deleted, RunBody, Store as _};
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

/// An hourly job fired three days ago, and what it left has expired. Removed: rule **forgotten**. The run was shown as still to come, and a cancel
/// put a timer into a minute that was left long ago.
#[tokio::test]
async fn an_occurrence_whose_record_may_have_expired_is_not_there() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"every_seconds": 3600}, "retention_days": 1})).await;
    let created = world.get(&format!("/v1/jobs/{job}")).await;
    let first = Moment::parse(&created.word("/next_run_at")).unwrap();
    let key = RunKey::occurrence(job.parse().unwrap(), first);
    let path = format!("/v1/runs/{key}");
    let to_come = world.get(&path).await;

    world.pass(3 * 86_400);
    let later = world.get(&path).await;
    let cancelled = world.post(&format!("{path}/cancel"), json!({})).await;

    assert_eq!((to_come.status.as_u16(), to_come.word("/status")), (200, "scheduled".to_owned()));
    assert_eq!([later.status.as_u16(), cancelled.status.as_u16()], [404, 404], "{}", later.text);
}

#[tokio::test]
async fn a_run_is_shown_though_its_job_has_gone_before_it() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}})).await;
    let run = world.post(&format!("/v1/jobs/{job}/run"), json!({})).await.word("/run_id");
    let id: JobId = job.parse().unwrap();
    let head = world.ports.store().get::<Head>(&acme(), id).await.unwrap().unwrap();
    assert_eq!(world.ports.store().delete::<Head>(&acme(), id, head.version).await.unwrap(), Deleted::Done);

    for path in [format!("/v1/runs/{run}"), format!("/v1/runs/{run}/logs"), format!("/v1/runs/{run}/events")] {
        let answer = world.get(&path).await;
        assert_eq!(answer.status.as_u16(), 200, "{path}: {}", answer.text);
    }
}

/// Removed: the quota is looked at when the run is born, and not when what it is given is kept. DynamoDB deleted that months before the run.
#[tokio::test]
async fn what_a_run_is_given_is_kept_as_long_as_the_run() {
    let world = World::new();
    world.put("/v1/quotas/acme", json!({"retention_days": 365})).await;
    let job = world.job_of(json!({"schedule": {"on_demand": true}})).await;
    let payload = json!({"text": "x".repeat(3000)});

    let run = world.post(&format!("/v1/jobs/{job}/run"), json!({"payload": payload})).await;

    let (key, digest) = (run.word("/run_id").parse().unwrap(), Json::of(&payload).digest());
    let body = world.ports.store().get::<RunBody>(&acme(), (key, digest)).await.unwrap().unwrap();
    assert!(body.item.until > world.now() + Duration::from_secs(365 * 86_400), "{}", body.item.until);
}
