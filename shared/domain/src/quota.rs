//! A quota: how much of the deployment one tenant may use. An absent limit means unlimited.

use crate::id::Tenant;

/// Stored among the deployment's own documents, under the tenant's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    pub tenant: Tenant,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that can still fire.
    pub max_jobs: Option<u32>,
    /// The rate of all recurring schedules together, and separately the rate of one-time runs.
    pub max_fires_per_minute: Option<u32>,
    pub max_concurrent_runs: Option<u32>,
    pub max_requests_per_second: Option<u32>,
}
