//! The audit trail of a run: its events in order, and who caused them. Derived from the run's own record: nothing is
//! written for it.

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::run::{Attempt, Run, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunEvents")]
pub struct RunEventsView {
    /// In the order they happened.
    pub items: Vec<RunEventView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunEvent")]
pub struct RunEventView {
    pub at: Instant,
    /// A word for what happened: `scheduled`, `attempt_started`, `cancel_asked`, `succeeded` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which attempt it happened to.
    pub attempt: Option<u32>,
    /// Who did it: a key's id, `deployment`, or a worker.
    pub by: Option<String>,
    /// A sentence, where there is more to say.
    pub detail: Option<String>,
}

impl RunEventsView {
    /// Of a run with all its attempts, oldest first.
    pub fn of(run: &Run, attempts: &[Attempt]) -> Self {
        let mut items = vec![begin(run)];
        for attempt in attempts {
            items.push(started(attempt));
            items.extend(ended(attempt));
        }
        items.extend(cancel_asked(run));
        items.extend(end(run));
        // Stable: what happened in the same millisecond stays in the order given here. What the run is about comes first, also
        // where it was cancelled ahead of its time.
        items[1..].sort_by_key(|event| event.at.0);
        Self { items }
    }
}

impl RunEventView {
    fn new(at: Moment, kind: &'static str) -> Self {
        Self { at: Instant(at), kind: kind.to_owned(), attempt: None, by: None, detail: None }
    }
}

fn begin(run: &Run) -> RunEventView {
    let kind = match run.key.origin {
        Origin::Schedule => "scheduled",
        Origin::Manual => "asked",
        Origin::Redrive => "asked_again",
        Origin::Task => "task",
        Origin::Resume => "resumed",
    };
    let by = run.asked_by.as_ref().map(|by| by.as_str().to_owned());
    let detail = run.redrive_of.map(|former| format!("another try at {former}"));
    RunEventView { by, detail, ..RunEventView::new(run.key.at, kind) }
}

fn started(attempt: &Attempt) -> RunEventView {
    let (attempt, worker, at) = (Some(attempt.number), attempt.worker.to_string(), attempt.started_at);
    RunEventView { attempt, by: Some(worker), ..RunEventView::new(at, "attempt_started") }
}

fn ended(attempt: &Attempt) -> Option<RunEventView> {
    let kind = match attempt.outcome()? {
        "succeeded" => "attempt_succeeded",
        "timed_out" => "attempt_timed_out",
        "lost" => "attempt_lost",
        _failed => "attempt_failed",
    };
    let detail = attempt.error().map(|error| format!("{}: {}", error.code, error.message));
    let at = attempt.ended.as_ref()?.at;
    Some(RunEventView { attempt: Some(attempt.number), detail, ..RunEventView::new(at, kind) })
}

fn cancel_asked(run: &Run) -> Option<RunEventView> {
    let asked = run.cancel.as_ref()?;
    Some(RunEventView { by: Some(asked.by.as_str().to_owned()), ..RunEventView::new(asked.at, "cancel_asked") })
}

fn end(run: &Run) -> Option<RunEventView> {
    let (at, kind) = match run.state {
        State::Scheduled { due } if run.fence > 0 => {
            let last = run.attempts.last().and_then(|attempt| attempt.ended.as_ref()).map(|ended| ended.at)?;
            return Some(RunEventView {
                detail: Some(format!("the next attempt is due at {due}")),
                ..RunEventView::new(last, "retry_scheduled")
            });
        }
        State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => return None,
        State::Succeeded { at, .. } => (at, "succeeded"),
        State::Failed { at, .. } => (at, "failed"),
        State::TimedOut { at } => (at, "timed_out"),
        State::Cancelled { at } => (at, "cancelled"),
        State::Skipped { at, .. } => (at, "skipped"),
    };
    Some(RunEventView { detail: run.reason().map(ToOwned::to_owned), ..RunEventView::new(at, kind) })
}
