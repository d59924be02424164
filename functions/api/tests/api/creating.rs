//! Creating jobs: what is answered, and that the same key creates once.

use std::sync::Arc;

use http::Request;
use minutehand_domain::body::Body;
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, World, at, in_the_usual_manner, request};

async fn with_key(world: &World, key: &str, body: &Value) -> Answer {
    let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
    world.send(request.header("idempotency-key", key).body(body.to_string().into()).unwrap()).await
}

fn noop() -> Value {
    json!({"target": {"noop": {}}})
}

#[tokio::test]
async fn a_job_is_answered_as_it_was_asked_for_with_every_default_spelled_out() {
    let world = World::new();

    let answer = world
        .post(
            "/v1/jobs",
            json!({
                "name": "monthly-billing", "owner": "finance", "tags": ["b", "a", "b"],
                "schedule": {"cron": "0 2 1 * *", "timezone": "America/New_York", "max_fires": 12},
                "target": {"http": {"url": "https://example.com/bill", "headers": {"x-a": "1"}}},
                "payload": {"any": "json"}, "priority": "critical", "timeout_seconds": 300,
                "retry": {"max_retries": 5, "give_up_after_seconds": 900}, "delivery": "at_most_once",
            }),
        )
        .await;

    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.field("/job_id");
    assert_eq!(answer.header("location"), format!("/v1/jobs/{}", id.as_str().unwrap()));
    let next_run_id = answer.field("/next_run_id");
    assert_eq!(
        answer.json(),
        json!({
            "job_id": id, "name": "monthly-billing", "owner": "finance", "tags": ["a", "b"],
            "status": "active", "generation": 1,
            "schedule": {
                "cron": "0 2 1 * *", "timezone": "America/New_York", "days": "either", "dst_gap": "next_valid",
                "dst_overlap": "by_kind", "max_fires": 12,
            },
            "target": {"http": {"url": "https://example.com/bill", "method": "POST", "headers": {"x-a": "1"}}},
            "payload": {"any": "json"}, "priority": "critical", "timeout_seconds": 300,
            "retry": {
                "max_retries": 5, "backoff": "exponential", "initial_delay_seconds": 30, "max_delay_seconds": 3600,
                "jitter": "full", "give_up_after_seconds": 900, "break_after_instant_failures": null,
            },
            "delivery": "at_most_once", "catch_up": {"policy": "last", "window_seconds": 86_400},
            "created_at": at(0), "updated_at": at(0),
            "next_run_at": "2027-02-01T07:00:00.000Z", "next_run_id": next_run_id,
        })
    );
}

#[tokio::test]
async fn each_policy_of_catching_up_is_shown_with_what_goes_with_it() {
    let world = World::new();
    let usual = json!({"policy": "last", "window_seconds": 86_400});
    for (asked, shown) in [
        (Value::Null, usual.clone()),
        (json!({}), usual.clone()),
        (json!({"policy": null, "max_runs": null, "window_seconds": null}), usual.clone()),
        (json!({"policy": "last"}), usual),
        (json!({"window_seconds": 60.0}), json!({"policy": "last", "window_seconds": 60})),
        (json!({"policy": "none"}), json!({"policy": "none"})),
        (json!({"policy": "all"}), json!({"policy": "all", "max_runs": 100, "window_seconds": 86_400})),
        (
            json!({"policy": "all", "max_runs": 1000, "window_seconds": 2_592_000}),
            json!({"policy": "all", "max_runs": 1000, "window_seconds": 2_592_000}),
        ),
        (
            json!({"policy": "all", "rate_per_minute": 60_000}),
            json!({"policy": "all", "max_runs": 100, "window_seconds": 86_400, "rate_per_minute": 60_000}),
        ),
    ] {
        let id = world.job_of(json!({"schedule": {"every_seconds": 60}, "catch_up": asked})).await;

        assert_eq!(world.get(&format!("/v1/jobs/{id}")).await.field("/catch_up"), shown, "{asked}");
    }
}

#[tokio::test]
async fn each_kind_of_schedule_is_shown_as_it_was_asked_for() {
    let world = World::new();
    for (asked, shown, next) in [
        (json!({}), json!({}), json!(at(0))),
        (json!({"at": at(90)}), json!({"at": at(90)}), json!(at(90))),
        (json!({"at": "2027-01-15T09:01:30+01:00"}), json!({"at": at(90)}), json!(at(90))),
        (json!({"after_seconds": 5}), json!({"after_seconds": 5}), json!(at(5))),
        (json!({"every_seconds": 60}), json!({"every_seconds": 60}), json!(at(60))),
        (
            json!({"every_seconds": 60, "start_at": at(10), "end_at": at(900)}),
            json!({"every_seconds": 60, "start_at": at(10), "end_at": at(900)}),
            json!(at(10)),
        ),
        (json!({"cron": "@hourly"}), in_the_usual_manner(json!({"cron": "@hourly"})), json!(at(0))),
        (json!({"on_demand": true}), json!({"on_demand": true}), Value::Null),
    ] {
        let answer = world.post("/v1/jobs", json!({"target": {"noop": {}}, "schedule": asked})).await;

        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!((answer.field("/schedule"), answer.field("/next_run_at")), (shown, next), "{asked}");
        assert_eq!(answer.field("/status"), "active");
        assert_eq!(answer.field("/next_run_id").is_null(), answer.field("/next_run_at").is_null());
    }
}

