//! Secrets: written by admins, named by jobs, shown to nobody. What one says is sealed before it is stored, and opened only where a
//! call is made.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::secret::{Label, Sealed, Secret, SecretName};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, Seen, Store as _};
use minutehand_io::vault::{Vault as _, VaultError, VaultRefusal};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::amend::amend;
use minutehand_wire::form::MISTAKES;
use minutehand_wire::secret::named_at;
use minutehand_wire::workflow_request::SecretAt;
use minutehand_wire::{Page, SecretRequest, SecretView, SecretsQuery};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, SecretPath, limit_of};
use crate::problem::{FieldError, Kind, Problem};

/// Writes a secret: a new one, or the same one again. The last writer wins.
pub(crate) async fn put<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    SecretPath(name): SecretPath,
    body: Body,
) -> Result<Response, Problem> {
    let value = body.parse::<SecretRequest>()?.checked()?;
    let (ports, label) = (&*app.ports, Label { tenant: caller.tenant(), name: &name });
    let sealed = ports.vault().seal(label, &value).await?;
    let writing = write(ports, label, &sealed);
    let secret = acting.on_record(ports, caller.tenant(), Deed::SetSecret, name.as_str(), writing).await?;
    let status = if secret.version == 1 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(SecretView::of(&secret))).into_response())
}

async fn write<D: Ports>(ports: &D, label: Label<'_>, sealed: &Sealed) -> Result<Secret, Problem> {
    let now = ports.clock().now();
    let written = |there: Option<&Secret>| {
        let anew = || Secret::new(label, sealed.clone(), now);
        Some(there.map_or_else(anew, |there| there.written(sealed.clone(), now)))
    };
    let secret = amend(ports, label.tenant, label.name.clone(), written).await?;
    Ok(secret.expect("there is always something to write"))
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    SecretPath(name): SecretPath,
) -> Result<Response, Problem> {
    let seen = there(&*app.ports, caller.tenant(), &name).await?.ok_or_else(Problem::no_secret)?;
    Ok(Json(SecretView::of(&seen.item)).into_response())
}

/// The tenant's secrets, by name.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<SecretsQuery>,
) -> Result<Response, Problem> {
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(caller.tenant(), "secrets"));
    let past = params.cursor.map(|cursor| scope.name(&cursor)).transpose()?;
    let mut secrets = app.ports.store().list::<Secret>(caller.tenant(), (), past, limit + 1).await?.items;
    let next_cursor = scope.cut(&mut secrets, limit, |last| last.name.as_str().into());
    let items = secrets.iter().map(SecretView::of).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// A job that names it from now on is refused, and a call that needs it fails.
pub(crate) async fn delete<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    SecretPath(name): SecretPath,
) -> Result<StatusCode, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let now = ports.clock().now();
    let mut seen = there(ports, tenant, &name).await?.ok_or_else(Problem::no_secret)?;
    let deleting = async {
        loop {
            match ports.store().put(tenant, name.clone(), &seen.item.deleted(now), seen.guard()).await? {
                Put::Written(_) | Put::Conflict(None) => return Ok(StatusCode::NO_CONTENT),
                // A concurrent writer changed it; it is deleted in any case.
                Put::Conflict(Some(there)) => seen = there,
            }
        }
    };
    acting.on_record(ports, tenant, Deed::DeleteSecret, name.as_str(), deleting).await
}

/// A deleted one is not there.
async fn there<D: Ports>(ports: &D, tenant: &Tenant, name: &SecretName) -> Result<Option<Seen<Secret>>, Fault> {
    let seen = ports.store().get::<Secret>(tenant, name.clone()).await?;
    Ok(seen.filter(|seen| seen.item.sealed().is_some()))
}

/// Where a request names its secrets.
#[derive(Clone, Copy)]
pub(crate) struct Naming<'a> {
    /// The request as JSON.
    pub text: &'a str,
    /// What is pointed at where none of that names the secret: it stands in what the request changes.
    pub otherwise: &'static str,
}

/// Refuses a request that names secrets which are not there: a typo is found when it is made, not at night.
pub(crate) async fn must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    names: &BTreeSet<SecretName>,
    naming: Naming<'_>,
) -> Result<(), Problem> {
    let missing = missing(ports, tenant, names.iter().collect()).await?;
    if missing.is_empty() { Ok(()) } else { Err(none_of(&missing, naming.errors(&missing))) }
}

impl Naming<'_> {
    fn errors(&self, missing: &BTreeSet<&SecretName>) -> Vec<FieldError> {
        let asked = serde_json::from_str(self.text).unwrap_or_default();
        let named = named_at(&asked, String::new());
        let error = |pointer: &str, name: &SecretName| {
            let detail = format!("there is no secret `{}`", name.as_str());
            FieldError { pointer: pointer.to_owned(), detail }
        };
        let at = |name: &SecretName| {
            let places: Vec<_> = named.iter().filter(|(_, there)| there == name).collect();
            let otherwise = places.is_empty().then(|| error(self.otherwise, name));
            places.into_iter().map(|(pointer, name)| error(pointer, name)).chain(otherwise).collect::<Vec<_>>()
        };
        missing.iter().flat_map(|name| at(name)).take(MISTAKES).collect()
    }
}

/// The same of a workflow, each with the place that names it.
pub(crate) async fn they_must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    places: &[SecretAt],
) -> Result<(), Problem> {
    let missing = missing(ports, tenant, places.iter().map(|at| &at.name).collect()).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let of = |at: &SecretAt| {
        let needs = at.task.as_ref().map(|task| format!(", which the task `{task}` needs"));
        let detail = format!("there is no secret `{}`{}", at.name.as_str(), needs.unwrap_or_default());
        FieldError { pointer: at.pointer.clone(), detail }
    };
    let errors = places.iter().filter(|at| missing.contains(&at.name)).take(MISTAKES).map(of).collect();
    Err(none_of(&missing, errors))
}

async fn missing<'a, D: Ports>(
    ports: &D,
    tenant: &Tenant,
    names: BTreeSet<&'a SecretName>,
) -> Result<BTreeSet<&'a SecretName>, Fault> {
    let mut missing = BTreeSet::new();
    for name in names {
        if there(ports, tenant, name).await?.is_none() {
            missing.insert(name);
        }
    }
    Ok(missing)
}

fn none_of(missing: &BTreeSet<&SecretName>, errors: Vec<FieldError>) -> Problem {
    let names: Vec<_> = missing.iter().map(|name| format!("`{}`", name.as_str())).collect();
    let detail = format!("there is no secret {}", names.join(", and none "));
    Problem { errors, ..Problem::new(Kind::Invalid, detail) }
}

impl From<VaultError> for Problem {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Fault(fault) => fault.into(),
            VaultError::Refused(why @ VaultRefusal::NoKey) => Self::new(Kind::Invalid, why.to_string()),
            VaultError::Refused(why) => {
                tracing::error!(%why, "secrets cannot be sealed");
                Self::new(
                    Kind::Conflict,
                    "the key that seals this deployment's secrets cannot be used; its log says why",
                )
            }
        }
    }
}
