//! A run as it is shown. Fields that later features fill are null until then.

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{JobId, Origin};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::logbook::{Logbook, Progress};
use minutehand_domain::run::{Aftermath, Attempt, AttemptError, Remark, Remarked, Run, Sla, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::FollowedByView;
use crate::body::BodyView;
use crate::callback::CallbackRunView;
use crate::instant::Instant;
use crate::log::LateAnswerView;
use crate::run_status::RunStatus;
use crate::texts::{JobIdText, OperationIdText, RunIdText, TaskKeyText};
use crate::trace::TraceView;
use crate::word::Word;
use crate::words::{ErrorCodeWord, OriginWord, OutcomeWord, PriorityWord};
use crate::workflow_run_view::TaskOfView;

/// One occurrence of a job being carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    #[schemars(with = "RunStatus")]
    pub status: Word<RunStatus>,
    /// Why it failed or was skipped: a word.
    pub reason: Option<String>,
    /// Why, in a sentence, where no attempt says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The instant that it was meant for.
    pub scheduled_at: Instant,
    /// When it was due: later by its schedule's jitter, if it has one.
    pub effective_at: Instant,
    /// When its first attempt started.
    pub started_at: Option<Instant>,
    pub finished_at: Option<Instant>,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    /// What it was given, or its job's. A list leaves out one that is kept apart.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub payload: BodyView,
    /// What the target answered. A list leaves out one that is kept apart because it is large.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub result: BodyView,
    /// How much of it is done, from 0 to 1, where its worker says so. A list does not show it.
    #[schemars(range(min = 0, max = 1))]
    pub progress: Option<f64>,
    /// What its worker is doing, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What its worker has kept for the next holder.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub checkpoint: BodyView,
    /// Answers of workers whose lease was over: they changed nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_answers: Vec<LateAnswerView>,
    /// Oldest first. A list shows only the newest few.
    pub attempts: Vec<AttemptView>,
    #[schemars(with = "OriginWord")]
    pub origin: Word<Origin>,
    /// The run that this one is another try at.
    #[schemars(with = "Option<RunIdText>")]
    pub redrive_of: Option<String>,
    /// The run of another job whose end brought it about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RunIdText>")]
    pub follows: Option<String>,
    /// The jobs that run behind it, as it was at its birth, and what came of its end for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed_by: Vec<FollowedByView>,
    /// Of a callback's run: the run whose end it tells of.
    #[schemars(with = "Option<RunIdText>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_of: Option<String>,
    /// The run that tells of its end, where it asked for a callback on such an end. A list does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackRunView>,
    /// The run of its hook `after`. A list does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CallbackRunView>,
    /// What its hook gave an attempt in the place of its payload: the newest. A list leaves out one that is kept apart.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub hook_payload: BodyView,
    /// The newest run that is another try at this one, or goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RunIdText>")]
    pub redriven_as: Option<String>,
    /// When it was dismissed, where it failed and is to be left at that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed_at: Option<Instant>,
    /// What was done to it, with the notes of who did it, and noticed of it: the newest few, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<RemarkView>,
    /// The operation that made it: a backfill, or one that retried many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OperationIdText>")]
    pub operation_id: Option<String>,
    /// Of a task's run: the run of the workflow that it is a task of.
    #[schemars(with = "Option<RunIdText>")]
    pub workflow_run_id: Option<String>,
    /// And what the task is called there.
    #[schemars(with = "Option<TaskKeyText>")]
    pub task_key: Option<String>,
    /// And which branch and try it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskOfView>,
    /// What it waits for, in words, where it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// By when it is to have ended, where its job says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<SlaView>,
    /// Where it is found in a tracing system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceView>,
    /// Of a workflow's run that has begun: the version that it carries out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_version: Option<u32>,
    /// Of a record that stands for several occurrences: how many, or at least how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// And the last of them; of a `coalesced` one the occurrence that fires in their stead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers_until: Option<Instant>,
}

/// What was done to a run, or noticed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Remark")]
pub struct RemarkView {
    pub at: Instant,
    /// `cancel_asked`, `resumed`, `stalled`, `redriven`, `dismissed`, or `asked_again` of the other try.
    pub what: String,
    /// Who did it: a key's id, or `deployment`; null where it was noticed.
    pub by: Option<String>,
    pub note: Option<String>,
}

/// By when a run is to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Sla")]
pub struct SlaView {
    pub due_by: Instant,
    /// When it was found not to have.
    pub missed_at: Option<Instant>,
}

/// One try at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    /// From 1.
    pub number: u32,
    pub started_at: Instant,
    pub finished_at: Option<Instant>,
    /// The process that made it.
    pub worker: String,
    #[schemars(with = "Option<OutcomeWord>")]
    pub outcome: Option<String>,
    pub error: Option<AttemptErrorView>,
}

