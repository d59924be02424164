//! Leases: what one worker carries out that takes runs in batches, and how soon a worker that waits has a job that is due now.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, Pace};
use crate::failure::{Failure, Outcome, ensure};
use crate::lag::{Lags, count, millis};
use crate::sheet::{Must, Reading};
use crate::stage::{Server, Stage};

const RUNS: usize = 20_000;
/// Requests that the worker has under way at once.
const HANDS: usize = 4;
const BATCH: usize = 100;
const IMMEDIATE: u64 = 200;
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn meaning() -> String {
    format!(
        "{RUNS} runs that lie in a pool, taken by one worker over {HANDS} connections, {BATCH} a request, and completed, {BATCH} a request: from\n  \
         the first request to the last answer. Then {IMMEDIATE} jobs without a schedule, one at a time, 20 to 60 ms apart, with a worker\n  \
         waiting: from the moment before the job is submitted to the worker's answer."
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    client.submit(RUNS, &job("batches"), Pace::Flat).await?;
    all_lie_there(&mut client).await?;
    let took = in_batches(stage, &server).await?;
    let lags = immediate(stage, &server).await?;
    Ok(vec![
        Reading::new("runs, taken and completed", "/s", count(RUNS) / took.as_secs_f64())
            .must_be(Must::AtLeast(10_000.0)),
        Reading::new("to a worker that waits, p50", "ms", lags.percentile(50)),
        Reading::new("to a worker that waits, p99", "ms", lags.percentile(99)).must_be(Must::AtMost(5.0)),
        Reading::new("to a worker that waits, max", "ms", lags.max()),
    ])
}

fn job(pool: &str) -> String {
    json!({"name": "bench", "target": {"worker": {"pool": pool, "handler": "noop"}}}).to_string()
}

#[derive(Deserialize)]
struct Leases {
    leases: Vec<Lease>,
}

#[derive(Deserialize)]
struct Lease {
    lease_id: String,
    token: String,
}

#[derive(Deserialize)]
struct Completed {
    results: Vec<Value>,
}

/// No hint is left: each run lies in its pool.
async fn all_lie_there(client: &mut Client) -> Outcome<()> {
    let begin = Instant::now();
    loop {
        let left = client.get("/metrics".to_owned(), |body| Ok(Some(hints_in(&String::from_utf8_lossy(body))))).await?;
        if left == Some(0.0) {
            return Ok(());
        }
        ensure(begin.elapsed() < PATIENCE, || format!("{left:?} hints are left after {PATIENCE:?}"))?;
        tokio::time::sleep(PAUSE).await;
    }
}

fn hints_in(metrics: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.starts_with("minutehand_lane_hints{"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

async fn in_batches(stage: &Stage, server: &Server) -> Outcome<Duration> {
    let begin = Instant::now();
    let mut hands = Vec::new();
    for hand in 0..HANDS {
        hands.push((hand, stage.connected(server, 1).await?));
    }
    let done = futures_util::future::try_join_all(hands.into_iter().map(|(hand, client)| work(hand, client))).await?;
    let took = begin.elapsed();
    ensure(done.iter().sum::<usize>() == RUNS, || format!("{done:?} runs were completed"))?;
    Ok(took)
}

/// Until nothing lies there any more.
async fn work(hand: usize, mut client: Client) -> Outcome<usize> {
    let mut done = 0;
    loop {
        let leases = take(&mut client, "batches", &format!("hand-{hand}"), BATCH, 0).await?;
        if leases.is_empty() {
            return Ok(done);
        }
        let results: Vec<_> =
            leases.iter().map(|Lease { lease_id, token }| json!({"lease_id": lease_id, "token": token})).collect();
        let body = json!({ "results": results }).to_string();
        let results = client
            .post("/v1/leases/complete", &body, |body| Ok(serde_json::from_slice::<Completed>(body)?.results))
            .await?;
        done += results.iter().filter(|result| result["run"]["status"] == "succeeded").count();
    }
}

async fn take(client: &mut Client, pool: &str, worker: &str, max: usize, wait: u64) -> Outcome<Vec<Lease>> {
    let body = json!({"pool": pool, "worker_id": worker, "max": max, "wait_seconds": wait}).to_string();
    client.post("/v1/leases", &body, |body| Ok(serde_json::from_slice::<Leases>(body)?.leases)).await
}

async fn immediate(stage: &Stage, server: &Server) -> Outcome<Lags> {
    let (mut asker, mut worker) = (stage.connected(server, 1).await?, stage.connected(server, 1).await?);
    let (job, mut lags) = (job("immediate"), Vec::new());
    for number in 0..IMMEDIATE {
        let submitting = async {
            tokio::time::sleep(Duration::from_millis(20 + number * 7 % 40)).await;
            asker.submit(1, &job, Pace::Flat).await
        };
        let taking = async {
            let leases = take(&mut worker, "immediate", "waiting", 1, 10).await?;
            let at = Instant::now();
            leases.into_iter().next().map(|lease| (lease, at)).ok_or_else(|| Failure::Said("nothing came".to_owned()))
        };
        let (submitted, (lease, at)) = futures_util::future::try_join(submitting, taking).await?;
        lags.push(millis(at - submitted[0].sent_at));
        let body = json!({"token": lease.token}).to_string();
        worker.post(&format!("/v1/leases/{}/complete", lease.lease_id), &body, |_| Ok(())).await?;
    }
    Ok(Lags::of(lags))
}
