//! Asking for an operation, and what is said to it as a whole: pause, resume, cancel.

use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::limits::{OPERATION_FIRST_STEPS, OPERATIONS_AT_ONCE, PAGE};
use minutehand_domain::operation::{Operation, OperationHead, OperationId, OperationRefusal, Order, Work};
use minutehand_domain::pace;
use minutehand_domain::timer::TimerKey;
use minutehand_domain::trace::TraceContext;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::carry::{Carried, carry, let_go};
use crate::timers::promise::promise;

/// Tries against those who carry the same operation on.
const TRIES: u32 = 32;

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct NewOperation {
    pub work: Work,
    pub note: Option<String>,
    pub by: By,
    pub fingerprint: Option<Fingerprint>,
    /// The trace that it is asked for in, of what makes runs that keep it.
    pub trace: Option<TraceContext>,
}

/// How an operation is to be called that somebody asks for.
#[derive(Clone, Debug)]
pub enum Named {
    Make(OperationId),
    /// The same request made it before.
    Made(Operation),
    /// The idempotency key belongs to another request.
    Taken,
    /// As many are not over as may be.
    TooMany,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    New(Operation),
    Replayed(Operation),
    /// This asker slept so long that its promise was given up as an orphan: ask again.
    TooSlow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ordered {
    Done(Operation),
    /// It is so already.
    AsItWas(Operation),
    Refused(OperationRefusal, Operation),
    NotFound,
}

/// The tenant's operation of this id. A tombstone is none, and another tenant's is not there.
pub async fn operation_of<D: Ports>(ports: &D, tenant: &Tenant, id: OperationId) -> Result<Option<Operation>, Fault> {
    Ok(seen_operation(ports, tenant, id).await?.map(|seen| seen.item))
}

pub(super) async fn seen_operation<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: OperationId,
) -> Result<Option<Seen<Operation>>, Fault> {
    let seen = ports.store().get::<OperationHead>(tenant, id).await?;
    Ok(seen.and_then(|Seen { item, version }| item.operation().map(|item| Seen { item, version })))
}

/// How it is called: the first to put a key's answer decides. One that was given up is named anew.
pub async fn name<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    once: Option<(AskedName, Fingerprint)>,
) -> Result<Named, Fault> {
    let id = OperationId::new(ports.clock().now(), ports.chance().bytes());
    let mut guard = Guard::Absent;
    if let Some((name, fingerprint)) = once {
        loop {
            let asked = Asked { name, fingerprint, run: id.no_run(), until: None };
            let there = match ports.store().get::<Asked>(tenant, name).await? {
                Some(there) if guard == Guard::Absent => there,
                _ if is_one_too_many(ports, tenant).await? => return Ok(Named::TooMany),
                _ => match ports.store().put(tenant, name, &asked, guard).await? {
                    Put::Written(_) => return Ok(Named::Make(id)),
                    Put::Conflict(None) => return Err(Fault::unavailable("store", "an answer came and went")),
                    Put::Conflict(Some(there)) => there,
                },
            };
            if there.item.fingerprint != fingerprint {
                return Ok(Named::Taken);
            }
            let named = OperationId::of_no_run(there.item.run);
            match ports.store().get::<OperationHead>(tenant, named).await?.map(|seen| seen.item) {
                None => return Ok(Named::Make(named)),
                Some(OperationHead::Operation(made)) => return Ok(Named::Made(*made)),
                Some(OperationHead::Tombstone { .. }) => guard = there.guard(),
            }
        }
    }
    if is_one_too_many(ports, tenant).await? { Ok(Named::TooMany) } else { Ok(Named::Make(id)) }
}

async fn is_one_too_many<D: Ports>(ports: &D, tenant: &Tenant) -> Result<bool, Fault> {
    let newest = ports.store().list::<OperationHead>(tenant, (), None, PAGE).await?.items;
    let going_on = newest.iter().filter_map(OperationHead::as_operation).filter(|operation| !operation.is_over());
    Ok(going_on.count() >= OPERATIONS_AT_ONCE)
}

/// Promises its first look, writes it, and begins it: what is small is done when this answers.
pub async fn begin<D: Ports>(ports: &D, tenant: &Tenant, id: OperationId, new: NewOperation) -> Result<Begun, Fault> {
    let now = ports.clock().now();
    let timer = promise(ports, tenant, TimerKey::operation(id, now + pace::HEAD_START), 0).await?;
    let NewOperation { work, note, by, fingerprint, trace } = new;
    let operation = Operation { note, fingerprint, trace, ..Operation::new(tenant.clone(), id, work, by, now) };
    let head = OperationHead::Operation(Box::new(operation.clone()));
    let seen = match ports.store().put(tenant, id, &head, Guard::Absent).await? {
        Put::Written(version) => Seen { item: operation, version },
        Put::Conflict(Some(Seen { item: OperationHead::Operation(theirs), .. })) => {
            return Ok(Begun::Replayed(*theirs));
        }
        Put::Conflict(_) => return Ok(Begun::TooSlow),
    };
    // What is begun here and fails is gone on with by the first look.
    let asked = seen.item.clone();
    let carried = match Box::pin(carry(ports, seen, OPERATION_FIRST_STEPS, now + pace::HEAD_START)).await {
        Ok(Carried { seen: Some(seen), .. }) => seen,
        Ok(Carried { seen: None, .. }) | Err(_) => return Ok(Begun::New(asked)),
    };
    if !carried.item.goes_on() {
        let _the_look_does_it = let_go(ports, &timer, &carried).await;
    }
    Ok(Begun::New(carried.item))
}

/// Rule **promise before you judge**: what is to go on by this word has its look promised before the word is written.
pub async fn order<D: Ports>(ports: &D, tenant: &Tenant, id: OperationId, order: Order) -> Result<Ordered, Fault> {
    for _ in 0..TRIES {
        let Some(seen) = seen_operation(ports, tenant, id).await? else { return Ok(Ordered::NotFound) };
        let now = ports.clock().now();
        let next = match seen.item.ordered(order, now) {
            Ok(Some(next)) => next,
            Ok(None) => {
                // Should nothing point to it, whoever says it again mends that.
                if seen.item.goes_on() {
                    promise(ports, tenant, TimerKey::operation(id, now), 0).await?;
                }
                return Ok(Ordered::AsItWas(seen.item));
            }
            Err(why) => return Ok(Ordered::Refused(why, seen.item)),
        };
        if next.goes_on() {
            promise(ports, tenant, TimerKey::operation(id, now), 0).await?;
        }
        let head = OperationHead::Operation(Box::new(next.clone()));
        if let Put::Written(version) = ports.store().put(tenant, id, &head, seen.guard()).await? {
            let (written, until) = (Seen { item: next.clone(), version }, now + pace::HEAD_START);
            let begun = Box::pin(carry(ports, written, OPERATION_FIRST_STEPS, until)).await;
            let now_there = begun.ok().and_then(|carried| carried.seen);
            return Ok(Ordered::Done(now_there.map_or(next, |seen| seen.item)));
        }
    }
    Err(Fault::unavailable("operation", "it is being carried on by too many at once"))
}
