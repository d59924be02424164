//! Gaps: where an occurrence of a job is on record nowhere, and should have a timer. Behind the newest record, where the chain goes on;
//! and between two records, or before the first, where the chain left it behind. Of several in one gap the first is enough:
//! what becomes of the others is decided where it is looked at, as after any outage.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::retention::Retention;
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::keepings_of;
use crate::chain::forgetting::MOST_HINTED;
use crate::chain::standing::{Asked, Standing, standing};

/// Runs of a job read at once.
const PAGE: usize = 50;
/// Records of so many occurrences are looked at, from the newest: beyond, a job of each second would be gone through for days.
const MOST_RECORDS: usize = 100;
/// And of so many runs, as others lie between them: those that somebody began by hand, say.
const MOST_RUNS: usize = 1_000;

/// The first occurrence in each gap, oldest first.
pub(super) async fn without_a_record<D: Ports>(ports: &D, job: &Job) -> Result<Vec<Moment>, Fault> {
    let mut found = Vec::new();
    if job.next_after(job.remembered_since().just_before()).is_none() {
        return Ok(found); // it runs when somebody asks, and has no chain
    }
    for gap in between_records(ports, job).await? {
        found.extend(first_unborn(ports, job, gap).await?);
    }
    found.reverse();
    Ok(found)
}

/// From behind one record to the next newer one, newest first; a few of them hold an occurrence. By a clock that was ahead there may be more
/// records of what is to come than are read: then those before now are read too, and the gap between the two may hold others.
async fn between_records<D: Ports>(ports: &D, job: &Job) -> Result<Vec<Range<Moment>>, Fault> {
    let begin = job.remembered_since();
    // To the end of time: one that was cancelled ahead of its time has a record there.
    let mut within = RunsOf { job: job.id, window: begin..Moment::END };
    // What was on record before these may have expired since: a gap there says nothing. Between two records it may have been kept for as short as
    // can be: what a job said before its last change an earlier release did not remember.
    let (now, quota) = (ports.clock().now(), keepings_of(ports, &job.tenant).await?);
    let on_record = job.on_record_since(quota, now);
    let certain = job.certain_since(quota, now).max(job.changed_at.min(now - Retention::LEAST.span()));
    let certain_before = |newer| if newer == Moment::END { on_record } else { certain };
    let (mut gaps, mut newer, mut records, mut read, mut past) = (Vec::new(), Moment::END, 0, 0, None);
    loop {
        let page = ports.store().list::<Run>(&job.tenant, within.clone(), past, PAGE).await?;
        past = page.items.last().map(|run| run.key);
        read += page.items.len();
        for run in page.items.iter().filter(|run| run.key.is_occurrence()) {
            gaps.push(end_of(run, now).max(certain_before(newer))..newer);
            newer = run.key.at;
            records += 1;
        }
        let Some(oldest) = past.filter(|_| page.items.len() == PAGE) else {
            gaps.push(begin.just_before().max(certain)..newer);
            return Ok(gaps);
        };
        if records < MOST_RECORDS && read < MOST_RUNS {
            continue;
        }
        if !(now..within.window.end).contains(&newer) {
            // Of what was read, what is newer than this is no occurrence.
            gaps.push(oldest.at.max(certain_before(newer))..newer);
            return Ok(gaps);
        }
        (records, read, past, within.window.end) = (0, 0, None, now);
    }
}

/// Behind what a record speaks for. A coalescing one speaks for all but the one that fires in their stead.
fn end_of(run: &Run, now: Moment) -> Moment {
    run.replacement(now).map_or_else(|| run.span_end(now), Moment::just_before)
}

/// The first occurrence in a gap that nothing stands for. A clock that was ahead has recorded one by one what had been hinted: no more than that is
/// stepped over.
pub(in crate::sweep) async fn first_unborn<D: Ports>(
    ports: &D,
    job: &Job,
    gap: Range<Moment>,
) -> Result<Option<Moment>, Fault> {
    let mut behind = gap.start;
    for _ in 0..MOST_HINTED {
        let Some(at) = job.next_after(behind).filter(|at| *at < gap.end) else { return Ok(None) };
        behind = match standing(ports, &job.tenant, RunKey::occurrence(job.id, at), Asked::ByWhoDecides).await {
            Ok(Standing::Unborn(_)) => return Ok(Some(at)),
            // An older record speaks for it, up to there.
            Ok(Standing::Covered(_, coverage)) => coverage.covered.until.just_before().max(at),
            Ok(Standing::Recorded(_)) => at,
            Ok(Standing::NotAdmitted(_) | Standing::NoJob | Standing::NoRecord) => return Ok(None),
            // Something became of it, and a repair says of that record that nobody can read it.
            Err(why) if Discard::Corrupt.admits(&why) => at,
            Err(fault) => return Err(fault),
        };
    }
    Ok(None)
}
