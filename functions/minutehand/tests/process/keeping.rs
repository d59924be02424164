//! Keeping: what is over goes when its time has come, into an archive first; and the file that is left shrinks.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::pace;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::logbook::LogPiece;
use minutehand_domain::run::{Run, State};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::store::embedded::{Codec, FileStore};
use minutehand_io::store::{Guard, LogFrom, Store as _};
use serde_json::Value;

use crate::SOON;
use crate::patience::eventually;
use crate::server::{Server, minutehand, serve};

const JOB: JobId = JobId::from_bytes([7; 16]);
const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(31 * 86_400);

/// For two passes and the rest after the first, nine times as long as that took: on a disk that others use for seconds.
const PASSES: Duration = Duration::from_secs(90);

/// A store with runs that ended a month ago and one that ended today, all of one job, and a line of the first one's log.
async fn fill(data: &Path, runs: u64) -> (RunKey, RunKey) {
    fill_with(data, runs, MONTH).await
}

/// The same, where they ended so long ago.
async fn fill_with(data: &Path, runs: u64, ago: Duration) -> (RunKey, RunKey) {
    let (store, now) = (FileStore::open(data).unwrap(), SystemClock.now());
    let tenant = Tenant::deployment();
    let schedule = Schedule::new(&Plan { on_demand: true, ..Plan::default() }, now - ago).unwrap();
    let job = Job::new(tenant.clone(), JOB, schedule, Definition::default(), 0, now - ago);
    assert!(store.put(&tenant, JOB, &Head::Job(job), Guard::Absent).await.unwrap().is_written());
    let (old, new) = (RunKey::manual(JOB, now - ago, 0), RunKey::manual(JOB, now, 0));
    let keys = (0..runs).map(|number| RunKey { discriminator: number, ..old }).chain([new]);
    for some in keys.collect::<Vec<_>>().chunks(500) {
        let puts = some.iter().map(|key| {
            let over = State::Cancelled { at: key.at };
            let run = Run { state: over, ..Run::new(tenant.clone(), *key, Priority::Normal) };
            let (store, tenant) = (&store, tenant.clone());
            async move { assert!(store.put(&tenant, *key, &run, Guard::Absent).await.unwrap().is_written()) }
        });
        futures_util::future::join_all(puts).await;
    }
    let line = LogPiece { run: old, first: 0, at: old.at, attempt: 1, lines: vec!["x".to_owned()] };
    assert!(store.put(&tenant, (old, 0), &line, Guard::Absent).await.unwrap().is_written());
    let cursor = Cursor::starting_at(pace::minute_of(now));
    assert!(store.put(&tenant, 0, &cursor, Guard::Absent).await.unwrap().is_written());
    store.close();
    (old, new)
}

fn archiving(data: &Path, archive: &Path) -> Server {
    let mut command = serve(data);
    command.arg("--archive").arg(archive);
    Server::started(command)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn run(words: &[&str]) -> Output {
    minutehand().args(words).output().unwrap()
}

fn listed(archive: &Path, more: &[&str]) -> Vec<Value> {
    let words = [&["archive", "list", "--json", "--archive", archive.to_str().unwrap()], more].concat();
    let output = run(&words);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn left(data: &Path, run: RunKey) -> (bool, usize) {
    let store = FileStore::open(data).unwrap();
    let there = store.get::<Run>(&Tenant::deployment(), run).await.unwrap().is_some();
    let log = store.list::<LogPiece>(&Tenant::deployment(), LogFrom { run, first: 0 }, None, 9).await.unwrap();
    store.close();
    (there, log.items.len())
}

/// Removed: the write of the archive. The runs were gone, and nobody had them.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_expired_is_archived_and_gone_with_all_it_left_and_the_file_shrinks() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, new) = fill(data.path(), 2_000).await;

    let server = archiving(data.path(), archive.path());
    eventually(PASSES, "all is archived", async || {
        let runs: u64 = listed(archive.path(), &[]).iter().map(|file| file["runs"].as_u64().unwrap()).sum();
        (runs == 2_000).then_some(())
    })
    .await;
    let client = server.client();
    eventually(PASSES, "what expired is gone", async || {
        (client.get(&format!("/v1/runs/{old}")).await.status == 404).then_some(())
    })
    .await;
    let busy = run(&["compact", "--data", data.path().to_str().unwrap()]);
    drop(server);
    let compacted = run(&["compact", "--data", data.path().to_str().unwrap()]);

    assert_eq!((left(data.path(), old).await, left(data.path(), new).await), ((false, 0), (true, 0)));
    assert!(!busy.status.success() && said(&busy).contains("another process has this store open"), "{}", said(&busy));
    assert!(compacted.status.success() && said(&compacted).contains(" had "), "{}", said(&compacted));
    let files = listed(archive.path(), &["--tenant", "default"]);
    assert_eq!((files[0]["day"].as_str(), &files[0]["torn"]), (old.at.to_string().get(..10), &Value::Bool(false)));
    assert!(listed(archive.path(), &["--from", &new.at.to_string()[..10]]).is_empty());
}

/// Where an archive can take nothing, the rule `ArchiveBehind` goes by this.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_archived_stays_and_is_counted() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, _new) = fill(data.path(), 3).await;
    std::fs::write(archive.path().join("default"), "in the way of the tenant's folder").unwrap();

    let server = archiving(data.path(), archive.path());
    let refused = r#"minutehand_archived_runs_total{outcome="refused"} 3"#;
    eventually(SOON, "it is counted", async || {
        server.client().get("/metrics").await.body.as_str()?.contains(refused).then_some(())
    })
    .await;

    assert_eq!(server.client().get(&format!("/v1/runs/{old}")).await.status, 200);
    let complaint = "runs could not be archived, and are not deleted";
    eventually(SOON, complaint, || async { server.stderr().contains(complaint).then_some(()) }).await;
}

