//! The audit trail of a run: its events in order, and who caused them. Derived from the run's own record: nothing is
//! written for it.

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::run::logbook::{LateAnswer, LateWord};
use minutehand_domain::run::{Attempt, CancelAsked, Judgement, Remark, Remarked, Run, State, Word};
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
    /// What they noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A sentence, where there is more to say.
    pub detail: Option<String>,
}

impl RunEventsView {
    /// Of a run with all its attempts and late answers, oldest first.
    pub fn of(run: &Run, attempts: &[Attempt], late: &[LateAnswer]) -> Self {
        let mut items = vec![begin(run)];
        for attempt in attempts {
            items.push(started(attempt));
            items.extend(ended(attempt));
        }
        items.extend(begun(run));
        items.extend(cancel_asked(run));
        items.extend(run.remarks.iter().filter_map(|remark| remarked(run, remark)));
        items.extend(sla_missed(run));
        items.extend(end(run));
        items.extend(judged(run));
        items.extend(late.iter().map(came_late));
        // Stable: what happened in the same millisecond stays in the order given here. What the run is about comes first, also
        // where it was cancelled ahead of its time.
        items[1..].sort_by_key(|event| event.at.0);
        Self { items }
    }
}

impl RunEventView {
    fn new(at: Moment, kind: &'static str) -> Self {
        Self { at: Instant(at), kind: kind.to_owned(), attempt: None, by: None, note: None, detail: None }
    }
}

fn begin(run: &Run) -> RunEventView {
    let kind = match run.key.origin {
        Origin::Schedule => "scheduled",
        Origin::Manual => "asked",
        Origin::Backfill => "backfilled",
        Origin::Redrive => "asked_again",
        Origin::Task => "task",
        Origin::Callback => "callback",
        Origin::Resume => "resumed",
        Origin::Follow => "follows",
        Origin::Notification => "notification",
    };
    let by = run.asked_by.as_ref().map(|by| by.as_str().to_owned());
    let words = if run.key.origin == Origin::Resume { "goes on with" } else { "another try at" };
    let follows = run.follows.filter(|_| run.key.origin == Origin::Follow);
    let follows = follows.map(|follows| format!("follows {}", follows.run));
    let made = run.made.map(|made| format!("by {}", made.by));
    let detail = run.redrive_of.map(|former| format!("{words} {former}")).or(follows).or(made);
    let resumed = run.last_remark(Remarked::Resumed).or_else(|| run.last_remark(Remarked::AskedAgain));
    let (at, note) = resumed.map_or((run.could_begin_at(), None), |remark| (remark.at, remark.note.clone()));
    RunEventView { by, note, detail, ..RunEventView::new(at, kind) }
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

fn came_late(answer: &LateAnswer) -> RunEventView {
    let kind = match answer.word {
        LateWord::Succeeded => "late_success",
        LateWord::Failed => "late_failure",
    };
    let detail = Some("it came when the lease was over, and changed nothing".to_owned());
    RunEventView { attempt: Some(answer.fence), detail, ..RunEventView::new(answer.at, kind) }
}

/// Nobody makes an attempt at what waits for tasks or for an answer.
fn begun(run: &Run) -> Option<RunEventView> {
    let at = run.started_at.filter(|_| run.attempts.is_empty())?;
    let kind = if run.graph.is_some() { "unfolded" } else { "answer_asked" };
    Some(RunEventView::new(at, kind))
}

/// With the note that was left with it, which is a remark.
fn cancel_asked(run: &Run) -> Option<RunEventView> {
    let asked = run.cancel.as_ref()?;
    let note =
        run.remarks.iter().find(|remark| is_the_first_cancel(run, remark)).and_then(|remark| remark.note.clone());
    Some(RunEventView { by: Some(asked.by.as_str().to_owned()), note, ..RunEventView::new(asked.at, "cancel_asked") })
}

fn is_the_first_cancel(run: &Run, remark: &Remark) -> bool {
    let is_first = |asked: &CancelAsked| remark.at == asked.at && remark.by.as_ref() == Some(&asked.by);
    remark.what == Remarked::CancelAsked && run.cancel.as_ref().is_some_and(is_first)
}

/// What is not told by another event.
fn remarked(run: &Run, remark: &Remark) -> Option<RunEventView> {
    let by = remark.by.as_ref().map(|by| by.as_str().to_owned());
    match remark.what {
        Remarked::CancelAsked if is_the_first_cancel(run, remark) => None,
        Remarked::CancelAsked => {
            Some(RunEventView { by, note: remark.note.clone(), ..RunEventView::new(remark.at, "cancel_asked") })
        }
        Remarked::Resumed | Remarked::AskedAgain => None,
        Remarked::Dismissed | Remarked::Redriven => {
            let again = run.redriven_as().filter(|_| run.last_remark(Remarked::Redriven) == Some(remark));
            let detail = match remark.what {
                Remarked::Redriven => again.map(|run| format!("tried again as {run}")),
                _dismissed => None,
            };
            Some(RunEventView {
                by,
                note: remark.note.clone(),
                detail,
                ..RunEventView::new(remark.at, remark.what.as_str())
            })
        }
        Remarked::Stalled => {
            Some(RunEventView { detail: remark.note.clone(), ..RunEventView::new(remark.at, "stalled") })
        }
    }
}

fn sla_missed(run: &Run) -> Option<RunEventView> {
    let (at, until) = (run.sla_missed()?, run.sla?.until);
    let detail = match (run.started_at, run.finished_at()) {
        (Some(started), _) if started > until => format!("it was to have ended by {until}, and began after that"),
        (Some(_), Some(finished)) => format!("it was to have ended by {until}, and ended at {finished}"),
        (Some(_), None) => format!("it was to have ended by {until}, and goes on"),
        (None, _) => format!("it was to have ended by {until}, and has not begun"),
    };
    Some(RunEventView { detail: Some(detail), ..RunEventView::new(at, "sla_missed") })
}

/// How somebody answered, or what they made of a failure.
fn judged(run: &Run) -> Vec<RunEventView> {
    let Some(task) = &run.task else { return Vec::new() };
    let event = |judgement: &Judgement| {
        let kind = match judgement.word {
            Word::Approve => "approved",
            Word::Reject => "rejected",
            Word::Retry => "verdict_retry",
            Word::Skip => "verdict_skip",
            Word::Succeed => "verdict_succeed",
            Word::Fail => "verdict_fail",
        };
        let (by, note) = (Some(judgement.by.as_str().to_owned()), judgement.note.clone());
        RunEventView { by, note, ..RunEventView::new(judgement.at, kind) }
    };
    task.answer.iter().chain(&task.verdict).map(event).collect()
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
    let reused = run.task.as_ref().and_then(|task| task.reused).map(|done| format!("done already by {done}"));
    let detail = run.told.clone().or_else(|| run.reason().map(ToOwned::to_owned)).or(reused);
    Some(RunEventView { detail, ..RunEventView::new(at, kind) })
}
