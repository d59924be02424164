//! Recalling: what a clock that was ahead has put off, to a time that has not come, is due now, as its record has it too; and a chain that went on
//! behind what is to come, which was an outage by that clock, goes on from now as well. Only where one process has the store to itself: its clock is
//! the only one, and all its timers are at hand.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::Status;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Bucket, FirstBucket, Store as _};
use minutehand_io::{Fault, Ports};

use super::repair::gaps::first_unborn;
use super::{AT_ONCE, PAGE};
use crate::lookup::job_of;
use crate::timers::promise::{move_there, promise};

/// What was done, and of which jobs the first link was met, for each generation: one may be left of an earlier schedule, and before it there is nothing of
/// this one. Not only of the job's own, as a change that keeps the schedule leaves its links as they are.
#[derive(Default)]
struct Recalled {
    timers: usize,
    chains: usize,
    met: BTreeSet<(JobId, u64)>,
}

/// Goes through all timers that are to come, moves what such a clock put off, and promises what it passed over.
pub(super) async fn recall<D: Ports>(ports: &D, shard: u16, now: Moment) -> Result<(), Fault> {
    if !ports.me().exclusive_store {
        return Ok(());
    }
    let (mut recalled, mut minute) = (Recalled::default(), pace::minute_of(now));
    while let FirstBucket::At(first) = ports.store().first_bucket(shard, minute).await? {
        recalled.bucket(ports, Bucket { minute: first, shard }, now).await?;
        minute = first + 1;
    }
    let Recalled { timers, chains, .. } = recalled;
    if timers > 0 {
        tracing::warn!(
            shard,
            recalled = timers,
            "timers were put off by a clock that was ahead: they are looked at now"
        );
    }
    if chains > 0 {
        tracing::warn!(
            shard,
            jobs = chains,
            "what is yet to come was passed over by a clock that was ahead: it runs after all"
        );
    }
    Ok(())
}

impl Recalled {
    /// Chains first: the pass after one that died midway meets their links again, as they were.
    async fn bucket<D: Ports>(&mut self, ports: &D, bucket: Bucket, now: Moment) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let page = ports.store().timers(bucket, after, Moment::END, PAGE).await?;
            let (last, more) = (page.items.last().map(|timer| timer.key), page.more);
            let is_first_link = |timer: &&Timer| {
                is_link_to_come(timer, now) && self.met.insert((timer.key.run_key().job, timer.stamp.generation))
            };
            let links: Vec<_> = page.items.iter().filter(is_first_link).collect();
            for some in links.chunks(AT_ONCE) {
                let begun = try_join_all(some.iter().map(|link| begin_anew(ports, link, now))).await?;
                self.chains += begun.into_iter().filter(|has_begun| *has_begun).count();
            }
            let put_off: Vec<_> =
                page.items.into_iter().filter_map(|timer| Some((timer.recalled(now)?, timer))).collect();
            for some in put_off.chunks(AT_ONCE) {
                try_join_all(some.iter().map(|(there, timer)| take_back(ports, timer, *there))).await?;
            }
            self.timers += put_off.len();
            if !more {
                return Ok(());
            }
            after = last;
        }
    }
}

/// What its run says first: whoever dies between the two meets the timer again, and what has been taken back stays as it is.
async fn take_back<D: Ports>(ports: &D, timer: &Timer, there: TimerKey) -> Result<(), Fault> {
    if matches!(timer.key.obligation, Obligation::MovedOccurrence(..) | Obligation::Run(_)) {
        recall_run(ports, timer, there.due).await?;
    }
    move_there(ports, timer, there).await.map(drop)
}

/// Where somebody is faster the look at it finds what is so; what nobody can read stops nothing beside it.
async fn recall_run<D: Ports>(ports: &D, timer: &Timer, soon: Moment) -> Result<(), Fault> {
    let key = timer.key.run_key();
    let seen = match ports.store().get::<Run>(&timer.tenant, key).await {
        Err(why) if why.is_of_an_item() => return Ok(()),
        read => read?,
    };
    let Some(seen) = seen else { return Ok(()) };
    let Some(recalled) = seen.item.recalled(soon) else { return Ok(()) };
    if ports.store().put(&timer.tenant, key, &recalled, seen.guard()).await?.is_written() {
        ports.events().changed(&seen.item, &recalled, ports.clock().now());
    }
    Ok(())
}

/// Of an occurrence that is past the look at it sees to what comes behind it.
fn is_link_to_come(timer: &Timer, now: Moment) -> bool {
    let is_link = matches!(timer.key.obligation, Obligation::Occurrence(_) | Obligation::MovedOccurrence(..));
    is_link && timer.key.run_key().at > now
}

/// What nobody can read stops nothing beside it.
async fn begin_anew<D: Ports>(ports: &D, link: &Timer, now: Moment) -> Result<bool, Fault> {
    match promise_before(ports, link, now).await {
        Err(why) if why.is_of_an_item() => {
            tracing::error!(job = %link.key.run_key().job, %why, "a job cannot be read: its chain may have a gap");
            Ok(false)
        }
        promised => promised,
    }
}

/// Promises the first occurrence that is to come before the first link of a chain and has no record: by a clock that was ahead it was part of an
/// outage, whose record speaks for nothing that is to come. What is past remains passed over: one has run in its stead.
async fn promise_before<D: Ports>(ports: &D, link: &Timer, now: Moment) -> Result<bool, Fault> {
    let RunKey { job: id, at: first, .. } = link.key.run_key();
    let Some(job) = job_of(ports, &link.tenant, id).await?.filter(|job| job.status == Status::Active) else {
        return Ok(false);
    };
    let Some(next) = first_unborn(ports, &job, now..first).await? else { return Ok(false) };
    promise(ports, &job.tenant, TimerKey::occurrence(id, next), job.generation).await?;
    Ok(true)
}
