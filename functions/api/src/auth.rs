//! Authentication: a bearer key, stored only as its hash, gives the caller's tenant and role. Checked in one place, before
//! any handler; the role that each route needs is in the table of `routes`.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, Opening, Role, read_key};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;

use crate::app_state::AppState;
use crate::keyring::{Caller, Need};
use crate::problem::{Kind, Problem};
use crate::source::Source;
use crate::strangers::{Admitted, Fingerprint};
use crate::{scrape, seat};

/// A handler that needs a caller and was mounted without [`authenticate`] refuses every request.
impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(no_key)
    }
}

/// Admits a request with a valid key, a role of at least `needed`, and requests left in its tenant's quota.
pub(crate) async fn authenticate<D: Ports>(
    State((app, needed)): State<(Arc<AppState<D>>, Need)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let key = bearer(request.headers()).ok_or_else(no_key)?;
    let source = Source::in_extensions(request.extensions());
    let caller = caller_of(&app, source, key).await?;
    request.extensions_mut().insert(caller.clone());
    let answered = answered(&app, &caller, needed, request, next).await;
    let over = match &answered {
        Ok(response) => response.extensions().get::<Problem>().and_then(|problem| problem.over),
        Err(problem) => problem.over,
    };
    if let Some(over) = over {
        app.refusals.note(caller.tenant(), over, app.ports.clock().now());
    }
    answered
}

async fn answered<D: Ports>(
    app: &AppState<D>,
    caller: &Caller,
    needed: Need,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    seat::take(request.extensions(), caller.tenant())?;
    let may = caller.may(needed);
    // A scrape counts against no quota: to know that, the store is asked, and what is to tell of a store that hangs would hang with it.
    if !may || request.uri().path() != scrape::PATH {
        app.meters.admit_request(&*app.ports, caller.tenant()).await?;
    }
    if !may {
        return Err(refused(caller, needed));
    }
    Ok(next.run(request).await)
}

async fn caller_of<D: Ports>(app: &AppState<D>, source: Source, key: &str) -> Result<Caller, Problem> {
    if let Some(caller) = app.keys.caller(key) {
        return Ok(caller);
    }
    let (tenant, id, secret) = read_key(key).ok_or_else(unknown_key)?;
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let fingerprint = Fingerprint::of(key);
    let admitted = app.strangers.admit(source, fingerprint, now)?;
    match admitted {
        Admitted::Known | Admitted::Stranger => {}
        Admitted::Refused => return Err(unknown_key()),
        Admitted::Ended(at) => return Err(ended_key(at)),
    }
    let read = ports.store().get::<ApiKey>(&tenant, id).await;
    let read = read.inspect_err(|_fault| app.strangers.is_no_stranger(source, admitted, now));
    let there = read?.map(|seen| seen.item);
    match there.as_ref().map(|there| (there, there.opening(secret, now))) {
        Some((there, Opening::Opens)) => {
            app.strangers.opened(source, fingerprint, admitted, now);
            app.key_uses.note(ports, &tenant, id, now).await;
            Ok(Caller::of(there))
        }
        Some((_, Opening::Expired(at))) => {
            app.strangers.ended(source, fingerprint, admitted, at, now);
            Err(ended_key(at))
        }
        Some((_, Opening::Refused)) | None => {
            app.strangers.refused(fingerprint, now);
            Err(unknown_key())
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

fn no_key() -> Problem {
    Problem::new(Kind::Unauthorized, "send your key as `Authorization: Bearer <key>`")
}

fn ended_key(at: Moment) -> Problem {
    Problem::new(Kind::Unauthorized, format!("this key expired at {at}"))
}

fn unknown_key() -> Problem {
    Problem::new(Kind::Unauthorized, "this key is not known here")
}

fn refused(caller: &Caller, needed: Need) -> Problem {
    match needed {
        Need::Role(_) if caller.is_worker() => Problem::new(
            Kind::Forbidden,
            "a worker's key takes runs out of its pools and ends them, and can do nothing else",
        ),
        Need::Role(role) => not_allowed(role),
        Need::Work => Problem::new(Kind::Forbidden, "this needs a key of the role worker or operator"),
    }
}

pub(crate) fn not_allowed(needed: Role) -> Problem {
    let detail = match needed {
        Role::Host => "this is for the deployment's own key".to_owned(),
        Role::Viewer | Role::Operator | Role::Admin => format!("this needs a key of the role {}", needed.as_str()),
    };
    Problem::new(Kind::Forbidden, detail)
}
