//! Quotas: how much each tenant may use, and what they are told when it is more.

use std::time::Duration;

use minutehand_domain::id::Tenant;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::retention::Retention;
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{Answer, OTHER_KEY, World, acme, other, request, succeeded};

const THEIRS: &str = "/v1/quotas/other";

async fn limited(quota: Value) -> World {
    let world = World::new();
    let answer = world.put(THEIRS, quota).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    world
}

async fn theirs(world: &World, method: &str, path: &str, body: Option<Value>) -> Answer {
    world.by(OTHER_KEY, method, path, body).await
}

fn job(schedule: &Value) -> Value {
    json!({"target": {"noop": {}}, "schedule": schedule})
}

fn keyed(schedule: &Value, key: &str) -> Value {
    json!({"target": {"noop": {}}, "schedule": schedule, "idempotency_key": key})
}

/// They make a job.
async fn makes(world: &World, job: Value) -> Answer {
    theirs(world, "POST", "/v1/jobs", Some(job)).await
}

/// It is told when it is worth asking again.
fn refused(answer: &Answer, seconds: u64) {
    assert!(answer.problem(429, "quota-exceeded").is_empty());
    assert_eq!(answer.header("retry-after"), seconds.to_string(), "{}", answer.text);
}

#[tokio::test]
async fn who_has_no_quota_is_not_limited() {
    let world = World::new();

    let own = world.get("/v1/quotas").await;
    let of_nobody = world.get("/v1/quotas/nobody").await;

    let nothing = |tenant| {
        json!({
            "tenant": tenant, "max_jobs": null, "max_fires_per_minute": null, "max_concurrent_runs": null,
            "max_requests_per_second": null, "max_catch_up_per_minute": null,
            "retention_days": null,
        })
    };
    assert_eq!((own.json(), of_nobody.json()), (nothing("acme"), nothing("nobody")));
}

#[tokio::test]
async fn a_quota_is_set_as_a_whole_and_everybody_reads_their_own() {
    let world = World::new();
    let whole = json!({
        "max_jobs": 10, "max_fires_per_minute": 600, "max_concurrent_runs": 4, "max_requests_per_second": 50,
        "max_catch_up_per_minute": 30, "retention_days": 90,
    });

    let set = world.put(THEIRS, whole.clone()).await;

    let mut expected = whole;
    expected["tenant"] = json!("other");
    assert_eq!((set.status.as_u16(), set.json()), (200, expected.clone()));
    assert_eq!(world.get(THEIRS).await.json(), expected);
    assert_eq!(theirs(&world, "GET", "/v1/quotas", None).await.json(), expected);
    assert_eq!(world.get("/v1/quotas").await.field("/max_jobs"), Value::Null, "ours is another");
    let less = world.put(THEIRS, json!({"max_jobs": 0})).await;
    assert_eq!((less.field("/max_jobs"), less.field("/max_fires_per_minute")), (json!(0), Value::Null));
    let none = world.put(THEIRS, json!({"max_jobs": null})).await;
    assert_eq!(none.field("/max_jobs"), Value::Null);
}

#[tokio::test]
async fn only_the_deployments_key_sets_or_reads_anothers() {
    let world = World::new();
    for tenant in ["acme", "other", "nobody"] {
        let path = format!("/v1/quotas/{tenant}");
        theirs(&world, "PUT", &path, Some(json!({"max_jobs": 1}))).await.problem(403, "forbidden");
        theirs(&world, "GET", &path, None).await.problem(403, "forbidden");
    }
    assert_eq!(world.get(THEIRS).await.field("/max_jobs"), Value::Null);
}

