//! A quota: how much of the deployment one tenant may use. What it does not name is not limited.

use serde::{Deserialize, Serialize};

use crate::id::Tenant;

/// Kept among the deployment's own documents, under the tenant's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pub tenant: Tenant,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Jobs that can still fire.
    pub max_jobs: Option<u32>,
    /// What all recurring schedules fire together, and as many one-time runs again.
    pub max_fires_per_minute: Option<u32>,
    pub max_concurrent_runs: Option<u32>,
    pub max_requests_per_second: Option<u32>,
}
