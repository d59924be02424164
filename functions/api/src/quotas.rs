//! Quotas: how much of the deployment each tenant may use. A tenant reads its own; the deployment's key sets them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::Queues as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_wire::{QuotaRequest, QuotaView};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::TenantPath;
use crate::problem::Problem;
use crate::tenants::it_is_not_being_erased;

pub(crate) async fn own<D: Ports>(State(app): State<Arc<AppState<D>>>, caller: Caller) -> Result<Response, Problem> {
    answer(&*app.ports, caller.tenant()).await
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    TenantPath(tenant): TenantPath,
) -> Result<Response, Problem> {
    answer(&*app.ports, &tenant).await
}

/// Sets a tenant's whole quota: an absent field is no limit.
pub(crate) async fn put<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    acting: Acting,
    TenantPath(tenant): TenantPath,
    body: Body,
) -> Result<Response, Problem> {
    let request: QuotaRequest = body.parse()?;
    let limits = request.checked()?;
    let quota = Quota::new(tenant.clone(), limits);
    it_is_not_being_erased(&*app.ports, &tenant).await?;
    let writing = async { Ok(write(&*app.ports, &quota).await?) };
    acting.on_record(&*app.ports, &tenant, Deed::SetQuota, tenant.as_str(), writing).await?;
    app.meters.set(&tenant, limits, app.ports.clock().now());
    app.ports.quotas().forget(&tenant);
    app.ports.queues().limit(&tenant, limits.max_concurrent_runs);
    Ok(Json(QuotaView::of(&tenant, &limits)).into_response())
}

async fn answer<D: Ports>(ports: &D, tenant: &Tenant) -> Result<Response, Problem> {
    let there = ports.store().get::<Quota>(&Tenant::deployment(), tenant.clone()).await?;
    let limits = there.map_or_else(Limits::default, |seen| seen.item.limits);
    Ok(Json(QuotaView::of(tenant, &limits)).into_response())
}

/// The last writer wins: of the former quota nothing is kept but for how long runs were, which some still are.
async fn write<D: Ports>(ports: &D, quota: &Quota) -> Result<(), Fault> {
    let mut before: Option<Seen<Quota>> = None;
    loop {
        let there = before.as_ref().map(|seen| &seen.item);
        let next = quota.clone().in_place_of(there, ports.clock().now());
        let guard = before.as_ref().map_or(Guard::Absent, Seen::guard);
        match ports.store().put(&Tenant::deployment(), quota.tenant.clone(), &next, guard).await? {
            Put::Written(_) => return Ok(()),
            Put::Conflict(there) => before = there,
        }
    }
}
