//! What a handler is given: one attempt at one run, and what it can say of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_wire::{BodyView, Instant, Json, LeaseView};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;

use super::effect::{Book, Effect, Ledger};
use super::not_done::NotDone;

/// What the server takes.
const STAGE_CHARS: usize = 128;
const LINE_CHARS: usize = 2_048;
/// As compact JSON.
const CHECKPOINT_BYTES: usize = 256 * 1024;

/// Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Attempt>);

struct Attempt {
    lease: Facts,
    last: Mutex<Last>,
    cancelled: watch::Receiver<bool>,
    sink: Arc<dyn Sink>,
    ledger: Arc<Ledger>,
}

/// The checkpoint that was handed over last, and its number; that of the holder before has none.
struct Last {
    number: u64,
    value: Option<Box<RawValue>>,
}

/// What is said of the attempt when it begins.
struct Facts {
    handler: String,
    run_id: String,
    job_id: String,
    attempt: u32,
    fence: u32,
    idempotency_key: String,
    traceparent: Option<String>,
    tracestate: Option<String>,
    payload: Option<Box<RawValue>>,
    deadline: Option<Instant>,
}

/// Where what a handler says goes.
pub(super) trait Sink: Send + Sync {
    fn keep(&self, number: u64, value: Box<RawValue>, is_urgent: bool);
    fn progress(&self, fraction: f64);
    fn stage(&self, stage: String);
    fn line(&self, line: String);
    /// What became of them; closed where nothing more will.
    fn kept(&self) -> watch::Receiver<Kept>;
}

/// What became of the checkpoints of an attempt, which are numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// The last that the server has.
    pub(super) sent: u64,
    /// What it has.
    pub(super) has: Option<Box<RawValue>>,
    /// The last that it refused, and what it said.
    pub(super) refused: Option<(u64, String)>,
}

/// What a handler said without a server.
#[derive(Clone, Debug, Default)]
pub struct Inline {
    pub logs: Vec<String>,
    pub checkpoints: Vec<Box<RawValue>>,
    pub progress: Vec<f64>,
    pub stages: Vec<String>,
    /// What was claimed, and what came of it.
    pub effects: BTreeMap<String, Option<Box<RawValue>>>,
}

#[derive(Debug)]
pub(super) struct Notes {
    inline: Mutex<Inline>,
    kept: watch::Sender<Kept>,
}

impl Last {
    fn of(value: Option<Box<RawValue>>) -> Mutex<Self> {
        Mutex::new(Self { number: 0, value })
    }
}

impl Kept {
    fn has_refused(&self, number: u64) -> bool {
        self.refused.as_ref().is_some_and(|(refused, _)| *refused == number)
    }

    /// Of this checkpoint, or of one that took its place. None while nobody knows.
    fn of(&self, number: u64) -> Option<Result<(), NotDone>> {
        if self.sent >= number {
            return Some(Ok(()));
        }
        let (_, why) = self.refused.as_ref().filter(|(refused, _)| *refused >= number)?;
        Some(Err(NotDone::failed("checkpoint_refused", why)))
    }
}

impl Context {
    pub(super) fn new(lease: &LeaseView, cancelled: watch::Receiver<bool>, sink: Arc<dyn Sink>, book: Book) -> Self {
        let lease_facts = Facts {
            handler: lease.handler.clone(),
            run_id: lease.run_id.clone(),
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            fence: lease.fence,
            idempotency_key: lease.idempotency_key.clone(),
            traceparent: lease.traceparent.clone(),
            tracestate: lease.tracestate.clone(),
            payload: json_of(&lease.payload),
            deadline: Some(lease.deadline_at),
        };
        let last = Last::of(json_of(&lease.checkpoint));
        let ledger = Arc::new(Ledger::Server(book));
        Self(Arc::new(Attempt { lease: lease_facts, last, cancelled, sink, ledger }))
    }

    pub(super) fn inline(
        handler: &str,
        payload: Option<Box<RawValue>>,
        checkpoint: Option<Box<RawValue>>,
    ) -> (Self, Arc<Notes>) {
        let lease = Facts {
            handler: handler.to_owned(),
            run_id: "run_inline".to_owned(),
            job_id: "job_inline".to_owned(),
            attempt: 1,
            fence: 1,
            idempotency_key: "run_inline".to_owned(),
            traceparent: None,
            tracestate: None,
            payload,
            deadline: None,
        };
        let kept = Kept { sent: u64::MAX, ..Kept::default() };
        let notes = Arc::new(Notes { inline: Mutex::default(), kept: watch::channel(kept).0 });
        let sink: Arc<dyn Sink> = Arc::<Notes>::clone(&notes);
        let cancelled = watch::channel(false).1;
        let (last, ledger) = (Last::of(checkpoint), Arc::new(Ledger::Inline(Arc::clone(&notes))));
        (Self(Arc::new(Attempt { lease, last, cancelled, sink, ledger })), notes)
    }

