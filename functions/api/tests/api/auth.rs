//! Who is let in, and what a tenant sees of another.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use minutehand_api::Source;
use minutehand_io::Ports as _;
use serde_json::json;

use crate::world::{Answer, OTHER_KEY, World, request};

/// Reads for keys that nobody here knows, from one address at once.
const READS: u64 = 200;

/// A request with a key from an address.
async fn from(world: &World, address: &str, key: &str) -> Answer {
    let mut request = request("GET", "/v1/quotas", key).body(Body::empty()).unwrap();
    request.extensions_mut().insert(Source::of(address.parse::<IpAddr>().unwrap()));
    world.send(request).await
}

/// A key of the form of one, with another secret.
fn guess(key: &str, number: usize) -> String {
    let (known, _secret) = key.rsplit_once('_').unwrap();
    format!("{known}_{number:016}")
}

async fn made_key(world: &World) -> String {
    let made = world.post("/v1/keys", json!({"name": "ci", "role": "viewer", "tenant": "new"})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.word("/secret")
}

fn reads(world: &World) -> u64 {
    world.ports.store().meter().reads
}

/// Tried: without `Strangers::admit` each of a thousand guesses costs a read.
#[tokio::test]
async fn who_guesses_keys_is_stopped_before_the_table_is_read_and_nobody_else_is() {
    let world = World::new();
    let key = made_key(&world).await;
    assert_eq!(from(&world, "192.0.2.1", &key).await.status, 200);
    let before = reads(&world);

    let mut last = from(&world, "192.0.2.1", &guess(&key, 0)).await;
    for number in 1..1_000 {
        last = from(&world, "192.0.2.1", &guess(&key, number)).await;
    }

    last.problem(429, "quota-exceeded");
    assert_eq!(last.header("retry-after"), "1");
    assert_eq!(reads(&world) - before, READS);
    assert_eq!(from(&world, "192.0.2.1", &key).await.status, 200, "a key that has opened is not counted");
    let other = made_key(&world).await;
    assert_eq!(from(&world, "192.0.2.1", &other).await.status, 429, "a new one from there waits");
    assert_eq!(from(&world, "192.0.2.2", &other).await.status, 200);
    world.ports.clock.pass(Duration::from_secs(1));
    assert_eq!(from(&world, "192.0.2.1", &guess(&key, 1_000)).await.status, 401);
}

/// Tried: without `Strangers::refused` each repetition costs a read.
#[tokio::test]
async fn a_refused_key_costs_one_read_in_ten_seconds() {
    let world = World::new();
    let wrong = guess(&made_key(&world).await, 7);
    let before = reads(&world);

    for _ in 0..1_000 {
        assert_eq!(from(&world, "192.0.2.1", &wrong).await.status, 401);
    }
    assert_eq!(reads(&world) - before, 1);
    world.ports.clock.pass(Duration::from_secs(10));
    assert_eq!(from(&world, "192.0.2.1", &wrong).await.status, 401);
    assert_eq!(reads(&world) - before, 2);
}

#[tokio::test]
async fn a_key_that_was_known_opens_nothing_from_its_revocation_on() {
    let world = World::new();
    let made = world.post("/v1/keys", json!({"name": "ci", "role": "viewer", "tenant": "new"})).await;
    let (key, id) = (made.word("/secret"), made.word("/key_id"));
    assert_eq!(from(&world, "192.0.2.1", &key).await.status, 200);

    let revoked = world.delete(&format!("/v1/keys/{id}?tenant=new")).await;

    assert!(revoked.status.is_success(), "{}", revoked.text);
    assert_eq!(from(&world, "192.0.2.1", &key).await.status, 401);
}

#[tokio::test]
async fn what_cannot_be_a_key_costs_no_read_and_is_counted_for_nobody() {
    let world = World::new();
    let before = reads(&world);

    for _ in 0..1_000 {
        assert_eq!(from(&world, "192.0.2.1", "mh_nobody").await.status, 401);
    }

    assert_eq!(reads(&world), before);
    assert_eq!(from(&world, "192.0.2.1", &made_key(&world).await).await.status, 200);
}

/// Nobody needs a key for it. Tried: without `LastLook` it is a read each.
#[tokio::test]
async fn health_reads_the_store_once_a_second_however_many_ask() {
    let world = World::new();
    let before = reads(&world);

    for _ in 0..100 {
        assert_eq!(world.get("/v1/health").await.status, 200);
    }
    assert_eq!(reads(&world) - before, 1);
    world.ports.clock.pass(Duration::from_secs(1));
    assert_eq!(world.get("/v1/health").await.status, 200);

    assert_eq!(reads(&world) - before, 2);
}

#[tokio::test]
async fn without_a_known_key_nothing_is_answered() {
    let world = World::new();
    for authorization in [None, Some("Bearer nobody"), Some("Bearer "), Some("Basic mh_acme"), Some("mh_acme")] {
        let request = Request::builder().uri("/v1/jobs");
        let request = authorization.into_iter().fold(request, |request, value| request.header("authorization", value));

        let answer = world.send(request.body(Body::empty()).unwrap()).await;

        answer.problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"minutehand\"");
    }
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let world = World::new();
    let request = Request::builder().uri("/v1/jobs").header("authorization", "bearer mh_acme");

    assert_eq!(world.send(request.body(Body::empty()).unwrap()).await.status, 200);
}

