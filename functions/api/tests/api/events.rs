//! The audit trail of a run: what happened, in order, and who did it.

use minutehand_domain::id::RunKey;
use minutehand_domain::run::{ErrorCode, Outcome};
use serde_json::{Value, json};

use crate::world::{Answer, ME, OTHER_KEY, START, World, at, failed, succeeded};

async fn events(world: &World, run: &str) -> Answer {
    let answer = world.get(&format!("/v1/runs/{run}/events")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// When, what, which attempt.
fn told(answer: &Answer) -> Vec<(String, String, Value)> {
    let items = answer.field("/items");
    let word = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
    let items = items.as_array().unwrap().iter();
    items.map(|event| (word(event, "at"), word(event, "type"), event["attempt"].clone())).collect()
}

fn event(seconds: u64, kind: &str, attempt: Option<u32>, by: Option<&str>, detail: Option<&str>) -> Value {
    json!({"at": at(seconds), "type": kind, "attempt": attempt, "by": by, "detail": detail})
}

#[tokio::test]
async fn a_run_that_failed_twice_tells_it_in_order() {
    let world = World::new();
    let retry = json!({"max_retries": 3, "backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"});
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": retry})).await;
    let run = world.run_of(&job).await;
    for outcome in [failed(ErrorCode::Http5xx), Outcome::TimedOut, succeeded()] {
        world.work(|_, _| outcome.clone()).await;
        world.pass(10);
    }

    let answer = events(&world, &run).await;

    let me = ME.worker.to_string();
    assert_eq!(
        answer.field("/items"),
        json!([
            event(0, "asked", None, Some("deployment"), None),
            event(0, "attempt_started", Some(1), Some(&me), None),
            event(0, "attempt_failed", Some(1), None, Some("http_5xx: as the test says")),
            event(10, "attempt_started", Some(2), Some(&me), None),
            event(10, "attempt_timed_out", Some(2), None, Some("timeout_total: no whole answer came within 60 s")),
            event(20, "attempt_started", Some(3), Some(&me), None),
            event(20, "attempt_succeeded", Some(3), None, None),
            event(20, "succeeded", None, None, None),
        ])
    );
}

#[tokio::test]
async fn a_run_that_waits_out_a_backoff_says_until_when() {
    let world = World::new();
    let retry = json!({"max_retries": 3, "backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"});
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": retry})).await;
    let run = world.run_of(&job).await;
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    let answer = events(&world, &run).await;

    let last = answer.field("/items/3");
    assert_eq!((&last["type"], &last["at"]), (&json!("retry_scheduled"), &json!(at(0))));
    assert!(last["detail"].as_str().unwrap().contains(&at(10)), "{last}");
}

#[tokio::test]
async fn attempts_that_no_longer_stand_inside_the_run_are_told_too() {
    let world = World::new();
    let retry = json!({"max_retries": 9, "backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"});
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": retry})).await;
    let run = world.run_of(&job).await;
    for _ in 0..10 {
        world.work(|_, _| failed(ErrorCode::Connect)).await;
        world.pass(10);
    }

    let answer = events(&world, &run).await;

    let told = told(&answer);
    let started: Vec<_> =
        told.iter().filter(|(_, kind, _)| kind == "attempt_started").map(|(.., n)| n.clone()).collect();
    assert_eq!(json!(started), json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(told.last().unwrap().1, "failed");
    assert_eq!(answer.items("detail").last().unwrap(), "error");
}

#[tokio::test]
async fn who_cancelled_it_and_who_asked_is_told_by_their_key() {
    let world = World::new();
    let key = world.post("/v1/keys", json!({"name": "ci", "role": "operator"})).await;
    let job = world.job(json!({"on_demand": true})).await;
    let asked = world.by(&key.word("/secret"), "POST", &format!("/v1/jobs/{job}/run"), None).await.word("/run_id");
    world.pass(5);

    world.tell(&format!("/v1/runs/{asked}/cancel")).await;

    let answer = events(&world, &asked).await;
    let kinds = [(at(0), "asked"), (at(5), "cancel_asked"), (at(5), "cancelled")];
    assert_eq!(told(&answer), kinds.map(|(at, kind)| (at, kind.to_owned(), Value::Null)));
    assert_eq!(answer.items("by"), [key.field("/key_id"), json!("deployment"), Value::Null]);
    assert!(!answer.text.contains(&key.word("/secret")));
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_it_runs_ends_with_its_attempt() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let run = world.run_of(&job).await;
    let hold = world.hold().await;
    world.pass(3);
    let cancelled = world.tell(&format!("/v1/runs/{run}/cancel")).await;
    world.pass(4);
    world.finish(&hold, &failed(ErrorCode::Http5xx)).await;

    let answer = events(&world, &run).await;

    assert_eq!(cancelled.field("/status"), "running");
    let kinds: Vec<_> = told(&answer).into_iter().map(|(at, kind, _)| (at, kind)).collect();
    assert_eq!(
        kinds,
        [
            (at(0), "asked"),
            (at(0), "attempt_started"),
            (at(3), "cancel_asked"),
            (at(7), "attempt_failed"),
            (at(7), "cancelled")
        ]
        .map(|(at, kind)| (at, kind.to_owned()))
    );
}

#[tokio::test]
async fn another_try_says_at_what() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}})).await;
    let run = world.run_of(&job).await;
    world.work(|_, _| failed(ErrorCode::Tls)).await;

    let again = world.tell(&format!("/v1/runs/{run}/retry")).await.word("/run_id");

    let answer = events(&world, &again).await;
    assert_eq!(
        answer.field("/items"),
        json!([{
            "at": at(0), "type": "asked_again", "attempt": null, "by": "deployment",
            "detail": format!("another try at {run}"),
        }])
    );
}

#[tokio::test]
async fn an_occurrence_is_scheduled_and_one_that_was_missed_says_why() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let next = world.get(&format!("/v1/jobs/{job}")).await.word("/next_run_id");

    let ahead = events(&world, &next).await;
    world.tell(&format!("/v1/runs/{next}/cancel")).await;
    let cancelled = events(&world, &next).await;

    assert_eq!(told(&ahead), [(at(60), "scheduled".to_owned(), Value::Null)]);
    let kinds: Vec<_> = told(&cancelled).into_iter().map(|(at, kind, _)| (at, kind)).collect();
    let expected = [(at(60), "scheduled"), (at(0), "cancel_asked"), (at(0), "cancelled")];
    assert_eq!(kinds, expected.map(|(at, kind)| (at, kind.to_owned())), "it begins with what it is about");
}

#[tokio::test]
async fn what_is_no_run_has_no_events() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let run = world.run_of(&job).await;
    let nowhere = RunKey::manual(job.parse().unwrap(), START, 99);

    for id in ["run_x", &nowhere.to_string(), &job] {
        world.get(&format!("/v1/runs/{id}/events")).await.problem(404, "not-found");
    }
    world.by(OTHER_KEY, "GET", &format!("/v1/runs/{run}/events"), None).await.problem(404, "not-found");
}
