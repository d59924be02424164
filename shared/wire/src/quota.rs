//! A quota on the wire. What is null is not limited, but for what is made up for: of that there is a default.

use minutehand_domain::id::Tenant;
use minutehand_domain::limits::{DEFAULT_CATCH_UP_PER_MINUTE, DEFAULT_RETENTION_DAYS, RATE_PER_MINUTE, RETENTION_DAYS};
use minutehand_domain::quota::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::job_request::retention;
use crate::texts::TenantText;
use crate::whole_number::whole_number;

/// A bound beyond this bounds nothing: it is ten times what the largest deployment is designed to hold.
const MOST: u32 = 1_000_000_000;

/// What is null or not named is not limited; of what is made up for it has the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaRequest {
    /// Jobs that can still fire.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = MOST))]
    pub max_jobs: Option<u64>,
    /// What all recurring schedules fire together, and as many one-time runs again.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = MOST))]
    pub max_fires_per_minute: Option<u64>,
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = MOST))]
    pub max_concurrent_runs: Option<u64>,
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = MOST))]
    pub max_requests_per_second: Option<u64>,
    /// Of what is made up for so many begin in a minute, all jobs together. Null means the default, not that there is no limit.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = RATE_PER_MINUTE), extend("default" = DEFAULT_CATCH_UP_PER_MINUTE))]
    pub max_catch_up_per_minute: Option<u64>,
    /// For how many days what is over is kept, of jobs that do not say it; and no longer of those that do. Null means the default.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = RETENTION_DAYS), extend("default" = DEFAULT_RETENTION_DAYS))]
    pub retention_days: Option<u64>,
}

/// What is null is not limited; of what is made up for it is the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaView {
    #[schemars(with = "TenantText")]
    pub tenant: String,
    /// Jobs that can still fire.
    pub max_jobs: Option<u32>,
    /// What all recurring schedules fire together, and as many one-time runs again.
    pub max_fires_per_minute: Option<u32>,
    pub max_concurrent_runs: Option<u32>,
    pub max_requests_per_second: Option<u32>,
    /// Of what is made up for so many begin in a minute, all jobs together. Null means the default, 600.
    #[serde(default)]
    pub max_catch_up_per_minute: Option<u32>,
    /// For how many days what is over is kept, of jobs that do not say it; and no longer of those that do. Null means 30, and no bound.
    #[serde(default)]
    pub retention_days: Option<u32>,
}

impl QuotaRequest {
    /// A tenant that may do nothing at all has no keys; at least one request a second lets it say what it sees.
    pub fn checked(&self) -> Result<Limits, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let mut limit = |pointer, value: Option<u64>, within| {
            let value = errors.in_range(pointer, value?, within);
            u32::try_from(value).ok()
        };
        let (any, some) = (0..=u64::from(MOST), 1..=u64::from(MOST));
        let limits = Limits {
            max_jobs: limit("/max_jobs", self.max_jobs, any.clone()),
            max_fires_per_minute: limit("/max_fires_per_minute", self.max_fires_per_minute, any),
            max_concurrent_runs: limit("/max_concurrent_runs", self.max_concurrent_runs, some.clone()),
            max_requests_per_second: limit("/max_requests_per_second", self.max_requests_per_second, some),
            max_catch_up_per_minute: limit(
                "/max_catch_up_per_minute",
                self.max_catch_up_per_minute,
                1..=RATE_PER_MINUTE,
            ),
            retention: retention(self.retention_days, &mut errors),
        };
        errors.settle(Some(limits))
    }
}

impl QuotaView {
    pub fn of(tenant: &Tenant, limits: &Limits) -> Self {
        Self {
            tenant: tenant.as_str().to_owned(),
            max_jobs: limits.max_jobs,
            max_fires_per_minute: limits.max_fires_per_minute,
            max_concurrent_runs: limits.max_concurrent_runs,
            max_requests_per_second: limits.max_requests_per_second,
            max_catch_up_per_minute: limits.max_catch_up_per_minute,
            retention_days: limits.retention.map(|retention| retention.days().into()),
        }
    }
}
