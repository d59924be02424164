//! Operations: acts on many jobs or runs at once, asked for by filter, and what becomes of them.

use std::ops::Range;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::limits::{
    IDEMPOTENCY_KEY_CHARS, NAME_CHARS, NOTE_CHARS, OPERATION_REASONS, OPERATION_SAMPLE, PAGE, WORD_CHARS,
};
use minutehand_domain::operation::{self, JobAct, Operation, Progress, RunAct, State, Subject, Work};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::component::component;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::job_view::JobStatus;
use crate::object::maybe_object;
use crate::page::DEFAULT_LIMIT;
use crate::run_status::RunStatus;
use crate::texts::{CursorText, JobIdText, Line, OperationIdText};
use crate::word::Word;
use crate::words::PriorityWord;

/// Runs of the last day, where nobody says from when on: as the list of runs has it.
const WINDOW: Duration = Duration::from_secs(24 * 3600);

component!(
    OperationKindText = "OperationKind",
    schemars::json_schema!({ "type": "string", "enum": Work::KINDS, "description": "What an operation does, and to what." })
);

/// What is to be done to many. Another act is a row here and in the table of what it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActWord {
    /// Of jobs.
    Pause,
    /// Of jobs.
    Resume,
    /// Of jobs: what `DELETE /v1/jobs/{job_id}` does. Of runs: what `POST /v1/runs/{run_id}/cancel` does.
    Cancel,
    /// Of runs.
    Retry,
    /// Of runs: of dead letters.
    Dismiss,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationRequest {
    pub act: ActWord,
    /// To which jobs. An empty filter is all.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsFilter>,
    /// Or to which runs.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsFilter>,
    /// Why: it stands with the operation, and in the events of runs that are cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
    /// Count what would be done and show some of it, and do nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The same as the header `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

/// Which jobs: as their list is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobsFilter {
    /// Those that bear it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// What the name begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub owner: Option<String>,
}

/// Which runs: as their list is asked, and by the tag of their job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsFilter {
    /// Only this job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<JobIdText>")]
    pub job_id: Option<String>,
    /// Of jobs that bear it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub tag: Option<String>,
    /// If it is not given, those to which the act can be done: for `cancel` what is not over, for `retry` and `dismiss` what failed or timed
    /// out and nobody has seen to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// Those due then or later: a day before `to` if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Those due before: now if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Instant>,
}

/// What an operation would do, or has begun to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DryOperation")]
pub struct DryOperationView {
    pub dry_run: bool,
    #[schemars(with = "OperationKindText")]
    pub kind: String,
    /// How many it would be done to now.
    pub count: u64,
    /// There may be more: no further was looked.
    pub more: bool,
    /// Some of them: ids of jobs, or of runs.
    #[schemars(extend("maxItems" = OPERATION_SAMPLE))]
    pub sample: Vec<String>,
}

/// What is answered to who asks for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OperationAnswer")]
pub enum OperationAnswerView {
    /// It was a dry run.
    Dry(DryOperationView),
    Begun(Box<OperationView>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Operation")]
pub struct OperationView {
    #[schemars(with = "OperationIdText")]
    pub operation_id: String,
    #[schemars(with = "OperationKindText")]
    pub kind: String,
    #[schemars(with = "OperationState")]
    pub state: Word<OperationState>,
    /// Of jobs: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsFilterView>,
    /// Of runs: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsFilterView>,
    /// Of a backfill: of which job, and which span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<BackfilledView>,
    /// Of an erasure: of which tenant, and what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<ErasureView>,
    pub progress: ProgressView,
    pub note: Option<String>,
    /// The id of the key that asked for it, or `deployment`.
    pub by: String,
    pub asked_at: Instant,
    /// When it last came further, or was paused, resumed or cancelled.
    pub changed_at: Instant,
    pub finished_at: Option<Instant>,
}

/// Which jobs an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationJobs")]
pub struct JobsFilterView {
    pub tag: Option<String>,
    #[schemars(with = "Option<JobStatus>")]
    pub status: Option<Word<JobStatus>>,
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Word<Priority>>,
    pub name: Option<String>,
    pub owner: Option<String>,
}

/// Which runs an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationRuns")]
pub struct RunsFilterView {
    #[schemars(with = "Option<JobIdText>")]
    pub job_id: Option<String>,
    pub tag: Option<String>,
    #[schemars(with = "Option<RunStatus>")]
    pub status: Option<Word<RunStatus>>,
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Word<Priority>>,
    pub from: Instant,
    pub to: Instant,
}

/// `cancelling`: of a backfill, what it has made and nobody has begun is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    Running,
    Paused,
    Cancelling,
    Cancelled,
    Done,
}

/// How far an operation has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationProgress")]
pub struct ProgressView {
    /// How many it is about, where that was known from the start.
    pub expected: Option<u64>,
    /// How many it has come to: those done, those that were so already, and those that were refused.
    pub seen: u64,
    pub done: u64,
    /// Of a backfill: occurrences that had their run.
    pub already: u64,
    pub refused: u64,
    /// Of a backfill that is cancelled: runs that were cancelled before they began.
    pub withdrawn: u64,
    /// The first that were refused, and why.
    #[schemars(extend("maxItems" = OPERATION_REASONS))]
    pub reasons: Vec<ReasonView>,
}

/// What was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationReason")]
pub struct ReasonView {
    /// The id of a job or run, or an instant.
    pub subject: String,
    pub detail: String,
}

/// What a backfill is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Backfilled")]
pub struct BackfilledView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    pub from: Instant,
    /// The first instant that is not in it any more.
    pub to: Instant,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
}

