//! Bad input of every kind: each is a problem that names what is wrong and where.

use axum::body::Body;
use minutehand_domain::limits::{PAYLOAD_BYTES, TAGS};
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, World, request};

async fn raw(world: &World, body: impl Into<Body>) -> Answer {
    let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
    world.send(request.body(body.into()).unwrap()).await
}

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"target": {"noop": {}}});
    body.as_object_mut().unwrap().insert(field.to_owned(), value);
    body
}

#[tokio::test]
async fn what_is_not_json_is_malformed() {
    let world = World::new();
    let deep = format!(r#"{{"target":{{"noop":{{}}}},"payload":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for body in [
        "",
        "{",
        "nul",
        r#"{"target":{"noop":{}}} x"#,
        r#"{"target":{"noop":{}},"target":{"noop":{}}}"#,
        r#"{"target":{"noop":{}},"payload":{"a":1,"a":2}}"#,
        r#"{"target":{"noop":{}},"payload":"\ud800"}"#,
        r#"{"target":{"noop":{}},"payload":1e999}"#,
        deep.as_str(),
    ] {
        raw(&world, body.to_owned()).await.problem(400, "malformed");
    }
    raw(&world, &b"{\"target\":{\"noop\":{}},\"name\":\"\xff\"}"[..]).await.problem(400, "malformed");
}

#[tokio::test]
async fn an_unknown_field_is_pointed_at_and_a_typo_is_guessed() {
    let world = World::new();
    for (body, pointer, guess) in [
        (with("shedule", json!({})), "/shedule", Some("schedule")),
        (with("schedule", json!({"crn": "* * * * *"})), "/schedule/crn", Some("cron")),
        (with("retry", json!({"max_retrys": 1})), "/retry/max_retrys", Some("max_retries")),
        (json!({"target": {"htp": {"url": "https://a"}}}), "/target/htp", Some("http")),
        (json!({"target": {"http": {"url": "https://a", "header": {}}}}), "/target/http/header", Some("headers")),
        (json!({"target": {"noop": {"a/b~c": 1}}}), "/target/noop/a~1b~0c", None),
        (with("sla_seconds", json!(1)), "/sla_seconds", None),
    ] {
        let answer = world.post("/v1/jobs", body).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer]);
        let detail = answer.field("/errors/0/detail");
        let expected = guess.map(|guess| format!("did you mean `{guess}`?"));
        assert!(detail.as_str().unwrap().contains(&expected.unwrap_or_default()), "{detail}");
    }
}

#[tokio::test]
async fn a_wrong_type_or_a_missing_field_is_pointed_at() {
    let world = World::new();
    for (body, pointer) in [
        (json!([]), ""),
        (json!(7), ""),
        (json!({}), "/target"),
        (json!({"target": {}}), "/target"),
        (json!({"target": {"noop": {}, "http": {"url": "https://a"}}}), "/target"),
        (json!({"target": {"http": {}}}), "/target/http/url"),
        (json!({"target": {"http": {"url": "ftp://a"}}}), "/target/http/url"),
        (json!({"target": {"http": {"url": "https://a", "method": "BREW"}}}), "/target/http/method"),
        (json!({"target": {"http": {"url": "https://a", "headers": {"x": 1}}}}), "/target/http/headers/x"),
        (with("name", json!(7)), "/name"),
        (with("tags", json!(["a", 7])), "/tags/1"),
        (with("priority", json!("urgent")), "/priority"),
        (with("delivery", json!("never")), "/delivery"),
        (with("schedule", json!({"at": "monday"})), "/schedule/at"),
        (with("schedule", json!({"at": "2000-01-01T00:00:00Z"})), "/schedule/at"),
        (with("schedule", json!({"every_seconds": -1})), "/schedule/every_seconds"),
        (with("schedule", json!({"every_seconds": 1, "after_seconds": 1})), "/schedule/every_seconds"),
        (with("schedule", json!({"timezone": "UTC"})), "/schedule/timezone"),
        (with("retry", json!({"backoff": "none"})), "/retry/backoff"),
        (with("retry", json!({"initial_delay_seconds": 10, "max_delay_seconds": 5})), "/retry/max_delay_seconds"),
    ] {
        let answer = world.post("/v1/jobs", body.clone()).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{body}");
    }
}

