//! Repairing: a data directory whose cursor comes from the future, whose jobs lost their timers, and in which something cannot
//! be read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::audit::{Act, Deed, Outcome};
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant, base32, from_base32};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, State};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::store::embedded::{Codec, FileStore};
use minutehand_io::store::{Guard, Store as _};
use serde_json::Value;

use crate::patience::eventually;
use crate::releases::{of, unpack};
use crate::server::{KEY, Server, minutehand};

/// The deployment's tenant, as keys begin with it.
const OWNER: &[u8] = b"default\0";
/// What values begin with.
const FORMAT: u8 = 3;
/// How long after it is made a job is due for the first time: all that is done to its directory before is done by then.
const LATER: Duration = Duration::from_secs(30);
/// By when it has run.
const ITS_TIME: Duration = Duration::from_secs(60);

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
    eventually(ITS_TIME, "the job runs", async || {
        let runs = client.get(&format!("/v1/jobs/{}/runs", job.id)).await;
        runs.body["items"].as_array().is_some_and(|runs| !runs.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_lists_what_cannot_be_read_by_its_key() {
    let data = tempfile::tempdir().unwrap();
    job_without_a_timer(data.path()).await;
    let store = FileStore::open(data.path()).unwrap();
    put(&store.seen_through(Codec::Later), &job_of(9)).await;
    let damaged = damaged_in(&store).await;
    store.close();

    let found = repair(data.path(), &["--check"]);

    assert_eq!(found.status.code(), Some(6));
    assert!(said(&found).contains("1 items of a later release, 3 corrupt"), "{}", said(&found));
    for key in [&damaged[..], &[key_of_job(9)]].concat() {
        let lines: Vec<_> =
            said(&found).lines().filter(|line| line.split(' ').next() == Some(&*key)).map(str::to_owned).collect();
        assert!(
            matches!(&lines[..], [one] if one.contains(": the store") || one.contains(": a head")),
            "{key}: {lines:?}"
        );
    }
}

/// A job, a run that failed, and a timer. Removed (what is kept): their bytes were nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_can_read_is_discarded_by_its_key_and_kept_beside_the_store() {
    let data = tempfile::tempdir().unwrap();
    let job = job_without_a_timer(data.path()).await;
    let store = FileStore::open(data.path()).unwrap();
    let damaged = damaged_in(&store).await;
    store.close();

    let discarded = damaged.clone().map(|key| repair(data.path(), &["--discard", &key]));
    let after = repair(data.path(), &["--check"]);

    for (key, discarded) in damaged.iter().zip(&discarded) {
        assert_eq!(discarded.status.code(), Some(0), "{discarded:?}");
        assert!(said(discarded).contains(&format!("{key}: discarded, and kept in ")), "{}", said(discarded));
    }
    assert!(said(&discarded[0]).contains("1 without a timer, made again"), "as a repair: {}", said(&discarded[0]));
    assert_eq!(after.status.code(), Some(0), "{}", said(&after));
    let (kept, mode) = kept_in(data.path());
    assert_eq!((kept.clone().map(|(key, _value)| key), mode), (damaged, 0o600));
    assert!(kept.iter().all(|(_key, value)| value.first() == Some(&FORMAT)), "{kept:?}");
    let server = Server::on(data.path());
    eventually(ITS_TIME, "the job runs", async || {
        let runs = server.client().get(&format!("/v1/jobs/{}/runs", job.id)).await;
        runs.body["items"].as_array().is_some_and(|runs| !runs.is_empty()).then_some(())
    })
    .await;
    let stderr = server.stop().stderr;
    assert!(!stderr.contains("cannot be read") && !stderr.contains("nobody can read"), "{stderr}");
}

/// Removed (that what lies there is read first): a job that was whole was gone.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_nobody_can_read_is_discarded() {
    let data = tempfile::tempdir().unwrap();
    let job = job_without_a_timer(data.path()).await;
    let store = FileStore::open(data.path()).unwrap();
    put(&store.seen_through(Codec::Later), &job_of(2)).await;
    store.close();

    for (key, why) in [
        (key_of_job(1), "it can be read"),
        (key_of_job(2), "a later release wrote it"),
        (key_of_job(3), "nothing lies there"),
        ("heads".to_owned(), "that is no key of a store"),
    ] {
        let refused = repair(data.path(), &["--discard", &key]);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("{key} is not discarded: {why}")), "{stderr}");
    }
    let of_a_server = repair(data.path(), &["--server", "http://127.0.0.1:1", "--discard", &key_of_job(1)]);

    assert_eq!(of_a_server.status.code(), Some(2));
    let files = std::fs::read_dir(data.path()).unwrap().map(|file| file.unwrap().file_name());
    assert!(!files.into_iter().any(|name| name.to_string_lossy().starts_with("discarded-")));
    let store = FileStore::open(data.path()).unwrap();
    let acts = store.list::<Act>(&Tenant::deployment(), Moment::EPOCH..Moment::END, None, 10).await.unwrap().items;
    assert_eq!(acts, [], "nothing was done");
    assert!(store.get::<Head>(&job.tenant, job.id).await.unwrap().is_some());
    assert!(store.seen_through(Codec::Later).get::<Head>(&job.tenant, job_of(2).id).await.unwrap().is_some());
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
    eventually(ITS_TIME, "the job runs", async || {
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

/// Tried: opened as a server opens it. The store was this release's from then on, and the one that wrote it refused it.
#[test]
fn a_check_changes_nothing_of_a_store_that_an_earlier_release_wrote() {
    for release in ["dc7fa05", "format-2", "format-3"] {
        let data = tempfile::tempdir().unwrap();
        unpack(&of(release), data.path());
        let file = data.path().join("minutehand.redb");
        let before = std::fs::read(&file).unwrap();

        let found = repair(data.path(), &["--check"]);

        assert!(matches!(found.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&found.stderr));
        assert!(std::fs::read(&file).unwrap() == before, "{release}");
    }
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

/// Removed: the line. The cursor is replaced (`clocks` of the simulation's guards shows it), and nobody hears of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_a_clock_that_was_ahead_is_said_aloud() {
    let data = tempfile::tempdir().unwrap();
    let _job = job_without_a_timer(data.path()).await;

    let server = Server::on(data.path());

    eventually(ITS_TIME, "the log says it", async || {
        let said = server.stderr();
        let says = |line: &&str| line.contains("ERROR") && line.contains("of a time that has not come");
        said.lines().find(says).map(|_| ())
    })
    .await;
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
    let start_at = Some(now() + LATER);
    let plan = Plan { every_seconds: Some(60), start_at, ..Plan::default() };
    let schedule = Schedule::new(&plan, now()).unwrap();
    let tenant = Tenant::deployment();
    Job::new(tenant, JobId::from_bytes([id; 16]), schedule, Definition::default(), 0, now())
}

/// A job, a run and a timer that nobody can read: their keys.
async fn damaged_in(store: &FileStore) -> [String; 3] {
    let (_job, head) = damaged_job(store, 3).await;
    [head, damaged_run(store, 4).await, damaged_timer(store, 5, now() + Duration::from_secs(3600)).await]
}

pub(crate) async fn damaged_job(store: &FileStore, id: u8) -> (JobId, String) {
    put(&store.seen_through(Codec::Damaging), &job_of(id)).await;
    (job_of(id).id, key_of_job(id))
}

async fn damaged_run(store: &FileStore, id: u8) -> String {
    let key = RunKey::occurrence(JobId::from_bytes([id; 16]), now());
    let failed = Run { state: State::TimedOut { at: now() }, ..Run::new(Tenant::deployment(), key, Priority::Normal) };
    let put = store.seen_through(Codec::Damaging).put(&failed.tenant, key, &failed, Guard::Absent).await.unwrap();
    assert!(put.is_written());
    format!("runs:{}", base32(&[OWNER, &key.to_bytes()].concat()))
}

pub(crate) async fn damaged_timer(store: &FileStore, id: u8, due: Moment) -> String {
    store.seen_through(Codec::Damaging).put_timer(&timer_of(JobId::from_bytes([id; 16]), due)).await.unwrap();
    format!("timers:{}", base32(&[&due.millis().to_be_bytes()[2..], &[0], &[id; 16]].concat()))
}

pub(crate) fn timer_of(job: JobId, due: Moment) -> Timer {
    let stamp = TimerStamp { generation: 1, written: due - Duration::from_secs(60) };
    Timer { key: TimerKey::occurrence(job, due), tenant: Tenant::deployment(), stamp, parent: None }
}

/// Under which a job lies: its tenant's name and a zero, and its id.
fn key_of_job(id: u8) -> String {
    format!("heads:{}", base32(&[OWNER, &[id; 16]].concat()))
}

/// What was discarded, by key, as it lay; and the mode of the file that keeps it.
fn kept_in(data: &Path) -> ([(String, Vec<u8>); 3], u32) {
    let files = std::fs::read_dir(data).unwrap().map(|file| file.unwrap().path());
    let mut kept = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let (file, none) = (kept.next().unwrap(), kept.next());
    assert_eq!(none, None);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let items: Vec<_> =
        lines.map(|line| (text_in(&line, "key"), from_base32(&text_in(&line, "value")).unwrap())).collect();
    (items.try_into().unwrap(), std::fs::metadata(&file).unwrap().permissions().mode() & 0o777)
}

fn text_in(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap().to_owned()
}

async fn put(store: &FileStore, job: &Job) {
    let put = store.put(&job.tenant, job.id, &Head::Job(job.clone()), Guard::Absent).await.unwrap();
    assert!(put.is_written());
}

pub(crate) fn now() -> Moment {
    Moment::EPOCH + std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

fn repair(data: &Path, options: &[&str]) -> Output {
    minutehand().arg("repair").arg("--data").arg(data).args(options).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
