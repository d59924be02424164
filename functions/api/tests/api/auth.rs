//! Who is let in, and what a tenant sees of another.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::world::{OTHER_KEY, World, request};

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

    for (method, path) in [
        ("GET", format!("/v1/jobs/{job}")),
        ("DELETE", format!("/v1/jobs/{job}")),
        ("POST", format!("/v1/jobs/{job}/pause")),
        ("POST", format!("/v1/jobs/{job}/resume")),
        ("POST", format!("/v1/jobs/{job}/run")),
        ("GET", format!("/v1/jobs/{job}/runs")),
        ("GET", format!("/v1/jobs/{job}/next")),
        ("GET", format!("/v1/runs/{run}")),
        ("POST", format!("/v1/runs/{run}/cancel")),
    ] {
        ask(method, path).await.problem(404, "not-found");
    }
    assert_eq!(ask("GET", "/v1/jobs".to_owned()).await.field("/items"), json!([]));
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
