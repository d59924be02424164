//! What the end of a run owes to the jobs behind its own: of each a run, or the record of why there is none. Its key comes of the run that ended,
//! so that whoever settles that, and however often, makes one.
//!
//! Rule **derive**: its timer comes after a decision that is final, and says which end it came of: a look that finds the timer alone makes the
//! run, or records why there is none. A record that is born over has no timer: whoever bore it settles it, or whoever does it again.

use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Run, Skip};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, Store as _};
use minutehand_io::{Fault, Ports};

use super::settle::Work;
use crate::born::born;
use crate::job::following::leave;
use crate::lookup::job_of;
use crate::timers::hinting::hint;
use crate::timers::promise::promise_task;

/// Pays all of them. One that cannot be read keeps nobody behind it, and nobody else, from what they are owed.
pub(super) async fn let_follow<D: Ports>(ports: &D, run: &Run, work: &mut Work) -> Result<(), Fault> {
    for id in run.followed_by().into_keys() {
        let followed = let_one_follow(ports, run, id, work).await;
        work.put_by(followed)?;
    }
    Ok(())
}

/// Who has left the list meanwhile is taken out of it.
async fn let_one_follow<D: Ports>(ports: &D, run: &Run, id: JobId, work: &mut Work) -> Result<(), Fault> {
    let Some(job) = job_of(ports, &run.tenant, id).await? else { return Ok(()) };
    let made = job.after_the_end_of(run, ports.clock().now());
    if job.is_wrongly_pinned_by(run) {
        leave(ports, &job, run.key.job).await?;
    }
    match made {
        Some(made) => put(ports, run, (&job, made), work).await,
        None => Ok(()),
    }
}

/// Puts it where nothing is.
async fn put<D: Ports>(ports: &D, before: &Run, (job, run): (&Job, Run), work: &mut Work) -> Result<(), Fault> {
    let now = ports.clock().now();
    let timer = if run.is_finished() {
        None
    } else {
        let key = TimerKey::run(run.key, run.key.at.max(now));
        Some(promise_task(ports, &run.tenant, key, before.key).await?)
    };
    let there = match born(ports, &run, "none", now).await? {
        Put::Written(_) => {
            work.step();
            if let Some(timer) = timer {
                let _a_lost_hint_is_found_overdue = hint(ports, job.lane(), &Hint::of(&timer), run.key.at).await;
            }
            Some(run)
        }
        Put::Conflict(there) => there.map(|seen| seen.item),
    };
    if let Some(over) = there.filter(|run| run.is_finished() && run.fence == 0) {
        work.settle(over);
    }
    Ok(())
}

/// Makes the run of a follower whose timer was promised and which is not there. None where what it came of is not there either.
pub(super) async fn followed<D: Ports>(
    ports: &D,
    timer: &Timer,
    from: RunKey,
    key: RunKey,
) -> Result<Option<Run>, Fault> {
    let Some(before) = ports.store().get::<Run>(&timer.tenant, from).await? else { return Ok(None) };
    if before.item.followed_by().get(&key.job) != Some(&key) {
        return Ok(None);
    }
    let Some(job) = job_of(ports, &timer.tenant, key.job).await? else { return Ok(None) };
    let now = ports.clock().now();
    let made = job.after_the_end_of(&before.item, now);
    Ok(Some(made.unwrap_or_else(|| job.run(key).skipped(Skip::Superseded, None, now))))
}

/// Whether one of them has neither its run nor a record.
pub(super) async fn left_a_follower<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    for (id, key) in run.followed_by() {
        let Some(job) = job_of(ports, &run.tenant, id).await? else { continue };
        let is_owed = job.after_the_end_of(run, ports.clock().now()).is_some();
        if is_owed && ports.store().get::<Run>(&run.tenant, key).await?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}
