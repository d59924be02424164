//! Jobs that run behind others: what is refused of one that cannot.

use minutehand_domain::follow::NotToFollow;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::schedule::{Schedule, When};
use minutehand_io::Ports;
use minutehand_protocol::job::following::may_follow;

use crate::problem::{Kind, Problem};

/// Refuses a schedule behind a job that is not there, or that is behind this one already. Whoever writes the job looks once more.
pub(crate) async fn it_may_follow<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: JobId,
    schedule: &Schedule,
) -> Result<(), Problem> {
    match &schedule.when {
        When::Follows { job, .. } => may_follow(ports, tenant, id, *job).await?.map_err(|no| not_to_follow(&no)),
        _fires_otherwise => Ok(()),
    }
}

pub(crate) fn not_to_follow(no: &NotToFollow) -> Problem {
    Problem::field(Kind::Invalid, "/schedule/after/job", no.to_string())
}
