//! A workflow's run as it is shown: the whole, its tasks, the branches of a `for_each`.

use std::collections::BTreeMap;

use minutehand_domain::id::Origin;
use minutehand_domain::priority::Priority;
use minutehand_domain::workflow::progress::Progress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::BodyView;
use crate::instant::Instant;
use crate::run_status::RunStatus;
use crate::run_view::{AttemptErrorView, SlaView};
use crate::texts::{CursorText, JobIdText, RunIdText, TaskKeyText, WorkflowIdText};
use crate::word::Word;
use crate::words::{OriginWord, PriorityWord};

/// How far a task is, or a branch. `pending`: nothing that it depends on has ended; `waiting`: for some of that, an answer, its own
/// tasks; `held`: it failed, and an operator decides; `cancelled`: also what never began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Pending,
    Waiting,
    Scheduled,
    Queued,
    Running,
    Held,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    Skipped,
}

/// A run of a workflow, as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowRunItem")]
pub struct WorkflowRunItem {
    #[schemars(with = "RunIdText")]
    pub workflow_run_id: String,
    /// Null while it has not begun, or never did.
    #[schemars(with = "Option<WorkflowIdText>")]
    pub workflow_id: Option<String>,
    /// Pinned when it began.
    pub version: Option<u32>,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    #[schemars(with = "RunStatus")]
    pub status: Word<RunStatus>,
    /// Why it failed or was skipped: a word.
    pub reason: Option<String>,
    pub scheduled_at: Instant,
    pub started_at: Option<Instant>,
    pub finished_at: Option<Instant>,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    #[schemars(with = "OriginWord")]
    pub origin: Word<Origin>,
    /// The run that this one goes on with.
    #[schemars(with = "Option<RunIdText>")]
    pub resumes: Option<String>,
    /// When it was found without progress, nothing under way and nothing awaited; null where it has gone on since.
    pub stalled_at: Option<Instant>,
    /// By when it is to have ended, where its job says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<SlaView>,
}

/// A run of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowRun")]
pub struct WorkflowRunView {
    #[serde(flatten)]
    pub run: WorkflowRunItem,
    /// What its workflow is called.
    pub name: Option<String>,
    /// A sentence about how it ended, where there is more to say.
    pub detail: Option<String>,
    /// What it waits for, in words.
    pub waiting_for: Option<String>,
    /// When it is stopped, or its `finally` is.
    pub deadline_at: Option<Instant>,
    /// It is being stopped, and ends as this: `failed`, `cancelled` or `timed_out`.
    pub stopping: Option<String>,
    /// Its tasks have ended, and those of `finally` go on.
    pub in_finally: bool,
    pub params: BodyView,
    pub output: BodyView,
    /// Who asked for it: a key's id, or `deployment`.
    pub asked_by: Option<String>,
    /// The run that goes on with this one.
    #[schemars(with = "Option<RunIdText>")]
    pub resumed_by: Option<String>,
    /// Where it is a task itself.
    pub task: Option<TaskOfView>,
    /// How many tasks are in which state; what is not named is none.
    #[schemars(with = "BTreeMap<TaskState, usize>")]
    pub counts: BTreeMap<Word<TaskState>, usize>,
    /// The chain of tasks that determined when it ended, or how far it is now.
    pub critical_path: Vec<PathStepView>,
    /// The first of its tasks, in an order in which none comes before what it depends on.
    pub tasks: Vec<RunTaskView>,
    /// For the other tasks: of `/tasks`. Null where these are all.
    #[schemars(with = "Option<CursorText>")]
    pub next_cursor: Option<String>,
}

/// One task on the critical path: from when the one before it ended to its own end, or to now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PathStep")]
pub struct PathStepView {
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    pub from: Instant,
    pub to: Instant,
    pub seconds: f64,
}

/// A task of a workflow's run, by the last try at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowTask")]
pub struct RunTaskView {
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    /// What it does: `call`, `workflow`, `approval` or `for_each`.
    pub kind: String,
    pub in_finally: bool,
    #[serde(flatten)]
    pub tried: TriedView,
    /// `all`, `any` or `none_failed` of these.
    pub rule: String,
    pub depends_on: Vec<EdgeView>,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    /// What it answered; left out where it is large: its run shows it.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub result: BodyView,
    /// A failure that nobody allowed lies before it.
    pub tainted: bool,
    pub allow_failure: bool,
    /// The run of this task in the run that is resumed, where that had done it already.
    #[schemars(with = "Option<RunIdText>")]
    pub reused: Option<String>,
    pub approval: Option<ApprovalView>,
    pub branches: Option<BranchesView>,
}

