//! Workflows, as jobs name them.

use minutehand_domain::id::Tenant;
use minutehand_domain::target::Target;
use minutehand_domain::workflow::Workflow;
use minutehand_io::Ports;
use minutehand_io::store::Store as _;

use crate::problem::{Kind, Problem};

/// Refuses a target that names a workflow which the tenant does not have, or has no such version of.
pub(crate) async fn its_workflow_must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    target: &Target,
) -> Result<(), Problem> {
    let Target::Workflow(called) = target else { return Ok(()) };
    let there = ports.store().get::<Workflow>(tenant, called.id).await?.map(|seen| seen.item);
    match (there.filter(|workflow| !workflow.deleted), called.version) {
        (None, _) => Err(Problem::new(Kind::Invalid, format!("there is no workflow `{}`", called.id))),
        (Some(workflow), Some(version)) if version > workflow.version => {
            Err(Problem::new(Kind::Invalid, format!("`{}` has no version {version}", called.id)))
        }
        (Some(_), _) => Ok(()),
    }
}
