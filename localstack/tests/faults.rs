//! Faults of real processes, and the alarms that ring behind them: `minutehand serve` is scraped each five seconds as Prometheus does it, and
//! Prometheus' rules are asked of what was scraped. What names the fault rings while it lasts, nothing rings before it, and no other page does.
//!
//! `tests/tests/alarms/faults.rs` plays the same at virtual time, and that it is silent again when all is well. There the process itself is left out:
//! whether it can be scraped (`up`), and what it reads of its lanes, its store and its workers when it is.
//!
//! By the clock, since rules look back for minutes: ten of them, in which all wait. `.ci/run` asks for them, side by side:
//!
//! ```sh
//! infra/build && cargo test -p minutehand-localstack --test faults -- --ignored --test-threads 5
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use minutehand_aws_tests::dynamo::Dynamo;
use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_localstack::api_client::ApiClient;
use minutehand_localstack::hook::Hook;
use minutehand_localstack::process::{Served, serve_alone, serve_over_tables};
use minutehand_localstack::worker::Worker;
use minutehand_tests::alarms::{Scraped, promtool};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Between two scrapes.
const EACH: Duration = Duration::from_secs(5);
/// A scrape that takes longer has failed; beside a store that is away one takes a second.
const PATIENCE: Duration = Duration::from_secs(4);
/// In scrapes, a minute: all is well.
const WELL: usize = 12;
/// In scrapes, nine minutes: `PoolUnattended` rings after three and a half, and the rest is for a slow machine.
const FAULT: usize = 108;

#[tokio::test]
#[ignore = "ten minutes of the clock: .ci/run asks"]
async fn a_process_that_is_killed_is_told_of() {
    let Some(promtool) = promtool() else { return };
    let scraped = played_alone(drop).await;

    rings(promtool, "killed", &scraped, "TelemetryMissing");
}

#[tokio::test]
#[ignore = "ten minutes of the clock: .ci/run asks"]
async fn a_process_that_hangs_is_told_of() {
    let Some(promtool) = promtool() else { return };
    let mut hanging = None;
    let scraped = played_alone(|served| hanging.insert(served).hang()).await;

    rings(promtool, "hanging", &scraped, "TelemetryMissing");
}

#[tokio::test]
#[ignore = "ten minutes of the clock: .ci/run asks"]
async fn workers_that_are_gone_are_told_of() {
    let Some(promtool) = promtool() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve_alone(folder.path()).await;
    let (api, worker) = (served.api(), Worker::start(&served.url, &served.key, "web1"));
    let act = json!({"worker": {"pool": "web1", "handler": "act"}});
    let payload = json!({"scene": "rest", "seconds": 0});
    api.create(&with(each_five_seconds(&act), "payload", payload)).await;

    let scraped = played(&api, || drop(worker)).await;

    rings(promtool, "workers", &scraped, "PoolUnattended");
}

#[tokio::test]
#[ignore = "ten minutes of the clock: .ci/run asks"]
async fn a_target_that_is_gone_is_told_of() {
    let Some(promtool) = promtool() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve_alone(folder.path()).await;
    let (api, (target, url)) = (served.api(), listening());
    api.create(&with(each_five_seconds(&json!({"http": {"url": url}})), "retry", json!({"max_retries": 0}))).await;

    let scraped = played(&api, || target.shutdown_background()).await;

    rings(promtool, "target", &scraped, "DeadLetters");
}

/// Its queues stay: what is away is DynamoDB alone.
#[tokio::test]
#[ignore = "ten minutes of the clock: .ci/run asks"]
async fn a_store_that_does_not_answer_is_told_of() {
    let Some(promtool) = promtool() else { return };
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let (endpoint, hangs) = driven();
    let served = serve_over_tables(&endpoint, &aws).await;
    let api = served.api();
    api.create(&each_five_seconds(&json!({"noop": {}}))).await;

    let scraped = played(&api, || hangs.send(()).expect("it is driven")).await;

    rings(promtool, "store", &scraped, "SweepBehind");
}

fn each_five_seconds(target: &Value) -> Value {
    json!({"schedule": {"every_seconds": 5}, "target": target})
}

fn with(mut job: Value, field: &str, value: Value) -> Value {
    job[field] = value;
    job
}

/// A hook on a runtime of its own: where that is shut down, nobody listens there any more.
fn listening() -> (Runtime, String) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move { tell.send(Hook::start().await.ok()) });
    (runtime, told.recv().expect("it listens"))
}

/// A DynamoDB that a thread drives until it is told to hang: what is open stays open, and is not answered.
fn driven() -> (String, oneshot::Sender<()>) {
    let (tell, told) = mpsc::channel();
    let (hangs, hang) = oneshot::channel::<()>();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            tell.send(Dynamo::start().await.endpoint).expect("somebody asks");
            _ = hang.await;
        });
        // Dropped, it would close its sockets: who is refused at once knows more than who waits.
        std::mem::forget(runtime);
    });
    (told.recv().expect("it listens"), hangs)
}

/// What a process says of itself while all is well, and then in the fault.
async fn played(api: &ApiClient, fault: impl FnOnce()) -> Scraped {
    let mut scraped = Scraped::each(EACH);
    scrape(api, WELL, &mut scraped).await;
    fault();
    scrape(api, FAULT, &mut scraped).await;
    scraped
}

/// The same of a process over files that has a job which calls nobody.
async fn played_alone(fault: impl FnOnce(Served)) -> Scraped {
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve_alone(folder.path()).await;
    let api = served.api();
    api.create(&each_five_seconds(&json!({"noop": {}}))).await;
    played(&api, || fault(served)).await
}

async fn scrape(api: &ApiClient, times: usize, scraped: &mut Scraped) {
    for _ in 0..times {
        let asking = tokio::time::timeout(PATIENCE, api.text("/metrics"));
        let (said, ()) = tokio::join!(asking, tokio::time::sleep(EACH));
        match said.ok().flatten() {
            Some(text) => scraped.answered(&text),
            None => scraped.unanswered(),
        }
    }
}

fn rings(promtool: &Path, name: &str, scraped: &Scraped, expected: &str) {
    let rang = |scrapes| {
        let mut rang = scraped.rang(promtool, &format!("process-{name}"), scrapes);
        // Of a hundred starts one that a busy machine begins late is more than one in a thousand. When this is to ring, virtual time shows.
        rang.remove("StartBudgetBurns");
        rang
    };
    assert_eq!(rang(0..WELL - 1), BTreeSet::new(), "{name}: all is well");
    assert_eq!(rang(WELL..WELL + FAULT - 1), BTreeSet::from([expected.to_owned()]), "{name}");
}
