//! Quotas: how much of the deployment each tenant may use. Everybody reads their own; the deployment's key sets them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::Tenant;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_io::clock::Clock as _;
use minutehand_io::lanes::Lanes as _;
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Doors, Fault};

use crate::auth::Caller;
use crate::body::Body;
use crate::face::Face;
use crate::findings::Findings;
use crate::params::TenantPath;
use crate::problem::Problem;
use crate::wire::quota_view::{QuotaRequest, QuotaView};

pub(crate) async fn own<D: Doors>(State(face): State<Arc<Face<D>>>, caller: Caller) -> Result<Response, Problem> {
    answer(&*face.doors, caller.tenant()).await
}

pub(crate) async fn show<D: Doors>(
    State(face): State<Arc<Face<D>>>,
    TenantPath(tenant): TenantPath,
) -> Result<Response, Problem> {
    answer(&*face.doors, &tenant).await
}

/// Sets all of a tenant's quota: what is not named is not limited.
pub(crate) async fn put<D: Doors>(
    State(face): State<Arc<Face<D>>>,
    TenantPath(tenant): TenantPath,
    body: Body,
) -> Result<Response, Problem> {
    let request: QuotaRequest = body.parse()?;
    let mut findings = Findings::default();
    let limits = request.understood(&mut findings);
    let limits = findings.settle(Some(limits))?;
    write(&*face.doors, &Quota { tenant: tenant.clone(), limits }).await?;
    face.meters.set(&tenant, limits, face.doors.clock().now());
    face.doors.lanes().limit(&tenant, limits.max_concurrent_runs);
    Ok(Json(QuotaView::new(&tenant, &limits)).into_response())
}

async fn answer<D: Doors>(doors: &D, tenant: &Tenant) -> Result<Response, Problem> {
    let there = doors.store().document::<Quota>(&Tenant::deployment(), tenant.as_str()).await?;
    let limits = there.map_or_else(Limits::default, |seen| seen.item.limits);
    Ok(Json(QuotaView::new(tenant, &limits)).into_response())
}

/// The last who sets it is right: there is nothing of the former quota to keep.
async fn write<D: Doors>(doors: &D, quota: &Quota) -> Result<(), Fault> {
    let mut guard = Guard::Absent;
    loop {
        match doors.store().put_document(&Tenant::deployment(), quota, guard).await? {
            Put::Written(_) => return Ok(()),
            Put::Conflict(there) => guard = there.map_or(Guard::Absent, |seen| seen.guard()),
        }
    }
}
