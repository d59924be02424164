//! The audit trail of a workflow's run and all of its tasks' runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::run_events::RunEventView;
use crate::texts::{RunIdText, TaskKeyText};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowRunEvent")]
pub struct WorkflowRunEventView {
    pub at: Instant,
    /// A word for what happened: those of a run's own events.
    #[serde(rename = "type")]
    pub kind: String,
    /// Null where it happened to the run as a whole.
    #[schemars(with = "Option<TaskKeyText>")]
    pub task: Option<String>,
    /// Of a `for_each`, from 0.
    pub branch: Option<u16>,
    /// The run it happened to.
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    pub attempt: Option<u32>,
    /// Who did it: a key's id, `deployment`, or a worker.
    pub by: Option<String>,
    /// What that key is called.
    pub by_name: Option<String>,
    pub note: Option<String>,
    pub detail: Option<String>,
}

impl WorkflowRunEventView {
    pub fn of(event: RunEventView, run_id: String, task: Option<(String, Option<u16>)>) -> Self {
        let RunEventView { at, kind, attempt, by, note, detail } = event;
        let (task, branch) = task.map_or((None, None), |(key, branch)| (Some(key), branch));
        Self { at, kind, task, branch, run_id, attempt, by, by_name: None, note, detail }
    }
}