#[tokio::test]
async fn a_payload_comes_back_digit_by_digit_however_large() {
    let world = World::new();
    let long = "x".repeat(2000);
    for payload in ["12345678901234567890.10", r#"{"z":1.0,"a":[1e3,"\u00e9 "]}"#, &format!("[\"{long}\"]")] {
        let body = format!(r#"{{"target": {{"noop": {{}}}}, "payload":  {payload} }}"#);
        let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");

        let created = world.send(request.body(body.into()).unwrap()).await;
        let read = world.get(created.header("location")).await;

        let told = format!("\"payload\":{payload},");
        assert!(created.text.contains(&told) && read.text.contains(&told), "{}", created.text);
    }
}

#[tokio::test]
async fn a_large_payload_is_kept_apart_and_left_out_of_lists() {
    let world = World::new();
    let payload = json!("x".repeat(1000));

    let created = world.post("/v1/jobs", json!({"target": {"noop": {}}, "payload": payload})).await;

    let id = created.field("/job_id");
    let job = world.stored_job(id.as_str().unwrap()).await;
    assert!(matches!(job.definition.payload, Body::Apart(_)));
    assert!(world.get("/v1/jobs").await.field("/items/0").get("payload").is_none());
    assert_eq!(world.get(created.header("location")).await.field("/payload"), payload);
}

#[tokio::test]
async fn without_a_key_the_same_request_twice_is_two_jobs() {
    let world = World::new();

    let (one, two) = (world.post("/v1/jobs", noop()).await, world.post("/v1/jobs", noop()).await);

    assert_eq!((one.status.as_u16(), two.status.as_u16()), (201, 201));
    assert_ne!(one.field("/job_id"), two.field("/job_id"));
}

#[tokio::test]
async fn the_same_key_and_request_again_is_the_first_answer_in_any_spelling() {
    let world = World::new();
    let first = with_key(&world, "k", &noop()).await;
    world.pass(100);

    let again = with_key(&world, "k", &noop()).await;
    let in_body = world.post("/v1/jobs", json!({"idempotency_key": "k", "target": {"noop": {}}})).await;
    let both = with_key(&world, "k", &json!({"idempotency_key": "k", "target": {"noop": {}}})).await;

    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (201, ""));
    for replay in [again, in_body, both] {
        assert_eq!((replay.status.as_u16(), replay.header("idempotency-replayed")), (200, "true"));
        assert_eq!(replay.text, first.text);
    }
}

#[tokio::test]
async fn a_replay_is_answered_even_when_its_instant_has_passed() {
    let world = World::new();
    let body = json!({"target": {"noop": {}}, "schedule": {"at": at(10)}});
    let first = with_key(&world, "k", &body).await;
    world.pass(3600);

    let again = with_key(&world, "k", &body).await;
    let other = with_key(&world, "l", &body).await;

    assert_eq!((again.status.as_u16(), again.text), (200, first.text));
    assert_eq!(other.problem(422, "invalid"), ["/schedule/at"]);
}

#[tokio::test]
async fn a_replay_after_a_delete_is_the_deleted_job() {
    let world = World::new();
    let first = with_key(&world, "k", &noop()).await;
    world.delete(first.header("location")).await;

    let again = with_key(&world, "k", &noop()).await;

    assert_eq!((again.status.as_u16(), again.field("/status")), (200, json!("cancelled")));
}

#[tokio::test]
async fn the_same_key_with_another_request_is_refused() {
    let world = World::new();
    with_key(&world, "k", &noop()).await;

    let other = with_key(&world, "k", &json!({"target": {"noop": {}}, "payload": 1})).await;

    assert_eq!(other.problem(422, "idempotency-key-reused"), ["/idempotency_key"]);
}

#[tokio::test]
async fn header_and_field_must_agree_and_a_key_has_bounds() {
    let world = World::new();
    let disagreeing = with_key(&world, "k", &json!({"idempotency_key": "l", "target": {"noop": {}}})).await;
    let long = with_key(&world, &"k".repeat(256), &noop()).await;
    let empty = with_key(&world, "", &noop()).await;
    let twice = request("POST", "/v1/jobs", ACME_KEY)
        .header("content-type", "application/json")
        .header("idempotency-key", "k")
        .header("idempotency-key", "k");
    let twice = world.send(twice.body(noop().to_string().into()).unwrap()).await;

    for answer in [disagreeing, long, empty, twice] {
        assert_eq!(answer.problem(422, "invalid"), ["/idempotency_key"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_24_racing_creations_with_one_key_one_makes_the_job() {
    let world = Arc::new(World::new());
    let racing: Vec<_> = (0..24)
        .map(|_| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { with_key(&world, "k", &noop()).await })
        })
        .collect();

    let mut created = 0;
    let mut texts = Vec::new();
    for each in racing {
        let answer = each.await.unwrap();
        created += u32::from(answer.status == 201);
        assert!(answer.status == 201 || answer.header("idempotency-replayed") == "true", "{}", answer.text);
        texts.push(answer.text);
    }

    texts.dedup();
    assert_eq!((created, texts.len()), (1, 1));
    assert_eq!(world.get("/v1/jobs").await.field("/items").as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn white_space_around_the_body_and_parameters_of_its_type_are_fine() {
    let world = World::new();
    let request: http::request::Builder =
        request("POST", "/v1/jobs", ACME_KEY).header("content-type", "Application/JSON; charset=utf-8");
    let request: Request<_> = request.body(" \n{\"target\":{\"noop\":{}}}\n".into()).unwrap();

    assert_eq!(world.send(request).await.status, 201);
}
