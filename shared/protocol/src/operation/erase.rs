//! Erasing a tenant: a step erases some pages of what lies under it, whatever that is. Each may be made twice: what is gone is gone.
//!
//! Rule **doors first**: whoever is told that an erasure has begun is told so when the tenant's keys are gone, and each walk begins with them before it
//! goes on to all else.
//!
//! Rule **told before erased**: that something was found is written before it is erased. Who erases and dies, or fails, or was slower than another,
//! would else have found nothing, and the last walk would come too early for whoever wrote it.
//!
//! Rule **no mark, no none**: a mark that nobody can read says nothing, so that the erasure which it may be of is looked for among the newest
//! operations of the deployment. One that a later release wrote is that release's to read.

use futures_util::future::try_join_all;
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::operation::{Erasing, Erasure, Looked, Marked, Operation, OperationHead, OperationId, Work};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use super::ask::{Begun, NewOperation, begin};
use super::doors::close_doors;
use crate::timers::promise::promise;

/// Things erased at once: they share a commit, and everybody else has room beside them.
const AT_ONCE: usize = 64;
/// Pages of one step: on AWS eight megabytes, so that the twenty steps of a minute's look read 160 MB of a table that everybody else uses too.
const PAGES: usize = 8;
/// What a step erases, give or take a page: a second of what a store writes.
const ENOUGH: u64 = 1000;

/// Marks the tenant, writes the operation, and closes the doors. After a fault whoever asks again goes on with it.
pub async fn begin_erasing<D: Ports>(
    ports: &D,
    of: &Tenant,
    tenant: &Tenant,
    id: OperationId,
    by: By,
) -> Result<Begun, Fault> {
    let id = marked(ports, of, tenant, id).await?;
    let work = Work::Erase(Erasure::new(tenant.clone(), ports.clock().now()));
    let begun = begin(ports, of, id, NewOperation { work, note: None, by, fingerprint: None, trace: None }).await?;
    if begun != Begun::TooSlow {
        close_doors(ports, tenant).await?;
    }
    Ok(begun)
}

/// Goes on with the one that is under way, for whoever asks for it again: its look is promised once more, should its timer be lost, and so is its
/// mark put, should nobody be able to read that.
pub async fn go_on_erasing<D: Ports>(ports: &D, operation: &Operation, tenant: &Tenant) -> Result<(), Fault> {
    marked(ports, &operation.tenant, tenant, operation.id).await?;
    promise(ports, &operation.tenant, TimerKey::operation(operation.id, ports.clock().now()), 0).await?;
    close_doors(ports, tenant).await.map(|_erased| ())
}

/// The erasure of a tenant that is under way.
pub async fn under_way<D: Ports>(ports: &D, tenant: &Tenant) -> Result<Option<Operation>, Fault> {
    let deployment = Tenant::deployment();
    let mark = match ports.store().get::<Erasing>(&deployment, tenant.clone()).await {
        Ok(Some(mark)) => mark.item,
        Ok(None) => return Ok(None),
        Err(why) if Discard::Corrupt.admits(&why) => return among_the_newest(ports, &deployment, tenant).await,
        Err(fault) => return Err(fault),
    };
    match what_it_comes_to(ports, &mark).await? {
        Marked::UnderWay(operation) => Ok(Some(*operation)),
        Marked::Unbegun(_) | Marked::Past => Ok(None),
    }
}

/// Which operation the tenant is marked with from now on: this one, unless another is under way or about to begin.
async fn marked<D: Ports>(ports: &D, of: &Tenant, tenant: &Tenant, id: OperationId) -> Result<OperationId, Fault> {
    let (store, deployment) = (ports.store(), Tenant::deployment());
    let mut mark = Erasing { tenant: tenant.clone(), of: of.clone(), operation: id, since: ports.clock().now() };
    let mut guard = Guard::Absent;
    loop {
        match store.put(&deployment, tenant.clone(), &mark, guard).await {
            Ok(Put::Written(_)) => return Ok(mark.operation),
            Ok(Put::Conflict(None)) => guard = Guard::Absent,
            Ok(Put::Conflict(Some(there))) => match what_it_comes_to(ports, &there.item).await? {
                Marked::UnderWay(operation) => return Ok(operation.id),
                Marked::Unbegun(theirs) => return Ok(theirs),
                Marked::Past => guard = there.guard(),
            },
            Err(why) if Discard::Corrupt.admits(&why) => {
                if let Some(Operation { id, asked_at, .. }) = among_the_newest(ports, of, tenant).await? {
                    mark = Erasing { operation: id, since: asked_at, ..mark };
                }
                store.discard::<Erasing>(&deployment, tenant.clone(), Discard::Corrupt).await?;
                guard = Guard::Absent;
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// The tenant's erasure without a mark that says which it is. Two of them would do no harm, since each step may be made twice; but a key that is made
/// under one must be taken back.
async fn among_the_newest<D: Ports>(ports: &D, of: &Tenant, tenant: &Tenant) -> Result<Option<Operation>, Fault> {
    let newest = ports.store().list::<OperationHead>(of, (), None, PAGE).await?;
    let mut operations = newest.items.into_iter().filter_map(OperationHead::operation);
    if let Some(erasure) = operations.find(|operation| operation.is_erasing(tenant)) {
        return Ok(Some(erasure));
    }
    // What a later release began may be this tenant's.
    let later = newest.unreadable.into_iter().find(|left| !Discard::Corrupt.admits(&left.why));
    later.map_or(Ok(None), |left| Err(left.why))
}

async fn what_it_comes_to<D: Ports>(ports: &D, mark: &Erasing) -> Result<Marked, Fault> {
    let there = ports.store().get::<OperationHead>(&mark.of, mark.operation).await?;
    Ok(mark.comes_to(there.map(|seen| seen.item), ports.clock().now()))
}

/// What a step makes of it. Nothing of it is written yet.
pub(super) async fn step<D: Ports>(ports: &D, operation: &Operation, erasure: &Erasure) -> Result<Operation, Fault> {
    let (store, from) = (ports.store(), ports.clock().now());
    let mut erased = if erasure.behind.is_none() { close_doors(ports, &erasure.tenant).await? } else { 0 };
    let mut behind = erasure.behind.clone();
    for _ in 0..PAGES {
        let page = store.remains(&erasure.tenant, behind.clone()).await?;
        let now = ports.clock().now();
        if !page.lying.is_empty() && !erasure.is_told(now) {
            return Ok(operation.erased(erasure.told(from, now, erased, behind), erased, now));
        }
        erased += page.lying.len() as u64;
        for some in page.lying.chunks(AT_ONCE) {
            try_join_all(some.iter().map(|remain| store.erase(remain))).await?;
        }
        behind = page.next;
        if behind.is_none() || erased >= ENOUGH {
            break;
        }
    }
    let to = ports.clock().now();
    let stepped = erasure.stepped(Looked { from, to, erased, next: behind });
    Ok(operation.erased(stepped, erased, to))
}
