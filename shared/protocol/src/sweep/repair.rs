//! Repair: what `state` says must have a timer gets one. Timers and cursors are pointers; where they were lost, damaged or left
//! behind, they are made again from the jobs and runs, by the same functions as ever. Safe beside everybody else, and twice: a
//! timer too many is looked at and erased.

use minutehand_domain::Moment;
use minutehand_domain::job::{Change, Job, Status};
use minutehand_domain::pace;
use minutehand_domain::run::{Look, Run};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::job::change::change;
use crate::timers::promise::promise;

/// Runs of a job read at once, in the search for its newest occurrence.
const PAGE: usize = 50;

/// What was found of a job or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Whole,
    /// Nothing would look at it any more, at the instant that a timer should stand at.
    WithoutTimer(Moment),
    /// Its time is past, and no timer stands at its own instant: it waits elsewhere for its next hint, or it was lost.
    Overdue(Moment),
    /// It counts from an instant that has not come: a clock was ahead when it was created or changed.
    Ahead(Moment),
}

/// Looks after a job; changes nothing where it is only checked.
pub async fn repair_job<D: Ports>(ports: &D, job: &Job, check: bool) -> Result<Found, Fault> {
    let now = ports.clock().now();
    if job.status != Status::Active {
        return Ok(Found::Whole);
    }
    if job.since > now + 2 * pace::SKEW {
        if !check {
            // As a change of its schedule would: it counts from now.
            change(ports, &job.tenant, job.id, &Change::reschedule(job.schedule.clone())).await?;
        }
        return Ok(Found::Ahead(job.since));
    }
    let Some(next) = next_of(ports, job, now).await? else { return Ok(Found::Whole) };
    let key = TimerKey::occurrence(job.id, next);
    let is_seen = now < pace::leave_line(key.minute()) && ports.store().timer(&key).await?.is_some();
    if is_seen {
        return Ok(Found::Whole);
    }
    if !check {
        promise(ports, &job.tenant, key, job.generation).await?;
    }
    Ok(if next > now { Found::WithoutTimer(next) } else { Found::Overdue(next) })
}

/// Looks after a run that is not over.
pub async fn repair_run<D: Ports>(ports: &D, run: &Run, check: bool) -> Result<Found, Fault> {
    let now = ports.clock().now();
    let (due, is_overdue) = match run.inspect_overdue(now, ports.me()) {
        Look::Erase => return Ok(Found::Whole),
        Look::Later(due) => (due, due <= now),
        Look::Claimable { .. } => (now + pace::PROMISE_AGAIN, true),
    };
    let (own, link) = (TimerKey::run(run.key, due), TimerKey::occurrence(run.key.job, run.key.at));
    let links = run.key.is_occurrence().then_some([link, link.moved_to(due)]);
    for key in [own].into_iter().chain(links.into_iter().flatten()) {
        if now < pace::leave_line(key.minute()) && ports.store().timer(&key).await?.is_some() {
            return Ok(Found::Whole);
        }
    }
    if !check {
        promise(ports, &run.tenant, own, 0).await?;
    }
    Ok(if is_overdue { Found::Overdue(due) } else { Found::WithoutTimer(due) })
}

/// The occurrence after the newest that anything became of.
async fn next_of<D: Ports>(ports: &D, job: &Job, now: Moment) -> Result<Option<Moment>, Fault> {
    let within = RunsOf { job: job.id, window: Moment::EPOCH..now + 2 * pace::HORIZON };
    let mut past = None;
    loop {
        let page = ports.store().list::<Run>(&job.tenant, within.clone(), past, PAGE).await?;
        past = page.items.last().map(|run| run.key);
        if let Some(newest) = page.items.iter().find(|run| run.key.is_occurrence() && run.key.at >= job.since) {
            return Ok(newest.coalesced_until().or_else(|| job.next_after(newest.span_end())));
        }
        if page.items.len() < PAGE {
            return Ok(job.first_promise());
        }
    }
}
