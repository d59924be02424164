//! Looking at an overdue timer: what became of its obligation? It is met, or it is carried on, or it was never one.
//!
//! Guard **overdue look**: whatever a queue lost is found here. Rule **drain**: a look erases its timer or moves it, so
//! that sweeping costs what is due and a backlog is not hinted every minute.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, SkippedSpan, Status};
use minutehand_domain::pace;
use minutehand_domain::run::{Look, Run, Skip};
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::catch_up::{catch_up, dispatch_replacement};
use crate::coverage::{covered, forgone_gap, promise_gap};
use crate::dispatch::{Dispatched, admitted, hint};
use crate::lookup::job_of;
use crate::orphan::{orphaned_occurrence, orphaned_run, promise_of_a_change, skip};
use crate::promise::{erase, move_to};

/// Looks at a timer whose time passed at least `pace::OVERDUE` ago.
pub async fn inspect_overdue<D: Ports>(
    ports: &D,
    timer: &Timer,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let key = timer.key.run_key();
    let run = ports.store().run(&timer.tenant, key).await?.map(|seen| seen.item);
    match (run, timer.key.obligation) {
        (None, Obligation::Run(_)) => orphaned_run(ports, timer, key).await,
        (None, Obligation::Occurrence(_) | Obligation::MovedOccurrence(..)) => {
            inspect_unclaimed(ports, timer, key, horizon, dispatched).await
        }
        (Some(run), Obligation::Occurrence(_) | Obligation::MovedOccurrence(..)) if run.coalesced_until().is_some() => {
            dispatch_replacement(ports, timer, &run, horizon, dispatched).await
        }
        (Some(run), _) => inspect_run(ports, timer, &run).await,
    }
}

/// Nobody has claimed this occurrence.
async fn inspect_unclaimed<D: Ports>(
    ports: &D,
    timer: &Timer,
    key: RunKey,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let now = ports.clock().now(); // before the job is read: a schedule that came into force since is not decided on
    let job = match admitted(ports, timer, key.at).await? {
        Ok(job) => job,
        Err(nothing) => return orphaned_occurrence(ports, timer, key, nothing).await,
    };
    match covered(ports, &timer.tenant, key).await? {
        Some(covered) => pass_over(ports, timer, &job, key, covered.why, None).await,
        None => catch_up(ports, timer, &job, key, now, horizon, dispatched).await,
    }
}

/// Puts the record of what does not fire, after the timer of its successor. What another record speaks for gets its own all
/// the same before its timer goes: an executor that slept over its claim would otherwise begin a run here that no timer
/// stands behind. And that record may be of a schedule that was in force before: its last occurrence need not be followed by
/// one of today's.
pub(crate) async fn pass_over<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    why: Skip,
    span: Option<SkippedSpan>,
) -> Result<(), Fault> {
    make_sure_of_the_successor(ports, job, span.map_or(key.at, |span| span.until)).await?;
    if skip(ports, job.run(key), why, span).await? { let_go(ports, timer, job).await } else { Ok(()) }
}

/// There is a record: its own state says what the timer is still good for.
async fn inspect_run<D: Ports>(ports: &D, timer: &Timer, run: &Run) -> Result<(), Fault> {
    let now = ports.clock().now();
    let job = job_of_a_link(ports, timer).await?;
    if let Some(job) = &job {
        make_sure_of_the_successor(ports, job, run.key.at).await?;
    }
    match (run.inspect_overdue(now, ports.me()), job) {
        (Look::Later(due), _) => move_to(ports, timer, due.max(now + pace::PROMISE_AGAIN)).await.map(|_moved| ()),
        (Look::Claimable { since }, job) => {
            let moved = wait_on(ports, timer, since).await?;
            let generation = job.map_or(moved.stamp.generation, |job| job.generation);
            hint(ports, run.priority, &Hint::behind(&moved, run.key, generation), now).await
        }
        (Look::Erase, Some(job)) => let_go(ports, timer, &job).await,
        (Look::Erase, None) => erase(ports, timer).await,
    }
}

/// Erases a timer whose obligation is met, unless it is also the promise of a change that is still being written.
async fn let_go<D: Ports>(ports: &D, timer: &Timer, job: &Job) -> Result<(), Fault> {
    if timer.stamp.generation > job.generation {
        return promise_of_a_change(ports, timer, job.id).await;
    }
    erase(ports, timer).await
}

/// The job whose chain this timer is a link of; none for a timer that only looks after one run.
async fn job_of_a_link<D: Ports>(ports: &D, timer: &Timer) -> Result<Option<Job>, Fault> {
    if matches!(timer.key.obligation, Obligation::Run(_)) {
        return Ok(None);
    }
    job_of(ports, &timer.tenant, timer.key.run_key().job).await
}

/// Rule **erase what you saw**, its second half: a late eraser makes sure of the successor first; and so does whoever
/// hints late, since that hint's executor will erase. The run may have been claimed by a hint of an earlier schedule.
async fn make_sure_of_the_successor<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    record_forgone(ports, job, t).await?;
    if job.status != Status::Active {
        return Ok(());
    }
    let Some(next) = job.next_after(t) else { return Ok(()) };
    promise_gap(ports, job, next).await.map(|_promised| ())
}

/// The chain broke before a change took its occurrences: one record says so for all of them.
async fn record_forgone<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    if let Some((forgone, why)) = forgone_gap(ports, job, t).await? {
        let run = job.run(RunKey::occurrence(job.id, forgone));
        let span = job.refused_with(forgone, why);
        let _a_record_is_there_now = skip(ports, run, why.into(), Some(span)).await?;
    }
    Ok(())
}

/// Moves the timer of something that could have been claimed since `since`: to when it is hinted the next time.
pub(crate) async fn wait_on<D: Ports>(ports: &D, timer: &Timer, since: Moment) -> Result<Timer, Fault> {
    move_to(ports, timer, pace::next_inspection(since, ports.clock().now())).await
}
