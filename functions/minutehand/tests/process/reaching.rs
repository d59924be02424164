//! Reaching: which targets a process calls, by where it listens and by `--reach`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::json;

use crate::client::text;
use crate::patience::eventually;
use crate::server::{KEY, Server, minutehand, serve};
use crate::target::Target;
use crate::{SOON, calling, calls_of, create, finished_runs};

/// Tried: where everything is within reach by default, as it was, the jobs are made and their target is called.
#[tokio::test(flavor = "multi_thread")]
async fn where_others_reach_the_api_a_job_cannot_call_this_machine() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let mut command = minutehand();
    command.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(data.path()).env("MINUTEHAND_KEY", KEY);
    let server = Server::started(command);
    let port_and_path = target.url("/ok").rsplit(':').next().unwrap().to_owned();

    for host in ["127.0.0.1", "2130706433", "[::ffff:7f00:1]", "localhost", "LOCALHOST.", "10.0.0.1"] {
        let job = json!({ "target": { "http": { "url": format!("http://{host}:{port_and_path}") } } });
        let refused = server.client().post("/v1/jobs", job).await;

        assert_eq!((refused.status, text(&refused.body["errors"][0], "pointer")), (422, "/target/http/url".to_owned()));
        let detail = text(&refused.body["errors"][0], "detail");
        assert!(detail.contains("--reach loopback") || detail.contains("MINUTEHAND_REACH=private"), "{host}: {detail}");
    }

    assert_eq!(target.calls().len(), 0);
    assert!(server.stdout().contains("on the internet only: --reach"), "{}", server.stdout());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_made_under_a_wider_reach_is_refused_at_its_call_and_told_what_it_needs() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::started(reaching(data.path(), "loopback"));
    let every_second = json!({ "schedule": { "every_seconds": 1 }, "retry": { "max_retries": 3 } });
    let job = create(&server.client(), calling(&target, "/ok", &every_second)).await;
    calls_of(&target, &job, 1).await;
    server.kill();

    let server = Server::started(reaching(data.path(), "private"));
    let failed = eventually(SOON, "a run fails", || async {
        let runs = finished_runs(&server.client(), &job, 1).await;
        runs.into_iter().find(|run| run["status"] == "failed")
    })
    .await;

    let run = server.client().get(&format!("/v1/runs/{}", text(&failed, "run_id"))).await.body;
    let attempts = run["attempts"].as_array().unwrap();
    // The kill may have met the run that was called first: its attempt is lost, and it has another here.
    let refused: Vec<_> = attempts.iter().filter(|attempt| attempt["outcome"] != "lost").collect();
    assert_eq!(refused.len(), 1, "it is not tried again: {run}");
    assert_eq!(text(&refused[0]["error"], "code"), "forbidden_address");
    assert_eq!(
        text(&refused[0]["error"], "message"),
        "the address 127.0.0.1 is loopback: that needs serve --reach loopback, not private"
    );
}

/// nginx on the same machine: the API listens on loopback, and the internet makes the jobs. Once, however many come; and not where
/// the operator has said what is meant, nor of requests that come straight.
#[tokio::test(flavor = "multi_thread")]
async fn who_listens_on_loopback_behind_a_proxy_is_told_once_what_its_jobs_may_call() {
    let (assumed, said) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (assumed, said) = (Server::on(assumed.path()), Server::started(reaching(said.path(), "loopback")));
    let warnings = |server: &Server| server.stderr().matches("start with --reach public").count();
    assert_eq!(assumed.client().get("/v1/health").await.status, 200);
    assert_eq!(warnings(&assumed), 0, "{}", assumed.stderr());

    for server in [&assumed, &said] {
        for header in ["X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7", "Via: 1.1 proxy"] {
            assert!(asked_with(server, header).starts_with("HTTP/1.1 200"));
        }
    }

    assert_eq!(eventually(SOON, "it is said", || async { Some(warnings(&assumed)).filter(|said| *said > 0) }).await, 1);
    assert!(assumed.stderr().contains("x-forwarded-for"), "{}", assumed.stderr());
    assert_eq!(warnings(&said), 0, "{}", said.stderr());
}

/// The answer to a request that has this header too.
fn asked_with(server: &Server, header: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(stream, "GET /v1/health HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn reaching(data: &Path, reach: &str) -> std::process::Command {
    let mut command = serve(data);
    command.env("MINUTEHAND_REACH", reach);
    command
}
