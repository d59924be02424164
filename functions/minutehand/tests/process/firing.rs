//! Firing: a job posted over HTTP is called once, on time, and its run can be read.

use serde_json::{Value, json};

use crate::client::{instant, rfc3339, text};
use crate::patience::{now, say, until};
use crate::server::Server;
use crate::target::{Call, Target};
use crate::{calling, calls_of, create, finished_runs, words};

/// Milliseconds after its instant within which a call counts as on time here. On an idle machine it is a few; others build
/// and test beside us. The benchmark says how few. It is far below the 30 s after which what is overdue is found: whatever fires
/// only then is late.
const ON_TIME: i64 = 8_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_immediate_job_is_fired_once_at_once() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());

    let job = create(&server.client(), calling(&target, "/ok", &json!({}))).await;

    let due = instant(&job, "created_at");
    once_on_time(&server, &target, &job, due).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_due_in_five_seconds_is_fired_once_then() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let due = now() + 5_000;

    let schedule = json!({ "schedule": { "at": rfc3339(due) } });
    let job = create(&server.client(), calling(&target, "/ok", &schedule)).await;

    assert_eq!(instant(&job, "next_run_at"), due);
    once_on_time(&server, &target, &job, due).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_every_second_is_fired_at_each_of_its_instants() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());

    let schedule = json!({ "schedule": { "every_seconds": 1, "max_fires": 3 } });
    let job = create(&server.client(), calling(&target, "/ok", &schedule)).await;
    let instants: Vec<i64> = (1..=3).map(|n| instant(&job, "created_at") + n * 1_000).collect();
    until(instants[2]).await;
    let runs = finished_runs(&server.client(), &job, 3).await;

    assert_eq!(runs.iter().map(|run| instant(run, "scheduled_at")).collect::<Vec<_>>(), instants);
    let mut calls = target.calls_of(&text(&job, "job_id"));
    // On a machine that is late two of them may be under way at once, and pass each other.
    calls.sort_by_key(|call| call.scheduled_at);
    assert_eq!(calls.iter().map(|call| call.scheduled_at).collect::<Vec<_>>(), instants);
    for call in &calls {
        on_time(call, call.scheduled_at);
    }
    let now_it_is = server.client().get(&format!("/v1/jobs/{}", text(&job, "job_id"))).await;
    assert_eq!(now_it_is.text("status"), "completed");
}

/// One call, on time, and one run, whose one attempt says the same.
async fn once_on_time(server: &Server, target: &Target, job: &Value, due: i64) {
    until(due).await;
    let calls = calls_of(target, job, 1).await;
    let runs = finished_runs(&server.client(), job, 1).await;

    assert_eq!((calls.len(), runs.len(), target.calls().len()), (1, 1, 1));
    on_time(&calls[0], due);
    let run = server.client().get(&format!("/v1/runs/{}", calls[0].run)).await;
    assert_eq!((run.status, run.text("status"), run.text("job_id")), (200, "succeeded".into(), calls[0].job.clone()));
    assert_eq!(instant(&run.body, "scheduled_at"), due);
    assert_eq!(words(&run.body["attempts"], "outcome"), ["succeeded"]);
    assert_eq!(run.text("run_id"), text(&runs[0], "run_id"));
}

fn on_time(call: &Call, due: i64) {
    let late = call.at - due;
    say(&format!("called {late} ms after its instant"));
    assert!((0..ON_TIME).contains(&late), "{late} ms");
}