#[tokio::test]
async fn an_impossible_quota_names_its_field() {
    let world = World::new();
    for (body, pointers) in [
        (json!({"max_jobs": -1}), vec!["/max_jobs"]),
        (json!({"max_jobs": 1.5}), vec!["/max_jobs"]),
        (json!({"max_jobs": "many"}), vec!["/max_jobs"]),
        (json!({"max_jobs": 1_000_000_001_u64}), vec!["/max_jobs"]),
        (json!({"max_jobs": u64::MAX}), vec!["/max_jobs"]),
        (
            json!({"max_requests_per_second": 0, "max_concurrent_runs": 0}),
            vec!["/max_concurrent_runs", "/max_requests_per_second"],
        ),
        (json!({"max_catch_up_per_minute": 0}), vec!["/max_catch_up_per_minute"]),
        (json!({"max_catch_up_per_minute": 60_001}), vec!["/max_catch_up_per_minute"]),
        (json!({"retention_days": 0}), vec!["/retention_days"]),
        (json!({"retention_days": 3651}), vec!["/retention_days"]),
        (json!({"max_job": 1}), vec!["/max_job"]),
        (json!({"tenant": "other"}), vec!["/tenant"]),
        (json!(7), vec![""]),
    ] {
        assert_eq!(world.put(THEIRS, body.clone()).await.problem(422, "invalid"), pointers, "{body}");
    }
    for tenant in ["Other", "a%20b", "a%2fb", "%00", &"x".repeat(65)] {
        world.put(&format!("/v1/quotas/{tenant}"), json!({})).await.problem(404, "not-found");
        world.get(&format!("/v1/quotas/{tenant}")).await.problem(404, "not-found");
    }
    world.by(crate::world::ACME_KEY, "PUT", THEIRS, None).await.problem(400, "malformed");
    assert_eq!(world.get(THEIRS).await.field("/max_jobs"), Value::Null);
}

#[tokio::test]
async fn requests_are_limited_by_the_second() {
    let world = limited(json!({"max_requests_per_second": 3})).await;

    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(theirs(&world, "GET", "/v1/jobs", None).await);
    }

    assert!(answers[..3].iter().all(|answer| answer.status == 200));
    refused(&answers[3], 1);
    refused(&answers[4], 1);
    for (method, path) in
        [("POST", "/v1/jobs"), ("GET", "/v1/quotas"), ("GET", "/v1/quotas/other"), ("DELETE", "/v1/jobs/x")]
    {
        refused(&theirs(&world, method, path, None).await, 1);
    }
    assert_eq!(world.get("/v1/jobs").await.status, 200, "another tenant's are not counted");
    world.pass(1);
    assert_eq!(theirs(&world, "GET", "/v1/jobs", None).await.status, 200);
}

#[tokio::test]
async fn what_is_not_let_in_uses_nobodys_quota() {
    let world = limited(json!({"max_requests_per_second": 1})).await;
    for key in ["mh_other_x", "mh_other_00000000000000000000_x", "nobody"] {
        world.by(key, "GET", "/v1/jobs", None).await.problem(401, "unauthorized");
    }
    let request = request("GET", "/v1/health", OTHER_KEY).body(String::new().into()).unwrap();
    assert_eq!(world.send(request).await.status, 200);

    assert_eq!(theirs(&world, "GET", "/v1/jobs", None).await.status, 200);
    refused(&theirs(&world, "GET", "/v1/jobs", None).await, 1);
}

/// Removed: whether it could fire before. Completed jobs were scheduled anew beyond any number.
#[tokio::test]
async fn a_completed_job_that_is_scheduled_anew_is_one_more_of_those_that_can_fire() {
    let world = World::new();
    let job = json!({"target": {"noop": {}}, "schedule": {"after_seconds": 1}});
    let made = async || world.by(OTHER_KEY, "POST", "/v1/jobs", Some(job.clone())).await.word("/job_id");
    let over = [made().await, made().await];
    world.pass(2);
    world.work(|_, _| succeeded()).await;
    world.pass(120);
    assert_eq!(world.put(THEIRS, json!({"max_jobs": 1})).await.status, 200);
    let again = async |id: &str| {
        let hourly = json!({"schedule": {"every_seconds": 3600}});
        world.by(OTHER_KEY, "PATCH", &format!("/v1/jobs/{id}"), Some(hourly)).await
    };

    assert_eq!(again(&over[0]).await.status, 200);
    again(&over[1]).await.problem(429, "quota-exceeded");
    let daily = json!({"schedule": {"every_seconds": 86400}});
    let changed = world.by(OTHER_KEY, "PATCH", &format!("/v1/jobs/{}", over[0]), Some(daily)).await;
    assert_eq!(changed.status, 200, "it counts already: {}", changed.text);
}

