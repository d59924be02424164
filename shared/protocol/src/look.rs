//! Looking at an overdue timer: what became of its obligation? It is met, or it is carried on, or it was never one.
//!
//! Guard **overdue look**: whatever a queue lost is found here. Rule **drain**: a look erases its timer or moves it, so
//! that sweeping costs what is due and a backlog is not hinted every minute.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Also, Job, NotAdmitted, Status};
use minutehand_domain::pace;
use minutehand_domain::run::{Look, Run, Skip};
use minutehand_domain::timer::{Thing, Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Doors, Fault};

use crate::coverage::{first_gap, is_covered};
use crate::fire::{Fired, admitted, fire, hint};
use crate::lookup::job_of;
use crate::orphan::{orphaned_occurrence, orphaned_run, promise_of_a_change, skip};
use crate::promise::{erase, move_to, promise_link};

/// Looks at a timer whose time passed at least `pace::OVERDUE` ago.
pub async fn look<D: Doors>(doors: &D, timer: &Timer, horizon: Moment, fired: &Fired) -> Result<(), Fault> {
    let key = timer.key.run_key();
    let run = doors.store().run(&timer.tenant, key).await?.map(|seen| seen.item);
    match (run, timer.key.thing) {
        (None, Thing::Run(_)) => orphaned_run(doors, timer, key).await,
        (None, Thing::Occurrence(_) | Thing::Again(..)) => look_at_unclaimed(doors, timer, key, horizon, fired).await,
        (Some(run), Thing::Occurrence(_) | Thing::Again(..)) if run.coalesced_until().is_some() => {
            fire_last(doors, timer, &run, horizon, fired).await
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
    let job = match admitted(doors, timer, key.at).await? {
        Ok(job) => job,
        Err(void) => return orphaned_occurrence(doors, timer, key, void).await,
    };
    if is_covered(doors, &timer.tenant, key).await? {
        return close_covered(doors, timer, &job, key).await;
    }
    let now = doors.clock().now();
    match job.next_after(key.at) {
        Some(next) if next <= now && first_gap(doors, &job, next).await?.is_none() => {
            let moved = wait_on(doors, timer, key.at).await?;
            hint(doors, job.definition.priority, &Hint::behind(&moved, key, job.generation), now).await
        }
        Some(next) if next <= now => {
            let Some(decided) = decide_catch_up(doors, &job, key, now).await? else { return Ok(()) };
            fire_last(doors, timer, &decided, horizon, fired).await
        }
        _ => {
            let moved = wait_on(doors, timer, key.at).await?;
            fire(doors, key.at, &moved, horizon, fired).await.map(|_next_look_decides| ())
        }
    }
}

/// Rule **catch-up is decided once**: the head of a chain whose next occurrence is past too becomes the record of the
/// outage, put only where nothing is. None where something else was faster: the next look sees what.
async fn decide_catch_up<D: Doors>(doors: &D, job: &Job, key: RunKey, now: Moment) -> Result<Option<Run>, Fault> {
    let missed = job.missed(key.at, now);
    let also = Also { until: missed.last, count: Some(missed.count - 1) };
    let record = Run::skipped(job.tenant.clone(), key, Skip::Coalesced, Some(also), now);
    match doors.store().put_run(&record, Guard::Absent).await? {
        Put::Written(_) => {
            doors.events().tell(&Event::Run { run: &record, from: "scheduled", now });
            Ok(Some(record))
        }
        Put::Conflict(there) => Ok(there.map(|seen| seen.item).filter(|run| run.coalesced_until().is_some())),
    }
}

/// What another record speaks for gets its own all the same before its timer goes: an executor that slept over its claim
/// would otherwise begin a run here that no timer stands behind. And the record may be of a schedule that was in force
/// before: its last occurrence need not be followed by one of today's.
async fn close_covered<D: Doors>(doors: &D, timer: &Timer, job: &Job, key: RunKey) -> Result<(), Fault> {
    make_sure_of_the_successor(doors, timer, job, key.at).await?;
    if skip(doors, timer, key, Skip::Coalesced, None).await? { let_go(doors, timer, job).await } else { Ok(()) }
}

/// Every reader of a coalescing record fires only its last occurrence.
async fn fire_last<D: Doors>(
    doors: &D,
    timer: &Timer,
    record: &Run,
    horizon: Moment,
    fired: &Fired,
) -> Result<(), Fault> {
    let Some(last) = record.coalesced_until() else { return Ok(()) };
    let key = TimerKey::occurrence(record.key.job, last);
    let promised = promise_link(doors, &timer.tenant, key, timer.mark.generation).await?;
    fire(doors, last, &promised, horizon, fired).await?;
    erase(doors, timer).await
}

/// There is a record: its own state says what the timer is still good for.
async fn look_at_run<D: Doors>(doors: &D, timer: &Timer, run: &Run) -> Result<(), Fault> {
    let now = doors.clock().now();
    let job = job_of_a_link(doors, timer).await?;
    if let Some(job) = &job {
        make_sure_of_the_successor(doors, timer, job, run.key.at).await?;
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
async fn make_sure_of_the_successor<D: Doors>(doors: &D, timer: &Timer, job: &Job, t: Moment) -> Result<(), Fault> {
    if let Some((forgone, why)) = job.forgone_after(t) {
        record_forgone(doors, job, timer, forgone, why).await?;
    }
    if job.status != Status::Active {
        return Ok(());
    }
    let Some(next) = job.next_after(t) else { return Ok(()) };
    if let Some(gap) = first_gap(doors, job, next).await? {
        promise_link(doors, &job.tenant, TimerKey::occurrence(job.id, gap), job.generation).await?;
    }
    Ok(())
}

/// The chain broke before a change took its occurrences: one record says so for all of them.
async fn record_forgone<D: Doors>(
    doors: &D,
    job: &Job,
    timer: &Timer,
    forgone: Moment,
    why: NotAdmitted,
) -> Result<(), Fault> {
    if first_gap(doors, job, forgone).await? == Some(forgone) {
        let also = job.refused_with(forgone, why);
        let _a_record_is_there_now =
            skip(doors, timer, RunKey::occurrence(job.id, forgone), why.into(), Some(also)).await?;
    }
    Ok(())
}

/// Moves the timer of something that could have been claimed since `since`: to when it is hinted the next time.
async fn wait_on<D: Doors>(doors: &D, timer: &Timer, since: Moment) -> Result<Timer, Fault> {
    let now = doors.clock().now();
    let next = pace::next_hint(since, now) - pace::OVERDUE;
    move_to(doors, timer, next.max(now + pace::PROMISE_AGAIN)).await
}
