//! Reading back: all jobs and all runs with all their attempts, over HTTP, as any client would.

use minutehand_judge::Record;
use serde_json::Value;

use crate::client::{Client, instant, text};

/// The most that a page may have.
const PAGE: usize = 1_000;

/// A run as it stands, and its id.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) run_id: String,
    pub(crate) record: Record,
    /// Attempts that ended because their process had died.
    pub(crate) lost: usize,
}

pub(crate) async fn jobs(client: &Client) -> Vec<Value> {
    pages(client, "/v1/jobs?").await
}

/// The runs of a job, in the judge's words: the job has this number there, and a run that was asked for its place in the
/// list.
pub(crate) async fn runs(client: &Client, job_id: &str, number: u32) -> Vec<Read> {
    let mut read = Vec::new();
    for run in pages(client, &format!("/v1/jobs/{job_id}/runs?")).await {
        let run = with_all_attempts(client, run).await;
        let manual = read.len() as u64 + 1;
        read.push(told(&run, number, manual));
    }
    read
}

async fn pages(client: &Client, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("{path}limit={PAGE}{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        items.extend(page.body["items"].as_array().expect("a list").iter().cloned());
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

/// A list shows the newest three.
async fn with_all_attempts(client: &Client, run: Value) -> Value {
    match run["attempts"][0]["number"].as_u64() {
        None | Some(1) => run,
        Some(_) => client.get(&format!("/v1/runs/{}", text(&run, "run_id"))).await.body,
    }
}

fn told(run: &Value, job: u32, manual: u64) -> Read {
    let attempts = run["attempts"].as_array().expect("a list");
    let number = |attempt: &Value| attempt["number"].as_u64().and_then(|n| u32::try_from(n).ok()).expect("a number");
    let scheduled = run["origin"] == "schedule";
    let record = Record {
        job,
        instant: instant(run, "scheduled_at"),
        number: if scheduled { 0 } else { manual },
        status: text(run, "status"),
        reason: run["reason"].as_str().map(str::to_owned),
        at: run["finished_at"].is_string().then(|| instant(run, "finished_at")),
        written_at: None,
        covers_until: run["covers_until"].is_string().then(|| instant(run, "covers_until")),
        fence: attempts.last().map_or(0, number),
        attempts: attempts.iter().map(number).collect(),
        unended_attempts: u32::try_from(attempts.iter().filter(|a| a["finished_at"].is_null()).count()).unwrap(),
        sla: None,
        turn: None,
    };
    let lost = attempts.iter().filter(|attempt| attempt["outcome"] == "lost").count();
    Read { run_id: text(run, "run_id"), record, lost }
}
