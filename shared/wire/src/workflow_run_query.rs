//! Which runs of workflows a list is asked for, and which of a run's tasks, branches and events.

use minutehand_domain::limits::PAGE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::run_status::RunStatus;
use crate::texts::{CursorText, WorkflowIdText};
use crate::workflow_run_view::TaskState;

/// Of all workflows, or of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRunsQuery {
    /// Only runs of this workflow's own job, which its schedule and its `run` start. Runs of other jobs that carry it out stand in the
    /// list of all.
    #[schemars(with = "Option<WorkflowIdText>")]
    pub workflow: Option<String>,
    /// Only runs of this version.
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    pub status: Option<RunStatus>,
    /// Those due then or later: a day before `to` if it is not given.
    pub from: Option<Instant>,
    /// Those due before: now if it is not given.
    pub to: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchesQuery {
    /// Only those in this state. A page may then hold fewer than `limit`, and a cursor.
    pub state: Option<TaskState>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

/// Which branch of a `for_each` is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchQuery {
    /// Of a `for_each`: which of its branches, from 0.
    pub branch: Option<u16>,
}
