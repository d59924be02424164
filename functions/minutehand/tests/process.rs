//! The real process: started, used over HTTP, stopped in every way, and started again.

#[path = "support/client.rs"]
mod client;
#[path = "support/collector.rs"]
mod collector;
#[path = "support/open_files.rs"]
mod open_files;
#[path = "support/patience.rs"]
mod patience;
#[path = "support/server.rs"]
mod server;
#[path = "support/small_disk.rs"]
mod small_disk;
#[path = "support/target.rs"]
mod target;

#[path = "process/accepting.rs"]
mod accepting;
#[path = "process/backing_up.rs"]
mod backing_up;
#[path = "process/contending.rs"]
mod contending;
#[path = "process/damage.rs"]
mod damage;
#[path = "process/draining.rs"]
mod draining;
#[path = "process/erasing.rs"]
mod erasing;
#[path = "process/exhausting.rs"]
mod exhausting;
#[path = "process/exporting.rs"]
mod exporting;
#[path = "process/failing.rs"]
mod failing;
#[path = "process/firing.rs"]
mod firing;
#[path = "process/full_disk.rs"]
mod full_disk;
#[path = "process/graphs.rs"]
mod graphs;
#[path = "process/keeping.rs"]
mod keeping;
#[path = "process/measuring.rs"]
mod measuring;
#[path = "process/over_tls.rs"]
mod over_tls;
#[path = "process/owning.rs"]
mod owning;
#[path = "process/reaching.rs"]
mod reaching;
#[path = "process/releases.rs"]
mod releases;
#[path = "process/repairing.rs"]
mod repairing;
#[path = "process/secrets.rs"]
mod secrets;
#[path = "process/starting.rs"]
mod starting;
#[path = "process/surviving.rs"]
mod surviving;
#[path = "process/taking_up.rs"]
mod taking_up;
#[path = "process/telling.rs"]
mod telling;
#[path = "process/tracing.rs"]
mod tracing;

use std::time::Duration;

use serde_json::{Value, json};

use self::client::{Client, text};
use self::patience::eventually;
use self::target::{Call, Target};

/// For what takes milliseconds on a machine that has time; far less than a lease or the overdue line of 30 s.
const SOON: Duration = Duration::from_secs(8);

/// A job that calls the target at once, unless `more` says something else.
fn calling(target: &Target, path: &str, more: &Value) -> Value {
    let mut job = json!({ "target": { "http": { "url": target.url(path) } } });
    for (field, value) in more.as_object().expect("fields") {
        job[field] = value.clone();
    }
    job
}

/// Creates a job and answers with it as it was made.
async fn create(client: &Client, job: Value) -> Value {
    let answer = client.post("/v1/jobs", job).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body
}

async fn runs_of(client: &Client, job: &Value) -> Vec<Value> {
    let answer = client.get(&format!("/v1/jobs/{}/runs", text(job, "job_id"))).await;
    answer.body["items"].as_array().expect("a list").clone()
}

/// Waits until the job has so many runs, and all of them are over; oldest first.
async fn finished_runs(client: &Client, job: &Value, count: usize) -> Vec<Value> {
    eventually(SOON, &format!("{count} finished runs of {job}"), || async {
        let mut runs = runs_of(client, job).await;
        runs.reverse();
        let over = runs.iter().all(|run| !run["finished_at"].is_null());
        (over && runs.len() >= count).then_some(runs)
    })
    .await
}

async fn calls_of(target: &Target, job: &Value, count: usize) -> Vec<Call> {
    eventually(SOON, &format!("{count} calls of {job}"), || async {
        let calls = target.calls_of(&text(job, "job_id"));
        (calls.len() >= count).then_some(calls)
    })
    .await
}

fn words(list: &Value, field: &str) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|each| text(each, field)).collect()
}
