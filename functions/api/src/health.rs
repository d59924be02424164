//! Health: an answer means that the process is alive and that its store can be read.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use minutehand_domain::schedule::cron::EDITION;
use minutehand_io::Ports;
use minutehand_io::store::Store as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app_state::AppState;
use crate::problem::Problem;

#[derive(Serialize, JsonSchema)]
pub(crate) struct HealthView {
    live: bool,
    ready: bool,
    version: &'static str,
    /// Which edition of the IANA time zones is compiled in.
    zones: &'static str,
}

pub(crate) async fn health<D: Ports>(State(app): State<Arc<AppState<D>>>) -> Result<Json<HealthView>, Problem> {
    let _readable = app.ports.store().cursor(0).await?;
    let (version, zones) = (env!("CARGO_PKG_VERSION"), EDITION);
    Ok(Json(HealthView { live: true, ready: true, version, zones }))
}
