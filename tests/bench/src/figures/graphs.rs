//! Graphs: a workflow fanned out and in, a chain of tasks, and many small graphs at once. Every task is a no-op, so that what is measured
//! is what lies between them.

use std::time::{Duration, Instant};

use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::failure::{Outcome, ensure};
use crate::http::text_field;
use crate::lag::{Lags, count, millis_from};
use crate::runs::{Run, instant_or_null};
use crate::sheet::{Must, Reading};
use crate::stage::Stage;
use crate::usage::resident;

const BRANCHES: u16 = 10_000;
const CHAIN: usize = 1_000;
const DIAMONDS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

pub(super) fn meaning() -> String {
    format!(
        "A for_each of {BRANCHES} branches, from the request to the recorded success of the whole; a chain of {CHAIN} tasks, from one's\n  \
         end to the claim of the next; {DIAMONDS} runs of a diamond of four tasks asked for at once, from the first request to the last\n  \
         success. Memory: VmRSS of the process after all of it, less what an empty one has."
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let empty = resident(server.pid())?;
    let fanned = fan(&mut client).await?;
    let steps = chain(&mut client).await?;
    let diamonds = diamonds(&mut client).await?;
    let memory = resident(server.pid())?.saturating_sub(empty);
    Ok(vec![
        Reading::new("10,000 branches, out and in", "s", fanned.as_secs_f64()).must_be(Must::AtMost(5.0)),
        Reading::new("chain: from end to start, p50", "ms", steps.percentile(50)).must_be(Must::AtMost(5.0)),
        Reading::new("chain: from end to start, p99", "ms", steps.percentile(99)),
        Reading::new("diamonds", "/s", count(DIAMONDS) / diamonds.as_secs_f64()),
        Reading::new("memory, of all of it", "MiB", count(memory) / count(1024 * 1024)),
    ])
}

async fn fan(client: &mut Client) -> Outcome<Duration> {
    let each = json!({"key": "each", "target": {"noop": {}}, "for_each": (0..BRANCHES).collect::<Vec<_>>()});
    let workflow = made(client, &json!({"name": "fan", "tasks": [each]})).await?;
    let begin = Instant::now();
    let run = asked(client, &workflow).await?;
    succeeded(client, &run).await?;
    Ok(begin.elapsed())
}

async fn chain(client: &mut Client) -> Outcome<Lags> {
    let link = |n: usize| {
        let before: Vec<_> = n.checked_sub(1).map(|before| format!("t{before}")).into_iter().collect();
        json!({"key": format!("t{n}"), "target": {"noop": {}}, "depends_on": before})
    };
    let tasks: Vec<Value> = (0..CHAIN).map(link).collect();
    let workflow = made(client, &json!({"name": "chain", "tasks": tasks})).await?;
    let run = asked(client, &workflow).await?;
    succeeded(client, &run).await?;
    let path = format!("/v1/workflow-runs/{run}/tasks?limit={CHAIN}");
    let tasks = client.get(path, |body| Ok(Some(serde_json::from_slice::<Tasks>(body)?.items))).await?;
    let tasks = tasks.unwrap_or_default();
    ensure(tasks.len() == CHAIN, || format!("{} of {CHAIN} tasks are listed", tasks.len()))?;
    let steps = tasks.windows(2).filter_map(|pair| Some(millis_from(pair[0].finished_at?, pair[1].started_at?)));
    Ok(Lags::of(steps))
}

async fn diamonds(client: &mut Client) -> Outcome<Duration> {
    let task = |key: &str, before: &[&str]| json!({"key": key, "target": {"noop": {}}, "depends_on": before});
    let tasks = [task("a", &[]), task("b", &["a"]), task("c", &["a"]), task("d", &["b", "c"])];
    let workflow = made(client, &json!({"name": "diamond", "tasks": tasks})).await?;
    let begin = Instant::now();
    let asked = client.post_many(DIAMONDS, &format!("/v1/workflows/{workflow}/run"), "{}", run_of).await?;
    for run in asked.iter().rev() {
        succeeded(client, run).await?;
    }
    Ok(begin.elapsed())
}

#[derive(Deserialize)]
struct Tasks {
    items: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    #[serde(deserialize_with = "instant_or_null")]
    started_at: Option<Moment>,
    #[serde(deserialize_with = "instant_or_null")]
    finished_at: Option<Moment>,
}

async fn made(client: &mut Client, workflow: &Value) -> Outcome<String> {
    let id = |body: &[u8]| text_field(body, "workflow_id").map(ToOwned::to_owned);
    Ok(client.post_many(1, "/v1/workflows", &workflow.to_string(), id).await?.concat())
}

async fn asked(client: &mut Client, workflow: &str) -> Outcome<String> {
    Ok(client.post_many(1, &format!("/v1/workflows/{workflow}/run"), "{}", run_of).await?.concat())
}

fn run_of(body: &[u8]) -> Option<String> {
    text_field(body, "run_id").map(ToOwned::to_owned)
}

async fn succeeded(client: &mut Client, run: &str) -> Outcome<()> {
    let begin = Instant::now();
    loop {
        let read = client.get(format!("/v1/runs/{run}"), |body| Run::parse(body).map(Some)).await?;
        if read.is_some_and(|run| run.succeeded()) {
            return Ok(());
        }
        ensure(begin.elapsed() < PATIENCE, || format!("{run} has not succeeded after {PATIENCE:?}"))?;
        tokio::time::sleep(PAUSE).await;
    }
}
