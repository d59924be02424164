//! The signing secret: a tenant's targets verify calls with it. It is shown once, by the rotation that makes it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::signing::SigningSecrets;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app_state::AppState;
use crate::body::Body;
use crate::keyring::Caller;
use crate::problem::{Kind, Problem};
use crate::wire::grace::RotateRequest;
use crate::wire::instant::Instant;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SigningSecret")]
pub(crate) struct SecretView {
    /// As libraries of Standard Webhooks take it. Shown once, by the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// Null before there is one: it is made with the tenant's first call.
    created_at: Option<Instant>,
    /// Until when calls are signed with the one before it, too.
    previous_expires_at: Option<Instant>,
}

/// Shows when the secret was made, and until when the former one signs too. The first secret is made by the first call.
pub(crate) async fn show<D: Ports>(State(app): State<Arc<AppState<D>>>, caller: Caller) -> Result<Response, Problem> {
    let there = app.ports.store().document::<SigningSecrets>(caller.tenant(), SigningSecrets::NAME).await?;
    let view = SecretView::new(there.as_ref().map(|seen| &seen.item), None, app.ports.clock().now());
    Ok(Json(view).into_response())
}

pub(crate) async fn rotate<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let grace = body.parse_or_default::<RotateRequest>()?.grace()?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let secrets = rotated(ports, &caller, grace, now).await?;
    let view = SecretView::new(Some(&secrets), Some(secrets.current.reveal()), now);
    Ok(Json(view).into_response())
}

/// Of two concurrent rotations the second is refused: otherwise targets would get a secret that signs no call.
async fn rotated<D: Ports>(
    ports: &D,
    caller: &Caller,
    grace: Duration,
    now: Moment,
) -> Result<SigningSecrets, Problem> {
    let tenant = caller.tenant();
    let seen = ports.store().document::<SigningSecrets>(tenant, SigningSecrets::NAME).await?;
    let chance = ports.chance().secret();
    let secrets = match &seen {
        Some(seen) => seen.item.rotated(chance, grace, now),
        None => SigningSecrets::new(chance, now),
    };
    let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
    match ports.store().put_document(tenant, &secrets, guard).await? {
        Put::Written(_) => Ok(secrets),
        Put::Conflict(_) => {
            Err(Problem::new(Kind::Conflict, "it was made or rotated just now; look before you rotate again"))
        }
    }
}

impl SecretView {
    fn new(secrets: Option<&SigningSecrets>, shown: Option<String>, now: Moment) -> Self {
        let former_until = secrets.and_then(|secrets| secrets.former_until(now));
        Self {
            secret: shown,
            created_at: secrets.map(|secrets| Instant(secrets.created_at)),
            previous_expires_at: former_until.map(Instant),
        }
    }
}
