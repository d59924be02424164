//! Taking over: a process that is alone with its store knows that the lease of every other process is a dead one's, and need
//! not wait until it ends. A worker elsewhere lives on, and so does its lease.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Bucket, Cursor, Store as _};
use minutehand_io::{Fault, Ports};

use super::forget_hints;
use crate::timers::hinting::hint;

const PAGE: usize = 1000;
/// The last process may have lived for so long behind its last pass; a while more, as a pass may be late.
const BETWEEN_PASSES: Duration = Duration::from_secs(120);
/// Buckets are looked into one by one: of a clock that was further ahead, leases end when they say.
const FURTHEST_AHEAD: Duration = Duration::from_secs(31 * 24 * 3600);

/// What a process that is alone with its store, and whose queues were in memory, does at its start: the runs that the last one had claimed are taken
/// over, and every hint is given again, from the first timer on. Says how many were taken over. What nobody can read is no reason not to start.
pub async fn start_over<D: Ports>(ports: &D, shard: u16, first: Option<Moment>) -> Result<u64, Fault> {
    let taken = take_over(ports, shard).await?; // before the cursor forgets how far ahead the last process's clock may have been
    match forget_hints(ports, shard, first).await {
        // The first pass makes it anew.
        Err(why) if why.is_of_an_item() => tracing::error!(shard, %why, "the cursor of the sweep cannot be read"),
        forgotten => forgotten?,
    }
    Ok(taken)
}

/// Hints every run whose timer was moved to the end of a dead process's lease; says how many. The timers that are due or
/// overdue are the first pass's. By a clock that was ahead a run may have begun before its instant comes once more: its timer is where the chain has it.
async fn take_over<D: Ports>(ports: &D, shard: u16) -> Result<u64, Fault> {
    if !ports.me().exclusive_store {
        return Ok(0);
    }
    let now = ports.clock().now();
    let mut taken = 0;
    let last = last_pass(ports, shard, now).await?;
    let begun_until = if last > now + pace::APART { last + BETWEEN_PASSES } else { Moment::EPOCH };
    for minute in pace::minute_of(now)..=pace::minute_of(last + pace::LONGEST_LEASE) {
        taken += take_over_bucket(ports, Bucket { minute, shard }, begun_until).await?;
    }
    Ok(taken)
}

/// When the last pass began by its own clock; one that was ahead gave leases that end later than ours would, too.
async fn last_pass<D: Ports>(ports: &D, shard: u16, now: Moment) -> Result<Moment, Fault> {
    let cursor = match ports.store().get::<Cursor>(&Tenant::deployment(), shard).await {
        Err(fault) if fault.is_of_an_item() => None,
        read => read?,
    };
    let swept_at = cursor.map_or(now, |seen| seen.item.swept_at);
    Ok(swept_at.clamp(now, now + FURTHEST_AHEAD))
}

async fn take_over_bucket<D: Ports>(ports: &D, bucket: Bucket, begun_until: Moment) -> Result<u64, Fault> {
    let (mut after, mut taken) = (None, 0);
    loop {
        let page = ports.store().timers(bucket, after, pace::end_of(bucket.minute), PAGE).await?;
        for timer in &page.items {
            taken += u64::from(take_over_run(ports, timer, begun_until).await?);
        }
        after = page.items.last().map(|timer| timer.key);
        if !page.more {
            return Ok(taken);
        }
    }
}

async fn take_over_run<D: Ports>(ports: &D, timer: &Timer, begun_until: Moment) -> Result<bool, Fault> {
    let key = match timer.key.obligation {
        Obligation::Calendar(_) | Obligation::Operation(_) => return Ok(false),
        // No timer of a claimed run that was moved is a link.
        Obligation::Occurrence(_) if timer.key.due > begun_until => return Ok(false),
        Obligation::Occurrence(_) | Obligation::MovedOccurrence(..) | Obligation::Run(_) => timer.key.run_key(),
    };
    let now = ports.clock().now();
    let run = match ports.store().get::<Run>(&timer.tenant, key).await {
        Ok(Some(seen)) => seen.item,
        // What this release cannot read is no reason not to start.
        Ok(None) => return Ok(false),
        Err(fault) if fault.is_of_an_item() => return Ok(false),
        Err(fault) => return Err(fault),
    };
    let dead = run.lease().is_some_and(|lease| lease.is_over(now, ports.me()));
    if dead {
        // It may also be the promise of a change: this hint's run must not erase it.
        hint(ports, run.priority.into(), &Hint::behind(timer, key, 0), now).await?;
    }
    Ok(dead)
}
