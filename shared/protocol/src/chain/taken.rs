//! What calendars took: the records of fires that did not come, put by whoever makes the first record of the fire behind them.
//!
//! Rule **told before what follows**: a calendar decides of instants to come, and may be changed until they are past; so what it took is put
//! on record once it is past, and before the next thing of its job: the run behind it, or a change of the job. Until then nobody misses it:
//! the timer of that run stands. Each record is put where none is, so that it may be done twice.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Taken};
use minutehand_domain::run::{Run, Skip, SkippedSpan, State};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Put;
use minutehand_io::{Fault, Ports};

/// Records of one look: between two fires there is one row, or as many as were cut by a change.
const ROWS: usize = 16;
/// Fires that are passed on the way to a row: in an outage there may be many, and nothing was taken between most of them.
const FIRES: usize = 10_000;

/// Records what calendars took before the fire at `t`, behind the one before it.
pub async fn record_taken<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<(), Fault> {
    if !job.heeds_calendars() {
        return Ok(());
    }
    record_taken_between(ports, job, job.last_before(t).unwrap_or(Moment::EPOCH), t).await
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

/// A row ends before the next fire: what was taken behind that is another.
fn next_row(job: &Job, from: Moment, until: Moment) -> Option<Taken> {
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

/// Up to where a record tells what was taken.
async fn record<D: Ports>(ports: &D, job: &Job, taken: &Taken) -> Result<Moment, Fault> {
    let now = ports.clock().now();
    let span = (taken.count > 1).then_some(SkippedSpan { until: taken.last, count: Some(taken.count) });
    let run = job.run(RunKey::occurrence(job.id, taken.first)).skipped(Skip::Calendar, span, now);
    let run = Run { told: Some(taken.told.clone()), sla: None, ..run };
    match born(ports, &run, "scheduled", now).await? {
        Put::Written(_) => Ok(taken.last),
        Put::Conflict(there) => Ok(there.map_or(taken.first, |seen| told_up_to(&seen.item))),
    }
}

fn told_up_to(run: &Run) -> Moment {
    if matches!(run.state, State::Skipped { why: Skip::Calendar, .. }) { run.span_end() } else { run.key.at }
}
use crate::born::born;
