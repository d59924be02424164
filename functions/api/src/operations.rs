//! Operations: what is done to many jobs or runs at once, asked for, listed, shown, paused, resumed and cancelled; and backfills, which are
//! such operations.

mod backfill;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::{AskedName, Fingerprint};
use minutehand_domain::limits::PAGE;
use minutehand_domain::operation::{Operation, OperationHead, OperationId, Order, Work};
use minutehand_domain::trace::TraceContext;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::operation::ask::{
    Begun, Named, NewOperation, Ordered, begin, name, operation_of, order as order_it,
};
use minutehand_protocol::operation::find::{can_be_found, dry};
use minutehand_wire::{DryOperationView, OperationAnswerView, OperationRequest, OperationView, OperationsQuery, Page};

pub(crate) use self::backfill::backfill;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::{Body, Nothing};
use crate::cursor::{Scope, foreign};
use crate::idempotency::{KeyHeader, fingerprint, named_before, replayed, taken};
use crate::keyring::Caller;
use crate::location::location;
use crate::params::{OperationPath, Params, limit_of};
use crate::problem::{Kind, Problem};
use crate::runs::no_index;

/// Operations that one filtered request reads at most.
const LOOKED_THROUGH: usize = 10_000;

/// Begins an operation, or says what it would do.
pub(crate) async fn start<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let request: OperationRequest = body.parse()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let once = once(header, request.idempotency_key.clone(), "POST /v1/operations", &body)?;
    let (work, note) = request.checked(ports.clock().now())?;
    if !can_be_found(ports, tenant, &work).await? {
        return Err(no_index());
    }
    if request.dry_run {
        let found = dry(ports, tenant, work.clone()).await?;
        let view = DryOperationView::of(&work, found.count, found.more, &found.sample);
        return Ok(Json(OperationAnswerView::Dry(view)).into_response());
    }
    match started(ports, &caller, &acting, once, Wanted { work, note, trace: None }).await? {
        Started::New(operation) => {
            let location = location(format!("/v1/operations/{}", operation.id));
            Ok((StatusCode::ACCEPTED, location, shown(&operation)).into_response())
        }
        Started::Replayed(operation) => Ok((replayed(), shown(&operation)).into_response()),
    }
}

/// What is asked for.
struct Wanted {
    work: Work,
    note: Option<String>,
    /// What makes runs keeps it.
    trace: Option<TraceContext>,
}

enum Started {
    New(Operation),
    Replayed(Operation),
}

/// Begins it on record. The same request finds what it began before.
async fn started<D: Ports>(
    ports: &D,
    caller: &Caller,
    acting: &Acting,
    once: Option<(AskedName, Fingerprint)>,
    Wanted { work, note, trace }: Wanted,
) -> Result<Started, Problem> {
    let tenant = caller.tenant();
    let id = match name(ports, tenant, once).await? {
        Named::Make(id) => id,
        Named::Made(operation) => return Ok(Started::Replayed(operation)),
        Named::Taken => return Err(taken()),
        Named::TooMany => return Err(too_many()),
    };
    let fingerprint = once.map(|(_, fingerprint)| fingerprint);
    let new = NewOperation { work, note, by: caller.by.clone(), fingerprint, trace };
    let beginning = async {
        match begin(ports, tenant, id, new).await? {
            Begun::New(operation) => Ok(Started::New(operation)),
            Begun::Replayed(operation) => Ok(Started::Replayed(operation)),
            Begun::TooSlow => Err(Problem::too_slow()),
        }
    };
    acting.on_record(ports, tenant, Deed::StartOperation, &id.to_string(), beginning).await
}

/// The operation that the same request began while that could be asked for. `no`: why it cannot be any more.
async fn begun_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    once: Option<(AskedName, Fingerprint)>,
    no: Problem,
) -> Result<Operation, Problem> {
    let named = named_before(ports, tenant, once, no.clone()).await?;
    operation_of(ports, tenant, OperationId::of_no_run(named)).await?.ok_or(no)
}