/// What went wrong in an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AttemptError")]
pub struct AttemptErrorView {
    #[schemars(with = "ErrorCodeWord")]
    pub code: String,
    /// A sentence to read.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// What a run says beside its own item.
#[derive(Clone, Debug)]
pub struct Bodies {
    pub payload: BodyView,
    pub result: BodyView,
}

impl RunView {
    /// The run with `attempts`, oldest first.
    pub fn of(run: &Run, attempts: &[Attempt], bodies: Bodies, now: Moment) -> Self {
        let span = run.skipped_span();
        Self {
            run_id: run.key.to_string(),
            job_id: run.callback_of.unwrap_or(run.key).job.to_string(),
            status: RunStatus::of(run, now),
            reason: run.reason().map(ToOwned::to_owned),
            detail: run.told.clone(),
            scheduled_at: Instant(run.nominal()),
            effective_at: Instant(run.key.at),
            started_at: run.started_at.map(Instant),
            finished_at: run.finished_at().map(Instant),
            priority: run.priority.into(),
            payload: bodies.payload,
            result: bodies.result,
            progress: None,
            stage: None,
            checkpoint: BodyView::LeftOut,
            late_answers: Vec::new(),
            attempts: attempts.iter().map(AttemptView::of).collect(),
            origin: run.key.origin.into(),
            redrive_of: run.redrive_of.map(|key| key.to_string()),
            follows: run.follows.map(|follows| follows.run.to_string()),
            followed_by: FollowedByView::all_of(run),
            callback_of: run.callback_of.map(|of| of.to_string()),
            callback: None,
            after: None,
            hook_payload: run.given.as_ref().map_or(BodyView::LeftOut, |given| BodyView::inside(&given.payload)),
            redriven_as: run.redriven_as().map(|key| key.to_string()),
            dismissed_at: dismissed_at(run),
            remarks: run.remarks.iter().map(RemarkView::of).collect(),
            operation_id: run.made.map(|made| made.by.to_string()),
            workflow_run_id: run.task.as_ref().map(|task| task.parent.to_string()),
            task_key: None,
            task: None,
            waiting_for: None,
            sla: run.sla.map(SlaView::of),
            trace: Some(TraceView::of(run)),
            workflow_version: run.graph.as_ref().map(|graph| graph.version),
            count: span.and_then(|span| span.count),
            covers_until: span.map(|span| Instant(span.until)),
        }
    }

    /// Told from the whole that it is a task of: `job` is whose run that is.
    #[must_use]
    pub fn in_its_workflow(self, task: TaskOfView, job: JobId) -> Self {
        let (workflow_run_id, task_key) = (Some(task.workflow_run_id.clone()), Some(task.key.clone()));
        Self { job_id: job.to_string(), workflow_run_id, task_key, task: Some(task), ..self }
    }

    /// With what its workers said of it.
    #[must_use]
    pub fn told_by(self, book: &Logbook, checkpoint: Option<&Json>) -> Self {
        Self {
            progress: book.progress.map(Progress::share),
            stage: book.stage.clone(),
            checkpoint: checkpoint.map_or(BodyView::LeftOut, |json| BodyView::of(Some(json))),
            late_answers: book.late.iter().map(LateAnswerView::of).collect(),
            ..self
        }
    }

    /// As a list shows it: with the attempts that stand inside, and without bodies that are kept apart, its job's among them.
    pub fn listed(run: &Run, now: Moment) -> Self {
        let payload = run.payload.as_ref().map_or(BodyView::LeftOut, BodyView::inside);
        let result = result_of(run).map_or(BodyView::Null, BodyView::inside);
        Self::of(run, &run.attempts, Bodies { payload, result }, now)
    }
}

fn dismissed_at(run: &Run) -> Option<Instant> {
    let is_dismissed = run.aftermath == Some(Aftermath::Dismissed);
    run.last_remark(Remarked::Dismissed).filter(|_| is_dismissed).map(|remark| Instant(remark.at))
}

impl RemarkView {
    fn of(remark: &Remark) -> Self {
        let by = remark.by.as_ref().map(|by| by.as_str().to_owned());
        Self { at: Instant(remark.at), what: remark.what.as_str().to_owned(), by, note: remark.note.clone() }
    }
}

impl SlaView {
    pub fn of(sla: Sla) -> Self {
        Self { due_by: Instant(sla.until), missed_at: sla.missed.map(Instant) }
    }
}

impl AttemptView {
    fn of(attempt: &Attempt) -> Self {
        Self {
            number: attempt.number,
            started_at: Instant(attempt.started_at),
            finished_at: attempt.ended.as_ref().map(|ended| Instant(ended.at)),
            worker: attempt.worker.to_string(),
            outcome: attempt.outcome().map(ToOwned::to_owned),
            error: attempt.error().map(AttemptErrorView::of),
        }
    }
}

impl AttemptErrorView {
    pub fn of(error: &AttemptError) -> Self {
        Self { code: error.code.clone().into_owned(), message: error.message.clone(), retryable: error.retryable }
    }
}

/// What the run came to, where it came to something.
pub fn result_of(run: &Run) -> Option<&Body> {
    match &run.state {
        State::Succeeded { result, .. } => Some(result),
        State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}
