//! What calendars took, or gaps of a zone's clock: the records of fires that did not come, put by whoever makes the first record of the fire
//! behind them.
//!
//! Rule **told before what follows**: a calendar decides of instants to come, and may be changed until they are past; so what it took is put
//! on record once it is past, and before the next thing of its job: the run behind it, or a change of the job. Until then nobody misses it:
//! the timer of that run stands. Each record is put where none is, so that it may be done twice.
//! Rule **only settle erases** here too: others may be told of what was taken, or run behind it.

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Taken};
use minutehand_domain::run::{Run, Skip, SkippedSpan, State};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::born;
use crate::graph::owed::owes;
use crate::graph::settle::{Settled, settle};
use crate::graph::stop::promise_look;
use crate::lookup::job_of;
use crate::timers::promise::erase;

/// Records of one look: between two fires there is one row, or as many as were cut by a change or by what has a record of its own.
const ROWS: usize = 16;
/// Records that are read together.
const AT_ONCE: usize = 64;
/// Fires that are passed on the way to a row: in an outage there may be many, and nothing was taken between most of them.
const FIRES: usize = 10_000;

/// Records what was taken before the fire at `t`, behind the one before it.
pub async fn record_taken<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    record_taken_as_read(ports, job, t, Moment::END).await
}

/// The same for who may come to it long after the job was read: what a calendar would take of the time since then may be allowed by now.
pub async fn record_taken_as_read<D: Ports>(ports: &D, job: &Job, t: Moment, read_at: Moment) -> Result<(), Fault> {
    if !job.may_lose_fires() {
        return Ok(());
    }
    let from = job.last_before(t).unwrap_or(Moment::EPOCH);
    record_taken_between(ports, job, from, t.min(read_at)).await
}

/// Behind a fire that ended before its time, as somebody called it off: what was taken before it was not past then, and nobody claims it.
pub async fn record_taken_before_what_was_called_off<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    if !run.key.is_occurrence() || run.finished_at().is_none_or(|at| at >= run.key.at) {
        return Ok(());
    }
    let read_at = ports.clock().now();
    match job_of(ports, &run.tenant, run.key.job).await? {
        Some(job) => record_taken_as_read(ports, &job, run.key.at, read_at).await,
        None => Ok(()),
    }
}

/// The same between two instants, neither included, as far as they are past.
pub async fn record_taken_between<D: Ports>(ports: &D, job: &Job, from: Moment, until: Moment) -> Result<(), Fault> {
    let until = until.min(ports.clock().now().just_after());
    let mut from = from;
    for _ in 0..ROWS {
        let Some(taken) = next_row(job, from, until) else { return Ok(()) };
        from = record(ports, job, &taken).await?.max(taken.first);
    }
    Ok(())
}

/// A row ends before the next fire: what was taken behind that is another. What a gap takes is looked for at once, however much fires before it.
fn next_row(job: &Job, from: Moment, until: Moment) -> Option<Taken> {
    if !job.heeds_calendars() {
        return job.swallowed_between(from, until);
    }
    let mut from = from;
    for _ in 0..FIRES {
        let next = job.next_after(from).filter(|next| *next < until);
        if let Some(taken) = job.taken_between(from, next.unwrap_or(until)) {
            return Some(taken);
        }
        from = next?;
    }
    None
}

/// Puts the record of a row, and says up to where it tells what was taken. It is born over, so whoever bears it settles it, and whoever finds
/// it there settles it too: no timer of its own stands behind it. Rule **nudge**: where it owes anything its look is promised before.
async fn record<D: Ports>(ports: &D, job: &Job, taken: &Taken) -> Result<Moment, Fault> {
    let now = ports.clock().now();
    let ours = record_of(job, taken, now);
    let look = if owes(&ours) { Some(promise_look(ports, &ours).await?) } else { None };
    let record = match born(ports, &ours, "scheduled", now).await? {
        Put::Written(_) => ours,
        Put::Conflict(Some(seen)) if was_taken(&seen.item) => seen.item,
        // The look that was promised finds what is there.
        Put::Conflict(_) => return last_on_record(ports, job, taken).await,
    };
    match (settle(ports, &record).await?, look) {
        (Settled::Paid, Some(look)) => erase(ports, &look).await?,
        // It sees to the rest; where nothing was owed, and somebody could not be told, it is promised now.
        (Settled::More, None) => drop(promise_look(ports, &record).await?),
        (Settled::Paid, None) | (Settled::More, Some(_)) => {}
    }
    Ok(record.span_end(now))
}

/// The last of the row up to which each has a record of its own, where the first has: they were called off before they were taken, or ran, as the clock of
/// whoever changed the calendar was behind. There may be thousands. Behind the first that has none one record tells of all the rest.
async fn last_on_record<D: Ports>(ports: &D, job: &Job, taken: &Taken) -> Result<Moment, Fault> {
    let mut behind = job.each_taken_by_calendars(taken.first, taken.last.just_after()).map(|(t, _told)| t);
    let mut last = taken.first;
    loop {
        let some: Vec<_> = behind.by_ref().take(AT_ONCE).collect();
        let have = try_join_all(some.iter().map(|t| has_its_own(ports, job, *t))).await?;
        let these = some.iter().zip(&have).take_while(|(_, has)| **has);
        last = these.last().map_or(last, |(t, _)| *t);
        if some.is_empty() || have.contains(&false) {
            return Ok(last);
        }
    }
}

/// A record that nobody can read counts as one.
async fn has_its_own<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<bool, Fault> {
    match ports.store().get::<Run>(&job.tenant, RunKey::occurrence(job.id, t)).await {
        Err(why) if why.is_of_an_item() => Ok(true),
        there => Ok(there?.is_some_and(|seen| !was_taken(&seen.item))),
    }
}

fn record_of(job: &Job, taken: &Taken, now: Moment) -> Run {
    let span = (taken.count > 1).then_some(SkippedSpan { until: taken.last, count: Some(taken.count) });
    let run = job.run(RunKey::occurrence(job.id, taken.first)).skipped(taken.by, span, now);
    Run { told: Some(taken.told.clone()), sla: None, ..run }
}

fn was_taken(run: &Run) -> bool {
    matches!(run.state, State::Skipped { why: Skip::Calendar | Skip::DstGap, .. })
}
