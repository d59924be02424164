//! A workflow as it is shown: what it is called and when it runs, what its newest version says, and its other versions.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::priority::Priority;
use minutehand_domain::workflow::Workflow;
use minutehand_domain::workflow::definition::{Definition, OnFailure};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::body::{BodyView, Json};
use crate::callback::CallbackSpec;
use crate::catch_up::CatchUpSpec;
use crate::hooks::HooksView;
use crate::instant::Instant;
use crate::job_view::{JobStatus, JobView};
use crate::overlap::OverlapSpec;
use crate::schedule::ScheduleSpec;
use crate::task_view::{TaskView, as_written, template};
use crate::texts::{JobIdText, RunIdText, WorkflowIdText};
use crate::word::Word;
use crate::words::{OnFailureWord, PriorityWord};

/// A workflow as it is. What is its own job's belongs to no version: a change of it is in force at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowView {
    #[schemars(with = "WorkflowIdText")]
    pub workflow_id: String,
    /// The job of its own, in which the runs are that its schedule or somebody starts.
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// Its own job's: a workflow that was deleted is `cancelled`.
    #[schemars(with = "JobStatus")]
    pub status: Word<JobStatus>,
    /// The newest: what runs from now on.
    pub version: u32,
    pub name: String,
    pub owner: Option<String>,
    /// Sorted, each once.
    pub tags: BTreeSet<String>,
    pub schedule: ScheduleSpec,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    pub catch_up: CatchUpSpec,
    /// Left out where its runs may overlap as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSpec>,
    /// Left out where nobody is told of the end of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackSpec>,
    /// Left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksView>,
    /// Left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla_seconds: Option<u64>,
    /// Left out where the tenant's quota says it, or nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u64>,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// When it runs next by itself; null if it does not.
    pub next_run_at: Option<Instant>,
    #[schemars(with = "Option<RunIdText>")]
    pub next_run_id: Option<String>,
}

/// What a version of a workflow says, every default spelled out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionView {
    /// The JSON schema of what its runs are given.
    pub params: BodyView,
    #[schemars(with = "OnFailureWord")]
    pub on_failure: Word<OnFailure>,
    pub timeout_seconds: u64,
    pub finally_timeout_seconds: u64,
    /// Null: any number.
    pub max_concurrent_runs: Option<u32>,
    /// A template: the run's result.
    pub output: BodyView,
    pub tasks: Vec<TaskView>,
    pub finally: Vec<TaskView>,
}

/// A workflow that was asked for by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OneWorkflowView {
    #[serde(flatten)]
    pub workflow: WorkflowView,
    #[serde(flatten)]
    pub definition: DefinitionView,
}

/// A version of a workflow, which never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowVersionView {
    #[schemars(with = "WorkflowIdText")]
    pub workflow_id: String,
    /// Versions are numbered from 1.
    pub version: u32,
    pub made_at: Instant,
    /// Whose key it was.
    pub made_by: String,
}

/// A version of a workflow and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OneWorkflowVersionView {
    #[serde(flatten)]
    pub version: WorkflowVersionView,
    #[serde(flatten)]
    pub definition: DefinitionView,
}

/// Read twice, each time for one half: what serde flattens loses the text of a payload.
fn halves<'de, D: Deserializer<'de>, A: DeserializeOwned, B: DeserializeOwned>(
    deserializer: D,
) -> Result<(A, B), D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let one = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
    Ok((one, serde_json::from_str(text.get()).map_err(D::Error::custom)?))
}

impl<'de> Deserialize<'de> for OneWorkflowView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        halves(deserializer).map(|(workflow, definition)| Self { workflow, definition })
    }
}

impl<'de> Deserialize<'de> for OneWorkflowVersionView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        halves(deserializer).map(|(version, definition)| Self { version, definition })
    }
}

impl WorkflowView {
    /// What it shows beside what a request asks for.
    pub const NOT_ASKED: [&str; 8] =
        ["workflow_id", "job_id", "status", "version", "created_at", "updated_at", "next_run_at", "next_run_id"];

    /// `job`: its own.
    pub fn of(workflow: &Workflow, job: &Job, now: Moment) -> Self {
        let own = JobView::listed(job, now);
        Self {
            workflow_id: workflow.id.to_string(),
            job_id: own.job_id,
            status: own.status,
            version: workflow.version,
            name: workflow.name.clone(),
            owner: own.owner,
            tags: own.tags,
            schedule: own.schedule,
            priority: own.priority,
            catch_up: own.catch_up,
            overlap: own.overlap,
            callback: own.callback,
            hooks: own.hooks,
            sla_seconds: own.sla_seconds,
            retention_days: own.retention_days,
            created_at: Instant(workflow.created_at),
            updated_at: Instant(workflow.changed_at.max(job.changed_at)),
            next_run_at: own.next_run_at,
            next_run_id: own.next_run_id,
        }
    }
}

impl DefinitionView {
    pub fn of(definition: &Definition) -> Self {
        let policy = &definition.policy;
        let params = policy.params.as_ref().and_then(|params| as_written(params.source()));
        Self {
            params: params.map_or(BodyView::Null, BodyView::Json),
            on_failure: policy.failure.into(),
            timeout_seconds: policy.timeout.as_secs(),
            finally_timeout_seconds: policy.finally_timeout.as_secs(),
            max_concurrent_runs: policy.max_concurrent_runs,
            output: template(policy.output.as_ref()),
            tasks: definition.tasks.iter().map(TaskView::of).collect(),
            finally: definition.finally.iter().map(TaskView::of).collect(),
        }
    }

    /// What it says of the whole, field by field.
    pub(crate) fn policy(&self) -> Vec<(&'static str, Json)> {
        vec![
            ("params", Json::of(&self.params)),
            ("on_failure", Json::of(&self.on_failure)),
            ("timeout_seconds", Json::of(&self.timeout_seconds)),
            ("finally_timeout_seconds", Json::of(&self.finally_timeout_seconds)),
            ("max_concurrent_runs", Json::of(&self.max_concurrent_runs)),
            ("output", Json::of(&self.output)),
        ]
    }
}
