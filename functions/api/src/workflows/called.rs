//! Workflows that jobs and tasks call: they are there when that is written.

use minutehand_domain::id::Tenant;
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_io::{Fault, Ports};

use super::found;
use crate::problem::{FieldError, Kind, Problem};

/// Refuses a target that names a workflow which the tenant does not have, or has no such version of.
pub(crate) async fn its_workflow_must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    target: &Target,
) -> Result<(), Problem> {
    let Target::Workflow(called) = target else { return Ok(()) };
    match missing(ports, tenant, *called).await? {
        Some((field, detail)) => {
            let errors = vec![FieldError { pointer: format!("/target/workflow/{field}"), detail: detail.clone() }];
            Err(Problem { errors, ..Problem::new(Kind::Invalid, detail) })
        }
        None => Ok(()),
    }
}

/// The same of all that a workflow's tasks call, each with the place where it is said.
pub(super) async fn they_must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    calls: &[(String, WorkflowTarget)],
) -> Result<(), Problem> {
    let mut errors = Vec::new();
    for (at, called) in calls {
        if let Some((field, detail)) = missing(ports, tenant, *called).await? {
            errors.push(FieldError { pointer: format!("{at}/{field}"), detail });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// The field at fault, and why.
async fn missing<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    called: WorkflowTarget,
) -> Result<Option<(&'static str, String)>, Fault> {
    let there = found(ports, tenant, called.id).await?.filter(|workflow| !workflow.deleted);
    Ok(match (there, called.version) {
        (None, _) => Some(("id", format!("there is no workflow `{}`", called.id))),
        (Some(workflow), Some(version)) if version > workflow.version => {
            Some(("version", format!("`{}` has no version {version}", called.id)))
        }
        (Some(_), _) => None,
    })
}
