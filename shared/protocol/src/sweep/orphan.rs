//! Orphans: timers that point at nothing. Their writer may have crashed, or may only be slow.
//!
//! So a timer whose job is absent or refuses it is looked at again fifteen minutes later. At that second look the way
//! back is closed first (a tombstone where no job is, a new epoch where one refuses, a record where a run was promised),
//! so that a writer who wakes up after all is told so; only then is the timer erased.

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{Origin, RunKey, Tenant};
use minutehand_domain::job::{Job, NotAdmitted};
use minutehand_domain::pace;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, Skip};
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::chain::dispatch::NothingToDispatch;
use crate::chain::passing_over::skip;
use crate::chain::pending_change::{bump_epoch, refuse_creators};
use crate::chain::taken::record_taken;
use crate::graph::attend::{Derived, derive};
use crate::lookup::{job_of, knowing};
use crate::notifications::digest::{Digested, tell_of_window};
use crate::operation::making::{found_out_of_before, made_once};
use crate::timers::promise::{erase, move_to};

/// An occurrence that its job does not know, or not any more.
pub async fn inspect_orphaned_occurrence<D: Ports>(
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
        NothingToDispatch::Absent => refuse_its_creator(ports, timer, key).await?,
        NothingToDispatch::NotAdmitted(_) => refuse_for_good(ports, timer, key).await?,
    };
    if closed { erase(ports, timer).await } else { Ok(()) }
}

/// A run that was promised and is not there. Rule **derive**: only what a client asked for can be given up; the timer of a task, or of a
/// run that goes on with another, comes after a decision that is final. That of another try at a run was in vain where that run says
/// nothing of it.
pub async fn inspect_orphaned_run<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<(), Fault> {
    let now = ports.clock().now();
    match Box::pin(tell_of_window(ports, &timer.tenant, key)).await? {
        Digested::Born => return move_to(ports, timer, now + pace::PROMISE_AGAIN).await.map(|_moved| ()),
        Digested::NotYet(due) => return move_to(ports, timer, due).await.map(|_moved| ()),
        Digested::Empty => return erase(ports, timer).await,
        Digested::NotADigest => {}
    }
    if let Some(from) = timer.parent {
        match Box::pin(derive(ports, timer, from, key)).await? {
            Derived::Made => return move_to(ports, timer, now + pace::PROMISE_AGAIN).await.map(|_moved| ()),
            Derived::Withdrawn => return erase(ports, timer).await,
            Derived::Busy => return Ok(()),
            Derived::Unknown => {}
        }
    }
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let run = given_up(ports, &timer.tenant, key).await?;
    if skip(ports, run, "scheduled", Skip::Abandoned, None).await? { erase(ports, timer).await } else { Ok(()) }
}

/// The record of a run that is given up. The next run that makes up for the same occurrence has another key; so while that one counts, this record has to
/// stand, or a run would be made under the first key after all: rule **made once**.
async fn given_up<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Run, Fault> {
    let run = Run::new(tenant.clone(), key, Priority::Normal);
    if key.origin != Origin::Backfill {
        return Ok(run);
    }
    let Some(job) = job_of(ports, tenant, key.job).await? else { return Ok(run) };
    let closed = ports.store().get::<Run>(tenant, RunKey::occurrence(key.job, key.at)).await?;
    let closed_until = closed.and_then(|seen| seen.item.expires_at()).unwrap_or(Moment::EPOCH);
    let kept = made_once(job.run(key).kept, closed_until.max(found_out_of_before(&job)));
    Ok(Run { kept, ..run })
}

/// False where a job has come, or whoever is about to create one was not refused: the next look sees.
async fn refuse_its_creator<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<bool, Fault> {
    let there = ports.store().get::<Head>(&timer.tenant, key.job).await?;
    if there.as_ref().is_some_and(|seen| seen.item.job().is_some()) {
        return Ok(false);
    }
    refuse_creators(ports, &timer.tenant, key.job, there).await
}

/// A new epoch for a job that refuses the timer, and the record of what did not fire. False where the job has changed
/// its mind, or changed at all: the next look sees.
async fn refuse_for_good<D: Ports>(ports: &D, timer: &Timer, key: RunKey) -> Result<bool, Fault> {
    let read_at = ports.clock().now(); // before the read: its answer may have been long on its way
    let Some(seen) = ports.store().get::<Head>(&timer.tenant, key.job).await? else { return Ok(false) };
    let guard = seen.guard();
    let Some(job) = seen.item.into_job() else { return Ok(true) };
    let job = knowing(ports, job).await?;
    let Err(why) = job.admits(key.at) else { return Ok(false) };
    let (run, span) = (job.run(key), job.refused_with(key.at, why));
    if !bump_epoch(ports, job.clone(), guard).await? {
        return Ok(false);
    }
    if why == NotAdmitted::Excluded {
        return record_row_of(ports, timer, &job, read_at).await.map(|()| true);
    }
    skip(ports, run, "scheduled", why.into(), Some(span)).await
}

/// What calendars took goes on record with the others of its row, in one record: where the fire behind it is still to come, by whoever claims that.
/// Each link that is left of a schedule of before would else put one of its own, and look through those of all before it. But the look that somebody has
/// promised who was about to put the record puts it: it may owe something.
async fn record_row_of<D: Ports>(ports: &D, timer: &Timer, job: &Job, read_at: Moment) -> Result<(), Fault> {
    let taken = timer.key.run_key().at;
    let is_a_link = !matches!(timer.key.obligation, Obligation::Run(_));
    match job.next_after(taken) {
        Some(next) if next <= read_at => record_taken(ports, job, next).await,
        Some(_to_come) if is_a_link => Ok(()),
        Some(_) | None => record_taken(ports, job, taken.just_after()).await,
    }
}
