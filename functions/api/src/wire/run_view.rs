//! A run as it is shown. Fields that later features fill are null until then.

use minutehand_domain::Moment;
use minutehand_domain::body::Body;
use minutehand_domain::id::Origin;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, AttemptError, Run, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::body_view::BodyView;
use super::instant::Instant;
use super::run_status::RunStatus;
use super::texts::{JobIdText, RunIdText};
use super::words::{ErrorCodeWord, OriginWord, OutcomeWord, PriorityWord};

/// One occurrence of a job being carried out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunView<'a> {
    #[schemars(with = "RunIdText")]
    run_id: String,
    #[schemars(with = "JobIdText")]
    job_id: String,
    #[schemars(with = "RunStatus")]
    status: &'static str,
    /// Why it failed or was skipped: a word.
    reason: Option<&'static str>,
    /// The instant that it was meant for.
    scheduled_at: Instant,
    /// When it was due: later by its schedule's jitter, if it has one.
    effective_at: Instant,
    /// When its first attempt started.
    started_at: Option<Instant>,
    finished_at: Option<Instant>,
    #[schemars(with = "PriorityWord")]
    priority: Priority,
    /// What it was given, or its job's. A list leaves out one that is kept apart.
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    payload: BodyView<'a>,
    /// What the target answered. A list leaves out one that is kept apart because it is large.
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    result: BodyView<'a>,
    /// Null until workers report it.
    progress: (),
    /// Oldest first. A list shows only the newest few.
    attempts: Vec<AttemptView<'a>>,
    #[schemars(with = "OriginWord")]
    origin: Origin,
    /// The run that this one is another try at.
    #[schemars(with = "Option<RunIdText>")]
    redrive_of: Option<String>,
    /// Null until there are workflows.
    workflow_run_id: (),
    /// Null until there are workflows.
    task_key: (),
    /// Of a record that stands for several occurrences: how many, or at least how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// And the last of them; of a `coalesced` one the occurrence that fires in their stead.
    #[serde(skip_serializing_if = "Option::is_none")]
    covers_until: Option<Instant>,
}

/// One try at a run.
#[derive(Serialize, JsonSchema)]
struct AttemptView<'a> {
    /// From 1.
    number: u32,
    started_at: Instant,
    finished_at: Option<Instant>,
    /// The process that made it.
    worker: String,
    #[schemars(with = "Option<OutcomeWord>")]
    outcome: Option<&'static str>,
    error: Option<ErrorView<'a>>,
}

/// What went wrong in an attempt.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AttemptError")]
struct ErrorView<'a> {
    #[schemars(with = "ErrorCodeWord")]
    code: &'a str,
    /// A sentence to read.
    message: &'a str,
    /// Whether the same call may succeed later.
    retryable: bool,
}

/// What a run says beside its own item.
#[derive(Clone, Copy)]
pub(crate) struct Bodies<'a> {
    pub payload: BodyView<'a>,
    pub result: BodyView<'a>,
}

impl<'a> RunView<'a> {
    /// The run with `attempts`, oldest first.
    pub(crate) fn new(run: &'a Run, attempts: &'a [Attempt], bodies: Bodies<'a>, now: Moment) -> Self {
        let span = run.skipped_span();
        Self {
            run_id: run.key.to_string(),
            job_id: run.key.job.to_string(),
            status: run.status(now),
            reason: run.reason(),
            scheduled_at: Instant(run.nominal()),
            effective_at: Instant(run.key.at),
            started_at: run.started_at.map(Instant),
            finished_at: run.finished_at().map(Instant),
            priority: run.priority,
            payload: bodies.payload,
            result: bodies.result,
            progress: (),
            attempts: attempts.iter().map(AttemptView::new).collect(),
            origin: run.key.origin,
            redrive_of: run.redrive_of.map(|key| key.to_string()),
            workflow_run_id: (),
            task_key: (),
            count: span.and_then(|span| span.count),
            covers_until: span.map(|span| Instant(span.until)),
        }
    }

    /// As a list shows it: with the attempts that stand inside, and without bodies that are kept apart, its job's among them.
    pub(crate) fn listed(run: &'a Run, now: Moment) -> Self {
        let payload = run.payload.as_ref().map_or(BodyView::LeftOut, BodyView::inside);
        let result = result_of(run).map_or(BodyView::Null, BodyView::inside);
        Self::new(run, &run.attempts, Bodies { payload, result }, now)
    }
}

impl<'a> AttemptView<'a> {
    fn new(attempt: &'a Attempt) -> Self {
        Self {
            number: attempt.number,
            started_at: Instant(attempt.started_at),
            finished_at: attempt.ended.as_ref().map(|ended| Instant(ended.at)),
            worker: attempt.worker.to_string(),
            outcome: attempt.outcome(),
            error: attempt.error().map(ErrorView::new),
        }
    }
}

impl<'a> ErrorView<'a> {
    fn new(error: &'a AttemptError) -> Self {
        Self { code: &error.code, message: &error.message, retryable: error.retryable }
    }
}

/// What the run came to, where it came to something.
pub(crate) fn result_of(run: &Run) -> Option<&Body> {
    match &run.state {
        State::Succeeded { result, .. } => Some(result),
        State::Scheduled { .. }
        | State::Running(_)
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}
