//! A full disk: at the start and during work. The process ends by itself with the reason, and everything acknowledged before
//! is there.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::SOON;
use crate::client::{Client, text};
use crate::server::{Ended, Process, Server, serve};
use crate::small_disk::SmallDisk;

/// Clients who fill the disk together.
const CLIENTS: usize = 8;

#[test]
fn a_disk_that_is_full_at_the_start_is_refused() {
    let Some(disk) = SmallDisk::of(64) else { return };
    let written = fill_to_the_last_byte(&disk.path().join("filler"));

    let ended = Process::start(serve(disk.path())).ended(SOON);

    assert!(written >= 60 * 1024 && !ended.status.success(), "{ended:?}");
    assert_eq!((ended.stderr.lines().count(), ended.complaints().len()), (1, 1), "{ended:?}");
    assert!(ended.stderr.contains("the disk is full"), "{ended:?}");
}

/// Room for nothing, for some pages of a store, for all of them, for a few jobs: wherever it ends, it says why, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_too_small_is_reported_wherever_it_shows() {
    for kib in [4, 8, 12, 16, 24, 32, 64, 128, 1024] {
        let Some(disk) = SmallDisk::of(kib) else { return };

        let ended = match Server::started_or_ended(serve(disk.path())) {
            Ok(server) => {
                fill(&server.client()).await;
                server.ended(SOON)
            }
            Err(ended) => ended,
        };

        assert!(!ended.status.success(), "{kib} KiB: {ended:?}");
        let [line] = ended.complaints()[..] else { panic!("{kib} KiB: not one line: {ended:?}") };
        assert!(line.contains("the disk is full") || line.contains("No space left"), "{kib} KiB: {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_ends_the_process_and_loses_nothing_acknowledged() {
    let Some(disk) = SmallDisk::of(16 * 1024) else { return };
    let server = Server::on(disk.path());

    let acknowledged = fill(&server.client()).await;
    let ended = server.ended(Duration::from_secs(20));
    serves_or_says_why(Server::started_or_ended(serve(disk.path())), &acknowledged[0]).await;
    let roomy = tempfile::tempdir().unwrap();
    copy(disk.path(), roomy.path());
    let again = Server::on(roomy.path());

    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(ended.complaints().len(), 1, "{ended:?}");
    assert!(ended.complaints()[0].contains("the store can no longer be written"), "{ended:?}");
    assert!(acknowledged.len() > CLIENTS, "the disk was not full from the start: {}", acknowledged.len());
    for job in &acknowledged {
        let answer = again.client().get(&format!("/v1/jobs/{}", text(job, "job_id"))).await;
        assert_eq!((answer.status, &answer.body["payload"]), (200, &job["payload"]));
    }
}

/// Started again on a disk that is full still, it serves what there is; if it cannot, it says why not.
async fn serves_or_says_why(started: Result<Server, Ended>, job: &Value) {
    match started {
        Ok(server) => {
            let path = format!("/v1/jobs/{}", text(job, "job_id"));
            match server.client().ask(Method::GET, &path, None, None).await {
                Ok(answer) if answer.status != 503 => {
                    assert_eq!((answer.status, &answer.body["payload"]), (200, &job["payload"]));
                }
                // Its first write of its own has found the disk full since it said that it listens: it answers with a fault
                // until it has ended, and then not at all.
                Ok(_) | Err(_) => says_why(&server.ended(SOON)),
            }
        }
        Err(ended) => says_why(&ended),
    }
}

fn says_why(ended: &Ended) {
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(ended.complaints().len(), 1, "{ended:?}");
}

/// Creates large jobs until nobody answers any more; what was acknowledged until then.
async fn fill(client: &Client) -> Vec<Value> {
    let mut filling = JoinSet::new();
    for n in 0..CLIENTS {
        let client = client.clone();
        filling.spawn(async move { fill_alone(&client, n).await });
    }
    filling.join_all().await.into_iter().flatten().collect()
}

async fn fill_alone(client: &Client, n: usize) -> Vec<Value> {
    let mut acknowledged = Vec::new();
    loop {
        let payload = format!("{n}/{} {}", acknowledged.len(), "x".repeat(100_000));
        let job = json!({ "payload": payload, "target": { "noop": {} } });
        match client.ask(Method::POST, "/v1/jobs", None, Some(&job)).await {
            Ok(answer) if answer.status == 201 => acknowledged.push(answer.body),
            // Between the first write that fails and the end, a fault is the honest answer.
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.body),
            Err(_gone) => return acknowledged,
        }
    }
}

fn fill_to_the_last_byte(path: &Path) -> u64 {
    let mut file = fs::File::create(path).unwrap();
    while file.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    file.metadata().unwrap().len()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