#[tokio::test]
async fn health_needs_no_key_and_says_what_is_compiled_in() {
    let world = World::new();

    let answer = world.send(Request::builder().uri("/v1/health").body(Body::empty()).unwrap()).await;

    assert_eq!(answer.status, 200);
    assert_eq!((answer.field("/live"), answer.field("/ready")), (json!(true), json!(true)));
    assert_eq!(answer.field("/version"), env!("CARGO_PKG_VERSION"));
    assert!(answer.field("/zones").as_str().unwrap().starts_with("20"));
}

#[tokio::test]
async fn a_tenant_sees_nothing_of_another() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let run = world.get(&format!("/v1/jobs/{job}")).await.field("/next_run_id");
    let run = run.as_str().unwrap();
    let ask = |method: &'static str, path: String| {
        let request = request(method, &path, OTHER_KEY).body(Body::empty()).unwrap();
        world.send(request)
    };

    let operation = world.post("/v1/operations", json!({"act": "resume", "jobs": {}})).await.word("/operation_id");
    for (method, path) in [
        ("GET", format!("/v1/operations/{operation}")),
        ("POST", format!("/v1/operations/{operation}/pause")),
        ("POST", format!("/v1/operations/{operation}/resume")),
        ("POST", format!("/v1/operations/{operation}/cancel")),
        ("GET", format!("/v1/jobs/{job}")),
        ("DELETE", format!("/v1/jobs/{job}")),
        ("POST", format!("/v1/jobs/{job}/pause")),
        ("POST", format!("/v1/jobs/{job}/resume")),
        ("POST", format!("/v1/jobs/{job}/run")),
        ("GET", format!("/v1/jobs/{job}/runs")),
        ("GET", format!("/v1/jobs/{job}/next")),
        ("GET", format!("/v1/jobs/{job}/why?at=2027-01-15T08:00:00Z")),
        ("GET", format!("/v1/runs/{run}")),
        ("GET", format!("/v1/runs/{run}/why")),
        ("POST", format!("/v1/runs/{run}/cancel")),
    ] {
        ask(method, path).await.problem(404, "not-found");
    }
    assert_eq!(ask("GET", "/v1/jobs".to_owned()).await.field("/items"), json!([]));
    assert_eq!(ask("GET", "/v1/operations".to_owned()).await.field("/items"), json!([]));
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/status"), "active");
}

#[tokio::test]
async fn one_key_in_two_tenants_makes_two_jobs() {
    let world = World::new();
    let body = json!({"target": {"noop": {}}, "idempotency_key": "k"});
    let ours = world.post("/v1/jobs", body.clone()).await;
    let request = request("POST", "/v1/jobs", OTHER_KEY).header("content-type", "application/json");

    let theirs = world.send(request.body(body.to_string().into()).unwrap()).await;

    assert_eq!((ours.status.as_u16(), theirs.status.as_u16()), (201, 201));
    assert_ne!(ours.field("/job_id"), theirs.field("/job_id"));
}
