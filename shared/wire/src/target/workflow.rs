//! The target `workflow`: a graph of tasks, each carried out as a run of its own.

use minutehand_domain::target::{Target, WorkflowTarget as Called};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TargetCheck, TargetKind};
use crate::body::Json;
use crate::field_errors::FieldErrors;
use crate::texts::WorkflowIdText;

/// Carries out a workflow's tasks. The payload is the workflow's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct WorkflowTarget {
    /// Which workflow.
    #[schemars(with = "WorkflowIdText")]
    pub id: String,
    /// Which of its versions; the newest when a run begins where none is given.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The parameters of its run: another word for the payload, which they are shown as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
}

impl WorkflowTarget {
    pub(super) fn of(called: &Called) -> Self {
        Self { id: called.id.to_string(), version: called.version, params: None }
    }
}

impl TargetKind for WorkflowTarget {
    const TITLE: &'static str = "workflow";

    fn checked(&self, _check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        if self.version == Some(0) {
            errors.add("/target/workflow/version", "versions are numbered from 1");
            return None;
        }
        match self.id.parse() {
            Ok(id) => Some(Target::Workflow(Called { id, version: self.version })),
            Err(_no_id) => {
                errors.add("/target/workflow/id", "this is not a workflow's id");
                None
            }
        }
    }
}
