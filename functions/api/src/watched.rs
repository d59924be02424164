//! Jobs that an operator has watched one by one: their last success, and whether a run of theirs is overdue. A few that are named, so that
//! the series are few; read when the metrics are asked for.

use std::str::FromStr;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;

use crate::jobs::newest::Newest;

/// A job of a tenant, as an operator names it: `job_…`, of the deployment's own tenant, or `tenant/job_…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    tenant: Tenant,
    job: JobId,
}

/// More of them are a list to ask the API for.
pub const MOST_WATCHED: usize = 20;

/// How a watched job stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub last_success: Option<Moment>,
    pub overdue_since: Option<Moment>,
}

impl FromStr for Watched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tenant, job) = text.split_once('/').map_or((None, text), |(tenant, job)| (Some(tenant), job));
        let tenant = tenant.map_or(Ok(Tenant::deployment()), Tenant::new).map_err(|why| why.to_string())?;
        let job =
            job.parse().map_err(|_no_id| format!("{job:?} is not the id of a job, as in `job_…` or `tenant/job_…`"))?;
        Ok(Self { tenant, job })
    }
}

impl Watched {
    /// As the series has it.
    pub(crate) fn label(&self) -> String {
        if self.tenant == Tenant::deployment() {
            self.job.to_string()
        } else {
            format!("{}/{}", self.tenant.as_str(), self.job)
        }
    }

    /// Says in the log that there is no such job, as then there is nothing to see of it and nothing rings. What cannot be read may be there.
    pub async fn warn_if_absent<D: Ports>(&self, ports: &D) {
        if let Ok(None) = job_of(ports, &self.tenant, self.job).await {
            tracing::warn!(
                watched = self.label(),
                "there is no such job to watch: it has no series, and JobOverdue cannot ring"
            );
        }
    }

    /// None where there is no such job.
    pub(crate) async fn standing<D: Ports>(&self, ports: &D) -> Result<Option<Standing>, Fault> {
        let now = ports.clock().now();
        let Some(job) = job_of(ports, &self.tenant, self.job).await? else { return Ok(None) };
        let health = Newest::for_health(ports, &job, now).await?.judged(ports, &job, now).await?;
        Ok(Some(Standing { last_success: health.last_success_at, overdue_since: health.overdue_since }))
    }
}
