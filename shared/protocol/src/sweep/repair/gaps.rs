//! Gaps: the occurrences of a job that nothing is on record of, and that should have a timer. The one after the newest record, where
//! the chain goes on; and those between two records, or before the first, that were left behind by the chain.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::standing::{Asked, Standing, standing};

/// Runs of a job read at once.
const PAGE: usize = 50;
/// So far back it is looked, from the newest: beyond, a job of each second would be gone through for days.
const MOST_RECORDS: usize = 100;
/// And so many instants without a record are asked for.
const MOST_GAPS: usize = 100;

/// Oldest first. Only the last may lie ahead.
pub(super) async fn without_a_record<D: Ports>(ports: &D, job: &Job, now: Moment) -> Result<Vec<Moment>, Fault> {
    let (mut gaps, mut newer, mut read, mut past) = (Vec::new(), None, 0, None);
    let within = RunsOf { job: job.id, window: Moment::EPOCH..now + 2 * pace::HORIZON };
    loop {
        let page = ports.store().list::<Run>(&job.tenant, within.clone(), past, PAGE).await?;
        past = page.items.last().map(|run| run.key);
        read += page.items.len();
        for run in page.items.iter().filter(|run| run.key.is_occurrence() && run.key.at >= begin(job)) {
            // What a coalescing record covers it speaks for; the one that fires in its stead is not.
            let behind = run.coalesced_until().map_or_else(|| run.span_end(), Moment::just_before);
            collect(job, behind, newer, &mut gaps);
            newer = Some(run.key.at);
        }
        if page.items.len() < PAGE {
            collect(job, begin(job).just_before(), newer, &mut gaps);
            break;
        }
        if read >= MOST_RECORDS || gaps.len() >= MOST_GAPS {
            break;
        }
    }
    gaps.sort_unstable();
    gaps.dedup();
    let mut left = Vec::new();
    for at in gaps {
        let key = RunKey::occurrence(job.id, at);
        if let Standing::Unborn(_) = standing(ports, &job.tenant, key, Asked::ByAnyone).await? {
            left.push(at);
        }
    }
    Ok(left)
}

/// From when on anything of it may fire.
fn begin(job: &Job) -> Moment {
    job.before.as_ref().map_or(job.since, |before| before.since)
}

/// The occurrences behind a record and before the next newer one; behind the newest only the one that comes next.
fn collect(job: &Job, behind: Moment, newer: Option<Moment>, gaps: &mut Vec<Moment>) {
    let mut next = job.next_after(behind);
    while let Some(at) = next.filter(|at| newer.is_none_or(|newer| *at < newer) && gaps.len() < MOST_GAPS) {
        gaps.push(at);
        next = if newer.is_some() { job.next_after(at) } else { None };
    }
}
