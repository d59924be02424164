//! API keys: create, list, rotate, revoke. A secret is shown once and stored as its hash. The deployment's own key may name
//! another tenant; for every other key the tenant is its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, KeyId, Role, SecretHash};
use minutehand_domain::id::{Tenant, base32};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_wire::{KeyRequest, KeyView, KeysQuery, Page, RotateRequest, TenantQuery};

use crate::app_state::AppState;
use crate::auth::not_allowed;
use crate::body::Body;
use crate::cursor::Scope;
use crate::idempotency::{KeyHeader, fingerprint, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::params::{KeyPath, Params, limit_of};
use crate::problem::{Kind, Problem};

pub(crate) async fn create<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let mut request: KeyRequest = body.parse()?;
    let once = header.agreed(request.idempotency_key.take())?;
    let (name, role) = request.checked()?;
    let tenant = named_tenant(&caller, request.tenant.as_deref(), "/tenant")?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let (id, fingerprint) = match &once {
        Some(key) => (KeyId::from_idempotency_key(&tenant, key), Some(fingerprint("POST /v1/keys", body.text())?)),
        None => (KeyId::new(now, ports.chance().bytes()), None),
    };
    let secret = base32(&ports.chance().bytes());
    let key = new_key(tenant, id, (name, role), &secret, fingerprint, now);
    match ports.store().put(&key.tenant, id, &key, Guard::Absent).await? {
        Put::Written(_) => Ok(created(&key, &secret)),
        Put::Conflict(Some(there)) if once.is_some() && there.item.fingerprint == fingerprint => {
            Ok((replayed(), Json(KeyView::of(&there.item))).into_response())
        }
        Put::Conflict(_) => Err(taken()),
    }
}

/// Lists keys by age, with the revoked ones.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<KeysQuery>,
) -> Result<Response, Problem> {
    let tenant = named_tenant(&caller, params.tenant.as_deref(), "?tenant")?;
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(&tenant, "keys"));
    let after = params.cursor.map(|cursor| scope.open::<10>(&cursor)).transpose()?;
    let after = after.map(KeyId::from_bytes);
    let mut keys = app.ports.store().list::<ApiKey>(&tenant, (), after, limit + 1).await?.items;
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next_cursor = keys.last().filter(|_| more).map(|last| scope.seal(last.id.as_bytes()));
    let items = keys.iter().map(KeyView::of).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// Ends a key's access. Revoking twice is revoking once.
pub(crate) async fn revoke<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    KeyPath(id): KeyPath,
    Params(params): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = named_tenant(&caller, params.tenant.as_deref(), "?tenant")?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let mut seen = ports.store().get::<ApiKey>(&tenant, id).await?;
    loop {
        let there = seen.ok_or_else(no_key)?;
        match ports.store().put(&tenant, id, &there.item.revoked(now), there.guard()).await? {
            Put::Written(_) => return Ok(StatusCode::NO_CONTENT),
            // A concurrent writer changed the key; it is revoked in any case.
            Put::Conflict(now) => seen = now,
        }
    }
}

/// Makes a new secret for the same key; the former one is accepted until the grace ends.
pub(crate) async fn rotate<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    KeyPath(id): KeyPath,
    Params(params): Params<TenantQuery>,
    body: Body,
) -> Result<Response, Problem> {
    let tenant = named_tenant(&caller, params.tenant.as_deref(), "?tenant")?;
    let grace = body.parse_or_default::<RotateRequest>()?.checked()?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let secret = base32(&ports.chance().bytes());
    let seen = ports.store().get::<ApiKey>(&tenant, id).await?.ok_or_else(no_key)?;
    if seen.item.revoked_at.is_some() {
        return Err(Problem::new(Kind::Conflict, "the key was revoked; make a new one"));
    }
    let rotated = seen.item.rotated(SecretHash::of(&secret), grace, now);
    match ports.store().put(&tenant, id, &rotated, seen.guard()).await? {
        Put::Written(_) => Ok(Json(KeyView::with_secret(&rotated, &secret)).into_response()),
        // A second concurrent rotation would end the grace of the secret that is in use.
        Put::Conflict(_) => Err(Problem::new(Kind::Conflict, "it was changed just now; look before you rotate again")),
    }
}

/// The caller's own tenant, unless the deployment's key names another.
fn named_tenant(caller: &Caller, named: Option<&str>, pointer: &'static str) -> Result<Tenant, Problem> {
    match named {
        None => Ok(caller.tenant().clone()),
        Some(_) if caller.role < Role::Host => Err(not_allowed(Role::Host)),
        Some(name) => Tenant::new(name).map_err(|why| Problem::field(Kind::Invalid, pointer, why.to_string())),
    }
}

fn new_key(
    tenant: Tenant,
    id: KeyId,
    (name, role): (String, Role),
    secret: &str,
    fingerprint: Option<Fingerprint>,
    now: Moment,
) -> ApiKey {
    let secret = SecretHash::of(secret);
    ApiKey { tenant, id, name, role, created_at: now, revoked_at: None, secret, former: None, fingerprint }
}

fn created(key: &ApiKey, secret: &str) -> Response {
    (StatusCode::CREATED, location(format!("/v1/keys/{}", key.id)), Json(KeyView::with_secret(key, secret)))
        .into_response()
}

fn no_key() -> Problem {
    Problem::new(Kind::NotFound, "there is no such key")
}
