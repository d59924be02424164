//! Contending: many changes of one thing at once are all answered.

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, text};
use crate::create;
use crate::server::Server;

const AT_ONCE: usize = 16;
/// Each makes so many changes, one after the other.
const CHANGES: usize = 4;

/// Removed: a request that was not first pauses for a moment. They all came at once again, and half of the changes were refused, as if something had broken.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_job_beside_fifteen_others_is_answered() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let contended = json!({ "name": "contended", "schedule": { "after_seconds": 86_400 }, "target": { "noop": {} } });
    let job = create(&server.client(), contended).await;
    let path = format!("/v1/jobs/{}", text(&job, "job_id"));

    let mut changing = JoinSet::new();
    for who in 0..AT_ONCE {
        let (client, path) = (server.client(), path.clone());
        changing.spawn(async move { changed(&client, &path, who).await });
    }
    let answers: Vec<(u16, Value)> = changing.join_all().await.into_iter().flatten().collect();

    let refused: Vec<_> = answers.iter().filter(|(status, _)| *status != 200).collect();
    assert!(refused.is_empty(), "{} of {}: {:?}", refused.len(), answers.len(), refused.first());
    let generation = server.client().get(&path).await.body["generation"].as_u64();
    assert_eq!(generation, Some(1 + (AT_ONCE * CHANGES) as u64), "each change was made once");
}

async fn changed(client: &Client, path: &str, who: usize) -> Vec<(u16, Value)> {
    let mut answers = Vec::new();
    for nth in 0..CHANGES {
        let change = json!({ "name": format!("{who}, {nth}") });
        let answer = client.ask(Method::PATCH, path, None, Some(&change)).await.unwrap();
        answers.push((answer.status, answer.body));
    }
    answers
}
