//! Reaching: which targets a process calls, by where it listens and by `--reach`.

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
    assert_eq!(attempts.len(), 1, "it is not tried again: {run}");
    assert_eq!(text(&attempts[0]["error"], "code"), "forbidden_address");
    assert_eq!(
        text(&attempts[0]["error"], "message"),
        "the address 127.0.0.1 is loopback: that needs serve --reach loopback, not private"
    );
}

fn reaching(data: &Path, reach: &str) -> std::process::Command {
    let mut command = serve(data);
    command.env("MINUTEHAND_REACH", reach);
    command
}
