//! Draining: after SIGTERM running attempts may finish, the process begins nothing new, attempts that do not end are given back, and the
//! process exits with 0.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use crate::client::{instant, text};
use crate::patience::{eventually, now};
use crate::server::{Server, serve};
use crate::target::Target;
use crate::{SOON, calling, calls_of, create, finished_runs, runs_of, words};

/// How long the call under way takes, in milliseconds: so long that all that is done meanwhile is done in time on a busy machine.
const UNDER_WAY_MS: i64 = 12_000;
/// How long it may take in a drain, and the process to end: far longer.
const DRAIN_SECONDS: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_running_attempt_finish_and_begins_no_other() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::started(draining(data.path(), DRAIN_SECONDS));
    let running = create(&server.client(), calling(&target, &format!("/slow/{UNDER_WAY_MS}"), &json!({}))).await;
    let called = calls_of(&target, &running, 1).await[0].at;
    let soon = json!({ "schedule": { "after_seconds": 6 } });
    let waiting = create(&server.client(), calling(&target, "/ok", &soon)).await;

    server.terminate();
    let ended = server.ended(Duration::from_secs(DRAIN_SECONDS));
    let down = now();
    let again = Server::on(data.path());

    assert!(ended.status.success() && ended.complaints().is_empty(), "{ended:?}");
    assert!(down >= called + UNDER_WAY_MS, "it waited for the answer");
    assert!(down > instant(&waiting, "next_run_at"), "the other job came due meanwhile");
    let runs = finished_runs(&again.client(), &running, 1).await;
    assert_eq!(words(&runs[0]["attempts"], "outcome"), ["succeeded"]);
    assert!(instant(&runs[0], "finished_at") <= down);
    assert!(calls_of(&target, &waiting, 1).await[0].at >= down, "it was not begun while draining");
    assert_eq!(target.calls().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_does_not_end_in_time_is_handed_back_and_retried_after_the_restart() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::started(draining(data.path(), 1));
    let job = create(&server.client(), calling(&target, "/hang/1", &json!({}))).await;
    calls_of(&target, &job, 1).await;

    let ended = server.stop();
    let down = now();
    let again = Server::on(data.path());
    let runs = finished_runs(&again.client(), &job, 1).await;

    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(text(&runs[0], "status"), "succeeded");
    assert_eq!(words(&runs[0]["attempts"], "outcome"), ["lost", "succeeded"]);
    assert!(instant(&runs[0]["attempts"][0], "finished_at") <= down, "handed back by the one that went away");
}

/// What it waits for may say that it lives, and whoever looks sees what it waits for.
///
/// Removed: the front closes when the drain begins. The first request after SIGTERM was refused while the attempt ran on.
#[tokio::test(flavor = "multi_thread")]
async fn while_an_attempt_runs_on_in_a_drain_the_api_answers() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::started(draining(data.path(), DRAIN_SECONDS));
    let job = create(&server.client(), calling(&target, &format!("/slow/{UNDER_WAY_MS}"), &json!({}))).await;
    calls_of(&target, &job, 1).await;

    server.terminate();
    let said = || async { server.stderr().contains("draining").then_some(()) };
    eventually(SOON, "it says that it drains", said).await;
    let client = server.client();
    let runs = runs_of(&client, &job).await;
    let ended = server.ended(Duration::from_secs(DRAIN_SECONDS));

    assert_eq!(runs.iter().map(|run| text(run, "status")).collect::<Vec<_>>(), ["running"]);
    assert!(ended.status.success(), "{ended:?}");
    assert!(client.ask(Method::GET, "/health", None, None).await.is_err(), "it is gone with the attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sigterm_ends_it_at_once() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let mut server = Server::started(draining(data.path(), DRAIN_SECONDS));
    let job = create(&server.client(), calling(&target, "/hang/1", &json!({}))).await;
    calls_of(&target, &job, 1).await;

    server.terminate();
    let said = || async { server.stderr().contains("draining").then_some(()) };
    eventually(SOON, "it says that it drains", said).await;
    assert!(server.is_running(), "it waits for the running attempt");
    let begin = Instant::now();
    server.terminate();
    server.ended(Duration::from_secs(DRAIN_SECONDS / 3));

    assert!(begin.elapsed() < Duration::from_secs(DRAIN_SECONDS / 3));
    let again = Server::on(data.path());
    calls_of(&target, &job, 2).await;
    assert_eq!(runs_of(&again.client(), &job).await.len(), 1);
}

/// Removed: the signal is listened for before anybody is told that the server is there. Under load it died of the signal, once in dozens of times.
#[test]
fn who_stops_a_server_as_soon_as_it_says_that_it_is_there_is_heard() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let ended = Server::on(folder.path()).stop();

        assert!(ended.status.success() && ended.stderr.contains("draining"), "{ended:?}");
    }
}

/// A server whose running attempts may take so long after SIGTERM.
fn draining(data: &Path, seconds: u64) -> Command {
    let mut command = serve(data);
    command.args(["--drain-seconds", &seconds.to_string()]);
    command
}
