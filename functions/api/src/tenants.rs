//! Erasing a tenant: all that is kept for it, by an operation of whoever runs the deployment. Only the deployment's own key may ask, and not for
//! the tenant that it is the key of: there the operation itself lies.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::OPERATIONS_AT_ONCE;
use minutehand_domain::operation::Operation;
use minutehand_io::Ports;
use minutehand_protocol::operation::ask::{Begun, Named, name};
use minutehand_protocol::operation::erase::{begin_erasing, go_on_erasing, under_way};
use minutehand_wire::OperationView;

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::keyring::Caller;
use crate::location::location;
use crate::params::TenantPath;
use crate::problem::{Kind, Problem};

/// Begins it, or answers with the one that is under way.
pub(crate) async fn erase<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    TenantPath(tenant): TenantPath,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    if tenant == *caller.tenant() || tenant == Tenant::deployment() {
        let why = "this is the deployment's own tenant: stop the deployment, and remove what it keeps";
        return Err(Problem::new(Kind::Conflict, why));
    }
    let operation = if let Some(operation) = under_way(ports, &tenant).await? {
        go_on_erasing(ports, &operation, &tenant).await?;
        operation
    } else {
        let beginning = begun(ports, &caller, &tenant);
        acting.on_record(ports, caller.tenant(), Deed::EraseTenant, tenant.as_str(), beginning).await?
    };
    let location = location(format!("/v1/operations/{}", operation.id));
    Ok((StatusCode::ACCEPTED, location, Json(OperationView::of(&operation))).into_response())
}

async fn begun<D: Ports>(ports: &D, caller: &Caller, tenant: &Tenant) -> Result<Operation, Problem> {
    let id = match name(ports, caller.tenant(), None).await? {
        Named::Make(id) => id,
        Named::Made(operation) => return Ok(operation),
        Named::Taken | Named::TooMany => return Err(too_many_at_once()),
    };
    match begin_erasing(ports, caller.tenant(), tenant, id, caller.by.clone()).await? {
        Begun::New(operation) | Begun::Replayed(operation) => Ok(operation),
        Begun::TooSlow => Err(Problem::too_slow()),
    }
}

/// Erasures are among them, and are the ones that nobody can call off.
fn too_many_at_once() -> Problem {
    let why = format!("{OPERATIONS_AT_ONCE} operations of the deployment are not over: ask again when one of them is");
    Problem::conflict(why)
}

/// Refuses what would begin anew under a tenant that is being erased.
pub(crate) async fn it_is_not_being_erased<D: Ports>(ports: &D, tenant: &Tenant) -> Result<(), Problem> {
    under_way(ports, tenant).await?.map_or(Ok(()), |operation| Err(being_erased(&operation)))
}

pub(crate) fn being_erased(operation: &Operation) -> Problem {
    Problem::conflict(format!("the tenant is being erased: {} says how far that is", operation.id))
}
