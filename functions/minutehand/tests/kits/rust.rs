//! The actor in Rust: a worker that does what its payload says, and tells in lines of JSON on stdout what it meets.

use std::env;
use std::io::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use minutehand_client::Client;
use minutehand_client::worker::{Context, NotDone, Worker};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::time::sleep;

/// Started by `Kit::Rust` in a process of its own.
#[tokio::test]
#[ignore = "it is no test, but what they start"]
async fn actor() {
    let said = |name: &str| env::var(name).ok();
    let (url, key) = (said("MINUTEHAND_URL"), said("MINUTEHAND_KEY").unwrap_or_default());
    let client = Client::new(&url.unwrap_or_else(|| "http://127.0.0.1:8080".to_owned()), &key).expect("an address");
    let worker = Worker::new(client, &said("POOL").unwrap_or_default())
        .name(&said("NAME").unwrap_or_default())
        .slots(4)
        .lease(Duration::from_secs(10))
        .wait(Duration::from_secs(1))
        .patience(Duration::from_secs(15), Duration::from_millis(500))
        .job("act", act);
    let Some(payload) = said("INLINE") else {
        worker.run().await.expect("the server has it");
        return print(&json!({ "told": "stopped" }));
    };
    let payload: Value = serde_json::from_str(&payload).expect("JSON");
    let checkpoint: Value = serde_json::from_str(&said("CHECKPOINT").expect("a checkpoint")).expect("JSON");
    let checkpoint = (!checkpoint.is_null()).then(|| to_raw_value(&checkpoint).expect("JSON"));

    let (result, notes) = worker.run_inline("act", &payload, checkpoint.as_deref()).await;

    print(&json!({
        "result": result.expect("it is done"), "logs": notes.logs, "checkpoints": notes.checkpoints,
        "progress": notes.progress, "stages": notes.stages,
    }));
}

/// The example of the page of workers.
#[test]
#[ignore = "it is no test, but what they start"]
fn example() {
    sending::start();
}

mod sending {
    include!("../../../../shared/client/examples/send.rs");

    pub(super) fn start() {
        main().expect("the server has it");
    }
}

async fn act(ctx: Context) -> Result<Value, NotDone> {
    tell(&ctx, "begun");
    let payload: Value = ctx.payload()?;
    match payload["scene"].as_str().unwrap_or_default() {
        "add" => add(&ctx, &payload).await,
        "refuse" => Err(NotDone::failed("no_such_invoice", "there is no invoice 7").for_good()),
        "stumble" => stumble(&ctx),
        "count" => count(&ctx).await,
        "pay" => pay(&ctx).await,
        "wait" => wait(&ctx).await,
        "rest" => rest(&ctx, &payload).await,
        "block" => Ok(block(&ctx, &payload)),
        other => Err(NotDone::failed("no_such_scene", other)),
    }
}

/// Says all there is to say.
async fn add(ctx: &Context, payload: &Value) -> Result<Value, NotDone> {
    ctx.progress(0.5);
    ctx.stage("adding");
    let numbers: Vec<u64> = payload["numbers"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    for number in &numbers {
        ctx.log(&format!("adding {number}"));
    }
    ctx.keep_now(&json!({ "added": numbers.len() })).await?;
    Ok(json!({ "sum": numbers.iter().sum::<u64>(), "key": ctx.idempotency_key(), "trace": ctx.traceparent() }))
}

/// Fails the first time, as code does that has a mistake.
fn stumble(ctx: &Context) -> Result<Value, NotDone> {
    if ctx.attempt() == 1 {
        "the first one".parse::<u64>()?;
    }
    Ok(json!({ "attempt": ctx.attempt() }))
}

/// Goes on where the holder before was, which hangs half way.
async fn count(ctx: &Context) -> Result<Value, NotDone> {
    let begin = ctx.checkpoint::<Value>()?.and_then(|kept| kept["at"].as_u64()).unwrap_or(0);
    for at in begin + 1..=6 {
        ctx.keep_now(&json!({ "at": at })).await?;
        if at == 3 && begin == 0 {
            tell(ctx, "half way");
            sleep(Duration::from_secs(600)).await;
        }
    }
    Ok(json!({ "from": begin }))
}

/// Makes one effect, and dies in the middle of another. The next holder tells what it is told of both.
async fn pay(ctx: &Context) -> Result<Value, NotDone> {
    let charge = ctx.effect("charge/7").await?;
    if charge.is_first() {
        charge.done(&json!({ "id": "ch_1" })).await?;
    }
    let mail = ctx.effect("mail").await?;
    if mail.is_first() {
        tell(ctx, "half way");
        sleep(Duration::from_secs(600)).await;
    }
    mail.done(&"sent").await?;
    Ok(json!([charge.is_first(), charge.outcome::<Value>()?, mail.is_first(), mail.outcome::<Value>()?]))
}

/// Waits to be told to stop, for ten minutes. The second time it has nothing to wait for.
async fn wait(ctx: &Context) -> Result<Value, NotDone> {
    if ctx.attempt() > 1 {
        return Ok(json!({ "attempt": ctx.attempt() }));
    }
    let _in_time = tokio::time::timeout(Duration::from_secs(600), ctx.cancelled()).await.is_ok();
    tell(ctx, if ctx.is_cancelled() { "cancelled" } else { "not cancelled" });
    ctx.check()?;
    Ok(Value::Null)
}

/// Takes a while, and listens to nobody. The second time it is quick.
async fn rest(ctx: &Context, payload: &Value) -> Result<Value, NotDone> {
    if ctx.attempt() == 1 {
        sleep(seconds(payload)).await;
    }
    Ok(json!({ "attempt": ctx.attempt() }))
}

/// Keeps the one thread of its runtime busy, and lets nothing else of its program go on that waits for it.
fn block(ctx: &Context, payload: &Value) -> Value {
    let begin = Instant::now();
    while begin.elapsed() < seconds(payload) {
        thread::yield_now();
    }
    json!({ "attempt": ctx.attempt(), "cancelled": ctx.is_cancelled() })
}

fn seconds(payload: &Value) -> Duration {
    Duration::from_secs_f64(payload["seconds"].as_f64().unwrap_or(0.0))
}

fn tell(ctx: &Context, what: &str) {
    print(&json!({ "told": what, "run": ctx.run_id(), "fence": ctx.fence() }));
}

/// A line of its own: the harness of the tests has begun one.
fn print(line: &Value) {
    writeln!(io::stdout().lock(), "\n{line}").expect("stdout");
}
