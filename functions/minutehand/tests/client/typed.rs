//! The typed client against the real process: what the server writes, each method reads.

use futures_util::StreamExt as _;
use minutehand_client::wire::{
    BackfillRequest, BatchRequest, Instant, JobPatch, JobRequest, JobStatus, JobsQuery, Json, KeyRequest, KeysQuery,
    NextQuery, PreviewRequest, QuotaRequest, RoleRequest, RotateRequest, RunRequest, RunsAcrossQuery, RunsQuery,
    ScheduleSpec, StatsQuery, TargetSpec, TenantQuery, WhyQuery,
};
use minutehand_client::{Client, ClientError};

use crate::command::Here;
use crate::server::KEY;

fn client(here: &Here) -> Client {
    Client::new(&format!("http://{}", here.address()), KEY).expect("an address")
}

fn on_demand(name: &str) -> JobRequest {
    let schedule = ScheduleSpec { on_demand: Some(true), ..ScheduleSpec::default() };
    JobRequest { name: Some(name.to_owned()), schedule: Some(schedule), ..JobRequest::default() }
}

#[tokio::test]
async fn a_job_is_made_read_changed_and_taken_away() {
    let here = Here::start();
    let client = client(&here);
    let request = JobRequest { payload: Some(Json::of(&[1, 2])), ..on_demand("a") };

    let made = client.create_job(&request, Some("once")).await.expect("it is made");
    let again = client.create_job(&request, Some("once")).await.expect("it is answered again");
    let patch = JobPatch::default().set("owner", &"me").take_back("name");
    let patched = client.patch_job(&made.job_id, &patch, Some(made.generation)).await.expect("it is changed");
    let paused = client.pause_job(&made.job_id).await.expect("it is paused");
    let resumed = client.resume_job(&made.job_id).await.expect("it goes on");
    let stale = client.patch_job(&made.job_id, &patch, Some(made.generation)).await.expect_err("it was changed since");
    client.delete_job(&made.job_id).await.expect("it is cancelled");
    let read = client.job(&made.job_id).await.expect("it is there");

    assert_eq!((&again.job_id, made.payload.text()), (&made.job_id, Some("[1,2]")));
    assert_eq!((patched.name, patched.owner.as_deref()), (None, Some("me")));
    assert!(paused.status == JobStatus::Paused && resumed.status == JobStatus::Active);
    assert!(matches!(stale, ClientError::Refused(no) if no.problem.status == 412));
    assert!(read.job.status == JobStatus::Cancelled && read.job.target == TargetSpec::default());
}

#[tokio::test]
async fn a_run_is_asked_for_read_and_listed() {
    let here = Here::start();
    let client = client(&here);
    let job = client.create_job(&on_demand("a"), None).await.expect("it is made").job_id;

    let request = RunRequest { payload: Some(Json::of(&7)), ..RunRequest::default() };
    let run = client.run_job(&job, &request, Some("once")).await.expect("it is queued");
    let read = client.run(&run.run_id).await.expect("it is there");
    let events = client.run_events(&run.run_id).await.expect("it is there");
    let of_job = client.runs_of_job(&job, &RunsQuery::default()).await.expect("a page");
    let across =
        client.runs(&RunsAcrossQuery { job_id: Some(job), ..RunsAcrossQuery::default() }).await.expect("a page");
    let over = client.cancel_run("run_00").await.expect_err("there is none");

    assert_eq!((read.run_id.as_str(), read.payload.text()), (run.run_id.as_str(), Some("7")));
    assert_eq!((events.items[0].kind.as_str(), of_job.items.len(), across.items.len()), ("asked", 1, 1));
    assert!(matches!(over, ClientError::Refused(no) if no.problem.kind == "/problems/not-found"));
}

#[tokio::test]
async fn a_list_goes_on_from_page_to_page() {
    let here = Here::start();
    let client = client(&here);
    let jobs = ["a", "b", "c"].map(on_demand);
    let made = client.create_jobs(&jobs.iter().collect::<BatchRequest>()).await.expect("they are made");

    let query = JobsQuery { limit: Some(1), ..JobsQuery::default() };
    let page = client.jobs(&query).await.expect("a page");
    let all: Vec<_> = client.all_jobs(&query).collect().await;

    assert!(made.results.iter().all(|result| result.status == 201), "{made:?}");
    assert!(page.items.len() == 1 && page.next_cursor.is_some());
    assert!(all.len() == 3 && all.iter().all(Result::is_ok), "{all:?}");
}

