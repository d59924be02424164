//! Creating a workflow. A repeated request with the same key gets the same answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::schedule::Spread;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::workflow::{About, Created, NewWorkflow, create as create_workflow};
use minutehand_wire::WorkflowRequest;
use minutehand_wire::workflow_request::CheckedWorkflow;

use super::called::they_must_be_there;
use super::{Whole, found};
use crate::app_state::AppState;
use crate::body::{Body, DefinitionBody};
use crate::calendars::{heeded, not_heeded};
use crate::following::{it_may_follow, not_to_follow};
use crate::idempotency::{KeyHeader, fingerprint, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::problem::Problem;
use crate::secrets;
use crate::traced::Traced;

/// The address in the fingerprint of every request for a new workflow.
const ADDRESS: &str = "POST /v1/workflows";

/// The id of a request's workflow, and the request's fingerprint if it has an idempotency key.
struct Identity {
    id: WorkflowId,
    fingerprint: Option<Fingerprint>,
}

pub(crate) async fn create<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    header: KeyHeader,
    Traced(trace): Traced,
    DefinitionBody(body): DefinitionBody,
) -> Result<Response, Problem> {
    let request = understood(&app, caller.tenant(), &body, None)?;
    let (ports, tenant, now) = (&*app.ports, caller.tenant(), app.ports.clock().now());
    let identity = match header.agreed(request.idempotency_key.clone())? {
        Some(key) => {
            Identity { id: WorkflowId::from_key(tenant, &key), fingerprint: Some(fingerprint(ADDRESS, body.text())?) }
        }
        None => Identity { id: WorkflowId::new(now, ports.chance().bytes()), fingerprint: None },
    };
    let spread = Spread::of(identity.id.job());
    let admitted = match request.checked(spread, now, None, &|target| app.target_check.check(tenant, target)) {
        Ok(checked) => admit(&app, tenant, &identity, &checked).await.map(|()| checked),
        Err(refusal) => Err(refusal.into()),
    };
    let (workflow, is_new) = match admitted {
        Ok(checked) => {
            app.pools.note(ports, tenant, checked.definition.pools()).await;
            let new = identity.of_workflow(tenant, checked, caller.by.clone(), now);
            make(ports, NewWorkflow { trace, ..new }).await?
        }
        Err(problem) => (made_before(ports, tenant, &identity, problem).await?, false),
    };
    let whole = Whole::of(ports, workflow).await?.ok_or_else(Problem::too_slow)?;
    let answer = (whole.etag(), Json(whole.view(ports)));
    Ok(if is_new {
        let location = location(format!("/v1/workflows/{}", whole.workflow.id));
        (StatusCode::CREATED, location, answer).into_response()
    } else {
        (replayed(), answer).into_response()
    })
}

/// A definition, or all that is wrong with it. `present`: what it is written over.
pub(super) fn understood<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    body: &Body,
    present: Option<&Whole>,
) -> Result<WorkflowRequest, Problem> {
    let present = present.map(|there| (&there.definition, &there.job));
    let check = &|target: &_| app.target_check.check(tenant, target);
    Ok(WorkflowRequest::read(body.given()?, app.ports.clock().now(), present, check)?)
}

/// Admits the workflow's own job by the quota, if what its tasks name is there. A repeated request takes nothing.
async fn admit<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    identity: &Identity,
    checked: &CheckedWorkflow,
) -> Result<(), Problem> {
    let ports = &*app.ports;
    secrets::they_must_be_there(ports, tenant, &checked.secrets_at).await?;
    they_must_be_there(ports, tenant, &checked.calls).await?;
    let _known = heeded(ports, tenant, checked.schedule.clone()).await?;
    let may_be_there = identity.fingerprint.is_some() && app.meters.bounds_jobs(ports, tenant).await;
    if may_be_there && found(ports, tenant, identity.id).await?.is_some() {
        return Ok(());
    }
    it_may_follow(ports, tenant, identity.id.job(), &checked.schedule).await?;
    app.meters.admit_job(ports, tenant, &checked.schedule, None).await
}

/// The workflow, and whether this request made it.
async fn make<D: Ports>(ports: &D, new: NewWorkflow) -> Result<(Workflow, bool), Problem> {
    let has_key = new.fingerprint.is_some();
    match create_workflow(ports, new).await? {
        Created::New(workflow) => Ok((workflow, true)),
        // Without a key the id is unique to this request: an existing workflow is its own write.
        Created::Replayed(workflow) => Ok((workflow, !has_key)),
        Created::Taken => Err(taken()),
        Created::TooSlow => Err(Problem::too_slow()),
        Created::NotHeeded(why) => Err(not_heeded(&why)),
        Created::NotToFollow(no) => Err(not_to_follow(&no)),
    }
}

/// The workflow of an earlier identical request, which may have been possible then.
async fn made_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    identity: &Identity,
    problem: Problem,
) -> Result<Workflow, Problem> {
    if identity.fingerprint.is_none() {
        return Err(problem);
    }
    let there = found(ports, tenant, identity.id).await?;
    there.filter(|workflow| workflow.fingerprint == identity.fingerprint).ok_or(problem)
}

impl Identity {
    fn of_workflow(self, tenant: &Tenant, checked: CheckedWorkflow, by: By, now: Moment) -> NewWorkflow {
        NewWorkflow {
            tenant: tenant.clone(),
            id: self.id,
            about: about(&checked),
            name: checked.name,
            definition: checked.definition,
            schedule: checked.schedule,
            fingerprint: self.fingerprint,
            by,
            trace: None,
            now,
        }
    }
}

pub(super) fn about(checked: &CheckedWorkflow) -> About {
    About {
        owner: checked.owner.clone(),
        tags: checked.tags.clone(),
        priority: checked.priority,
        catch_up: checked.catch_up,
        overlap: checked.overlap,
        callback: checked.callback.clone(),
        hooks: checked.hooks.clone(),
        sla: checked.sla,
        retention: checked.retention,
    }
}