/// What an erasure is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Erasure")]
pub struct ErasureView {
    pub tenant: String,
    /// What the last walk through all of it found, and erased: 0 where nothing was left. Null before the first was through.
    pub left: Option<u64>,
    /// Who had begun before may still write until then: from then on all is looked for once more.
    pub waits_until: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    #[schemars(with = "Option<OperationKindText>")]
    pub kind: Option<String>,
    pub state: Option<OperationState>,
}

impl OperationRequest {
    /// What is to be done, as it stands at `now`, and the note.
    pub fn checked(&self, now: Moment) -> Result<(Work, Option<String>), RequestRefusal> {
        let mut errors = FieldErrors::default();
        if let Some(note) = &self.note {
            errors.line("/note", note, NOTE_CHARS);
        }
        let work = match (&self.jobs, &self.runs) {
            (Some(jobs), None) => self.of_jobs(jobs, &mut errors),
            (None, Some(runs)) => self.of_runs(runs, now, &mut errors),
            (None, None) => {
                errors.add("", "say to which `jobs`, or to which `runs`: an empty filter is all of them");
                None
            }
            (Some(_), Some(_)) => {
                errors.add("/runs", "give only one of jobs and runs");
                None
            }
        };
        errors.settle(work.map(|work| (work, self.note.clone())))
    }

    fn of_jobs(&self, jobs: &JobsFilter, errors: &mut FieldErrors) -> Option<Work> {
        let act = match self.act {
            ActWord::Pause => Some(JobAct::Pause),
            ActWord::Resume => Some(JobAct::Resume),
            ActWord::Cancel => Some(JobAct::Cancel),
            ActWord::Retry | ActWord::Dismiss => None,
        };
        if act.is_none() {
            errors.add("/act", format!("jobs can be: {}", JobAct::ALL.map(JobAct::as_str).join(", ")));
        }
        let filter = jobs.checked(errors);
        act.map(|act| Work::Jobs { act, filter })
    }

    fn of_runs(&self, runs: &RunsFilter, now: Moment, errors: &mut FieldErrors) -> Option<Work> {
        let act = match self.act {
            ActWord::Cancel => Some(RunAct::Cancel),
            ActWord::Retry => Some(RunAct::Retry),
            ActWord::Dismiss => Some(RunAct::Dismiss),
            ActWord::Pause | ActWord::Resume => None,
        };
        if act.is_none() {
            errors.add("/act", format!("runs can be: {}", RunAct::ALL.map(RunAct::as_str).join(", ")));
        }
        let filter = runs.checked(now, errors);
        if let (Some(act), Some(status)) = (act, &runs.status)
            && !act.may_be_asked_of(status.as_str())
        {
            errors.add("/runs/status", format!("no run that is {} can be asked to {}", status.as_str(), act.as_str()));
        }
        Some(Work::Runs { act: act?, filter: filter? })
    }
}

