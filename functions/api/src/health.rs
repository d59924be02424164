//! Health: an answer means that the process is alive and that its store can be read.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use minutehand_domain::id::Tenant;
use minutehand_domain::schedule::cron::EDITION;
use minutehand_io::Ports;
use minutehand_io::store::{Cursor, Store as _};
use minutehand_wire::HealthView;

use crate::app_state::AppState;
use crate::problem::Problem;

pub(crate) async fn health<D: Ports>(State(app): State<Arc<AppState<D>>>) -> Result<Json<HealthView>, Problem> {
    let _readable = app.ports.store().get::<Cursor>(&Tenant::deployment(), 0).await?;
    let (version, zones) = (env!("CARGO_PKG_VERSION").to_owned(), EDITION.to_owned());
    Ok(Json(HealthView { live: true, ready: true, version, zones }))
}
