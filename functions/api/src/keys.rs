//! API keys: create, list, rotate, revoke. A secret is shown once and stored as its hash. The deployment's own key may name
//! another tenant; for every other key the tenant is its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, KeyId, KeyUse, Role, SecretHash};
use minutehand_domain::audit::Deed;
use minutehand_domain::id::{Tenant, base32};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::operation::doors::{Opened, open_door};
use minutehand_wire::key::CheckedKey;
use minutehand_wire::{KeyRequest, KeyView, KeysQuery, Page, RotateRequest, TenantQuery};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::auth::not_allowed;
use crate::body::Body;
use crate::cursor::Scope;
use crate::idempotency::{KeyHeader, fingerprint, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::params::{KeyPath, Params, limit_of};
use crate::problem::{Kind, Problem};
use crate::tenants::{being_erased, it_is_not_being_erased};

pub(crate) async fn create<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let mut request: KeyRequest = body.parse()?;
    let once = header.agreed(request.idempotency_key.take())?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let asked = request.checked(now);
    let tenant = named_tenant(&caller, request.tenant.as_deref(), "/tenant")?;
    let (id, fingerprint) = match &once {
        Some(key) => (KeyId::from_idempotency_key(&tenant, key), Some(fingerprint("POST /v1/keys", body.text())?)),
        None => (KeyId::new(now, ports.chance().bytes()), None),
    };
    // An end that was possible the first time may have passed by now.
    if let Some(before) = made_before(ports, &tenant, id, fingerprint.as_ref()).await? {
        return before;
    }
    let secret = base32(&ports.chance().bytes());
    let key = new_key(tenant, id, asked?, &secret, fingerprint, now);
    it_is_not_being_erased(ports, &key.tenant).await?;
    let writing = async {
        match open_door(ports, &key).await? {
            Opened::Opened => Ok(()),
            Opened::Taken => Err(taken()),
            Opened::BeingErased(operation) => Err(being_erased(&operation)),
        }
    };
    match acting.on_record(ports, &key.tenant, Deed::CreateKey, &id.to_string(), writing).await {
        Ok(()) => Ok(created(&key, &secret)),
        // The same request was faster.
        Err(taken) => made_before(ports, &key.tenant, id, fingerprint.as_ref()).await?.unwrap_or(Err(taken)),
    }
}

/// The answer to a request with an idempotency key that was used before: the same key for the same request.
async fn made_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: KeyId,
    asked: Option<&Fingerprint>,
) -> Result<Option<Result<Response, Problem>>, Problem> {
    let Some(asked) = asked else { return Ok(None) };
    let Some(there) = ports.store().get::<ApiKey>(tenant, id).await? else { return Ok(None) };
    if there.item.fingerprint.as_ref() != Some(asked) {
        return Ok(Some(Err(taken())));
    }
    let used = ports.store().get::<KeyUse>(tenant, id).await?.map(|seen| seen.item);
    Ok(Some(Ok((replayed(), Json(KeyView::of(&there.item, used.as_ref()))).into_response())))
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
    let next_cursor = scope.cut(&mut keys, limit, |last| last.id.as_bytes().to_vec());
    let uses = uses_of(&*app.ports, &tenant, after, &keys).await?;
    let items = keys.iter().map(|key| KeyView::of(key, uses.get(&key.id))).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// When the keys of a page were last used. They lie in the same order as the keys, and not every key has been used.
async fn uses_of<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    after: Option<KeyId>,
    keys: &[ApiKey],
) -> Result<BTreeMap<KeyId, KeyUse>, Fault> {
    let uses = ports.store().list::<KeyUse>(tenant, (), after, keys.len()).await?;
    Ok(uses.items.into_iter().map(|used| (used.id, used)).collect())
}

/// Ends a key's access. Revoking twice is revoking once.
pub(crate) async fn revoke<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    KeyPath(id): KeyPath,
    Params(params): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = named_tenant(&caller, params.tenant.as_deref(), "?tenant")?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let seen = ports.store().get::<ApiKey>(&tenant, id).await?.ok_or_else(no_key)?;
    let revoking = async {
        let mut seen = Some(seen);
        loop {
            let there = seen.ok_or_else(no_key)?;
            match ports.store().put(&tenant, id, &there.item.revoked(now), there.guard()).await? {
                Put::Written(_) => return Ok(StatusCode::NO_CONTENT),
                // A concurrent writer changed the key; it is revoked in any case.
                Put::Conflict(now) => seen = now,
            }
        }
    };
    acting.on_record(ports, &tenant, Deed::RevokeKey, &id.to_string(), revoking).await
}

/// Makes a new secret for the same key; the former one is accepted until the grace ends.
pub(crate) async fn rotate<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
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
    if seen.item.has_expired(now) {
        return Err(Problem::new(Kind::Conflict, "the key has expired; make a new one"));
    }
    let used = ports.store().get::<KeyUse>(&tenant, id).await?.map(|seen| seen.item);
    let rotated = seen.item.rotated(SecretHash::of(&secret), grace, now);
    let writing = async {
        match ports.store().put(&tenant, id, &rotated, seen.guard()).await? {
            Put::Written(_) => Ok(Json(KeyView::with_secret(&rotated, used.as_ref(), &secret)).into_response()),
            // A second concurrent rotation would end the grace of the secret that is in use.
            Put::Conflict(_) => {
                Err(Problem::new(Kind::Conflict, "it was changed just now; look before you rotate again"))
            }
        }
    };
    acting.on_record(ports, &tenant, Deed::RotateKey, &id.to_string(), writing).await
}

/// The caller's own tenant, unless the deployment's key names another.
pub(crate) fn named_tenant(caller: &Caller, named: Option<&str>, pointer: &'static str) -> Result<Tenant, Problem> {
    match named {
        None => Ok(caller.tenant().clone()),
        Some(_) if caller.role < Role::Host => Err(not_allowed(Role::Host)),
        Some(name) => Tenant::new(name).map_err(|why| Problem::field(Kind::Invalid, pointer, why.to_string())),
    }
}

fn new_key(
    tenant: Tenant,
    id: KeyId,
    asked: CheckedKey,
    secret: &str,
    fingerprint: Option<Fingerprint>,
    now: Moment,
) -> ApiKey {
    let (CheckedKey { name, role, expires_at, pools }, secret) = (asked, SecretHash::of(secret));
    let created_at = now;
    ApiKey {
        tenant,
        id,
        name,
        role,
        created_at,
        revoked_at: None,
        secret,
        former: None,
        fingerprint,
        expires_at,
        pools,
    }
}

fn created(key: &ApiKey, secret: &str) -> Response {
    (StatusCode::CREATED, location(format!("/v1/keys/{}", key.id)), Json(KeyView::with_secret(key, None, secret)))
        .into_response()
}

fn no_key() -> Problem {
    Problem::new(Kind::NotFound, "there is no such key")
}