/// How far a task is, or a branch, by the last try at it. Their results stand apart: a number keeps its digits only there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedView {
    #[schemars(with = "TaskState")]
    pub state: Word<TaskState>,
    /// Why it failed or was skipped: a word.
    pub reason: Option<String>,
    /// A sentence, where it could not be made.
    pub detail: Option<String>,
    pub waiting_for: Option<String>,
    /// Its run, with all attempts and the whole result: null while it has none.
    #[schemars(with = "Option<RunIdText>")]
    pub run_id: Option<String>,
    /// 1, and one more for each retry that an operator asked for; 0 while it has no run.
    pub tries: u16,
    /// Of the last try.
    pub attempts: u32,
    pub scheduled_at: Option<Instant>,
    pub started_at: Option<Instant>,
    pub finished_at: Option<Instant>,
    /// Of the last attempt, where it did not succeed.
    pub error: Option<AttemptErrorView>,
    /// What an operator made of its failure.
    pub verdict: Option<JudgementView>,
}

/// What a task depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowEdge")]
pub struct EdgeView {
    #[schemars(with = "TaskKeyText")]
    pub task: String,
    /// `success`, `failure` or `finished`.
    pub on: String,
    /// Whether it holds; null while that task has not ended.
    pub holds: Option<bool>,
}

/// A question to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowApproval")]
pub struct ApprovalView {
    /// Who may answer: keys of these roles, or higher ones.
    pub roles: Vec<String>,
    /// Until when; null before it is asked and after it was answered.
    pub until: Option<Instant>,
    /// What no answer counts as: `approve`, `reject` or `fail`.
    pub default: String,
    pub answer: Option<JudgementView>,
}

/// What somebody decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowJudgement")]
pub struct JudgementView {
    /// `approve`, `reject`, `retry`, `skip`, `succeed` or `fail`.
    pub word: String,
    /// A key's id, or `deployment`.
    pub by: String,
    /// What that key is called.
    pub by_name: Option<String>,
    pub at: Instant,
    pub note: Option<String>,
}

/// How far the branches of a `for_each` are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowBranches")]
pub struct BranchesView {
    /// How many there are.
    pub total: u16,
    /// By state; what is not named is none.
    #[schemars(with = "BTreeMap<TaskState, usize>")]
    pub counts: BTreeMap<Word<TaskState>, usize>,
    /// There were too many to be counted with one request: there are at least so many.
    pub at_least: bool,
}

/// A branch of a `for_each`, by the last try at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowBranch")]
pub struct BranchView {
    /// From 0.
    pub branch: u16,
    #[serde(flatten)]
    pub tried: TriedView,
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub result: BodyView,
    pub answer: Option<JudgementView>,
}

/// A decision about a task or a branch, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowDecision")]
pub struct DecidedView {
    #[schemars(with = "RunIdText")]
    pub workflow_run_id: String,
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    pub branch: Option<u16>,
    /// The run that was decided about.
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    /// Of that run, now.
    #[schemars(with = "TaskState")]
    pub state: Word<TaskState>,
    pub decision: JudgementView,
}

/// A verdict on the branches of a `for_each` that were held, as far as one request comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HeldDecided")]
pub struct HeldDecidedView {
    #[schemars(with = "RunIdText")]
    pub workflow_run_id: String,
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    /// The verdict that was asked for.
    pub verdict: String,
    /// The branches that were given it.
    pub decided: Vec<u16>,
    /// From which branch to ask on; null where all were looked at.
    pub next_from: Option<u16>,
}

/// Where the run of a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TaskOf")]
pub struct TaskOfView {
    /// The run of the workflow.
    #[schemars(with = "RunIdText")]
    pub workflow_run_id: String,
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    /// Of a `for_each`, from 0.
    pub branch: Option<u16>,
    /// Which try at it, from 1: another for each retry that an operator asks for.
    pub turn: u16,
}

impl TaskState {
    pub fn of(progress: Progress) -> Word<Self> {
        Word::read(progress.as_str())
    }

    pub fn is(self, progress: Progress) -> bool {
        Self::of(progress) == self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_for_a_task_is_known() {
        for progress in Progress::ALL {
            assert!(matches!(TaskState::of(progress), Word::Known(_)), "{progress:?}");
        }
    }
}
