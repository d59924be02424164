//! Orphans: timers that point at nothing. Their writer may have crashed, or may only be slow.
//!
//! So a timer whose job is absent or refuses it is looked at again fifteen minutes later. At that second look the way
//! back is closed first (a tombstone where no job is, a new epoch where one refuses, a record where a run was promised),
//! so that a writer who wakes up after all is told so; only then is the timer erased.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::{Job, SkippedSpan};
use minutehand_domain::pace;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, Skip};
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use crate::dispatch::NothingToDispatch;
use crate::promise::{erase, move_to};

/// An occurrence that its job does not know, or not any more.
pub async fn orphaned_occurrence<D: Ports>(
    ports: &D,
    timer: &Timer,
    key: RunKey,
    nothing: NothingToDispatch,
) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let closed = match nothing {
        NothingToDispatch::Absent => bury(ports, timer, key).await?,
        NothingToDispatch::NotAdmitted(_) => refuse_for_good(ports, timer, key).await?,
    };
    if closed { erase(ports, timer).await } else { Ok(()) }
}

/// A timer made from a generation that its job has not reached: somebody promised a change and is slow to write it. It is
/// kept as long as any orphan is; then the change is refused, and the timer goes.
pub async fn promise_of_a_change<D: Ports>(ports: &D, timer: &Timer, job: JobId) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let Some(seen) = ports.store().head(&timer.tenant, job).await? else { return erase(ports, timer).await };
    let guard = seen.guard();
    let waiting = seen.item.into_job().filter(|job| job.generation < timer.stamp.generation);
    let closed = match waiting {
        Some(job) => bump_epoch(ports, job, guard).await?,
        None => true,
    };
    if closed { erase(ports, timer).await } else { Ok(()) }
}

/// A run that was promised and is not there.
pub async fn orphaned_run<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let promised = Run::new(timer.tenant.clone(), key, Priority::Normal);
    if skip(ports, promised, Skip::Abandoned, None).await? { erase(ports, timer).await } else { Ok(()) }
}

/// A tombstone where no job is: the head put of a creator who slept until now is refused by it.
async fn bury<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<bool, Fault> {
    let tombstone = Head::Tombstone { tenant: timer.tenant.clone(), id: key.job, epoch: 1 };
    match ports.store().put_head(&tombstone, Guard::Absent).await? {
        Put::Written(_) => Ok(true),
        Put::Conflict(there) => Ok(there.is_none_or(|seen| seen.item.job().is_none())),
    }
}

/// A new epoch for a job that refuses the timer, and the record of what did not fire. False where the job has changed
/// its mind, or changed at all: the next look sees.
async fn refuse_for_good<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<bool, Fault> {
    let Some(seen) = ports.store().head(&timer.tenant, key.job).await? else { return Ok(false) };
    let guard = seen.guard();
    let Some(job) = seen.item.into_job() else { return Ok(true) };
    let Err(why) = job.admits(key.at) else { return Ok(false) };
    let (run, span) = (job.run(key), job.refused_with(key.at, why));
    if !bump_epoch(ports, job, guard).await? {
        return Ok(false);
    }
    skip(ports, run, why.into(), Some(span)).await
}

/// A new epoch: whoever read the head before must read it again.
async fn bump_epoch<D: Ports>(ports: &D, job: Job, guard: Guard) -> Result<bool, Fault> {
    let bumped = Head::Job(Job { epoch: job.epoch + 1, ..job });
    Ok(ports.store().put_head(&bumped, guard).await?.is_written())
}

/// Puts the record of what did not fire. False where a record is there already: the next look sees it.
pub(crate) async fn skip<D: Ports>(ports: &D, run: Run, why: Skip, span: Option<SkippedSpan>) -> Result<bool, Fault> {
    let now = ports.clock().now();
    let record = run.skipped(why, span, now);
    let put = ports.store().put_run(&record, Guard::Absent).await?;
    if put.is_written() {
        ports.events().emit(&Event::Run { run: &record, from: "scheduled", now });
    }
    Ok(put.is_written())
}
