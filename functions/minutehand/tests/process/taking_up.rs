//! Taking over: runs that a killed process had begun or missed are handled right after the next start.
//!
//! "Right after" is [`SOON`]: without the look at the start, and without a lease of another process counting as a dead
//! one's, it would be the end of the lease (90 s here) or the overdue line (30 s).

use serde_json::{Value, json};

use crate::client::{instant, text};
use crate::patience::{eventually, now, say, until};
use crate::server::Server;
use crate::target::Target;
use crate::{SOON, calling, calls_of, create, finished_runs, runs_of, words};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_flight_at_sigkill_is_tried_again_right_after_the_restart() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let job = create(&server.client(), calling(&target, "/hang/1", &json!({}))).await;
    calls_of(&target, &job, 1).await;

    server.kill();
    let again = Server::on(data.path());
    let restarted = now();
    let calls = calls_of(&target, &job, 2).await;
    let runs = finished_runs(&again.client(), &job, 1).await;

    say(&format!("tried again {} ms after the restart", calls[1].at - restarted));
    assert_eq!(text(&runs[0], "status"), "succeeded");
    assert_eq!(words(&runs[0]["attempts"], "outcome"), ["lost", "succeeded"]);
    assert_eq!((calls[0].attempt, calls[1].attempt, calls.len()), (1, 2, 2));
    assert_eq!(calls[0].run, calls[1].run);
}

/// As above, but when it is killed the run has been going on for longer than the overdue line, so that its timer has been
/// moved to its lease's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_in_flight_at_sigkill_is_tried_again_right_after_the_restart() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let job = create(&server.client(), calling(&target, "/hang/1", &json!({}))).await;
    let called = calls_of(&target, &job, 1).await[0].at;

    until(called + 36_000).await;
    server.kill();
    let _again = Server::on(data.path());

    assert_eq!(calls_of(&target, &job, 2).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_flight_at_sigkill_that_may_run_at_most_once_is_lost() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let once = json!({ "delivery": "at_most_once" });
    let job = create(&server.client(), calling(&target, "/hang/1", &once)).await;
    calls_of(&target, &job, 1).await;

    server.kill();
    let again = Server::on(data.path());
    let runs = finished_runs(&again.client(), &job, 1).await;

    assert_eq!((text(&runs[0], "status"), text(&runs[0], "reason")), ("failed".into(), "lost".into()));
    assert_eq!(words(&runs[0]["attempts"], "outcome"), ["lost"]);
    assert_eq!(target.calls().len(), 1);
}

/// An outage shorter than the horizon of 300 s leaves no gap in the chain: each missed occurrence has its timer, and so
/// runs. Only what no timer stands for is coalesced; the simulation sees outages of hours.
#[tokio::test(flavor = "multi_thread")]
async fn occurrences_missed_while_the_process_was_down_are_made_up_for_right_after_the_restart() {
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let job = create(&server.client(), calling(&target, "/ok", &json!({ "schedule": { "every_seconds": 1 } }))).await;
    let first = instant(&job, "next_run_at");
    calls_of(&target, &job, 1).await;

    server.kill();
    let killed = now();
    until(killed + 5_000).await;
    let again = Server::on(data.path());
    let restarted = now();

    let missed: Vec<i64> = (first..restarted).step_by(1_000).collect();
    let runs = eventually(SOON, "every missed occurrence is spoken for", || async {
        let runs = runs_of(&again.client(), &job).await;
        missed.iter().all(|t| is_settled(&runs, *t)).then_some(runs)
    })
    .await;
    let last = runs.iter().find(|run| instant(run, "scheduled_at") == *missed.last().unwrap()).unwrap();
    assert_eq!(text(last, "status"), "succeeded", "the last one missed runs");
    assert!(missed.len() >= 5, "{missed:?}");
}

/// It has a finished record of its own, or a coalescing one speaks for it.
fn is_settled(runs: &[Value], t: i64) -> bool {
    runs.iter().any(|run| {
        let own = instant(run, "scheduled_at");
        let finished = !run["finished_at"].is_null();
        finished && (own == t || (own < t && run["covers_until"].is_string() && t < instant(run, "covers_until")))
    })
}
