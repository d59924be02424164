//! Surviving: what was acknowledged is there after a clean restart and after SIGKILL.

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Answer, Client, text};
use crate::create;
use crate::server::Server;

/// Enough that many answers share a commit.
const AT_ONCE: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_job_survives_a_clean_restart() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let before = acknowledged(&server.client()).await;

    assert!(server.stop().status.success());
    let again = Server::on(data.path());

    assert_eq!(read_back(&again.client(), &before).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_job_survives_sigkill() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let before = acknowledged(&server.client()).await;

    server.kill();
    let again = Server::on(data.path());

    assert_eq!(read_back(&again.client(), &before).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_after_sigkill_is_the_same_job() {
    let data = tempfile::tempdir().unwrap();
    let (one, other) = (held_job("one"), held_job("other"));
    let server = Server::on(data.path());

    let first = with_key(&server.client(), &one).await;
    server.kill();
    let again = Server::on(data.path());
    let replayed = with_key(&again.client(), &one).await;
    let taken = with_key(&again.client(), &other).await;

    assert_eq!((first.status, first.replayed), (201, false));
    assert_eq!((replayed.status, replayed.replayed), (200, true));
    assert_eq!(replayed.body, first.body);
    assert_eq!(taken.status, 422);
}

/// Jobs that were created, paused, resumed, deleted and run, each as it was when the last answer came.
async fn acknowledged(client: &Client) -> Vec<Value> {
    let mut asking = JoinSet::new();
    for n in 0..AT_ONCE {
        let client = client.clone();
        asking.spawn(async move { one_acknowledged(&client, n).await });
    }
    let mut jobs = asking.join_all().await;
    jobs.sort_by_key(|job| text(job, "job_id"));
    jobs
}

async fn one_acknowledged(client: &Client, n: usize) -> Value {
    let job = create(client, held_job(&format!("job {n}"))).await;
    let path = format!("/v1/jobs/{}", text(&job, "job_id"));
    match n % 4 {
        0 => {}
        1 => assert_eq!(client.post(&format!("{path}/pause"), json!({})).await.status, 200),
        2 => {
            assert_eq!(client.post(&format!("{path}/pause"), json!({})).await.status, 200);
            assert_eq!(client.post(&format!("{path}/resume"), json!({})).await.status, 200);
        }
        _ => assert_eq!(client.ask(Method::DELETE, &path, None, None).await.unwrap().status, 204),
    }
    client.get(&path).await.body
}

async fn read_back(client: &Client, before: &[Value]) -> Vec<Value> {
    let mut jobs = Vec::new();
    for job in before {
        jobs.push(client.get(&format!("/v1/jobs/{}", text(job, "job_id"))).await.body);
    }
    jobs
}

/// Due so late that nothing happens to it here.
fn held_job(name: &str) -> Value {
    json!({ "name": name, "schedule": { "after_seconds": 86_400 }, "target": { "noop": {} } })
}

async fn with_key(client: &Client, job: &Value) -> Answer {
    client.ask(Method::POST, "/v1/jobs", Some("billing-2026-11"), Some(job)).await.unwrap()
}
