//! Backing up: all that a process keeps, in a file, while it goes on; and a process over what was made of that file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::client::{instant, text};
use crate::patience::{eventually, now};
use crate::server::{KEY, Server, minutehand, serve};
use crate::{SOON, create};

/// A job that must have a record of each second, outages or not.
fn every_second() -> Value {
    json!({"target": {"noop": {}}, "schedule": {"every_seconds": 1}, "catch_up": {"policy": "all"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_backed_up_under_load_goes_on_after_a_restore_and_no_occurrence_is_lost() {
    let there = tempfile::tempdir().unwrap();
    let (one, two, file) = (there.path().join("one"), there.path().join("two"), there.path().join("file"));
    let server = Server::on(&one);
    let jobs: Vec<Value> =
        (0..100).map(|_| json!({"target": {"noop": {}}, "schedule": {"every_seconds": 2}})).collect();
    let made = server.client().post("/v1/jobs/batch", json!({"jobs": jobs})).await;
    assert_eq!(made.status, 200, "{made:?}");
    let job = create(&server.client(), every_second()).await;

    let backed_up = backup(&server, &file, &[]);
    assert!(backed_up.status.success(), "{}", said(&backed_up));
    let later = create(&server.client(), every_second()).await;
    let killed_at = now();
    server.kill();
    let restored = restore(&file, &two);
    assert!(restored.status.success(), "{}", said(&restored));

    let server = Server::on(&two);
    let client = server.client();
    let (id, first) = (text(&job, "job_id"), instant(&job, "created_at") + 1_000);
    let last = eventually(SOON, "the job runs after the restore", async || {
        let recorded = recorded(&client.get(&format!("/v1/jobs/{id}/runs?limit=1000")).await.body);
        recorded.last().copied().filter(|last| *last > killed_at + 2_000)
    })
    .await;
    eventually(SOON, "each second has a record", async || {
        let recorded = recorded(&client.get(&format!("/v1/jobs/{id}/runs?limit=1000")).await.body);
        let wanted: BTreeSet<i64> = (first..=last).step_by(1_000).collect();
        recorded.is_superset(&wanted).then_some(())
    })
    .await;
    let listed = client.get("/v1/jobs?limit=1000").await.body;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(101), "what came later is not in it");
    assert_eq!(client.get(&format!("/v1/jobs/{}", text(&later, "job_id"))).await.status, 404);
}

fn recorded(runs: &Value) -> BTreeSet<i64> {
    runs["items"].as_array().into_iter().flatten().map(|run| instant(run, "scheduled_at")).collect()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_its_owners_only_and_writes_over_nothing_unless_it_is_forced() {
    use std::os::unix::fs::PermissionsExt as _;
    let there = tempfile::tempdir().unwrap();
    let file = there.path().join("file");
    let server = Server::on(&there.path().join("one"));
    fs::write(&file, "mine").unwrap();

    let refused = backup(&server, &file, &[]);
    assert_eq!((refused.status.code(), fs::read_to_string(&file).unwrap().as_str()), (Some(1), "mine"));
    assert!(said(&refused).contains("--force"), "{}", said(&refused));
    let forced = backup(&server, &file, &["--force", "--json"]);

    assert!(forced.status.success(), "{}", said(&forced));
    let into_a_directory = backup(&server, there.path(), &["--force"]);
    assert!(said(&into_a_directory).contains("is a directory: name the file in it"), "{}", said(&into_a_directory));
    let told: Value = serde_json::from_slice(&forced.stdout).unwrap();
    assert_eq!(told["release"], env!("CARGO_PKG_VERSION"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(there.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left beside it: {names:?}");
    let audit = server.client().get("/v1/audit").await.body;
    assert_eq!((&audit["items"][0]["deed"], &audit["items"][0]["outcome"]), (&json!("backup"), &json!("done")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_nobody_serves_is_backed_up_and_one_that_is_served_is_not() {
    let there = tempfile::tempdir().unwrap();
    let (one, two, file) = (there.path().join("one"), there.path().join("two"), there.path().join("file"));
    let server = Server::on(&one);
    create(&server.client(), every_second()).await;
    let data = ["--data", one.to_str().unwrap()];

    let refused = minutehand().arg("backup").arg(&file).args(data).output().unwrap();
    server.stop();
    let nobody = minutehand().arg("backup").arg(&file).args(data).output().unwrap();
    let of_nothing =
        minutehand().arg("backup").arg(there.path().join("x")).args(["--data", "/nowhere"]).output().unwrap();

    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("another process has this store open"), "{}", said(&refused));
    assert!(nobody.status.success(), "{}", said(&nobody));
    assert!(said(&of_nothing).contains("there is no store in /nowhere"), "{}", said(&of_nothing));
    assert!(restore(&file, &two).status.success());
    let again = restore(&file, &two);
    assert!(said(&again).contains("minutehand.redb already"), "{}", said(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_backed_up_or_restored_says_why_in_a_line() {
    let there = tempfile::tempdir().unwrap();
    let file = there.path().join("file");
    let mut in_memory = minutehand();
    in_memory.args(["serve", "--memory", "--listen", "127.0.0.1:0"]).env("MINUTEHAND_KEY", KEY);
    let server = Server::started(in_memory);
    fs::write(there.path().join("text"), "hello").unwrap();

    let of_memory = backup(&server, &file, &[]);
    let by_nobody = backup(&server, &file, &["--key", "not-the-key-of-anybody"]);
    let of_a_text = restore(&there.path().join("text"), &there.path().join("two"));

    assert_eq!(of_memory.status.code(), Some(3), "{}", said(&of_memory));
    assert_eq!(by_nobody.status.code(), Some(4), "{}", said(&by_nobody));
    assert!(said(&of_a_text).contains("this is no backup of Minutehand"), "{}", said(&of_a_text));
    for made in [&of_memory, &by_nobody, &of_a_text] {
        assert_eq!(said(made).lines().filter(|line| line.starts_with("minutehand:")).count(), 1, "{}", said(made));
    }
    assert!(!file.exists() && !there.path().join("two").exists());
}

#[test]
fn a_directory_in_which_a_restore_died_is_not_served() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("minutehand.redb.restoring"), "half").unwrap();

    let ended = Server::started_or_ended(serve(data.path())).err().expect("it does not start");

    assert!(ended.stderr.contains("restore again"), "{}", ended.stderr);
    let file = data.path().join("file");
    for command in [&["compact"][..], &["repair"], &["repair", "--check"], &["backup", file.to_str().unwrap()]] {
        let refused = minutehand().args(command).arg("--data").arg(data.path()).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(said(&refused).contains("restore again"), "{command:?}: {}", said(&refused));
    }
    assert!(!data.path().join("minutehand.redb").exists());
}

fn backup(server: &Server, file: &Path, options: &[&str]) -> Output {
    let url = format!("http://{}", server.address());
    let key = if options.contains(&"--key") { &[][..] } else { &["--key", KEY] };
    minutehand().arg("backup").arg(file).args(["--server", &url]).args(key).args(options).output().unwrap()
}

fn restore(file: &Path, data: &Path) -> Output {
    minutehand().arg("restore").arg(file).arg("--data").arg(data).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
