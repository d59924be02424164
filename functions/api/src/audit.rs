//! The audit: acts of admins are put on record as they are done, and listed.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use minutehand_domain::Moment;
use minutehand_domain::audit::{Act, ActKey, Deed, Outcome};
use minutehand_domain::id::Tenant;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_protocol::audit::on_record;
use minutehand_wire::{ActView, AuditQuery, Page};

use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::identify::RequestId;
use crate::keyring::Caller;
use crate::keys::named_tenant;
use crate::params::{Params, limit_of};
use crate::problem::{Kind, Problem};

/// The caller who does something that goes on record, and the request that asks for it.
#[derive(Clone)]
pub(crate) struct Acting {
    caller: Caller,
    request_id: Arc<str>,
    /// Why, where that is said.
    note: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Acting {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let request_id = parts.extensions.get::<RequestId>().map(|RequestId(id)| Arc::clone(id));
        Ok(Self { caller, request_id: request_id.unwrap_or_default(), note: None })
    }
}

impl Acting {
    /// The same, who says why.
    pub(crate) fn noting(self, note: Option<&str>) -> Self {
        Self { note: note.map(ToOwned::to_owned), ..self }
    }

    /// Does it, on the record of the tenant whose things it is about.
    pub(crate) async fn on_record<D: Ports, T>(
        &self,
        ports: &D,
        tenant: &Tenant,
        deed: Deed,
        subject: &str,
        doing: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        self.on_record_as(ports, tenant, (deed, subject), doing, |_done| true).await
    }

    /// The same of what may come to nothing without being a problem yet.
    pub(crate) async fn on_record_as<D: Ports, T>(
        &self,
        ports: &D,
        tenant: &Tenant,
        (deed, subject): (Deed, &str),
        doing: impl Future<Output = Result<T, Problem>>,
        is_done: impl Fn(&T) -> bool,
    ) -> Result<T, Problem> {
        let act = Act {
            tenant: tenant.clone(),
            key: ActKey { at: ports.clock().now(), number: ports.chance().number() },
            by: self.caller.by.clone(),
            by_name: self.caller.name.as_deref().map(str::to_owned),
            deed: deed.as_str().into(),
            subject: subject.to_owned(),
            request_id: self.request_id.as_ref().to_owned(),
            outcome: None,
            note: self.note.clone(),
        };
        on_record(ports, act, doing, |done| outcome_of(done, is_done)).await
    }
}

/// After a fault nobody knows: the write may have landed.
fn outcome_of<T>(done: &Result<T, Problem>, is_done: impl Fn(&T) -> bool) -> Option<Outcome> {
    match done {
        Ok(done) if is_done(done) => Some(Outcome::Done),
        Ok(_) => Some(Outcome::NotDone),
        Err(problem) if problem.fault.is_none() => Some(Outcome::NotDone),
        Err(_) => None,
    }
}

/// Acts, newest first.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<AuditQuery>,
) -> Result<Response, Problem> {
    let tenant = named_tenant(&caller, params.tenant.as_deref(), "?tenant")?;
    let (limit, scope) =
        (limit_of(params.limit)?, Scope::new(&tenant, &format!("audit {:?} {:?}", params.from, params.to)));
    let past = params.cursor.as_ref().map(|cursor| position(&scope, cursor)).transpose()?;
    let window = window_of(&params)?;
    let mut acts = app.ports.store().list::<Act>(&tenant, window, past, limit + 1).await?.items;
    let next_cursor = scope.cut(&mut acts, limit, |last| bytes_of(last.key).into());
    let items = acts.iter().map(ActView::of).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// Without an end where none is asked for: a clock that was ahead has left acts later than now, and they are to be found too.
fn window_of(params: &AuditQuery) -> Result<Range<Moment>, Problem> {
    let to = params.to.map_or(Moment::END, |to| to.0);
    let from = params.from.map_or(Moment::EPOCH, |from| from.0);
    if from >= to {
        return Err(Problem::field(Kind::Invalid, "?from", format!("must lie before {to}")));
    }
    Ok(from..to)
}

fn bytes_of(key: ActKey) -> [u8; 16] {
    let (at, number) = (key.at.millis().to_be_bytes(), key.number.to_be_bytes());
    [at, number].concat().try_into().expect("twice eight bytes")
}

fn position(scope: &Scope, cursor: &str) -> Result<ActKey, Problem> {
    let bytes: [u8; 16] = scope.open(cursor)?;
    let half = |at: usize| bytes[at..at + 8].try_into().expect("eight bytes");
    let (millis, number) = (i64::from_be_bytes(half(0)), u64::from_be_bytes(half(8)));
    let is_legal = (0..=Moment::END.millis()).contains(&millis);
    if is_legal { Ok(ActKey { at: Moment::from_millis(millis), number }) } else { Err(foreign()) }
}