    /// As the handler's own type; null where there is none.
    pub fn payload<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.payload_text())
    }

    /// The very text that was given.
    pub fn payload_text(&self) -> &str {
        self.0.lease.payload.as_ref().map_or("null", |payload| payload.get())
    }

    /// What was kept last: by this attempt, or by the holder before. It is so from when it was handed over, whether or not somebody waits for
    /// [`Self::keep_now`]; where the server refuses it, it is again what the server has.
    pub fn checkpoint<T: DeserializeOwned>(&self) -> serde_json::Result<Option<T>> {
        self.checkpoint_text().map(|text| serde_json::from_str(&text)).transpose()
    }

    pub fn checkpoint_text(&self) -> Option<String> {
        let (last, kept) = (self.last(), self.0.sink.kept());
        let known = kept.borrow();
        let standing = if known.has_refused(last.number) { &known.has } else { &last.value };
        standing.as_ref().map(|checkpoint| checkpoint.get().to_owned())
    }

    /// Keeps a value for the next holder. It goes with the next heartbeat. An error where it has more than 256 KiB: then what was kept before
    /// stays. And where it serializes to null: the server takes that for no checkpoint given.
    pub fn keep(&self, value: &impl Serialize) -> serde_json::Result<()> {
        let value = not_too_large(not_null(value)?).map_err(serde_json::Error::custom)?;
        self.hand_over(value, false);
        Ok(())
    }

    /// Sends it at once, and returns when the server has it. An error where it has more than 256 KiB, or the server refuses it (the code is
    /// `checkpoint_refused`), where the lease is lost, and where it serializes to null. A handler that does not wait for that has kept it all the
    /// same.
    pub async fn keep_now(&self, value: &impl Serialize) -> Result<(), NotDone> {
        let value = not_too_large(not_null(value)?).map_err(|why| NotDone::failed("checkpoint_refused", &why))?;
        let number = self.hand_over(value, true);
        let mut kept = self.0.sink.kept();
        let heard = kept.wait_for(|kept| kept.of(number).is_some()).await;
        heard.ok().and_then(|kept| kept.of(number)).unwrap_or(Err(NotDone::Cancelled))
    }

    /// Answers with its number. Of two that are kept at once the later one is the later one everywhere.
    fn hand_over(&self, value: Box<RawValue>, is_urgent: bool) -> u64 {
        let mut last = self.last();
        last.number += 1;
        self.0.sink.keep(last.number, value.clone(), is_urgent);
        last.value = Some(value);
        last.number
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is, from 0 to 1. What is beyond is cut to that, infinity too; NaN counts as 0.
    pub fn progress(&self, fraction: f64) {
        self.0.sink.progress(if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) });
    }

    /// With what it is busy.
    pub fn stage(&self, stage: &str) {
        self.0.sink.stage(one_line(stage, STAGE_CHARS));
    }

    /// Each line is a line of the run's log.
    pub fn log(&self, text: &str) {
        text.lines().for_each(|line| self.0.sink.line(one_line(line, LINE_CHARS)));
    }

    /// Claims an effect before it is made: what the handler does to the world outside, once for the run however often it is tried. Whoever
    /// claims it later, after a crash perhaps, is told what came of it.
    pub async fn effect(&self, key: &str) -> Result<Effect, NotDone> {
        self.0.ledger.claim(key).await
    }

    pub fn handler(&self) -> &str {
        &self.0.lease.handler
    }

    pub fn run_id(&self) -> &str {
        &self.0.lease.run_id
    }

    pub fn job_id(&self) -> &str {
        &self.0.lease.job_id
    }

    /// Which try it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.lease.attempt
    }

    /// It grows with each claim: what is written elsewhere can refuse an older one.
    pub fn fence(&self) -> u32 {
        self.0.lease.fence
    }

    /// The same for all attempts of the run.
    pub fn idempotency_key(&self) -> &str {
        &self.0.lease.idempotency_key
    }

    /// The span that this attempt is, as W3C's header says it: what the handler does, and calls, goes on below it.
    pub fn traceparent(&self) -> Option<&str> {
        self.0.lease.traceparent.as_deref()
    }

    /// What goes with it, where there is something.
    pub fn tracestate(&self) -> Option<&str> {
        self.0.lease.tracestate.as_deref()
    }

    /// When the attempt has taken as long as it may.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.lease.deadline
    }

    /// The handler is to stop: somebody cancelled the run, the lease is lost, or the worker goes away.
    pub fn is_cancelled(&self) -> bool {
        *self.0.cancelled.borrow()
    }

    /// Until then.
    pub async fn cancelled(&self) {
        let mut cancelled = self.0.cancelled.clone();
        if cancelled.wait_for(|is| *is).await.is_err() {
            // Nobody is left who could cancel it.
            std::future::pending::<()>().await;
        }
    }

    /// An error when the handler is to stop.
    pub fn check(&self) -> Result<(), NotDone> {
        if self.is_cancelled() { Err(NotDone::Cancelled) } else { Ok(()) }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { handler, run_id, attempt, .. } = &self.0.lease;
        write!(f, "attempt {attempt} at {run_id} by {handler}")
    }
}

