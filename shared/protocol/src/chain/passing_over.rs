//! Passing over: the record of what does not fire, and what must stand before its timer goes.
//!
//! Rule **erase what you saw**: a late eraser makes sure of the successor first. Rule **only settle erases** here too: others may run behind
//! what was missed.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Status};
use minutehand_domain::run::{Run, Skip, SkippedSpan};
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::links::{forgone_gap, promise_gap};
use crate::chain::pending_change::keep_promise_of_a_change;
use crate::chain::taken::{record_taken, record_taken_between};
use crate::graph::owed::owes;
use crate::graph::settle::{Settled, settle};
use crate::graph::stop::promise_look;
use crate::notifications::telling::tell;
use crate::timers::promise::erase;

/// Puts the record of what does not fire, after the timer of its successor. What another record speaks for gets its own all
/// the same before its timer goes: an executor that slept over its claim would otherwise begin a run here that no timer
/// stands behind. And that record may be of a schedule that was in force before: its last occurrence need not be followed by
/// one of today's.
pub async fn pass_over<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    why: Skip,
    span: Option<SkippedSpan>,
) -> Result<(), Fault> {
    ensure_successor(ports, job, span.map_or(key.at, |span| span.until)).await?;
    record_taken(ports, job, key.at).await?;
    if let Some(span) = span {
        record_taken_between(ports, job, key.at, span.until).await?;
    }
    match skipped(ports, job.run(key), why, span).await? {
        Some(record) if tell(ports, &record).await => erase_unless_change_pending(ports, timer, job).await,
        Some(_) | None => Ok(()),
    }
}

/// Erases a timer whose obligation is met, unless it is also the promise of a change that is still being written.
pub async fn erase_unless_change_pending<D: Ports>(ports: &D, timer: &Timer, job: &Job) -> Result<(), Fault> {
    if timer.stamp.generation > job.generation {
        return keep_promise_of_a_change(ports, timer, job.id).await;
    }
    erase(ports, timer).await
}

/// Rule **erase what you saw**, its second half: a late eraser makes sure of the successor first; and so does whoever
/// hints late, since that hint's executor will erase. The run may have been claimed by a hint of an earlier schedule.
pub async fn ensure_successor<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<(), Fault> {
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

/// Puts the record of what did not fire. False where a record is there already: the next look sees it.
pub async fn skip<D: Ports>(ports: &D, run: Run, why: Skip, span: Option<SkippedSpan>) -> Result<bool, Fault> {
    Ok(skipped(ports, run, why, span).await?.is_some())
}

/// The record, where it was put.
async fn skipped<D: Ports>(ports: &D, run: Run, why: Skip, span: Option<SkippedSpan>) -> Result<Option<Run>, Fault> {
    let record = run.skipped(why, span, ports.clock().now());
    let is_put = if owes(&record) {
        Box::pin(skip_and_settle(ports, &record)).await?
    } else {
        put_skipped(ports, &record).await?
    };
    Ok(is_put.then_some(record))
}

/// The same of a record whose end somebody is to be told of, or runs behind. It is born over: rule **nudge**, its look is promised before it is
/// written, since the timer in hand need not be its own; and whoever bears it settles it.
async fn skip_and_settle<D: Ports>(ports: &D, record: &Run) -> Result<bool, Fault> {
    let look = promise_look(ports, record).await?;
    if !put_skipped(ports, record).await? {
        return Ok(false); // the look sees what is there
    }
    if settle(ports, record).await? == Settled::Paid {
        erase(ports, &look).await?;
    }
    Ok(true)
}

async fn put_skipped<D: Ports>(ports: &D, record: &Run) -> Result<bool, Fault> {
    let put = ports.store().put(&record.tenant, record.key, record, Guard::Absent).await?;
    if put.is_written() {
        let now = record.finished_at().unwrap_or_else(|| ports.clock().now());
        ports.events().emit(&Event::Run { run: record, from: "scheduled", now });
    }
    Ok(put.is_written())
}
