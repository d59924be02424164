//! A quota: how much of the deployment one tenant may use. An absent limit means unlimited, but for what is
//! made up for: what an outage held up never comes all at once.

use crate::id::Tenant;
use crate::keeping::Lengthened;
use crate::limits::DEFAULT_CATCH_UP_PER_MINUTE;
use crate::retention::Retention;

/// Stored among the deployment's own documents, under the tenant's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    pub tenant: Tenant,
    pub limits: Limits,
    /// It was to keep runs for less long.
    pub lengthened: Option<Lengthened>,
}

impl Quota {
    pub fn new(tenant: Tenant, limits: Limits) -> Self {
        Self { tenant, limits, lengthened: None }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that can still fire.
    pub max_jobs: Option<u32>,
    /// The rate of all recurring schedules together, and separately the rate of one-time runs.
    pub max_fires_per_minute: Option<u32>,
    pub max_concurrent_runs: Option<u32>,
    pub max_requests_per_second: Option<u32>,
    /// Occurrences that are made up for and begin in a minute, all jobs together: absent means [`DEFAULT_CATCH_UP_PER_MINUTE`].
    pub max_catch_up_per_minute: Option<u32>,
    /// For how long runs are kept whose jobs do not say, and the longest for those that do.
    pub retention: Option<Retention>,
}

impl Limits {
    /// How many of what is made up for may begin in a minute.
    pub fn catch_up_per_minute(&self) -> u32 {
        self.max_catch_up_per_minute.unwrap_or(DEFAULT_CATCH_UP_PER_MINUTE)
    }
}