fn too_many() -> Problem {
    let most = minutehand_domain::limits::OPERATIONS_AT_ONCE;
    Problem::conflict(format!("{most} operations are not over: wait for one of them, or cancel it"))
}

/// The key of a request, and what it is the key of.
fn once(
    header: KeyHeader,
    field: Option<String>,
    address: &str,
    body: &Body,
) -> Result<Option<(AskedName, Fingerprint)>, Problem> {
    Ok(match header.agreed(field)? {
        Some(key) => Some((AskedName::of(&key), fingerprint(address, body.text())?)),
        None => None,
    })
}

fn shown(operation: &Operation) -> Json<OperationView> {
    Json(OperationView::of(operation))
}

/// The tenant's operations, newest first.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<OperationsQuery>,
) -> Result<Response, Problem> {
    params.checked()?;
    let (limit, tenant) = (limit_of(params.limit)?, caller.tenant());
    let scope = Scope::new(tenant, &format!("operations {:?} {:?}", params.kind, params.state));
    let past = match &params.cursor {
        Some(cursor) => Some(OperationId::from_bytes(scope.open(cursor).map_err(|_| foreign())?)),
        None => None,
    };
    let Found { items, next } = wanted(&*app.ports, tenant, past, &params, limit).await?;
    let items = items.iter().map(OperationView::of).collect();
    let next_cursor = next.map(|last| scope.seal(last.as_bytes()));
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// A page of those that are wanted.
struct Found {
    items: Vec<Operation>,
    /// Behind what the next page begins; none at the end.
    next: Option<OperationId>,
}

async fn wanted<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    mut past: Option<OperationId>,
    params: &OperationsQuery,
    most: usize,
) -> Result<Found, Fault> {
    let mut items = Vec::new();
    for _ in 0..LOOKED_THROUGH / PAGE {
        let read = ports.store().list::<OperationHead>(tenant, (), past, PAGE).await?.items;
        let is_last = read.len() < PAGE;
        for head in read {
            let id = head.id();
            if let Some(operation) = head.operation().filter(|one| params.wants(one)) {
                if items.len() == most {
                    return Ok(Found { items, next: past });
                }
                items.push(operation);
            }
            past = Some(id);
        }
        if is_last {
            return Ok(Found { items, next: None });
        }
    }
    Ok(Found { items, next: past })
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    OperationPath(id): OperationPath,
) -> Result<Response, Problem> {
    let operation = operation_of(&*app.ports, caller.tenant(), id).await?.ok_or_else(Problem::no_operation)?;
    Ok(shown(&operation).into_response())
}

pub(crate) async fn pause<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    OperationPath(id): OperationPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    ordered(&*app.ports, &caller, &acting, id, (Order::Pause, Deed::PauseOperation)).await
}

pub(crate) async fn resume<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    OperationPath(id): OperationPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    ordered(&*app.ports, &caller, &acting, id, (Order::Resume, Deed::ResumeOperation)).await
}

/// Nothing more of it is done; of a backfill, the runs that nobody has begun are cancelled.
pub(crate) async fn cancel<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    OperationPath(id): OperationPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    ordered(&*app.ports, &caller, &acting, id, (Order::Cancel, Deed::CancelOperation)).await
}

/// Who asks for what is so already is answered as if they had been first.
async fn ordered<D: Ports>(
    ports: &D,
    caller: &Caller,
    acting: &Acting,
    id: OperationId,
    (order, deed): (Order, Deed),
) -> Result<Response, Problem> {
    let tenant = caller.tenant();
    if operation_of(ports, tenant, id).await?.is_none() {
        return Err(Problem::no_operation());
    }
    let ordering = async {
        match order_it(ports, tenant, id, order).await? {
            Ordered::Done(operation) | Ordered::AsItWas(operation) => Ok(operation),
            Ordered::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
            Ordered::NotFound => Err(Problem::no_operation()),
        }
    };
    let operation = acting.on_record(ports, tenant, deed, &id.to_string(), ordering).await?;
    Ok(shown(&operation).into_response())
}
