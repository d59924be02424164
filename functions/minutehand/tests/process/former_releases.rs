//! What a former release has stored: the process of today opens it, answers as that one did, and goes on with it.

use http::Method;
use minutehand_tests::releases::{Release, releases};
use serde_json::{Value, json};

use crate::client::{Client, text};
use crate::patience::eventually;
use crate::runs_of;
use crate::server::{Server, minutehand};
use crate::{SOON, words};

/// Tried: with the lease's holder said in the first shape of a run as it is in the second, the run that was under way is never
/// taken over, and every answer about it is 503.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_release_has_stored_is_answered_for_and_gone_on_with() {
    for release in releases() {
        let data = tempfile::tempdir().unwrap();
        release.unpack(data.path());

        let server = Server::started(with_its_own_key(data.path()));

        let client = Client::new(server.address(), Some(release.text("/admin_key")));
        jobs_are_as_they_were(&client, &release).await;
        runs_that_were_over_are_as_they_were(&client, &release).await;
        keys_open_what_they_opened(&server, &client, &release).await;
        requests_are_answered_again_as_they_were(&client, &release).await;
        a_schedule_fires_again(&client, &release).await;
        what_was_running_is_taken_over(&client, &release).await;
        let metrics = client.get("/metrics").await;
        assert_eq!(metrics.status, 200, "{}", release.version);
    }
}

/// By the key in the data directory, not by the tests' own.
fn with_its_own_key(data: &std::path::Path) -> std::process::Command {
    let mut command = minutehand();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command
}

async fn jobs_are_as_they_were(client: &Client, release: &Release) {
    for (name, was) in release.each("jobs") {
        let is = client.get(&format!("/v1/jobs/{}", text(was, "job_id"))).await;
        assert_eq!(is.status, 200, "{name}: {}", is.body);
        assert_eq!(without_time(is.body), without_time(was.clone()), "{name}");
    }
}

/// What passes with time: when it fires next, and whether it still does.
fn without_time(mut job: Value) -> Value {
    for field in ["next_run_at", "next_run_id", "last_run", "status"] {
        job.as_object_mut().expect("a job").remove(field);
    }
    job
}

async fn runs_that_were_over_are_as_they_were(client: &Client, release: &Release) {
    for (name, was) in release.each("runs").filter(|(_, was)| !was["run"]["finished_at"].is_null()) {
        let id = text(&was["run"], "run_id");
        let (is, events) =
            (client.get(&format!("/v1/runs/{id}")).await, client.get(&format!("/v1/runs/{id}/events")).await);
        assert_eq!((is.status, &is.body), (200, &was["run"]), "{name}");
        assert_eq!((events.status, &events.body), (200, &was["events"]), "{name}");
    }
}

async fn keys_open_what_they_opened(server: &Server, client: &Client, release: &Release) {
    for key in release.expected["keys"].as_array().expect("keys") {
        let answer = Client::new(server.address(), Some(&text(key, "secret"))).get("/v1/jobs?limit=1").await;
        assert_eq!(answer.status == 200, key["opens"] == true, "{key}: {}", answer.body);
    }
    let acme = Client::new(server.address(), Some(release.text("/acme/key")));
    let job = acme.get(&format!("/v1/jobs/{}", release.text("/acme/job/job_id"))).await;
    assert_eq!(without_time(job.body), without_time(release.expected["acme"]["job"].clone()));
    for (tenant, was) in release.each("key_lists") {
        assert_eq!(client.get(&format!("/v1/keys?tenant={tenant}")).await.body, *was, "{tenant}");
    }
    for was in release.expected["quotas"].as_array().expect("quotas") {
        assert_eq!(client.get(&format!("/v1/quotas/{}", text(was, "tenant"))).await.body, *was);
    }
    let secret = client.get("/v1/signing-secret").await;
    assert_eq!(secret.body["created_at"], release.expected["signing"]["created_at"]);
}

async fn requests_are_answered_again_as_they_were(client: &Client, release: &Release) {
    let asked = &release.expected["asked"];
    let again = client.ask(Method::POST, &text(asked, "path"), Some("job-1"), Some(&asked["body"])).await.unwrap();
    assert_eq!((again.status, again.replayed), (200, true), "{}", again.body);
    assert_eq!(text(&again.body, "job_id"), release.text("/jobs/asked twice/job_id"));
    let retry = format!("/v1/runs/{}/retry", release.text("/runs/failed/run/run_id"));
    let again = client.ask(Method::POST, &retry, Some("redrive"), Some(&json!({}))).await.unwrap();
    assert_eq!(text(&again.body, "run_id"), release.text("/runs/redrive/run/run_id"));
}

async fn a_schedule_fires_again(client: &Client, release: &Release) {
    let job = &release.expected["jobs"]["recurring"];
    let before = release.text("/jobs/recurring/next_run_at").to_owned();
    eventually(2 * SOON, "a run of today", || async {
        let runs = runs_of(client, job).await;
        runs.iter().any(|run| text(run, "status") == "succeeded" && text(run, "scheduled_at") > before).then_some(())
    })
    .await;
}

async fn what_was_running_is_taken_over(client: &Client, release: &Release) {
    let path = format!("/v1/runs/{}", release.text("/running"));
    eventually(2 * SOON, "another attempt", || async {
        let run = client.get(&path).await.body;
        (words(&run["attempts"], "outcome").first().map(String::as_str) == Some("lost")).then_some(())
    })
    .await;
}
