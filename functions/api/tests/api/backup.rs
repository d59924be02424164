//! Backups: who may take one, that it is on record, and that there is one at a time.

use std::sync::Mutex;

use axum::body::Body;
use minutehand_api::{Backups, Keyring, TargetCheck};
use serde_json::{Value, json};

use crate::world::{ACME_KEY, OTHER_KEY, World, acme, other};

/// A world whose host has these backups to give.
fn world(bodies: Vec<Option<Body>>) -> World {
    let keys = Keyring::single(ACME_KEY, acme()).and(OTHER_KEY, other());
    let bodies = Mutex::new(bodies);
    let backups = Backups::new(move || bodies.lock().unwrap().pop().flatten());
    World::hosted(keys, TargetCheck::new(|_| Ok(())), None, Some(backups))
}

async fn on_record(world: &World) -> Vec<(Value, Value)> {
    let all = world.get("/v1/audit?tenant=default").await;
    let acts = all.field("/items").as_array().unwrap().clone();
    acts.iter().map(|act| (act["deed"].clone(), act["outcome"].clone())).collect()
}

#[tokio::test]
async fn a_backup_is_handed_out_to_the_deployments_key_alone_and_is_on_record() {
    let world = world(vec![Some(Body::from("all of it"))]);

    world.by(OTHER_KEY, "GET", "/v1/backup", None).await.problem(403, "forbidden");
    let answer = world.get("/v1/backup").await;

    assert_eq!((answer.header("content-type"), answer.text.as_str()), ("application/gzip", "all of it"));
    assert_eq!(on_record(&world).await, [(json!("backup"), json!("done"))]);
}

#[tokio::test]
async fn a_second_backup_at_a_time_is_refused_and_on_record_as_not_done() {
    let world = world(vec![None]);

    world.get("/v1/backup").await.problem(409, "conflict");

    assert_eq!(on_record(&world).await, [(json!("backup"), json!("not_done"))]);
}

#[tokio::test]
async fn where_nothing_is_kept_in_a_file_there_is_no_backup() {
    World::new().get("/v1/backup").await.problem(404, "not-found");
}