#[tokio::test]
async fn whatever_else_the_api_answers_is_read() {
    let here = Here::start();
    let client = client(&here);
    let schedule = ScheduleSpec { cron: Some("30 2 * * *".to_owned()), ..ScheduleSpec::default() };

    let preview = PreviewRequest { schedule: schedule.clone(), from: None, count: Some(2) };
    assert_eq!(client.preview(&preview).await.expect("a preview").fires.len(), 2);
    let job = JobRequest { schedule: Some(schedule), ..JobRequest::default() };
    let job = client.create_job(&job, None).await.expect("it is made").job_id;
    assert_eq!(client.next_fires(&job, &NextQuery { count: Some(3) }).await.expect("its fires").fires.len(), 3);
    let at = "2150-01-01T02:30:00Z".parse().expect("an instant");
    let why = client.explain_instant(&job, &WhyQuery { at: Instant(at) }).await.expect("an answer");
    assert_eq!((why.verdict.as_str(), why.rule.as_str()), ("will_fire", "schedule"));
    let instant = |text: &str| Instant(text.parse().expect("an instant"));
    let (from, to) = (instant("2026-01-01T00:00:00Z"), instant("2026-01-03T00:00:00Z"));
    let span =
        BackfillRequest { from, to, max_runs: None, priority: None, note: None, dry_run: false, idempotency_key: None };
    let backfill = client.backfill_job(&job, &span).await.expect("it is begun");
    let operation = client.operation(&backfill.backfill_id.expect("it is no dry run")).await.expect("it is there");
    assert_eq!((backfill.runs, operation.kind.as_str(), operation.progress.done), (2, "backfill", 2));

    let (name, role) = ("ci".to_owned(), RoleRequest::Viewer);
    let key = KeyRequest { name, role, tenant: None, expires_at: None, pools: None, idempotency_key: None };
    let (key, whose) = (client.create_key(&key, None).await.expect("a key"), TenantQuery::default());
    assert!(key.secret.is_some());
    let rotated =
        client.rotate_key(&key.key_id, &whose, &RotateRequest { grace_seconds: Some(0) }).await.expect("it is");
    assert_ne!(rotated.secret, key.secret);
    client.revoke_key(&key.key_id, &whose).await.expect("it is revoked");
    assert!(client.keys(&KeysQuery::default()).await.expect("a page").items[0].revoked_at.is_some());

    let quota = QuotaRequest { max_jobs: Some(5), ..QuotaRequest::default() };
    assert_eq!(client.set_quota("acme", &quota).await.expect("it is set").max_jobs, Some(5));
    assert_eq!(client.quota(None).await.expect("ours").max_jobs, None);
    assert!(client.rotate_signing_secret(&RotateRequest::default()).await.expect("a secret").secret.is_some());
    assert!(client.signing_secret().await.expect("about it").secret.is_none());
    assert!(
        client
            .stats(&StatsQuery { minutes: Some(5) })
            .await
            .expect("numbers")
            .jobs
            .contains_key(&JobStatus::Active.into())
    );
    assert!(client.health().await.expect("it lives").ready);
}

#[tokio::test]
async fn the_kinds_of_no_are_told_apart() {
    let here = Here::start();
    let address = format!("http://{}", here.address());
    let stranger = Client::new(&address, "nobody's").expect("an address");

    let invalid = JobRequest { timeout_seconds: Some(0), ..JobRequest::default() };
    let refused = client(&here).create_job(&invalid, None).await.expect_err("no time at all");
    let unknown = stranger.jobs(&JobsQuery::default()).await.expect_err("no such key");
    let elsewhere = stranger.job("../keys").await.expect_err("no id");
    here.kill();
    let gone = stranger.health().await.expect_err("it was killed");

    assert!(matches!(refused, ClientError::Refused(no) if no.problem.errors[0].pointer == "/timeout_seconds"));
    assert!(matches!(unknown, ClientError::Refused(no) if no.problem.status == 401));
    assert!(matches!(elsewhere, ClientError::Unsendable(_)));
    assert!(matches!(gone, ClientError::Unreachable { .. }), "{gone:?}");
}
