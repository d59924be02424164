//! Health: whoever reads this answer knows that the process lives and that its store can be read.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use minutehand_domain::schedule::cron::EDITION;
use minutehand_io::Doors;
use minutehand_io::store::Store as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::face::Face;
use crate::problem::Problem;

#[derive(Serialize, JsonSchema)]
pub(crate) struct HealthView {
    live: bool,
    ready: bool,
    version: &'static str,
    /// Which edition of the IANA time zones is compiled in.
    zones: &'static str,
}

pub(crate) async fn health<D: Doors>(State(face): State<Arc<Face<D>>>) -> Result<Json<HealthView>, Problem> {
    let _readable = face.doors.store().cursor(0).await?;
    let (version, zones) = (env!("CARGO_PKG_VERSION"), EDITION);
    Ok(Json(HealthView { live: true, ready: true, version, zones }))
}
