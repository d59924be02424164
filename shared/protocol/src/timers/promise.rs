//! Promises: putting timers so that none is written where no sweeper will look any more.
//!
//! Rule **late promise**: after any put of a timer that is not a successor the writer looks at its clock; past the
//! bucket's write line it puts again a second ahead and looks again, before it acts.
//!
//! Rule **the newest generation stands**: a timer of a later generation is the promise of a change too, and no put of an earlier
//! one takes its place. Whoever is refused promises under the generation that stands there: then no eraser of what he
//! promised takes it for less than it is, and nobody who saw the timer before him erases it under his hands.

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::pace;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, Store as _};
use minutehand_io::{Fault, Ports};

/// Puts a timer that a sweeper will surely see, and answers with it as it stands.
pub async fn promise<D: Ports>(ports: &D, tenant: &Tenant, key: TimerKey, generation: u64) -> Result<Timer, Fault> {
    promise_like(ports, written_now(ports, tenant, key, generation)).await
}

/// The same of a task's run: where nothing is known of it yet, its parent says how it is made.
pub async fn promise_task<D: Ports>(ports: &D, tenant: &Tenant, key: TimerKey, parent: RunKey) -> Result<Timer, Fault> {
    promise_like(ports, Timer { parent: Some(parent), ..written_now(ports, tenant, key, 0) }).await
}

/// The same of what others may have promised as well: theirs stands, and is answered with.
pub(crate) async fn promise_unless_there<D: Ports>(ports: &D, timer: Timer) -> Result<Timer, Fault> {
    let there = ports.store().put_timer_if_absent(&timer).await?;
    if ports.clock().now() < pace::write_line(there.key.minute()) {
        Ok(there)
    } else {
        promise_like(ports, there).await
    }
}

/// The same of this timer, written now.
pub(crate) async fn promise_like<D: Ports>(ports: &D, timer: Timer) -> Result<Timer, Fault> {
    let mut timer = put(ports, timer).await?;
    while ports.clock().now() >= pace::write_line(timer.key.minute()) {
        let late = timer;
        let again = late.key.moved_to(ports.clock().now() + pace::PROMISE_AGAIN);
        timer = put(ports, Timer { key: again, ..late.clone() }).await?;
        erase(ports, &late).await?;
    }
    Ok(timer)
}

/// Whether a timer stands there, or beside what lies there where nobody can read that.
pub(crate) async fn is_promised<D: Ports>(ports: &D, key: &TimerKey) -> Result<bool, Fault> {
    match ports.store().timer(key).await {
        Err(why) if Discard::Corrupt.admits(&why) => Ok(ports.store().timer(&key.beside()).await?.is_some()),
        timer => Ok(timer?.is_some()),
    }
}

/// Puts a timer of its generation, or of the later one that stands there; beside what lies there where nobody can read that.
async fn put<D: Ports>(ports: &D, timer: Timer) -> Result<Timer, Fault> {
    let (mut generation, mut key) = (timer.stamp.generation, timer.key);
    loop {
        let stamp = TimerStamp { generation, written: ports.clock().now() };
        let timer = Timer { stamp, key, ..timer.clone() };
        let standing = match ports.store().put_timer(&timer).await {
            Err(why) if Discard::Corrupt.admits(&why) => {
                key = key.beside();
                continue;
            }
            put => put?.stamp.generation,
        };
        if standing <= generation {
            return Ok(timer);
        }
        generation = standing;
    }
}

/// Moves an obligation to a later look: promised there first, erased here after. Answers with it as it stands then.
pub async fn move_to<D: Ports>(ports: &D, timer: &Timer, due: Moment) -> Result<Timer, Fault> {
    let there = timer.key.moved_to(due);
    if there == timer.key {
        return Ok(timer.clone());
    }
    move_there(ports, timer, there).await
}

/// The same to another key of what it is about.
pub(crate) async fn move_there<D: Ports>(ports: &D, timer: &Timer, there: TimerKey) -> Result<Timer, Fault> {
    let moved = promise_like(ports, Timer { key: there, ..timer.clone() }).await?;
    erase(ports, timer).await?;
    Ok(moved)
}

/// Moves the timer of something that could have been claimed since `since`: to when it is hinted the next time, or to be looked at before
/// that by then.
pub async fn move_to_next_hint<D: Ports>(
    ports: &D,
    timer: &Timer,
    since: Moment,
    by: Option<Moment>,
) -> Result<Timer, Fault> {
    let next = pace::next_inspection(since, ports.clock().now());
    move_to(ports, timer, by.map_or(next, |by| by.min(next))).await
}

/// Erases a timer as it was seen; if it was put anew since, it still means something and stays.
pub async fn erase<D: Ports>(ports: &D, timer: &Timer) -> Result<(), Fault> {
    ports.store().erase_timer(&timer.key, timer.stamp).await.map(|_erased| ())
}

/// A timer as its writer makes it now.
pub(crate) fn written_now<D: Ports>(ports: &D, tenant: &Tenant, key: TimerKey, generation: u64) -> Timer {
    Timer { key, tenant: tenant.clone(), stamp: TimerStamp { generation, written: ports.clock().now() }, parent: None }
}
