//! The actor in Rust: a worker that does what its payload says, and tells in lines of JSON on stdout what it meets.

use std::env;
use std::io::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use minutehand_client::Client;
use minutehand_client::worker::{Context, NotDone, Worker};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
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
        .lease(Duration::from_secs(said("LEASE_SECONDS").map_or(10, |seconds| seconds.parse().expect("a number"))))
        .wait(Duration::from_secs(1))
        .patience(Duration::from_secs(15), Duration::from_millis(500))
        .job("act", act);
    let Some(payload) = said("INLINE") else {
        tokio::spawn(tell_hangups());
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
        "odd" => Ok(odd(&ctx)),
        "spoil" => spoil(&ctx).await,
        "insist" => insist(&ctx, &payload).await,
        "swell" => swell(&ctx).await,
        "flood" => Ok(json!(large())),
        "overtake" => overtake(&ctx).await,
        "babble" => babble(&ctx).await,
        "linger" => Ok(linger(&ctx)),
        "shorten" => Err(shorten(&ctx)),
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
    let charge = ctx.effect("charge/7?of=100%").await?;
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

/// Says what is no number from 0 to 1, and keeps what is nothing.
fn odd(ctx: &Context) -> Value {
    for fraction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        ctx.progress(fraction);
    }
    json!({ "refused": ctx.keep(&None::<u32>).map_err(|error| error.to_string()).err() })
}

/// Lists in lists, deeper than the server reads them.
fn deep() -> Value {
    (0..200).fold(json!(0), |inner, _| json!([inner]))
}

/// More than the server reads.
fn large() -> String {
    "x".repeat(5_000_000)
}

/// What is said where it is refused, with this code.
fn refused(kept: Result<(), NotDone>, with: &str) -> Result<Option<String>, NotDone> {
    match kept {
        Err(NotDone::Failed { code, message, .. }) if code == with => Ok(Some(message)),
        other => other.map(|()| None),
    }
}

/// Keeps what is too deep, and says what cannot be a stage, beside what is good.
async fn spoil(ctx: &Context) -> Result<Value, NotDone> {
    ctx.progress(0.25);
    ctx.stage("counting");
    ctx.log("before");
    let why = refused(ctx.keep_now(&deep()).await, "checkpoint_refused")?;
    let before: Option<Value> = ctx.checkpoint()?;
    ctx.progress(0.5);
    ctx.stage("");
    ctx.log("after");
    ctx.keep_now(&json!({ "at": 1 })).await?;
    refused(ctx.keep_now(&deep()).await, "checkpoint_refused")?;
    let after: Option<Value> = ctx.checkpoint()?;
    ctx.log("last");
    ctx.keep(&deep())?;
    Ok(json!({ "refused": why, "found": [before, after] }))
}

/// Keeps what is too deep, over and over.
async fn insist(ctx: &Context, payload: &Value) -> Result<Value, NotDone> {
    let (begin, mut is_refused) = (Instant::now(), false);
    while begin.elapsed() < seconds(payload) {
        is_refused |= refused(ctx.keep_now(&deep()).await, "checkpoint_refused")?.is_some();
        sleep(Duration::from_millis(500)).await;
    }
    Ok(json!({ "attempt": ctx.attempt(), "refused": is_refused }))
}

/// Keeps and says what is too large, after the largest that is not and with a good one that waits.
async fn swell(ctx: &Context) -> Result<Value, NotDone> {
    ctx.keep_now(&"\u{e9}".repeat(131_071)).await?;
    ctx.keep(&json!({ "at": 1 }))?;
    let later = ctx.keep(&large()).map_err(|error| error.to_string()).err();
    let now = refused(ctx.keep_now(&large()).await, "checkpoint_refused")?;
    let effect = refused(ctx.effect("mail").await?.done(&large()).await, "effect_refused")?;
    Ok(json!({ "refused": [later, now, effect], "found": ctx.checkpoint::<Value>()? }))
}

/// Keeps another while one is under way, and finds what was kept last.
async fn overtake(ctx: &Context) -> Result<Value, NotDone> {
    let mut found = Vec::new();
    let later = async {
        ctx.effect("sent").await?;
        found.extend(ctx.checkpoint_text());
        ctx.keep(&"second")?;
        ctx.effect("release").await
    };
    let (first, release) = tokio::join!(ctx.keep_now(&"first"), later);
    first.and(release.map(drop))?;
    found.extend(ctx.checkpoint_text());
    Ok(found.iter().map(|text| Value::from(text.trim_matches('"'))).collect())
}

/// Says more than can wait, and more when some of it is known to be missing.
async fn babble(ctx: &Context) -> Result<Value, NotDone> {
    (0..1_500).for_each(|at| ctx.log(&format!("line {at}")));
    ctx.effect("noticed").await?;
    (1_500..2_500).for_each(|at| ctx.log(&format!("line {at}")));
    ctx.effect("over").await?;
    Ok(Value::Null)
}

/// Leaves somebody behind who wants an effect, and then a checkpoint.
fn linger(ctx: &Context) -> Value {
    let ctx = ctx.clone();
    tokio::spawn(async move {
        let (effect, kept) = (ctx.effect("late").await.map(drop), ctx.keep_now(&"late").await);
        if (effect, kept) == (Err(NotDone::Cancelled), Err(NotDone::Cancelled)) {
            tell(&ctx, "over");
        }
    });
    Value::Null
}

/// Says too much of everything, with a character of two units where it is cut. Half of such a one is no text here.
fn shorten(ctx: &Context) -> NotDone {
    let too_long = |letter: &str, count| letter.repeat(count) + "\u{1f600}\u{1f600}";
    ctx.progress(0.5);
    ctx.stage(&too_long("y", 127));
    ctx.log(&too_long("x", 2_047));
    ctx.log("half \u{fffd}");
    NotDone::failed("too_long", &(too_long("z", 1_023) + &"z".repeat(5_000_000))).for_good()
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

/// As a program does that has signals of its own.
async fn tell_hangups() {
    let mut hangups = signal(SignalKind::hangup()).expect("the operating system tells");
    while hangups.recv().await.is_some() {
        print(&json!({ "told": "hung up", "run": "" }));
    }
}

fn tell(ctx: &Context, what: &str) {
    print(&json!({ "told": what, "run": ctx.run_id(), "fence": ctx.fence() }));
}

/// A line of its own: the harness of the tests has begun one.
fn print(line: &Value) {
    writeln!(io::stdout().lock(), "\n{line}").expect("stdout");
}
