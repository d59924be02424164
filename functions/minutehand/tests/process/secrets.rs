//! Secrets in the real process: what one says reaches the target, and nothing else.

use std::fs;
use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, Client, text};
use crate::server::{Server, serve};
use crate::target::Target;
use crate::{calling, calls_of, create, finished_runs};

/// In base 64, hex or JSON it would look the same or be found by its head.
const TEXT: &str = "correct-horse-battery-staple";
/// What the header `X-Api-Key` says itself: that is stored as it is, and shown to nobody.
const PLAIN: &str = "plain-horse-in-a-header";

async fn put(client: &Client, name: &str, value: &str) -> Answer {
    let body = json!({ "value": value });
    client.ask(Method::PUT, &format!("/v1/secrets/{name}"), None, Some(&body)).await.unwrap()
}

async fn set(client: &Client, name: &str, value: &str) -> u16 {
    put(client, name, value).await.status
}

fn needing(target: &Target, path: &str) -> Value {
    let mut job = calling(target, path, &json!({ "payload": { "key": { "secret": "stripe" }, "n": 1.5 } }));
    job["target"]["http"]["headers"] = json!({ "Authorization": { "secret": "stripe" }, "X-Api-Key": PLAIN });
    job["retry"] = json!({ "max_retries": 1, "initial_delay_seconds": 0 });
    job
}

/// Every file below, by its name.
fn files_of(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn no_file_says_it(directory: &Path) {
    for (name, bytes) in files_of(directory) {
        assert!(!holds(&bytes, TEXT), "{name} says it");
    }
}

fn says_it(said: &str) -> bool {
    [TEXT, PLAIN].into_iter().any(|text| said.contains(text))
}

/// Grepped: all that it writes to stdout, stderr and its files, and all that it answers; the target says it again in its failure (removed: what is left
/// out of that. It stood in the run and its events). What the header `X-Api-Key` says is stored as it is: it is another text, and is looked for in all but
/// the files.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_secret_says_reaches_the_target_and_nothing_else() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let mut command = serve(data.path());
    command.env("RUST_LOG", "trace");
    let server = Server::started(command);
    let client = server.client();
    let written = put(&client, "stripe", TEXT).await;
    assert_eq!(written.status, 201);
    assert!(!says_it(&written.body.to_string()), "{}", written.body);
    no_file_says_it(data.path());

    let job = create(&client, needing(&target, "/fail/1")).await;
    let calls = calls_of(&target, &job, 2).await;
    let runs = finished_runs(&client, &job, 1).await;

    for call in &calls {
        assert_eq!(call.authorization, TEXT);
        assert_eq!(call.body, format!(r#"{{"key":"{TEXT}","n":1.5}}"#));
    }
    assert_eq!(runs[0]["status"], "succeeded");
    let (job, run) = (text(&job, "job_id"), text(&runs[0], "run_id"));
    let paths = [
        "/v1/secrets".to_owned(),
        "/v1/secrets/stripe".to_owned(),
        format!("/v1/jobs/{job}"),
        "/v1/jobs".to_owned(),
        format!("/v1/runs/{run}"),
        format!("/v1/runs/{run}/events"),
        "/v1/runs".to_owned(),
        "/v1/audit".to_owned(),
        "/metrics".to_owned(),
    ];
    for path in paths {
        let answer = client.ask(Method::GET, &path, None, None).await.unwrap();
        assert!(!says_it(&answer.body.to_string()), "{path}: {}", answer.body);
    }
    let failed = client.ask(Method::GET, &format!("/v1/runs/{run}"), None, None).await.unwrap();
    assert!(failed.body["attempts"][0]["error"]["message"].as_str().unwrap().contains("***"), "{}", failed.body);
    let ended = server.stop();
    assert!(ended.status.success());
    assert!(!says_it(&ended.stdout) && !says_it(&ended.stderr), "it says it aloud");
    assert!(ended.stderr.contains("stripe") || ended.stderr.contains(&job), "the log was on");
    no_file_says_it(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_survives_a_restart_and_its_key_is_a_file_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    assert!(!data.path().join("secrets.key").exists(), "nobody has needed it");
    assert_eq!(set(&server.client(), "stripe", TEXT).await, 201);

    server.kill();
    let again = Server::on(data.path());

    let job = create(&again.client(), needing(&target, "/ok")).await;
    assert_eq!(calls_of(&target, &job, 1).await[0].authorization, TEXT);
    let mode = fs::metadata(data.path().join("secrets.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_is_said_by_the_attempt_and_everything_else_goes_on() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    assert_eq!(set(&server.client(), "stripe", TEXT).await, 201);
    assert!(server.stop().status.success());
    fs::remove_file(data.path().join("secrets.key")).unwrap();

    let again = Server::on(data.path());
    let client = again.client();
    let failed = finished_runs(&client, &create(&client, needing(&target, "/ok")).await, 1).await;
    let other = finished_runs(&client, &create(&client, calling(&target, "/ok", &json!({}))).await, 1).await;

    let attempts = &failed[0]["attempts"];
    assert_eq!((&failed[0]["status"], attempts.as_array().unwrap().len()), (&json!("failed"), 1));
    let message = text(&attempts[0]["error"], "message");
    assert!(message == "the secret `stripe` cannot be opened by this deployment's key", "{message}");
    assert_eq!(other[0]["status"], "succeeded");
    assert_eq!(set(&client, "stripe", TEXT).await, 200);
    let job = create(&client, needing(&target, "/ok")).await;
    assert_eq!(calls_of(&target, &job, 1).await[0].authorization, TEXT, "written again it is there again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_secret_is_gone_is_not_made_and_its_run_says_which() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let client = server.client();
    assert_eq!(set(&client, "stripe", TEXT).await, 201);
    let mut job = needing(&target, "/ok");
    job["schedule"] = json!({ "on_demand": true });
    let job = create(&client, job).await;
    let deleted = client.ask(Method::DELETE, "/v1/secrets/stripe", None, None).await.unwrap();
    assert_eq!(deleted.status, 204);

    let run = format!("/v1/jobs/{}/run", text(&job, "job_id"));
    assert_eq!(client.post(&run, json!({})).await.status, 202);
    let failed = finished_runs(&client, &job, 1).await;

    let attempts = failed[0]["attempts"].as_array().unwrap();
    let error = json!({ "code": "secret", "message": "there is no secret `stripe`", "retryable": false });
    assert_eq!((attempts.len(), &attempts[0]["error"]), (1, &error));
    assert!(target.calls().is_empty());
}