/// By this `CorruptItems` goes: what is over has no timer, so that no sweep meets it.
///
/// Removed: what cannot be read is counted where it is to be archived. It stayed for ever, and nothing rang.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_run_that_nobody_can_read_stays_and_is_counted() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, _new) = fill(data.path(), 3).await;
    let torn = RunKey { discriminator: 3, ..old };
    let store = FileStore::open(data.path()).unwrap();
    let run = Run { state: State::Cancelled { at: torn.at }, ..Run::new(Tenant::deployment(), torn, Priority::Normal) };
    let put = store.seen_through(Codec::Damaging).put(&run.tenant, torn, &run, Guard::Absent).await.unwrap();
    assert!(put.is_written());
    store.close();

    let server = archiving(data.path(), archive.path());
    let counted = |line: &str| {
        let count = line.strip_prefix(r#"minutehand_unreadable_items_total{why="corrupt"} "#);
        count.is_some_and(|count| count != "0")
    };
    eventually(PASSES, "it is counted, and what can be read is gone", async || {
        let is_counted = server.client().get("/metrics").await.body.as_str()?.lines().any(counted);
        let is_gone = server.client().get(&format!("/v1/runs/{old}")).await.status == 404;
        (is_counted && is_gone).then_some(())
    })
    .await;

    drop(server);
    assert_eq!(ids_of(archive.path()).len(), 3);
    let store = FileStore::open(data.path()).unwrap();
    assert!(store.get::<Run>(&Tenant::deployment(), torn).await.is_err(), "it is there still");
}

/// The job is read to show its runs, and has been damaged for longer than a week.
///
/// Removed: what a run is shown with is needed to archive it. No run of a job that was damaged ever went, and each pass read all of them again.
#[tokio::test(flavor = "multi_thread")]
async fn expired_runs_of_a_job_that_nobody_can_read_are_archived_and_gone() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, _new) = fill_with(data.path(), 3, MONTH + 8 * DAY).await;
    let (store, tenant) = (FileStore::open(data.path()).unwrap(), Tenant::deployment());
    let head = store.get::<Head>(&tenant, JOB).await.unwrap().expect("it is there");
    let put = store.seen_through(Codec::Damaging).put(&tenant, JOB, &head.item, head.guard()).await.unwrap();
    assert!(put.is_written());
    store.close();

    let server = archiving(data.path(), archive.path());
    eventually(PASSES, "it is gone", async || {
        let complaint = "a run is archived without what it is shown with";
        let is_gone = server.client().get(&format!("/v1/runs/{old}")).await.status == 404;
        (is_gone && server.stderr().contains(complaint)).then_some(())
    })
    .await;

    drop(server);
    assert_eq!(ids_of(archive.path()).len(), 3);
}

/// The process is killed again and again while it archives: each run is in the archive, and what was not archived is in the store.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_killed_between_the_archive_and_the_deletion_loses_no_run() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, _new) = fill(data.path(), 3_000).await;

    for millis in [0, 40, 80, 120, 200] {
        let server = archiving(data.path(), archive.path());
        tokio::time::sleep(Duration::from_millis(millis)).await; // wherever it is then is where it is killed
        server.kill();
    }
    let archived = ids_of(archive.path());

    let store = FileStore::open(data.path()).unwrap();
    for number in 0..3_000 {
        let key = RunKey { discriminator: number, ..old };
        let there = store.get::<Run>(&Tenant::deployment(), key).await.unwrap().is_some();
        assert!(there || archived.contains(&key.to_string()), "{key} is nowhere");
    }
}

fn ids_of(archive: &Path) -> std::collections::BTreeSet<String> {
    use std::io::{BufRead as _, BufReader};

    let mut ids = std::collections::BTreeSet::new();
    for file in listed(archive, &[]) {
        let file = std::fs::File::open(file["file"].as_str().unwrap()).unwrap();
        let whole = BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map_while(Result::ok);
        for line in whole {
            let run: Value = serde_json::from_str(&line).unwrap();
            ids.insert(run["run_id"].as_str().unwrap().to_owned());
        }
    }
    ids
}
