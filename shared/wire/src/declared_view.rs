//! What the operator of a deployment declared, as whoever may name it sees it: never where it leads.

use minutehand_domain::limits::PAGE;
use minutehand_domain::target::{AliasName, ServiceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::DEFAULT_LIMIT;
use crate::texts::{AliasText, CursorText};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

/// A service of AWS that jobs may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeclaredTarget")]
pub struct DeclaredView {
    #[schemars(with = "AliasText")]
    pub alias: String,
    /// `lambda`, `sqs`, `sns`, `eventbridge`, `step_functions` or `ecs`: the field of a job's target that names it.
    pub kind: String,
}

impl DeclaredView {
    pub fn of(alias: &AliasName, kind: ServiceKind) -> Self {
        Self { alias: alias.to_string(), kind: kind.as_str().to_owned() }
    }
}
