//! A question to people, as it is asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::access::Role;
use minutehand_domain::limits::{DEFAULT_APPROVAL_SECONDS, WORKFLOW_SECONDS};
use minutehand_domain::workflow::definition::{Approval, NoAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::FieldErrors;
use crate::whole_number::whole_number;
use crate::words::{NoAnswerWord, RoleWord};

/// A question to people: the task ends with their answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// Who may answer: whoever has one of these roles, or a higher one. An operator if it is not given.
    #[schemars(with = "Option<Vec<RoleWord>>", length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<Role>>,
    /// How long the answer may take.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = WORKFLOW_SECONDS), extend("default" = DEFAULT_APPROVAL_SECONDS))]
    pub timeout_seconds: Option<u64>,
    #[schemars(with = "Option<NoAnswerWord>", extend("default" = NoAnswer::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<NoAnswer>,
}

impl ApprovalRequest {
    pub(crate) fn checked(&self, errors: &mut FieldErrors) -> Approval {
        let usual = Approval::default();
        let timeout = self.timeout_seconds.unwrap_or(DEFAULT_APPROVAL_SECONDS);
        let roles = self.roles.as_ref().map(|roles| roles.iter().copied().collect::<BTreeSet<_>>());
        if roles.as_ref().is_some_and(BTreeSet::is_empty) {
            errors.add("/approval/roles", "name at least one role: else nobody may answer");
        }
        Approval {
            roles: roles.unwrap_or(usual.roles),
            timeout: Duration::from_secs(errors.in_range("/approval/timeout_seconds", timeout, 1..=WORKFLOW_SECONDS)),
            default: self.default.unwrap_or_default(),
        }
    }
}
