//! Telling: whoever is asked before a call and told after it, called by the real process over the network.

use serde_json::{Value, json};

use crate::client::{Client, text};
use crate::patience::eventually;
use crate::server::Server;
use crate::target::{Call, Target};
use crate::{calling, create, finished_runs};

const TEXT: &str = "correct-horse-battery-staple";

async fn calls(target: &Target, count: usize) -> Vec<Call> {
    eventually(crate::SOON, &format!("{count} calls"), || async {
        let calls = target.calls();
        (calls.len() >= count).then_some(calls)
    })
    .await
}

fn body(call: &Call) -> Value {
    serde_json::from_str(&call.body).unwrap_or_else(|_| panic!("no JSON: {}", call.body))
}

async fn set(client: &Client, name: &str) {
    let value = json!({ "value": TEXT });
    let answer = client.ask(http::Method::PUT, &format!("/v1/secrets/{name}"), None, Some(&value)).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// The hook's answer takes the place of the payload; the callback says how it went, and neither is told what a secret says.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_asked_the_target_called_and_the_callback_told() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let client = server.client();
    set(&client, "stripe").await;
    let secret = json!({ "secret": "stripe" });

    let job = create(
        &client,
        calling(
            &target,
            "/ok",
            &json!({
                "payload": { "key": secret },
                "hooks": { "before": { "url": target.url("/give") } },
                "callback": { "url": target.url("/ok"), "on": ["succeeded"], "headers": { "authorization": secret } },
            }),
        ),
    )
    .await;
    let calls = calls(&target, 3).await;
    let run = finished_runs(&client, &job, 1).await.remove(0);

    let [asked, called, told] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(
        (&body(asked)["type"], &body(asked)["data"]["payload"]),
        (&json!("run.starting"), &json!({ "key": secret }))
    );
    assert_eq!(body(called), json!({ "given": 1.5 }));
    assert_eq!((&body(told)["type"], &body(told)["data"]["run_id"]), (&json!("run.succeeded"), &run["run_id"]));
    assert_eq!(told.authorization, TEXT);
    assert_eq!((asked.run == called.run, called.run == text(&run, "run_id"), told.job.as_str()), (false, true, ""));
    assert!(calls.iter().all(|call| !call.body.contains(TEXT)), "what a secret says is in a body: {calls:?}");
    let shown = client.get(&format!("/v1/runs/{}", text(&run, "run_id"))).await.body;
    assert_eq!(shown["hook_payload"], json!({ "given": 1.5 }), "{shown}");
    assert_eq!(shown["callback"]["run_id"], told.run);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_hook_answers_409_is_vetoed() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let hooks = json!({ "before": { "url": target.url("/veto") }, "after": { "url": target.url("/ok") } });

    let job = create(&server.client(), calling(&target, "/ok", &json!({ "hooks": hooks }))).await;
    let calls = calls(&target, 2).await;
    let run = finished_runs(&server.client(), &job, 1).await.remove(0);

    assert_eq!(
        (&run["status"], &run["reason"], &run["detail"]),
        (&json!("skipped"), &json!("vetoed"), &json!("the books are closed"))
    );
    assert_eq!(calls.iter().map(|call| text(&body(call), "type")).collect::<Vec<_>>(), ["run.starting", "run.skipped"]);
}