impl JobsFilter {
    fn checked(&self, errors: &mut FieldErrors) -> operation::JobFilter {
        for (pointer, word, most) in [
            ("/jobs/tag", &self.tag, WORD_CHARS),
            ("/jobs/owner", &self.owner, WORD_CHARS),
            ("/jobs/name", &self.name, NAME_CHARS),
        ] {
            if let Some(word) = word {
                errors.line(pointer, word, most);
            }
        }
        if self.status == Some(JobStatus::Cancelled) {
            errors.add("/jobs/status", "a deleted job stays as it is");
        }
        operation::JobFilter {
            tag: self.tag.clone(),
            status: self.status.map(|status| status.as_str().to_owned()),
            priority: self.priority,
            name: self.name.clone(),
            owner: self.owner.clone(),
        }
    }
}

impl RunsFilter {
    #[expect(clippy::unnecessary_wraps, reason = "as that of jobs, which may be none")]
    fn checked(&self, now: Moment, errors: &mut FieldErrors) -> Option<operation::RunFilter> {
        if let Some(tag) = &self.tag {
            errors.line("/runs/tag", tag, WORD_CHARS);
        }
        let job = match self.job_id.as_deref().map(str::parse::<JobId>) {
            Some(Ok(job)) => Some(job),
            Some(Err(_)) => {
                errors.add("/runs/job_id", "is not a job's id");
                None
            }
            None => None,
        };
        let window = self.window(now);
        if window.is_empty() {
            errors.add("/runs/from", format!("must lie before {}", window.end));
        }
        Some(operation::RunFilter {
            job,
            tag: self.tag.clone(),
            status: self.status.map(|status| status.as_str().to_owned()),
            priority: self.priority,
            window,
        })
    }

    fn window(&self, now: Moment) -> Range<Moment> {
        let end = self.to.map_or(now, |to| to.0);
        self.from.map_or(end - WINDOW, |from| from.0)..end
    }
}

impl JobsFilterView {
    fn of(filter: &operation::JobFilter) -> Self {
        Self {
            tag: filter.tag.clone(),
            status: filter.status.as_deref().map(Word::read),
            priority: filter.priority.map(Word::from),
            name: filter.name.clone(),
            owner: filter.owner.clone(),
        }
    }
}

impl RunsFilterView {
    fn of(filter: &operation::RunFilter) -> Self {
        Self {
            job_id: filter.job.map(|job| job.to_string()),
            tag: filter.tag.clone(),
            status: filter.status.as_deref().map(Word::read),
            priority: filter.priority.map(Word::from),
            from: Instant(filter.window.start),
            to: Instant(filter.window.end),
        }
    }
}

impl DryOperationView {
    pub fn of(work: &Work, count: usize, more: bool, sample: &[Subject]) -> Self {
        let id = |subject: &Subject| match subject {
            Subject::Job(job, _) => job.to_string(),
            Subject::Run(run) => run.to_string(),
            Subject::Occurrence(at) => at.to_string(),
        };
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        Self { dry_run: true, kind: work.kind().to_owned(), count, more, sample: sample.iter().map(id).collect() }
    }
}

impl OperationView {
    pub fn of(operation: &Operation) -> Self {
        let (jobs, runs, backfill, erasure) = match &operation.work {
            Work::Jobs { filter, .. } => (Some(JobsFilterView::of(filter)), None, None, None),
            Work::Runs { filter, .. } => (None, Some(RunsFilterView::of(filter)), None, None),
            Work::Backfill(backfill) => (None, None, Some(BackfilledView::of(backfill)), None),
            Work::Erase(erasure) => (None, None, None, Some(ErasureView::of(erasure))),
        };
        Self {
            operation_id: operation.id.to_string(),
            kind: operation.work.kind().to_owned(),
            state: OperationState::of(operation.state).into(),
            jobs,
            runs,
            backfill,
            erasure,
            progress: ProgressView::of(&operation.progress),
            note: operation.note.clone(),
            by: operation.by.as_str().to_owned(),
            asked_at: Instant(operation.asked_at),
            changed_at: Instant(operation.changed_at),
            finished_at: operation.finished_at.map(Instant),
        }
    }
}

