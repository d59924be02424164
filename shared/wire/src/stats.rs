//! Stats: how a tenant's runs and jobs are doing, in a few numbers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::job_view::JobStatus;
use crate::run_status::RunStatus;
use crate::word::Word;

const DEFAULT_MINUTES: usize = 60;
const MOST_MINUTES: usize = 24 * 60;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsQuery {
    /// How far back runs are counted.
    #[schemars(range(min = 1, max = MOST_MINUTES), extend("default" = DEFAULT_MINUTES))]
    pub minutes: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsView {
    /// The begin of what was asked for, or, beyond 1,000 runs, when the oldest of the newest 1,000 was due: only those are
    /// counted.
    pub from: Instant,
    pub to: Instant,
    /// By status.
    #[schemars(with = "BTreeMap<RunStatus, usize>")]
    pub runs: BTreeMap<Word<RunStatus>, usize>,
    pub runs_per_minute: f64,
    /// From when a run was due to when it first started.
    pub lag_ms: Option<LagView>,
    /// By status; beyond 1,000 jobs, of 1,000 of them.
    #[schemars(with = "BTreeMap<JobStatus, usize>")]
    pub jobs: BTreeMap<Word<JobStatus>, usize>,
    /// Whether everything was counted: 1,000 runs and 1,000 jobs are at most, and runs only where this deployment keeps their
    /// index.
    pub complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LagView {
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

impl StatsQuery {
    pub fn checked(&self) -> Result<usize, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let minutes = errors.in_range("?minutes", self.minutes.unwrap_or(DEFAULT_MINUTES), 1..=MOST_MINUTES);
        errors.settle(Some(minutes))
    }
}