#[tokio::test]
async fn jobs_that_can_still_fire_are_limited() {
    let world = limited(json!({"max_jobs": 2})).await;
    let on_demand = json!({"on_demand": true});
    let first = makes(&world, keyed(&on_demand, "k")).await;
    let second = makes(&world, job(&json!({"after_seconds": 600}))).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));

    refused(&makes(&world, job(&on_demand)).await, 60);
    let again = makes(&world, keyed(&on_demand, "k")).await;
    let changed =
        theirs(&world, "PATCH", first.header("location"), Some(json!({"schedule": {"after_seconds": 5}}))).await;
    assert_eq!(world.post("/v1/jobs", job(&on_demand)).await.status, 201, "another tenant's are not counted");

    assert_eq!((again.status.as_u16(), again.field("/job_id")), (200, first.field("/job_id")), "it is made already");
    assert_eq!(changed.status, 200, "it takes the place of itself");
    world.pass(1);
    refused(&makes(&world, job(&on_demand)).await, 60);
}

#[tokio::test]
async fn there_is_room_again_when_a_job_is_deleted_or_has_no_more_to_do() {
    let world = limited(json!({"max_jobs": 1})).await;
    let on_demand = json!({"on_demand": true});
    let first = makes(&world, job(&on_demand)).await;
    refused(&makes(&world, job(&on_demand)).await, 60);

    theirs(&world, "DELETE", first.header("location"), None).await;
    refused(&makes(&world, job(&on_demand)).await, 60); // it was counted this very second
    world.pass(1);
    let once = makes(&world, job(&json!({"after_seconds": 5}))).await;
    world.pass(4);
    refused(&makes(&world, job(&on_demand)).await, 60);
    world.pass(2);
    let last = makes(&world, job(&on_demand)).await;

    assert_eq!((once.status.as_u16(), last.status.as_u16()), (201, 201));
}

/// Removed: a full quota refuses by its last count for half a minute, where nothing has changed. In these ten seconds the twenty jobs were counted ten
/// times: 200 items were read, and those of each page of a tenant with thousands.
#[tokio::test]
async fn a_full_quota_refuses_without_counting_each_second() {
    let world = limited(json!({"max_jobs": 20})).await;
    let on_demand = job(&json!({"on_demand": true}));
    for _ in 0..20 {
        assert_eq!(makes(&world, on_demand.clone()).await.status, 201);
    }
    let before = world.ports.store().meter().reads;

    for _ in 0..100 {
        world.ports.clock.pass(Duration::from_millis(100));
        refused(&makes(&world, on_demand.clone()).await, 60);
    }

    let read = world.ports.store().meter().reads - before;
    assert!(read < 2 * 20, "{read} items were read, of which a count reads twenty");
}

/// Removed: a job that is deleted here is noted. There was no room for half a minute.
#[tokio::test]
async fn there_is_room_within_a_second_of_a_deletion_however_long_it_was_full() {
    let world = limited(json!({"max_jobs": 1})).await;
    let on_demand = job(&json!({"on_demand": true}));
    let first = makes(&world, on_demand.clone()).await;
    world.pass(2);
    refused(&makes(&world, on_demand.clone()).await, 60); // it was counted again, and nothing has changed since
    world.pass(1);

    theirs(&world, "DELETE", first.header("location"), None).await;

    assert_eq!(makes(&world, on_demand).await.status, 201);
}

#[tokio::test]
async fn replays_make_no_job_and_take_no_room() {
    let world = limited(json!({"max_jobs": 2, "max_fires_per_minute": 2})).await;
    let once = json!({"after_seconds": 60});
    for _ in 0..5 {
        makes(&world, keyed(&once, "k")).await;
    }

    let second = makes(&world, job(&once)).await;

    assert_eq!(second.status, 201, "{}", second.text);
}

#[tokio::test]
async fn a_quota_of_none_is_none() {
    let world = limited(json!({"max_jobs": 0, "max_fires_per_minute": 0})).await;

    refused(&makes(&world, job(&json!({"on_demand": true}))).await, 60);
    refused(&makes(&world, job(&json!({}))).await, 60);
    refused(&makes(&world, job(&json!({"cron": "0 0 1 1 *"}))).await, 60);
}

