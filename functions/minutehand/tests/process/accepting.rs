//! Accepting: a target answers that the work is still to come, and says later how it went.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Client, text};
use crate::patience::eventually;
use crate::server::Server;
use crate::target::{Call, Target};
use crate::{calling, calls_of, create, finished_runs, runs_of};

/// A run that ran out is found by a look that comes within the minute.
const A_LOOK: Duration = Duration::from_secs(120);

async fn says(client: &Client, call: &Call, word: &str, more: Value) -> Answer {
    let mut request = json!({ "token": call.token });
    for (field, value) in more.as_object().expect("fields") {
        request[field] = value.clone();
    }
    client.post(&format!("/v1/leases/{}/{word}", call.lease), request).await
}

async fn is_answered(target: &Target, job: &Value) -> Call {
    let answered = || async { calls_of(target, job, 1).await.into_iter().find(|call| call.ended_at.is_some()) };
    eventually(crate::SOON, "the call is answered", answered).await
}

async fn status(client: &Client, job: &Value) -> String {
    text(&runs_of(client, job).await[0], "status")
}

/// It goes on when the process that called is gone, and is not called again.
///
/// Removed: whom a call has entrusted with a run is the process that called. The start after the crash called again.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_target_takes_on_outlives_the_process_and_ends_by_its_token() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let job = create(&server.client(), calling(&target, "/accept/0", &json!({ "timeout_seconds": 600 }))).await;
    let call = is_answered(&target, &job).await;

    eventually(crate::SOON, "it is entrusted", || async {
        let beat = says(&server.client(), &call, "heartbeat", json!({ "progress": 0.5, "logs": ["half of it"] })).await;
        (beat.status == 200).then_some(())
    })
    .await;
    server.kill();
    let again = Server::on(data.path());
    let client = again.client();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let stolen = says(
        &client,
        &Call { token: "mt_00000000000000000000000000".to_owned(), ..call.clone() },
        "complete",
        json!({}),
    )
    .await;

    assert_eq!((status(&client, &job).await, stolen.status), ("running".to_owned(), 403));
    let said = says(&client, &call, "complete", json!({ "result": { "rows": 7 } })).await;
    assert_eq!((said.status, text(&said.body, "status")), (200, "succeeded".to_owned()), "{}", said.body);
    let run = finished_runs(&client, &job, 1).await.remove(0);
    let whole = client.get(&format!("/v1/runs/{}", text(&run, "run_id"))).await.body;
    assert_eq!((&whole["result"], &whole["progress"]), (&json!({ "rows": 7 }), &json!(0.5)), "{whole}");
    assert_eq!(target.calls().len(), 1, "it is called once");
}

/// The target's worker may be faster than the answer to the call.
///
/// Removed: only a lease that was entrusted has a token. The quick one was refused, and its work done again.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_may_say_how_it_went_before_it_has_answered() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let client = server.client();
    let job = create(&client, calling(&target, "/accept/3000", &json!({}))).await;
    let call = calls_of(&target, &job, 1).await.remove(0);

    let claimed = client.post(&format!("/v1/runs/{}/effects/charge", call.run), json!({ "token": call.token })).await;
    let said = says(&client, &call, "complete", json!({ "result": 1 })).await;

    assert_eq!((claimed.status, said.status), (201, 200), "{} {}", claimed.body, said.body);
    let _answered = is_answered(&target, &job).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(status(&client, &job).await, "succeeded");
    assert_eq!(target.calls().len(), 1);
}

/// What fails is tried again, as any call; and who never says anything has timed out.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_target_took_on_can_fail_and_times_out() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let client = server.client();
    let retry = json!({ "max_retries": 1, "initial_delay_seconds": 1, "jitter": "none" });
    let job = create(&client, calling(&target, "/accept/0", &json!({ "timeout_seconds": 15, "retry": retry }))).await;
    let first = is_answered(&target, &job).await;

    let error = json!({ "error": { "code": "no_rows", "message": "there is nothing to do" } });
    let failed = says(&client, &first, "fail", error).await;

    assert_eq!((failed.status, text(&failed.body, "status")), (200, "scheduled".to_owned()), "{}", failed.body);
    let second = calls_of(&target, &job, 2).await.remove(1);
    assert_eq!((second.attempt, second.token != first.token), (2, true));
    let over = || async { Some(status(&client, &job).await).filter(|status| status == "timed_out") };
    eventually(A_LOOK, "its time is up", over).await;
    assert_eq!(says(&client, &second, "complete", json!({})).await.status, 409);
}
