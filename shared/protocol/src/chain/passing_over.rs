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
use minutehand_io::{Fault, Ports};

use crate::born::born;
use crate::chain::dispatch::Dispatched;
use crate::chain::followed::Followed;
use crate::chain::links::{forgone_gap, promise_gap};
use crate::chain::pending_change::keep_promise_of_a_change;
use crate::chain::taken::{record_taken, record_taken_between};
use crate::graph::owed::owes;
use crate::graph::settle::{Settled, settle};
use crate::graph::stop::promise_look;
use crate::timers::promise::erase;

/// Puts the record of what does not fire, after the timer of its successor. What another record speaks for gets its own all
/// the same before its timer goes: an executor that slept over its claim would otherwise begin a run here that no timer
/// stands behind. And that record may be of a schedule that was in force before: its last occurrence need not be followed by
/// one of today's.
pub async fn pass_over<D: Ports>(
    ports: &D,
    timer: &Timer,
    (job, key): (&Job, RunKey),
    from: &'static str,
    (why, span): (Skip, Option<SkippedSpan>),
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    ensure_successor(ports, job, span.map_or(key.at, |span| span.until), &dispatched.followed).await?;
    record_taken(ports, job, key.at).await?;
    if let Some(span) = span {
        record_taken_between(ports, job, key.at, span.until).await?;
    }
    if skip(ports, job.run(key), from, why, span).await? {
        erase_unless_change_pending(ports, timer, job).await
    } else {
        Ok(())
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
pub(crate) async fn ensure_successor<D: Ports>(
    ports: &D,
    job: &Job,
    t: Moment,
    followed: &Followed,
) -> Result<(), Fault> {
    record_forgone(ports, job, t, followed).await?;
    if job.status != Status::Active {
        return Ok(());
    }
    let Some(next) = job.next_after(t) else { return Ok(()) };
    promise_gap(ports, job, next, followed).await.map(|_promised| ())
}

/// The chain broke before a change took its occurrences: one record says so for all of them.
async fn record_forgone<D: Ports>(ports: &D, job: &Job, t: Moment, followed: &Followed) -> Result<(), Fault> {
    if let Some((forgone, why)) = forgone_gap(ports, job, t, followed).await? {
        let run = job.run(RunKey::occurrence(job.id, forgone));
        let span = job.refused_with(forgone, why);
        let _a_record_is_there_now = skip(ports, run, "scheduled", why.into(), Some(span)).await?;
    }
    Ok(())
}

/// Puts the record of what did not fire. It is born over, so whoever bears it settles it; rule **nudge**: where it owes anything its look is
/// promised before it is written, since the timer in hand need not be its own. False where a record is there already, or not all whom it
/// concerns could be told: the next look sees to it.
pub async fn skip<D: Ports>(
    ports: &D,
    run: Run,
    from: &'static str,
    why: Skip,
    span: Option<SkippedSpan>,
) -> Result<bool, Fault> {
    let now = ports.clock().now();
    let record = run.skipped(why, span, now);
    let look = if owes(&record) { Some(promise_look(ports, &record).await?) } else { None };
    if !born(ports, &record, from, now).await?.is_written() {
        return Ok(false);
    }
    let is_settled = settle(ports, &record).await? == Settled::Paid;
    match look {
        Some(look) if is_settled => erase(ports, &look).await.map(|()| true),
        Some(_it_sees_to_the_rest) => Ok(true),
        None => Ok(is_settled),
    }
}
