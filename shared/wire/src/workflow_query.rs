//! Which workflows, versions and runs are asked for.

use minutehand_domain::limits::{NAME_CHARS, PAGE, WORD_CHARS};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::job_query::JobsQuery;
use crate::job_view::JobStatus;
use crate::page::DEFAULT_LIMIT;
use crate::run_status::RunStatus;
use crate::texts::{CursorText, Line};
use crate::words::PriorityWord;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Those that bear it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub tag: Option<String>,
    pub status: Option<JobStatus>,
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// What the name begins with.
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    pub name: Option<String>,
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub owner: Option<String>,
}

impl WorkflowsQuery {
    pub fn checked(&self) -> Result<(), RequestRefusal> {
        self.of_jobs().checked()
    }

    /// The same of their own jobs.
    pub fn of_jobs(&self) -> JobsQuery {
        let Self { limit, cursor, tag, status, priority, name, owner } = self.clone();
        JobsQuery { limit, cursor, tag, status, priority, name, owner, expand: None }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// The version before `to` if it is not given.
    #[schemars(range(min = 1))]
    pub from: Option<u32>,
    /// The newest if it is not given.
    #[schemars(range(min = 1))]
    pub to: Option<u32>,
}

impl DiffQuery {
    /// The two versions, of which the newest is this one.
    pub fn checked(&self, newest: u32) -> Result<(u32, u32), RequestRefusal> {
        let to = self.to.unwrap_or(newest);
        let from = self.from.unwrap_or(to.saturating_sub(1).max(1));
        let mut errors = FieldErrors::default();
        for (pointer, version) in [("?from", from), ("?to", to)] {
            errors.in_range(pointer, version, 1..=newest);
        }
        errors.settle(Some((from, to)))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteWorkflowQuery {
    /// Whether runs that are under way are cancelled; else they keep it from being deleted.
    #[schemars(extend("default" = false))]
    pub cancel: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsOfWorkflowQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    pub status: Option<RunStatus>,
    /// Those that carry out this version.
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
    /// Those due then or later: a day before `to` if it is not given.
    pub from: Option<Instant>,
    /// Those due before: now if it is not given.
    pub to: Option<Instant>,
}