impl Notes {
    fn inline(&self) -> MutexGuard<'_, Inline> {
        self.inline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is the first claim, and what came of it as far as that was said before.
    pub(super) fn effect(&self, key: &str, outcome: Option<Box<RawValue>>) -> (bool, Option<Box<RawValue>>) {
        let effects = &mut self.inline().effects;
        let before = effects.get(key).cloned();
        effects.insert(key.to_owned(), outcome.or_else(|| before.clone().flatten()));
        (before.is_none(), before.flatten())
    }

    pub(super) fn noted(&self) -> Inline {
        self.inline().clone()
    }
}

impl Sink for Notes {
    fn keep(&self, _number: u64, value: Box<RawValue>, _is_urgent: bool) {
        self.inline().checkpoints.push(value);
    }

    fn progress(&self, fraction: f64) {
        self.inline().progress.push(fraction);
    }

    fn stage(&self, stage: String) {
        self.inline().stages.push(stage);
    }

    fn line(&self, line: String) {
        self.inline().logs.push(line);
    }

    fn kept(&self) -> watch::Receiver<Kept> {
        self.kept.subscribe()
    }
}

pub(super) fn json_of(body: &BodyView) -> Option<Box<RawValue>> {
    body.text().and_then(|text| RawValue::from_string(text.to_owned()).ok())
}

fn not_null(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    let value = to_raw_value(value)?;
    if value.get().trim() == "null" {
        return Err(serde_json::Error::custom(
            "a checkpoint cannot be null: the server takes null for no checkpoint given",
        ));
    }
    Ok(value)
}

/// That is known before it takes the place of one that waits: the server would refuse it, and what waited would be lost with it.
fn not_too_large(value: Box<RawValue>) -> Result<Box<RawValue>, String> {
    let value = Json::from(value).compact(); // as the server counts it: JSON that was read as it was written may have white space
    let bytes = value.text().len();
    if bytes > CHECKPOINT_BYTES {
        return Err(format!("a checkpoint has at most {CHECKPOINT_BYTES} bytes, and this one has {bytes}"));
    }
    Ok(value.raw().to_owned())
}

/// Without what would move a terminal's cursor.
fn one_line(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tried: where null is let through it is noted, and the server reads it as no checkpoint.
    #[tokio::test]
    async fn null_is_no_checkpoint() {
        let (ctx, notes) = Context::inline("count", None, None);

        let (later, now) = (ctx.keep(&None::<u32>), ctx.keep_now(&()).await);

        assert!(later.unwrap_err().to_string().contains("cannot be null"));
        assert!(matches!(now, Err(NotDone::Failed { message, .. }) if message.contains("cannot be null")));
        assert!(notes.noted().checkpoints.is_empty() && ctx.checkpoint_text().is_none());
    }

    /// Removed: white space is not counted. The server does not count it either.
    #[test]
    fn a_checkpoint_is_as_large_as_it_is_without_white_space() {
        let (ctx, notes) = Context::inline("count", None, None);
        let wide = format!("{{ \"a \\\" b\" :{}[ 1, 1.50 ] }}", " ".repeat(300_000));

        ctx.keep(&RawValue::from_string(wide).unwrap()).unwrap();

        assert_eq!(notes.noted().checkpoints[0].get(), r#"{"a \" b":[1,1.50]}"#);
    }

    #[test]
    fn the_largest_checkpoint_has_256_kib() {
        let (ctx, _) = Context::inline("count", None, None);

        let (most, more) = (ctx.keep(&"\u{e9}".repeat(131_071)), ctx.keep(&"x".repeat(262_143)));

        assert!(most.is_ok() && more.is_err());
    }

    #[test]
    fn what_is_no_share_is_made_one() {
        let (ctx, notes) = Context::inline("count", None, None);

        for fraction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            ctx.progress(fraction);
        }

        assert_eq!(notes.noted().progress, [0.0, 1.0, 0.0]);
    }
}
