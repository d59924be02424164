//! The audit trail of a run: its events in order, and who caused them. Derived from the run's own record: nothing is
//! written for it.

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::run::{Attempt, Run, State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::instant::Instant;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RunEvents")]
pub(crate) struct AuditView {
    /// In the order they happened.
    items: Vec<EventView>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RunEvent")]
struct EventView {
    at: Instant,
    /// A word for what happened: `scheduled`, `attempt_started`, `cancel_asked`, `succeeded` and so on.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Which attempt it happened to.
    attempt: Option<u32>,
    /// Who did it: a key's id, `deployment`, or a worker.
    by: Option<String>,
    /// A sentence, where there is more to say.
    detail: Option<String>,
}

impl AuditView {
    /// The trail of a run with all its attempts, oldest first.
    pub(super) fn of(run: &Run, attempts: &[Attempt]) -> Self {
        let mut items = vec![begin(run)];
        for attempt in attempts {
            items.push(started(attempt));
            items.extend(ended(attempt));
        }
        items.extend(cancel_asked(run));
        items.extend(end(run));
        // A stable sort: events of the same millisecond keep the order of this list. The beginning stays first, also of a run
        // that was cancelled before it was due.
        items[1..].sort_by_key(|event| event.at.0);
        Self { items }
    }
}

impl EventView {
    fn new(at: Moment, kind: &'static str) -> Self {
        Self { at: Instant(at), kind, attempt: None, by: None, detail: None }
    }
}

fn begin(run: &Run) -> EventView {
    let kind = match run.key.origin {
        Origin::Schedule => "scheduled",
        Origin::Manual => "asked",
        Origin::Redrive => "asked_again",
    };
    let by = run.asked_by.as_ref().map(|by| by.as_str().to_owned());
    let detail = run.redrive_of.map(|former| format!("another try at {former}"));
    EventView { by, detail, ..EventView::new(run.key.at, kind) }
}

fn started(attempt: &Attempt) -> EventView {
    let (attempt, worker, at) = (Some(attempt.number), attempt.worker.to_string(), attempt.started_at);
    EventView { attempt, by: Some(worker), ..EventView::new(at, "attempt_started") }
}

fn ended(attempt: &Attempt) -> Option<EventView> {
    let kind = match attempt.outcome()? {
        "succeeded" => "attempt_succeeded",
        "timed_out" => "attempt_timed_out",
        "lost" => "attempt_lost",
        _failed => "attempt_failed",
    };
    let detail = attempt.error().map(|error| format!("{}: {}", error.code, error.message));
    let at = attempt.ended.as_ref()?.at;
    Some(EventView { attempt: Some(attempt.number), detail, ..EventView::new(at, kind) })
}

fn cancel_asked(run: &Run) -> Option<EventView> {
    let asked = run.cancel.as_ref()?;
    Some(EventView { by: Some(asked.by.as_str().to_owned()), ..EventView::new(asked.at, "cancel_asked") })
}

fn end(run: &Run) -> Option<EventView> {
    let (at, kind) = match run.state {
        State::Scheduled { due } if run.fence > 0 => {
            let last = run.attempts.last().and_then(|attempt| attempt.ended.as_ref()).map(|ended| ended.at)?;
            return Some(EventView {
                detail: Some(format!("the next attempt is due at {due}")),
                ..EventView::new(last, "retry_scheduled")
            });
        }
        State::Scheduled { .. } | State::Running(_) => return None,
        State::Succeeded { at, .. } => (at, "succeeded"),
        State::Failed { at, .. } => (at, "failed"),
        State::TimedOut { at } => (at, "timed_out"),
        State::Cancelled { at } => (at, "cancelled"),
        State::Skipped { at, .. } => (at, "skipped"),
    };
    Some(EventView { detail: run.reason().map(ToOwned::to_owned), ..EventView::new(at, kind) })
}
