//! Health: an answer means that the process is alive and that its store could be read within the last second. Nobody needs a
//! key to ask, so that however many do, the store is read once a second.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::schedule::cron::EDITION;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Cursor, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_wire::HealthView;
use tokio::sync::Mutex;

use crate::app_state::AppState;
use crate::problem::Problem;

pub(crate) async fn health<D: Ports>(State(app): State<Arc<AppState<D>>>) -> Result<Json<HealthView>, Problem> {
    app.health.readable(&*app.ports).await?;
    let (version, zones) = (env!("CARGO_PKG_VERSION").to_owned(), EDITION.to_owned());
    Ok(Json(HealthView { live: true, ready: true, version, zones }))
}

/// A balancer asks every few seconds.
const LOOK_EACH: Duration = Duration::from_secs(1);

/// When the store was read last, and how that went. Who asks meanwhile waits for the one who reads.
#[derive(Default)]
pub(crate) struct LastLook(Mutex<Option<(Moment, Result<(), Fault>)>>);

impl LastLook {
    async fn readable<D: Ports>(&self, ports: &D) -> Result<(), Fault> {
        let (mut last, now) = (self.0.lock().await, ports.clock().now());
        if let Some((at, readable)) = &*last
            && *at <= now
            && now.since(*at) < LOOK_EACH
        {
            return readable.clone();
        }
        let readable = ports.store().get::<Cursor>(&Tenant::deployment(), 0).await.map(drop);
        *last = Some((now, readable.clone()));
        readable
    }
}
