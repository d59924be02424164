//! Which runs a list is asked for: of one job, or of all.

use minutehand_domain::limits::PAGE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::run_status::RunStatus;
use crate::texts::{CursorText, JobIdText};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsQuery {
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
pub struct RunsAcrossQuery {
    /// Only this job's.
    #[schemars(with = "Option<JobIdText>")]
    pub job_id: Option<String>,
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
