//! Stats: a tenant's own runs and jobs, counted.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::Job;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{ErrorCode, Outcome, Run};
use minutehand_io::Ports as _;
use minutehand_io::store::embedded::Codec;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, START, World, at, failed, succeeded};

#[tokio::test]
async fn where_nothing_is_everything_is_none() {
    let world = World::new();

    let answer = world.get("/v1/stats").await;

    assert_eq!(answer.status, 200);
    assert_eq!((answer.field("/runs"), answer.field("/jobs")), (json!({}), json!({})));
    assert_eq!((answer.field("/lag_ms"), answer.field("/runs_per_minute")), (Value::Null, json!(0.0)));
    assert_eq!((answer.field("/to"), answer.field("/complete")), (json!(at(0)), json!(true)));
    assert_eq!(answer.field("/from"), "2027-01-15T07:00:00.000Z", "the last hour");
}

#[tokio::test]
async fn runs_and_jobs_are_counted_by_what_they_are() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}})).await;
    let paused = world.job(json!({"every_seconds": 3600})).await;
    world.tell(&format!("/v1/jobs/{paused}/pause")).await;
    let deleted = world.job(json!({"every_seconds": 3600})).await;
    world.delete(&format!("/v1/jobs/{deleted}")).await;
    for (late, outcome) in [(0, succeeded()), (2, succeeded()), (10, failed(ErrorCode::Dns)), (0, Outcome::TimedOut)] {
        world.run_of(&job).await;
        world.pass(late);
        world.work(|_, _| outcome.clone()).await;
    }
    world.run_of(&job).await;
    world.job(json!({"at": at(12)})).await;
    world.pass(1);

    let answer = world.get("/v1/stats").await;

    let runs = json!({"succeeded": 2, "failed": 1, "timed_out": 1, "queued": 1});
    assert_eq!(answer.field("/runs"), runs);
    assert_eq!(answer.field("/jobs"), json!({"active": 1, "paused": 1, "cancelled": 1, "completed": 1}));
    assert_eq!(answer.field("/lag_ms"), json!({"p50": 2000, "p99": 10_000, "max": 10_000}));
    assert!((answer.field("/runs_per_minute").as_f64().unwrap() - 5.0 / 60.0).abs() < 1e-9);
}

#[tokio::test]
async fn only_what_lies_in_the_last_minutes_is_counted() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for _ in 0..3 {
        world.run_of(&job).await;
        world.pass(600);
    }

    let count = async |query: &str| world.get(&format!("/v1/stats{query}")).await.field("/runs");

    assert_eq!(count("").await, json!({"queued": 3}));
    assert_eq!(count("?minutes=20").await, json!({"queued": 2}));
    assert_eq!(count("?minutes=1").await, json!({}));
    assert_eq!(count("?minutes=1440").await, json!({"queued": 3}));
    for (query, pointer) in
        [("minutes=0", "?minutes"), ("minutes=1441", "?minutes"), ("minutes=x", "?minutes"), ("minute=1", "?minute")]
    {
        assert_eq!(world.get(&format!("/v1/stats?{query}")).await.problem(422, "invalid"), [pointer]);
    }
}

#[tokio::test]
async fn nothing_of_another_tenant_is_counted() {
    let world = World::new();
    let before = world.by(OTHER_KEY, "GET", "/v1/stats", None).await.text;
    let job = world.job(json!({"on_demand": true})).await;
    world.run_of(&job).await;
    world.work(|_, _| succeeded()).await;

    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/stats", None).await.text, before);
}

/// As after a rollback, when a later release wrote what lies there.
///
/// Removed: of jobs and of runs so many are looked at. It read on until it had found a page of jobs: 8,001 items.
#[tokio::test]
async fn what_cannot_be_read_and_what_is_gone_cost_no_more_than_what_is_there() {
    let world = World::new();
    let (id, later) = (world.job(json!({"on_demand": true})).await, world.ports.store().seen_through(Codec::Later));
    let job = world.stored_job(&id).await;
    for n in 0..6_000_u64 {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&n.to_be_bytes());
        let (tenant, id) = (job.tenant.clone(), JobId::from_bytes(bytes));
        let head =
            if n % 2 == 0 { Head::Tombstone { tenant, id, epoch: 1 } } else { Head::Job(Job { id, ..job.clone() }) };
        let store = if n % 2 == 0 { world.ports.store() } else { &later };
        assert!(store.put(head.tenant(), head.id(), &head, Guard::Absent).await.unwrap().is_written());
        let run = Run::new(job.tenant.clone(), RunKey::manual(job.id, START, n), Priority::Normal);
        assert!(later.put(&run.tenant, run.key, &run, Guard::Absent).await.unwrap().is_written());
    }
    let before = world.ports.store().meter().reads;

    let answer = world.get("/v1/stats").await;

    let reads = world.ports.store().meter().reads - before;
    assert!(reads <= 3_100, "{reads} items were read");
    assert_eq!((answer.field("/complete"), answer.field("/jobs")), (json!(false), json!({})));
    assert_eq!((answer.field("/runs"), answer.field("/from")), (json!({}), json!(at(0))));
}

/// Tried: with the bound of 20,000 that there was, it reads 24,801 items.
#[tokio::test]
async fn however_much_there_is_a_page_of_each_is_read_and_the_answer_says_so() {
    let world = World::new();
    let id = world.job(json!({"on_demand": true})).await;
    let job = world.stored_job(&id).await;
    for n in 0..100_000_u64 {
        let mut bytes = *job.id.as_bytes();
        bytes[8..].copy_from_slice(&n.to_be_bytes());
        let job = Job { id: JobId::from_bytes(bytes), ..job.clone() };
        let head = Head::Job(job);
        assert!(world.ports.store().put(head.tenant(), head.id(), &head, Guard::Absent).await.unwrap().is_written());
    }
    for _ in 0..2_400 {
        world.run_of(&id).await;
        world.pass(1);
    }
    let before = world.ports.store().meter().reads;

    let answer = world.get("/v1/stats").await;

    let reads = world.ports.store().meter().reads - before;
    assert!(reads <= 3_100, "{reads} items were read");
    assert_eq!((answer.field("/complete"), answer.field("/jobs")), (json!(false), json!({"active": 1_000})));
    assert_eq!(answer.field("/runs"), json!({"queued": 1_000}));
    assert_eq!((answer.field("/from"), answer.field("/to")), (json!(at(1_400)), json!(at(2_400))));
    assert!((answer.field("/runs_per_minute").as_f64().unwrap() - 60.0).abs() < 1e-9);
}