#[tokio::test]
async fn a_batch_is_admitted_job_by_job() {
    let world = limited(json!({"max_jobs": 3})).await;
    let jobs = vec![job(&json!({"on_demand": true})); 5];

    let answer = theirs(&world, "POST", "/v1/jobs/batch", Some(json!({"jobs": jobs}))).await;

    let results = answer.field("/results");
    let statuses: Vec<_> = results.as_array().unwrap().iter().map(|result| result["status"].clone()).collect();
    assert_eq!(json!(statuses), json!([201, 201, 201, 429, 429]));
    assert_eq!(results[3]["problem"]["type"], "/problems/quota-exceeded");
}

#[tokio::test]
async fn what_schedules_fire_together_is_limited() {
    let world = limited(json!({"max_fires_per_minute": 60})).await;
    let each_second = makes(&world, job(&json!({"every_seconds": 2}))).await;
    assert_eq!(each_second.status, 201);
    let path = each_second.header("location");

    refused(&makes(&world, job(&json!({"every_seconds": 1}))).await, 60);
    let half = makes(&world, job(&json!({"every_seconds": 3}))).await;
    refused(&theirs(&world, "PATCH", path, Some(json!({"schedule": {"every_seconds": 1}}))).await, 60);
    let slower = theirs(&world, "PATCH", path, Some(json!({"schedule": {"every_seconds": 60}}))).await;
    let renamed = theirs(&world, "PATCH", path, Some(json!({"name": "x"}))).await;
    let on_demand = makes(&world, job(&json!({"on_demand": true}))).await;

    assert_eq!([half, slower, renamed, on_demand].map(|answer| answer.status.as_u16()), [201, 200, 200, 201]);
    let room = makes(&world, job(&json!({"every_seconds": 2}))).await;
    assert_eq!(room.status, 201, "{}", room.text);
}

#[tokio::test]
async fn runs_that_are_asked_for_are_limited_by_the_minute() {
    let world = limited(json!({"max_fires_per_minute": 6})).await;
    let id = makes(&world, job(&json!({"cron": "0 0 1 1 *"}))).await.word("/job_id");
    let path = format!("/v1/jobs/{id}/run");
    for _ in 0..6 {
        assert_eq!(theirs(&world, "POST", &path, None).await.status, 202);
    }

    refused(&theirs(&world, "POST", &path, None).await, 10);
    refused(&makes(&world, job(&json!({}))).await, 10);
    let recurring = makes(&world, job(&json!({"every_seconds": 60}))).await;
    assert_eq!(recurring.status, 201, "recurring ones have a room of their own");
    world.pass(9);
    refused(&theirs(&world, "POST", &path, None).await, 1);
    world.pass(1);
    assert_eq!(theirs(&world, "POST", &path, None).await.status, 202);
    refused(&theirs(&world, "POST", &path, None).await, 10);
}

#[tokio::test]
async fn a_retry_is_a_run_that_is_asked_for() {
    let world = limited(json!({"max_fires_per_minute": 2})).await;
    let id = makes(&world, job(&json!({"cron": "0 0 1 1 *"}))).await.word("/job_id");
    let run = theirs(&world, "POST", &format!("/v1/jobs/{id}/run"), None).await.word("/run_id");
    theirs(&world, "POST", &format!("/v1/runs/{run}/cancel"), None).await;

    let again = theirs(&world, "POST", &format!("/v1/runs/{run}/retry"), None).await;

    assert_eq!(again.status, 202);
    refused(&theirs(&world, "POST", &format!("/v1/runs/{run}/retry"), None).await, 30);
}

