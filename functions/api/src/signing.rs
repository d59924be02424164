//! The signing secret: a tenant's targets verify calls with it. It is shown once, by the rotation that makes it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::audit::Deed;
use minutehand_domain::signing::SigningSecrets;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_wire::{RotateRequest, SigningSecretView};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::keyring::Caller;
use crate::problem::{Kind, Problem};

/// What the record of a rotation is about: a tenant has one.
const SUBJECT: &str = "signing-secret";

/// Shows when the secret was made, and until when the former one signs too. The first secret is made by the first call.
pub(crate) async fn show<D: Ports>(State(app): State<Arc<AppState<D>>>, caller: Caller) -> Result<Response, Problem> {
    let there = app.ports.store().get::<SigningSecrets>(caller.tenant(), ()).await?;
    let view = SigningSecretView::of(there.as_ref().map(|seen| &seen.item), app.ports.clock().now());
    Ok(Json(view).into_response())
}

pub(crate) async fn rotate<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    body: Body,
) -> Result<Response, Problem> {
    let grace = body.parse_or_default::<RotateRequest>()?.checked()?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let rotating = rotated(ports, &caller, grace, now);
    let secrets = acting.on_record(ports, caller.tenant(), Deed::RotateSigningSecret, SUBJECT, rotating).await?;
    let view = SigningSecretView::with_secret(&secrets, now);
    Ok(Json(view).into_response())
}

/// Two who rotate at once would leave the targets with a secret that nobody signs with: the second is refused, and reads before it asks again.
async fn rotated<D: Ports>(
    ports: &D,
    caller: &Caller,
    grace: Duration,
    now: Moment,
) -> Result<SigningSecrets, Problem> {
    let tenant = caller.tenant();
    let seen = ports.store().get::<SigningSecrets>(tenant, ()).await?;
    let chance = ports.chance().secret();
    let secrets = match &seen {
        Some(seen) => seen.item.rotated(chance, grace, now),
        None => SigningSecrets::new(chance, now),
    };
    let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
    match ports.store().put(tenant, (), &secrets, guard).await? {
        Put::Written(_) => Ok(secrets),
        Put::Conflict(_) => {
            Err(Problem::new(Kind::Conflict, "it was made or rotated just now; look before you rotate again"))
        }
    }
}
