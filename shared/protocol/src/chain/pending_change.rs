//! A change on its way: its timer is promised, its head is not written yet. What is made of that timer until then.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::pace;
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::timers::promise::{erase, move_to};

/// A timer made from a generation that its job has not reached: somebody promised a change and is slow to write it. It is
/// kept as long as any orphan is; then the change is refused, and the timer goes.
pub async fn keep_promise_of_a_change<D: Ports>(ports: &D, timer: &Timer, job: JobId) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let Some(seen) = ports.store().get::<Head>(&timer.tenant, job).await? else { return erase(ports, timer).await };
    let guard = seen.guard();
    let waiting = seen.item.into_job().filter(|job| job.generation < timer.stamp.generation);
    let closed = match waiting {
        Some(job) => bump_epoch(ports, job, guard).await?,
        None => true,
    };
    if closed { erase(ports, timer).await } else { Ok(()) }
}

/// A new epoch: a creator or changer that read the head before must read it again.
pub async fn bump_epoch<D: Ports>(ports: &D, job: Job, guard: Guard) -> Result<bool, Fault> {
    let bumped = Head::Job(Job { epoch: job.epoch + 1, ..job });
    Ok(ports.store().put(bumped.tenant(), bumped.id(), &bumped, guard).await?.is_written())
}

/// A tombstone where no job is, and the next one where one is already: a creator who has read what was there before is refused, and reads it again.
pub async fn refuse_creators<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: JobId,
    there: Option<Seen<Head>>,
) -> Result<bool, Fault> {
    let (guard, epoch) = there.map_or((Guard::Absent, 0), |seen| (seen.guard(), seen.item.epoch()));
    let tombstone = Head::Tombstone { tenant: tenant.clone(), id, epoch: epoch + 1 };
    Ok(ports.store().put(tenant, id, &tombstone, guard).await?.is_written())
}
