//! What the process says of itself and keeps for its tenants: health, metrics, signing secrets.

use std::sync::Arc;

use minutehand_api::{Keyring, Metrics, TargetCheck};
use minutehand_domain::signing::SigningSecrets;
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use prometheus::Registry;
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, World, acme, at, other};

#[tokio::test]
async fn metrics_are_prometheus_text_for_the_deployments_key() {
    let metrics = Metrics::new(Registry::new()).unwrap();
    let keys = Keyring::single(crate::world::ACME_KEY, acme()).and(OTHER_KEY, other());
    let world = World::whole(keys, TargetCheck::new(|_| Ok(())), Some(metrics));
    let job = world.job(json!({"on_demand": true})).await;
    world.get(&format!("/v1/jobs/{job}")).await;
    world.get("/v1/jobs/job_x").await;
    world.get("/nothing/here").await;

    let answer = world.get("/metrics").await;

    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (200, "text/plain; version=0.0.4; charset=utf-8")
    );
    for line in [
        "# TYPE minutehand_http_requests_total counter",
        r#"minutehand_http_requests_total{method="POST",route="/v1/jobs",status="201"} 1"#,
        r#"minutehand_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="200"} 1"#,
        r#"minutehand_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="404"} 1"#,
    ] {
        assert!(answer.text.contains(line), "{line} in {}", answer.text);
    }
    assert!(!answer.text.contains(&job) && !answer.text.contains("acme"), "no ids and no tenants: {}", answer.text);
    assert!(!answer.text.contains("nothing/here"), "an address that is none is no series of its own");
    world.by(OTHER_KEY, "GET", "/metrics", None).await.problem(403, "forbidden");
}

#[tokio::test]
async fn where_no_process_stays_there_are_no_metrics() {
    World::new().get("/metrics").await.problem(404, "not-found");
}

#[tokio::test]
async fn health_is_read_by_whoever_asks_and_by_nobody_else_told_more() {
    let world = World::new();

    let plain = world.send(http::Request::builder().uri("/v1/health").body(String::new().into()).unwrap()).await;
    let with_a_key = world.get("/v1/health").await;
    let with_a_wrong_one = world.by("nobody", "GET", "/v1/health", None).await;

    assert_eq!(plain.text, with_a_key.text);
    assert_eq!(plain.text, with_a_wrong_one.text);
    let head = world.by(OTHER_KEY, "HEAD", "/v1/health", None).await;
    assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn a_signing_secret_is_shown_when_it_is_made_and_never_again() {
    let world = World::new();
    let path = "/v1/signing-secret";
    let none = world.get(path).await;
    assert_eq!(none.json(), json!({"created_at": null, "previous_expires_at": null}));

    let first = world.tell(&format!("{path}/rotate")).await;
    world.pass(10);
    let second = world.post(&format!("{path}/rotate"), json!({"grace_seconds": 60})).await;
    let shown = world.get(path).await;
    world.pass(60);
    let later = world.get(path).await;

    assert_eq!((first.status.as_u16(), first.field("/created_at")), (200, json!(at(0))));
    assert_eq!(first.field("/previous_expires_at"), Value::Null);
    assert_ne!(first.word("/secret"), second.word("/secret"));
    assert!(first.word("/secret").starts_with("whsec_"));
    assert_eq!(second.field("/previous_expires_at"), at(70));
    assert_eq!(shown.json(), json!({"created_at": at(10), "previous_expires_at": at(70)}));
    assert_eq!(later.json(), json!({"created_at": at(10), "previous_expires_at": null}));
    let kept = world.ports.store().get::<SigningSecrets>(&acme(), ()).await.unwrap().unwrap();
    assert_eq!(kept.item.current.reveal(), second.word("/secret"));
    assert!(!format!("{:?}", kept.item).contains(second.word("/secret").trim_start_matches("whsec_")));
}

#[tokio::test]
async fn a_signing_secret_is_its_tenants_own() {
    let world = World::new();
    world.tell("/v1/signing-secret/rotate").await;

    let theirs = world.by(OTHER_KEY, "GET", "/v1/signing-secret", None).await;

    assert_eq!(theirs.field("/created_at"), Value::Null);
    let answer = world.post("/v1/signing-secret/rotate", json!({"grace_seconds": 604_801})).await;
    assert_eq!(answer.problem(422, "invalid"), ["/grace_seconds"]);
}

/// A secret that is replaced before anybody has seen it would be shown for nothing: the second to come is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_rotations_those_that_are_shown_are_kept_and_the_others_told() {
    let world = Arc::new(World::new());
    let racing: Vec<_> = (0..12)
        .map(|_| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.tell("/v1/signing-secret/rotate").await })
        })
        .collect();

    let mut shown = Vec::new();
    for each in racing {
        let answer = each.await.unwrap();
        match answer.status.as_u16() {
            200 => shown.push(answer.word("/secret")),
            _ => drop(answer.problem(409, "conflict")),
        }
    }

    let kept = world.ports.store().get::<SigningSecrets>(&acme(), ()).await.unwrap().unwrap();
    assert!(shown.contains(&kept.item.current.reveal()));
    assert!(kept.item.former.is_none_or(|former| shown.contains(&former.secret.reveal())));
}
