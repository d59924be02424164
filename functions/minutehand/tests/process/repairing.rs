//! Repairing: a data directory whose cursor comes from the future, whose jobs lost their timers, and in which something cannot
//! be read.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::audit::{Act, Deed, Outcome};
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_io::store::embedded::{Codec, FileStore};
use minutehand_io::store::{Guard, Store as _};

use crate::SOON;
use crate::patience::eventually;
use crate::server::{KEY, Server, minutehand};

/// Removed: the timer that is put. The job is listed again, and nothing of it ever runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_timers_is_repaired_and_its_jobs_run() {
    let data = tempfile::tempdir().unwrap();
    let job = job_without_a_timer(data.path()).await;

    let found = repair(data.path(), &["--check"]);
    let again = repair(data.path(), &["--check"]);
    let repaired = repair(data.path(), &[]);
    let after = repair(data.path(), &["--check"]);

    for found in [found, again] {
        assert_eq!(found.status.code(), Some(6), "{}", said(&found));
        assert!(said(&found).contains(&format!("job {}: no timer at", job.id)), "{}", said(&found));
    }
    assert_eq!(repaired.status.code(), Some(0), "{}", said(&repaired));
    assert!(said(&repaired).contains("1 without a timer, made again"), "{}", said(&repaired));
    assert_eq!(after.status.code(), Some(0), "{}", said(&after));
    let server = Server::on(data.path());
    let client = server.client();
    eventually(SOON, "the job runs", async || {
        let runs = client.get(&format!("/v1/jobs/{}/runs", job.id)).await;
        runs.body["items"].as_array().is_some_and(|runs| !runs.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_lists_what_cannot_be_read_by_its_key() {
    let data = tempfile::tempdir().unwrap();
    job_without_a_timer(data.path()).await;
    for (codec, id) in [(Codec::Later, 2), (Codec::Damaging, 3)] {
        let store = FileStore::open(data.path()).unwrap();
        put(&store.seen_through(codec), &job_of(id)).await;
    }

    let found = repair(data.path(), &["--check"]);

    assert_eq!(found.status.code(), Some(6));
    assert!(said(&found).contains("1 items of a later release, 1 corrupt"), "{}", said(&found));
    assert!(said(&found).contains("heads "), "{}", said(&found));
}

/// An act of whoever has the directory, as an admin's is.
#[tokio::test]
async fn a_repair_of_a_directory_is_on_record_and_a_check_is_not() {
    let data = tempfile::tempdir().unwrap();
    job_without_a_timer(data.path()).await;

    repair(data.path(), &["--check"]);
    repair(data.path(), &[]);

    let store = FileStore::open(data.path()).unwrap();
    let acts = store.list::<Act>(&Tenant::deployment(), Moment::EPOCH..Moment::END, None, 10).await.unwrap().items;
    let [act] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!((&*act.deed, act.outcome), (Deed::Repair.as_str(), Some(Outcome::Done)));
}

/// The server goes on meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_repaired_while_it_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let job = job_without_a_timer(data.path()).await;
    let server = Server::on(data.path());
    let url = format!("http://{}", server.address());
    let ask = |options: &[&str]| {
        minutehand().arg("repair").args(["--server", &url, "--key", KEY]).args(options).output().unwrap()
    };

    let found = ask(&["--check"]);
    let repaired = ask(&[]);
    let after = ask(&["--check", "--json"]);

    assert_eq!(found.status.code(), Some(6), "{}", said(&found));
    assert!(said(&found).contains(&format!("job {}: no timer at", job.id)), "{}", said(&found));
    assert!(said(&repaired).contains("1 without a timer, made again"), "{}", said(&repaired));
    assert_eq!(after.status.code(), Some(0), "{}", said(&after));
    assert!(said(&after).contains(r#""without_timer":0"#), "{}", said(&after));
    eventually(SOON, "the job runs", async || {
        let runs = server.client().get(&format!("/v1/jobs/{}/runs", job.id)).await;
        runs.body["items"].as_array().is_some_and(|runs| !runs.is_empty()).then_some(())
    })
    .await;
}

#[test]
fn a_server_that_cannot_be_reached_or_refuses_is_said() {
    let unreachable = minutehand().args(["repair", "--server", "http://127.0.0.1:1"]).output().unwrap();

    assert_eq!(unreachable.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unreachable.stderr).contains("cannot reach"));
}

/// Removed: whether a store is there. A mistyped directory had one from then on, with nothing in it, and nothing was found.
#[test]
fn a_directory_without_a_store_is_refused_and_stays_empty() {
    let data = tempfile::tempdir().unwrap();

    for options in [&["--check"][..], &[]] {
        let refused = repair(data.path(), options);

        assert_eq!(refused.status.code(), Some(1), "{options:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no store in"));
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "{options:?}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_not_made() {
    let data = tempfile::tempdir().unwrap();
    let missing = data.path().join("nothing");

    let refused = repair(&missing, &[]);

    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no store in"));
    assert!(!missing.exists());
}

/// Every second, and a cursor of a clock that was two hours ahead.
async fn job_without_a_timer(data: &Path) -> Job {
    let store = FileStore::open(data).unwrap();
    let (job, ahead) = (job_of(1), now() + Duration::from_secs(7200));
    put(&store, &job).await;
    let cursor = Cursor { hinted_to: ahead, swept_at: ahead, ..Cursor::starting_at(ahead.millis() / 60_000) };
    let put = store.put(&Tenant::deployment(), 0, &cursor, Guard::Absent).await.unwrap();
    assert!(put.is_written());
    job
}

fn job_of(id: u8) -> Job {
    let start_at = Some(now() + Duration::from_secs(5));
    let plan = Plan { every_seconds: Some(60), start_at, ..Plan::default() };
    let schedule = Schedule::new(&plan, now()).unwrap();
    let tenant = Tenant::deployment();
    Job::new(tenant, JobId::from_bytes([id; 16]), schedule, Definition::default(), 0, now())
}

async fn put(store: &FileStore, job: &Job) {
    let put = store.put(&job.tenant, job.id, &Head::Job(job.clone()), Guard::Absent).await.unwrap();
    assert!(put.is_written());
}

fn now() -> Moment {
    Moment::EPOCH + std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

fn repair(data: &Path, options: &[&str]) -> Output {
    minutehand().arg("repair").arg("--data").arg(data).args(options).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
