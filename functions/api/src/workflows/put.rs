//! Changing a workflow: the whole is written anew, as its next version. What says the same as the newest version makes no other.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minutehand_domain::job::Status;
use minutehand_domain::schedule::Spread;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::workflow::change::{AsSeen, Changed, Wanted, change};
use minutehand_wire::WorkflowRequest;
use minutehand_wire::workflow_request::CheckedWorkflow;

use super::called::they_must_be_there;
use super::create::{about, understood as read};
use super::{Whole, deleted};
use crate::app_state::AppState;
use crate::body::DefinitionBody;
use crate::calendars::{heeded, not_heeded};
use crate::following::{it_may_follow, not_to_follow};
use crate::keyring::Caller;
use crate::params::WorkflowPath;
use crate::precondition::IfMatch;
use crate::problem::{Kind, Problem};
use crate::secrets;

pub(crate) async fn put<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
    precondition: IfMatch,
    DefinitionBody(body): DefinitionBody,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let there = Whole::find(ports, caller.tenant(), id).await?.ok_or_else(Problem::no_workflow)?;
    precondition.check_tag(&there.tag(), "workflow")?;
    if there.workflow.deleted || there.job.status == Status::Cancelled {
        return Err(deleted());
    }
    let checked = wanted(&app, &there, read(&app, caller.tenant(), &body, Some(&there))?).await?;
    let seen = AsSeen { version: there.workflow.version, generation: there.job.generation };
    let want = Wanted {
        about: about(&checked),
        name: checked.name,
        definition: checked.definition,
        schedule: checked.schedule,
        seen: precondition.is_given().then_some(seen),
        by: caller.by.clone(),
        now: ports.clock().now(),
    };
    match change(ports, caller.tenant(), id, &want).await? {
        Changed::Done(workflow, job) => Ok(Whole { workflow, job, definition: want.definition }.answer(ports)),
        Changed::NotFound => Err(deleted()),
        Changed::NotAsSeen => Err(Problem::new(
            Kind::VersionMismatch,
            "the workflow was changed meanwhile; read it again and decide again",
        )),
        Changed::TooSlow => Err(Problem::too_slow()),
        Changed::NotHeeded(why) => Err(not_heeded(&why)),
        Changed::NotToFollow(no) => Err(not_to_follow(&no)),
    }
}

async fn wanted<D: Ports>(
    app: &AppState<D>,
    there: &Whole,
    request: WorkflowRequest,
) -> Result<CheckedWorkflow, Problem> {
    let (ports, tenant, schedule) = (&*app.ports, &there.workflow.tenant, &there.job.schedule);
    if request.idempotency_key.is_some() {
        return Err(Problem::field(Kind::Invalid, "/idempotency_key", "belongs to the workflow's creation"));
    }
    let (spread, now) = (Spread::of(there.job.id), ports.clock().now());
    let check = &|target: &_| app.target_check.check(tenant, target);
    let checked =
        request.unmasked(&there.definition, &there.job.definition).checked(spread, now, Some(schedule), check)?;
    secrets::they_must_be_there(ports, tenant, &checked.secrets_at).await?;
    they_must_be_there(ports, tenant, &checked.calls).await?;
    let _known = heeded(ports, tenant, checked.schedule.clone()).await?;
    app.pools.note(ports, tenant, checked.definition.pools()).await;
    if checked.schedule != *schedule {
        it_may_follow(ports, tenant, there.job.id, &checked.schedule).await?;
        app.meters.admit_job(ports, tenant, &checked.schedule, Some(&there.job)).await?;
    }
    Ok(checked)
}
