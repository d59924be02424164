//! `GET /v1/backup`: all that this process keeps, of all tenants, as of one instant. Only the deployment's own key may ask for it: who has
//! it has every tenant's payloads and results. What seals secrets, and the admin's key, lie apart and are not in it.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_io::Ports;

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::problem::{Kind, Problem};

const GZIP: HeaderValue = HeaderValue::from_static("application/gzip");

/// How the host makes a backup of what it keeps.
#[derive(Clone)]
pub struct Backups(Arc<Begin>);

type Begin = dyn Fn() -> Option<Body> + Send + Sync;

impl Backups {
    /// `begin` answers with none while another is under way: each holds on to what was, and two would only read the same twice.
    pub fn new(begin: impl Fn() -> Option<Body> + Send + Sync + 'static) -> Self {
        Self(Arc::new(begin))
    }
}

impl fmt::Debug for Backups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Backups")
    }
}

/// On record as it begins: whether all of it arrived is for who reads it to see, by its end.
pub(crate) async fn take<D: Ports>(State(app): State<Arc<AppState<D>>>, acting: Acting) -> Result<Response, Problem> {
    let none = || {
        Problem::new(
            Kind::NotFound,
            "this deployment keeps nothing in a file of its own: its tables in DynamoDB are backed up by AWS, and what is kept in memory \
             is gone with the process",
        )
    };
    let Backups(begin) = app.backups.as_ref().ok_or_else(none)?;
    let beginning =
        async { begin().ok_or_else(|| Problem::conflict("another backup is being taken; wait for its end")) };
    let body = acting.on_record(&*app.ports, &Tenant::deployment(), Deed::Backup, "everything", beginning).await?;
    Ok(([(CONTENT_TYPE, GZIP)], body).into_response())
}
