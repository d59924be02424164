//! What a handler is given: one attempt at one run, and what it can say of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_wire::{BodyView, Instant, LeaseView};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;

use super::effect::{Book, Effect, Ledger};
use super::not_done::NotDone;

/// What the server takes.
const STAGE_CHARS: usize = 128;
const LINE_CHARS: usize = 2_048;

/// Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Attempt>);

struct Attempt {
    lease: Facts,
    checkpoint: Mutex<Option<Box<RawValue>>>,
    cancelled: watch::Receiver<bool>,
    sink: Arc<dyn Sink>,
    ledger: Arc<Ledger>,
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
    /// Answers with the number under which it is known to be sent.
    fn keep(&self, value: Box<RawValue>, is_urgent: bool) -> u64;
    fn progress(&self, fraction: f64);
    fn stage(&self, stage: String);
    fn line(&self, line: String);
    /// The highest number that was sent; closed where nothing more will be.
    fn sent(&self) -> watch::Receiver<u64>;
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
    sent: watch::Sender<u64>,
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
        let checkpoint = Mutex::new(json_of(&lease.checkpoint));
        let ledger = Arc::new(Ledger::Server(book));
        Self(Arc::new(Attempt { lease: lease_facts, checkpoint, cancelled, sink, ledger }))
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
        let notes = Arc::new(Notes { inline: Mutex::default(), sent: watch::channel(u64::MAX).0 });
        let sink: Arc<dyn Sink> = Arc::<Notes>::clone(&notes);
        let cancelled = watch::channel(false).1;
        let (checkpoint, ledger) = (Mutex::new(checkpoint), Arc::new(Ledger::Inline(Arc::clone(&notes))));
        (Self(Arc::new(Attempt { lease, checkpoint, cancelled, sink, ledger })), notes)
    }

    /// As the handler's own type; null where there is none.
    pub fn payload<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.payload_text())
    }

    /// The very text that was given.
    pub fn payload_text(&self) -> &str {
        self.0.lease.payload.as_ref().map_or("null", |payload| payload.get())
    }

    /// What was kept last: by this attempt, or by the holder before.
    pub fn checkpoint<T: DeserializeOwned>(&self) -> serde_json::Result<Option<T>> {
        self.checkpoint_text().map(|text| serde_json::from_str(&text)).transpose()
    }

    pub fn checkpoint_text(&self) -> Option<String> {
        self.kept().as_ref().map(|checkpoint| checkpoint.get().to_owned())
    }

    /// Keeps a value for the next holder. It goes with the next heartbeat.
    pub fn keep(&self, value: &impl Serialize) -> serde_json::Result<()> {
        self.keep_as(value, false).map(drop)
    }

    /// Sends it at once, and returns when the server has it; an error where the lease is lost.
    pub async fn keep_now(&self, value: &impl Serialize) -> Result<(), NotDone> {
        let number = self.keep_as(value, true)?;
        let mut sent = self.0.sink.sent();
        let is_sent = sent.wait_for(|sent| *sent >= number).await.is_ok();
        if is_sent { Ok(()) } else { Err(NotDone::Cancelled) }
    }

    fn keep_as(&self, value: &impl Serialize, is_urgent: bool) -> serde_json::Result<u64> {
        let value = to_raw_value(value)?;
        *self.kept() = Some(value.clone());
        Ok(self.0.sink.keep(value, is_urgent))
    }

    fn kept(&self) -> MutexGuard<'_, Option<Box<RawValue>>> {
        self.0.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is, from 0 to 1.
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
    fn keep(&self, value: Box<RawValue>, _is_urgent: bool) -> u64 {
        self.inline().checkpoints.push(value);
        0
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

    fn sent(&self) -> watch::Receiver<u64> {
        self.sent.subscribe()
    }
}

fn json_of(body: &BodyView) -> Option<Box<RawValue>> {
    body.text().and_then(|text| RawValue::from_string(text.to_owned()).ok())
}

/// Without what would move a terminal's cursor.
fn one_line(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