#[tokio::test]
async fn every_bound_is_told_at_once() {
    let world = World::new();

    let answer = world
        .post(
            "/v1/jobs",
            json!({
                "target": {"http": {"url": "ftp://a"}}, "name": "", "owner": "x".repeat(65), "tags": ["", "a\nb"],
                "timeout_seconds": 841, "schedule": {"every_seconds": 0},
                "retry": {
                    "max_retries": 101, "initial_delay_seconds": 86_401, "give_up_after_seconds": 0,
                    "break_after_instant_failures": 0,
                },
            }),
        )
        .await;

    assert_eq!(
        answer.problem(422, "invalid"),
        [
            "/name",
            "/owner",
            "/tags/0",
            "/tags/1",
            "/timeout_seconds",
            "/retry/initial_delay_seconds",
            "/retry/max_retries",
            "/retry/give_up_after_seconds",
            "/retry/break_after_instant_failures",
            "/schedule/every_seconds",
            "/target/http/url",
        ]
    );
    let many: Vec<_> = (0..=TAGS).map(|n| n.to_string()).collect();
    assert_eq!(world.post("/v1/jobs", with("tags", json!(many))).await.problem(422, "invalid"), ["/tags"]);
}

#[tokio::test]
async fn what_is_null_is_not_given() {
    let world = World::new();
    let fields = ["name", "owner", "tags", "schedule", "payload", "priority", "timeout_seconds", "retry", "delivery"];
    let mut body: serde_json::Map<_, _> = fields.map(|field| (field.to_owned(), Value::Null)).into_iter().collect();
    body.insert("target".to_owned(), json!({"noop": {}}));

    let answer = world.post("/v1/jobs", body.into()).await;

    assert_eq!((answer.status.as_u16(), answer.field("/timeout_seconds")), (201, json!(60)));
}

#[tokio::test]
async fn a_payload_fits_to_the_byte() {
    let world = World::new();
    let fits = with("payload", json!("x".repeat(PAYLOAD_BYTES - 2)));
    let too_large = with("payload", json!("x".repeat(PAYLOAD_BYTES - 1)));

    assert_eq!(world.post("/v1/jobs", fits).await.status, 201);
    assert_eq!(world.post("/v1/jobs", too_large).await.problem(413, "too-large"), ["/payload"]);
    raw(&world, vec![b' '; PAYLOAD_BYTES + 64 * 1024 + 1]).await.problem(413, "too-large");
}

#[tokio::test]
async fn a_long_mistake_is_not_quoted_whole() {
    let world = World::new();
    for body in [with(&"x".repeat(100_000), json!(1)), with("priority", json!("é".repeat(100_000)))] {
        let answer = world.post("/v1/jobs", body).await;

        answer.problem(422, "invalid");
        assert!(answer.text.len() < 3000, "{}", answer.text.len());
    }
}

#[tokio::test]
async fn a_body_says_that_it_is_json() {
    let world = World::new();
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonx")]
    {
        let request = content_type
            .into_iter()
            .fold(request("POST", "/v1/jobs", ACME_KEY), |request, value| request.header("content-type", value));

        let answer = world.send(request.body(r#"{"target":{"noop":{}}}"#.into()).unwrap()).await;

        answer.problem(415, "unsupported-media-type");
    }
}

#[tokio::test]
async fn an_action_takes_no_fields() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let answer = world.post(&format!("/v1/jobs/{job}/pause"), json!({"until": "monday"})).await;

    assert_eq!(answer.problem(422, "invalid"), ["/until"]);
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/status"), "active");
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems_too() {
    let world = World::new();

    world.get("/v1/nothing").await.problem(404, "not-found");
    world.get("/").await.problem(404, "not-found");
    world.get("/v1/jobs/").await.problem(404, "not-found");
    let wrong = world.delete("/v1/jobs").await;
    wrong.problem(405, "method-not-allowed");
    assert_eq!(wrong.header("allow"), "POST,GET,HEAD");
    world.get("/v1/schedules/preview").await.problem(405, "method-not-allowed");
    world.tell("/v1/health").await.problem(405, "method-not-allowed");
}

#[tokio::test]
async fn every_answer_carries_its_own_request_id() {
    let world = World::new();

    let (one, two) = (world.get("/v1/jobs").await, world.get("/v1/nothing").await);

    assert!(one.header("request-id").starts_with("req_") && two.header("request-id").starts_with("req_"));
    assert_ne!(one.header("request-id"), two.header("request-id"));
}
