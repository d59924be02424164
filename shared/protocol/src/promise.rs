//! Promises: putting timers so that none is written where no sweeper will look any more.
//!
//! Rule **late promise**: after any put of a timer that is not a successor the writer looks at its clock; past the
//! bucket's write line it puts again a second ahead and looks again, before it acts.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::Job;
use minutehand_domain::pace;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

/// Puts a timer that a sweeper will surely see, and answers with it as it stands.
pub async fn promise<D: Ports>(ports: &D, tenant: &Tenant, key: TimerKey, generation: u64) -> Result<Timer, Fault> {
    let mut timer = written_now(ports, tenant, key, generation);
    ports.store().put_timer(&timer).await?;
    while ports.clock().now() >= pace::write_line(timer.key.minute()) {
        let late = timer;
        let again = late.key.moved_to(ports.clock().now() + pace::PROMISE_AGAIN);
        timer = written_now(ports, tenant, again, generation);
        ports.store().put_timer(&timer).await?;
        ports.store().erase_timer(&late.key, late.stamp).await?;
    }
    Ok(timer)
}

/// Puts a link of a chain where another may stand. If that one is the promise of a change that is still being written, it
/// stays one: otherwise nobody would tell the changer that it was too slow.
pub async fn promise_link<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: TimerKey,
    generation: u64,
) -> Result<Timer, Fault> {
    let standing = ports.store().timer(&key).await?.map_or(0, |there| there.stamp.generation);
    promise(ports, tenant, key, generation.max(standing)).await
}

/// Puts the timer of a job's next occurrence unless it is there. None if its bucket is past the write line by now: a
/// successor is never put into the past, the next look decides.
///
/// A timer that is there was promised in time by its writer, or will be moved by the sweeper that finds it was not. One
/// made from an earlier generation is put anew: a hint given then knows another successor, and must not erase it.
pub async fn promise_successor<D: Ports>(ports: &D, job: &Job, next: Moment) -> Result<Option<Timer>, Fault> {
    let key = TimerKey::occurrence(job.id, next);
    let ours = written_now(ports, &job.tenant, key, job.generation);
    let there = ports.store().put_timer_if_absent(&ours).await?;
    let timer = if there.stamp.generation < job.generation {
        ports.store().put_timer(&ours).await?;
        ours
    } else {
        there
    };
    let in_time = ports.clock().now() < pace::write_line(key.minute());
    Ok(in_time.then_some(timer))
}

/// Moves an obligation to a later look: promised there first, erased here after. Answers with it as it stands then.
pub async fn move_to<D: Ports>(ports: &D, timer: &Timer, due: Moment) -> Result<Timer, Fault> {
    let there = timer.key.moved_to(due);
    if there == timer.key {
        return Ok(timer.clone());
    }
    let moved = promise(ports, &timer.tenant, there, timer.stamp.generation).await?;
    erase(ports, timer).await?;
    Ok(moved)
}

/// Erases a timer as it was seen; if it was put anew since, it still means something and stays.
pub async fn erase<D: Ports>(ports: &D, timer: &Timer) -> Result<(), Fault> {
    ports.store().erase_timer(&timer.key, timer.stamp).await.map(|_erased| ())
}

fn written_now<D: Ports>(ports: &D, tenant: &Tenant, key: TimerKey, generation: u64) -> Timer {
    Timer { key, tenant: tenant.clone(), stamp: TimerStamp { generation, written: ports.clock().now() } }
}