#[tokio::test]
async fn who_was_answered_before_is_answered_again_whatever_the_quota() {
    let world = limited(json!({"max_fires_per_minute": 2})).await;
    let once = keyed(&json!({"at": crate::world::at(30)}), "k");
    let made = makes(&world, once.clone()).await;
    let path = format!("{}/run", made.header("location"));
    let asked = theirs(&world, "POST", &path, Some(json!({"idempotency_key": "k"}))).await;
    refused(&theirs(&world, "POST", &path, Some(json!({"idempotency_key": "l"}))).await, 30);

    let made_again = makes(&world, once).await;
    let asked_again = theirs(&world, "POST", &path, Some(json!({"idempotency_key": "k"}))).await;

    assert_eq!((made_again.status.as_u16(), made_again.field("/job_id")), (200, made.field("/job_id")));
    assert_eq!((asked_again.status.as_u16(), asked_again.field("/run_id")), (200, asked.field("/run_id")));
}

#[tokio::test]
async fn the_queues_are_told_how_many_may_run_at_a_time() {
    let world = limited(json!({"max_concurrent_runs": 3})).await;
    world.put(THEIRS, json!({})).await;
    world.put("/v1/quotas/acme", json!({"max_concurrent_runs": 1})).await;

    assert_eq!(world.ports.queues.limits(), [(other(), Some(3)), (other(), None), (acme(), Some(1))]);
}

#[tokio::test]
async fn a_quota_that_another_process_set_is_in_force_within_seconds() {
    let world = World::new();
    assert_eq!(theirs(&world, "GET", "/v1/jobs", None).await.status, 200);
    let limits = Limits { max_requests_per_second: Some(1), ..Limits::default() };
    let quota = Quota::new(other(), limits);
    let deployment = Tenant::new("default").unwrap();
    assert!(world.ports.store().put(&deployment, other(), &quota, Guard::Absent).await.unwrap().is_written());

    world.ports.clock.pass(Duration::from_secs(5));

    assert_eq!(theirs(&world, "GET", "/v1/jobs", None).await.status, 200);
    refused(&theirs(&world, "GET", "/v1/jobs", None).await, 1);
}

#[tokio::test]
async fn a_quota_that_is_lifted_lets_everything_through_at_once() {
    let world = limited(json!({"max_jobs": 0, "max_requests_per_second": 1, "max_fires_per_minute": 0})).await;
    theirs(&world, "GET", "/v1/jobs", None).await;
    refused(&theirs(&world, "GET", "/v1/jobs", None).await, 1);

    world.put(THEIRS, json!({})).await;

    let made = makes(&world, job(&json!({}))).await;
    assert_eq!(made.status, 201);
    world.work(|_, _| succeeded()).await;
    let runs = theirs(&world, "GET", &format!("{}/runs", made.header("location")), None).await;
    assert_eq!(runs.items("status"), ["succeeded"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_creations_hardly_more_are_let_through_than_there_is_room() {
    let world = std::sync::Arc::new(limited(json!({"max_jobs": 5})).await);
    let racing: Vec<_> = (0..24)
        .map(|_| {
            let world = std::sync::Arc::clone(&world);
            tokio::spawn(async move { makes(&world, job(&json!({"on_demand": true}))).await })
        })
        .collect();

    let mut made = 0;
    for each in racing {
        let answer = each.await.unwrap();
        match answer.status.as_u16() {
            201 => made += 1,
            _ => refused(&answer, 60),
        }
    }

    assert!((5..=8).contains(&made), "a count may overtake those that are being made: {made}");
    refused(&makes(&world, job(&json!({"on_demand": true}))).await, 60);
}

/// Removed: a quota forgets what it said before (`remembers-what-a-quota-kept-before` shows what comes of that).
#[tokio::test]
async fn a_quota_remembers_that_runs_were_kept_for_less_long_and_shows_nothing_of_it() {
    let world = World::new();
    let mut kept_before = Vec::new();
    for days in [Some(7), Some(3), Some(90), Some(90), Some(2), None] {
        let answer = world.put(THEIRS, json!({"retention_days": days})).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["retention_days"]), (200, &json!(days)));
        let quota = world.ports.store().get::<Quota>(&Tenant::deployment(), other()).await.unwrap().unwrap().item;
        kept_before.push(quota.lengthened.map(|before| before.from.retention.map(Retention::days)));
    }

    assert_eq!(kept_before, [None, None, Some(Some(3)), Some(Some(3)), Some(Some(3)), Some(Some(2))]);
}
