//! Exhausting: more calls and connections than a process may have files open.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::open_files::open_files;
use crate::patience::eventually;
use crate::server::{KEY, Server};
use crate::{SOON, finished_runs, words};

/// A process has some twenty of them from its start on.
const FILES: usize = 48;
/// For how long a call holds a file: some calls behind each other take less than the ten seconds that a connection may take.
const HOLDS: Duration = Duration::from_secs(1);

/// Removed: that a connection waits for a file. Each run failed with `connect` for which none was left.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_free_file_every_run_succeeds_at_its_first_attempt() {
    let (data, port) = (tempfile::tempdir().unwrap(), slow_target().await);
    let server = Server::started(limited(data.path(), &format!("ulimit -n {FILES}")));
    let (client, free) = (server.client(), FILES - open_files(&server));
    assert!(free > 8, "{free} files are for calls");
    let calling = |host: usize| json!({ "target": { "http": { "url": format!("http://127.0.0.{host}:{port}/") } } });
    let jobs: Vec<_> = (1..=3 * free).map(calling).collect();
    let made = client.post("/v1/jobs/batch", json!({ "jobs": jobs })).await.body;
    // One that looks whether a file is free may have the last one for a moment, and none when it is counted.
    eventually(SOON, "no file is left", || async { (open_files(&server) + 2 >= FILES).then_some(()) }).await;

    for result in made["results"].as_array().expect("a list") {
        let runs = finished_runs(&client, &result["job"], 1).await;
        assert_eq!(words(&runs[0]["attempts"], "outcome"), ["succeeded"], "{}", runs[0]);
    }
}

/// Removed: that the limit is raised. A process that might have had half a million files open ran out of them at a thousand.
#[tokio::test(flavor = "multi_thread")]
async fn as_many_files_may_be_open_as_the_hard_limit_says() {
    let data = tempfile::tempdir().unwrap();

    let server = Server::started(limited(data.path(), "ulimit -n 300; ulimit -S -n 200"));

    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().collect::<Vec<_>>(), ["300", "300", "files"]);
}

/// A server that a shell starts under this limit.
fn limited(data: &Path, limit: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_minutehand")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("MINUTEHAND_KEY", KEY);
    command
}

/// Listens on every address of this machine, and keeps no connection.
async fn slow_target() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().fallback(slow);
    tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    port
}

async fn slow() -> (StatusCode, [(&'static str, &'static str); 1]) {
    sleep(HOLDS).await;
    (StatusCode::OK, [("connection", "close")])
}
