//! Looking at an overdue timer: what became of its obligation? It is met, or it is carried on, or it was never one.
//!
//! Guard **overdue look**: whatever a queue lost is found here. Rule **drain**: a look erases its timer or moves it, so
//! that sweeping costs what is due and a backlog is not hinted every minute.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Also, Job, Status};
use minutehand_domain::pace;
use minutehand_domain::run::{Look, Run, Skip};
use minutehand_domain::timer::{Thing, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Doors, Fault};

use crate::catch_up::{catch_up, fire_in_its_stead};
use crate::coverage::{covered, forgone_gap, promise_gap};
use crate::fire::{Fired, admitted, hint};
use crate::lookup::job_of;
use crate::orphan::{orphaned_occurrence, orphaned_run, promise_of_a_change, skip};
use crate::promise::{erase, move_to};

/// Looks at a timer whose time passed at least `pace::OVERDUE` ago.
pub async fn look<D: Doors>(doors: &D, timer: &Timer, horizon: Moment, fired: &Fired) -> Result<(), Fault> {
    let key = timer.key.run_key();
    let run = doors.store().run(&timer.tenant, key).await?.map(|seen| seen.item);
    match (run, timer.key.thing) {
        (None, Thing::Run(_)) => orphaned_run(doors, timer, key).await,
        (None, Thing::Occurrence(_) | Thing::Again(..)) => look_at_unclaimed(doors, timer, key, horizon, fired).await,
        (Some(run), Thing::Occurrence(_) | Thing::Again(..)) if run.coalesced_until().is_some() => {
            fire_in_its_stead(doors, timer, &run, horizon, fired).await
        }
        (Some(run), _) => look_at_run(doors, timer, &run).await,
    }
}

/// Nobody has claimed this occurrence.
async fn look_at_unclaimed<D: Doors>(
    doors: &D,
    timer: &Timer,
    key: RunKey,
    horizon: Moment,
    fired: &Fired,
) -> Result<(), Fault> {
    let now = doors.clock().now(); // before the job is read: a schedule that came into force since is not decided on
    let job = match admitted(doors, timer, key.at).await? {
        Ok(job) => job,
        Err(void) => return orphaned_occurrence(doors, timer, key, void).await,
    };
    match covered(doors, &timer.tenant, key).await? {
        Some(covered) => pass_over(doors, timer, &job, key, covered.why, None).await,
        None => catch_up(doors, timer, &job, key, now, horizon, fired).await,
    }
}

/// Puts the record of what does not fire, after the timer of its successor. What another record speaks for gets its own all
/// the same before its timer goes: an executor that slept over its claim would otherwise begin a run here that no timer
/// stands behind. And that record may be of a schedule that was in force before: its last occurrence need not be followed by
/// one of today's.
pub(crate) async fn pass_over<D: Doors>(
    doors: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    why: Skip,
    also: Option<Also>,
) -> Result<(), Fault> {
    make_sure_of_the_successor(doors, job, also.map_or(key.at, |also| also.until)).await?;
    if skip(doors, job.run(key), why, also).await? { let_go(doors, timer, job).await } else { Ok(()) }
}

/// There is a record: its own state says what the timer is still good for.
async fn look_at_run<D: Doors>(doors: &D, timer: &Timer, run: &Run) -> Result<(), Fault> {
    let now = doors.clock().now();
    let job = job_of_a_link(doors, timer).await?;
    if let Some(job) = &job {
        make_sure_of_the_successor(doors, job, run.key.at).await?;
    }
    match (run.look(now, doors.me()), job) {
        (Look::Later(due), _) => move_to(doors, timer, due.max(now + pace::PROMISE_AGAIN)).await.map(|_moved| ()),
        (Look::Claimable { since }, job) => {
            let moved = wait_on(doors, timer, since).await?;
            let generation = job.map_or(moved.mark.generation, |job| job.generation);
            hint(doors, run.priority, &Hint::behind(&moved, run.key, generation), now).await
        }
        (Look::Erase, Some(job)) => let_go(doors, timer, &job).await,
        (Look::Erase, None) => erase(doors, timer).await,
    }
}

/// Erases a timer whose obligation is met, unless it is also the promise of a change that is still being written.
async fn let_go<D: Doors>(doors: &D, timer: &Timer, job: &Job) -> Result<(), Fault> {
    if timer.mark.generation > job.generation {
        return promise_of_a_change(doors, timer, job.id).await;
    }
    erase(doors, timer).await
}

/// The job whose chain this timer is a link of; none for a timer that only looks after one run.
async fn job_of_a_link<D: Doors>(doors: &D, timer: &Timer) -> Result<Option<Job>, Fault> {
    if matches!(timer.key.thing, Thing::Run(_)) {
        return Ok(None);
    }
    job_of(doors, &timer.tenant, timer.key.run_key().job).await
}

/// Rule **erase what you saw**, its second half: a late eraser makes sure of the successor first; and so does whoever
/// hints late, since that hint's executor will erase. The run may have been claimed by a hint of an earlier schedule.
async fn make_sure_of_the_successor<D: Doors>(doors: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    record_forgone(doors, job, t).await?;
    if job.status != Status::Active {
        return Ok(());
    }
    let Some(next) = job.next_after(t) else { return Ok(()) };
    promise_gap(doors, job, next).await.map(|_promised| ())
}

/// The chain broke before a change took its occurrences: one record says so for all of them.
async fn record_forgone<D: Doors>(doors: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    if let Some((forgone, why)) = forgone_gap(doors, job, t).await? {
        let run = job.run(RunKey::occurrence(job.id, forgone));
        let also = job.refused_with(forgone, why);
        let _a_record_is_there_now = skip(doors, run, why.into(), Some(also)).await?;
    }
    Ok(())
}

/// Moves the timer of something that could have been claimed since `since`: to when it is hinted the next time.
pub(crate) async fn wait_on<D: Doors>(doors: &D, timer: &Timer, since: Moment) -> Result<Timer, Fault> {
    move_to(doors, timer, pace::next_look(since, doors.clock().now())).await
}
