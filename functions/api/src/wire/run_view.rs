//! A run as it is shown. Fields that later features fill are null until then.

use minutehand_domain::Moment;
use minutehand_domain::body::Body;
use minutehand_domain::id::Origin;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, AttemptError, Run, State};
use serde::Serialize;

use super::body_view::BodyView;
use super::instant::Instant;

#[derive(Serialize)]
pub(crate) struct RunView<'a> {
    run_id: String,
    job_id: String,
    status: &'static str,
    reason: Option<&'static str>,
    scheduled_at: Instant,
    /// The nominal instant until schedules spread.
    effective_at: Instant,
    started_at: Option<Instant>,
    finished_at: Option<Instant>,
    priority: Priority,
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    payload: BodyView<'a>,
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    result: BodyView<'a>,
    progress: (),
    attempts: Vec<AttemptView<'a>>,
    origin: Origin,
    redrive_of: (),
    workflow_run_id: (),
    task_key: (),
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covers_until: Option<Instant>,
}

#[derive(Serialize)]
struct AttemptView<'a> {
    number: u32,
    started_at: Instant,
    finished_at: Option<Instant>,
    worker: String,
    outcome: Option<&'static str>,
    error: Option<ErrorView<'a>>,
}

#[derive(Serialize)]
struct ErrorView<'a> {
    code: &'a str,
    message: &'a str,
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
        let also = run.stands_also_for();
        Self {
            run_id: run.key.to_string(),
            job_id: run.key.job.to_string(),
            status: run.status(now),
            reason: run.reason(),
            scheduled_at: Instant(run.key.at),
            effective_at: Instant(run.key.at),
            started_at: run.started_at.map(Instant),
            finished_at: run.finished_at().map(Instant),
            priority: run.priority,
            payload: bodies.payload,
            result: bodies.result,
            progress: (),
            attempts: attempts.iter().map(AttemptView::new).collect(),
            origin: run.key.origin,
            redrive_of: (),
            workflow_run_id: (),
            task_key: (),
            count: also.and_then(|also| also.count),
            covers_until: also.map(|also| Instant(also.until)),
        }
    }

    /// As a list shows it: with the attempts that stand inside, and without bodies that are kept apart.
    pub(crate) fn listed(run: &'a Run, of_job: &'a Body, now: Moment) -> Self {
        let payload = BodyView::inside(run.payload.as_ref().unwrap_or(of_job));
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