impl ErasureView {
    fn of(erasure: &operation::Erasure) -> Self {
        let quiet = erasure.rests_until();
        let waits_until = (quiet > Moment::EPOCH && !erasure.is_over()).then_some(Instant(quiet));
        Self { tenant: erasure.tenant.as_str().to_owned(), left: erasure.left, waits_until }
    }
}

impl BackfilledView {
    fn of(backfill: &operation::Backfill) -> Self {
        Self {
            job_id: backfill.job.to_string(),
            from: Instant(backfill.from),
            to: Instant(backfill.until),
            priority: backfill.priority.into(),
        }
    }
}

impl OperationState {
    pub const fn of(state: State) -> Self {
        match state {
            State::Running => Self::Running,
            State::Paused => Self::Paused,
            State::Cancelling => Self::Cancelling,
            State::Cancelled => Self::Cancelled,
            State::Done => Self::Done,
        }
    }

    /// Nothing more will happen to it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Cancelled | Self::Done)
    }
}

impl ProgressView {
    fn of(progress: &Progress) -> Self {
        let Progress { expected, seen, done, already, refused, withdrawn, reasons } = progress;
        let reason =
            |reason: &operation::Reason| ReasonView { subject: reason.subject.clone(), detail: reason.why.clone() };
        Self {
            expected: *expected,
            seen: *seen,
            done: *done,
            already: *already,
            refused: *refused,
            withdrawn: *withdrawn,
            reasons: reasons.iter().map(reason).collect(),
        }
    }
}

impl OperationsQuery {
    pub fn checked(&self) -> Result<(), RequestRefusal> {
        let mut errors = FieldErrors::default();
        if let Some(kind) = &self.kind
            && !Work::KINDS.contains(&kind.as_str())
        {
            errors.add("?kind", format!("is one of {}", Work::KINDS.join(", ")));
        }
        errors.settle(Some(()))
    }

    pub fn wants(&self, operation: &Operation) -> bool {
        self.kind.as_ref().is_none_or(|kind| operation.work.kind() == kind)
            && self.state.is_none_or(|state| OperationState::of(operation.state) == state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn asked(text: &str) -> Result<Work, Vec<String>> {
        let request: OperationRequest = serde_json::from_str(text).unwrap();
        let checked = request.checked(NOW);
        checked.map(|(work, _)| work).map_err(|no| no.errors.into_iter().map(|error| error.pointer).collect())
    }

    #[test]
    fn an_act_is_done_to_jobs_or_to_runs_and_not_every_act_to_both() {
        for (text, kind) in [
            (r#"{"act": "pause", "jobs": {}}"#, Ok("pause_jobs")),
            (r#"{"act": "resume", "jobs": {"tag": "a"}}"#, Ok("resume_jobs")),
            (r#"{"act": "cancel", "jobs": {}}"#, Ok("cancel_jobs")),
            (r#"{"act": "cancel", "runs": {}}"#, Ok("cancel_runs")),
            (r#"{"act": "retry", "runs": {"status": "skipped"}}"#, Ok("retry_runs")),
            (r#"{"act": "retry", "jobs": {}}"#, Err(vec!["/act"])),
            (r#"{"act": "pause", "runs": {}}"#, Err(vec!["/act"])),
            (r#"{"act": "pause"}"#, Err(vec![""])),
            (r#"{"act": "cancel", "jobs": {}, "runs": {}}"#, Err(vec!["/runs"])),
            (r#"{"act": "retry", "runs": {"status": "succeeded"}}"#, Err(vec!["/runs/status"])),
            (r#"{"act": "cancel", "runs": {"status": "failed"}}"#, Err(vec!["/runs/status"])),
            (r#"{"act": "cancel", "jobs": {"status": "cancelled"}}"#, Err(vec!["/jobs/status"])),
            (r#"{"act": "cancel", "runs": {"job_id": "x"}}"#, Err(vec!["/runs/job_id"])),
            (r#"{"act": "cancel", "runs": {"from": "2099-01-01T00:00:00Z"}}"#, Err(vec!["/runs/from"])),
            (r#"{"act": "pause", "jobs": {"tag": ""}, "note": ""}"#, Err(vec!["/note", "/jobs/tag"])),
        ] {
            let kind = kind.map_err(|pointers| pointers.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(asked(text).as_ref().map(Work::kind).map_err(Clone::clone), kind, "{text}");
        }
    }
}
