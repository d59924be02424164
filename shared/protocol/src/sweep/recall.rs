//! Recalling: what a clock that was ahead has put off, to a time that has not come, is due now, as its record has it too; and a chain that went on
//! behind what is to come, which was an outage by that clock, goes on from now as well. Only where one process has the store to itself: its clock is
//! the only one, and all its timers are at hand.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{NotAdmitted, Status};
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

/// What was done, and of which jobs the first link was met.
#[derive(Default)]
struct Recalled {
    timers: usize,
    chains: usize,
    met: BTreeSet<JobId>,
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
            self.see_to_chains(ports, links_to_come(&page.items, now), now).await?;
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

    async fn see_to_chains<D: Ports>(&mut self, ports: &D, mut links: Links<'_>, now: Moment) -> Result<(), Fault> {
        links.retain(|(_tenant, job), _| !self.met.contains(job));
        let links: Vec<_> = links.into_iter().collect();
        for some in links.chunks(AT_ONCE) {
            let chains = some.iter().map(|((tenant, job), links)| begin_anew(ports, tenant, *job, links, now));
            for (((_tenant, job), _), chain) in some.iter().zip(try_join_all(chains).await?) {
                self.chains += usize::from(matches!(chain, Chain::BeganAnew));
                if !matches!(chain, Chain::IsElsewhere) {
                    self.met.insert(*job);
                }
            }
        }
        Ok(())
    }
}

/// Links of each job, the first one first.
type Links<'a> = BTreeMap<(&'a Tenant, JobId), Vec<&'a Timer>>;

fn links_to_come(timers: &[Timer], now: Moment) -> Links<'_> {
    let mut links = Links::new();
    for link in timers.iter().filter(|timer| is_link_to_come(timer, now)) {
        links.entry((&link.tenant, link.key.run_key().job)).or_default().push(link);
    }
    links
}

/// What some links say of the chain of their job.
enum Chain {
    /// What is left of another schedule is no link of it.
    IsElsewhere,
    GoesOn,
    BeganAnew,
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
async fn begin_anew<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    links: &[&Timer],
    now: Moment,
) -> Result<Chain, Fault> {
    match promise_before(ports, tenant, job, links, now).await {
        Err(why) if why.is_of_an_item() => {
            tracing::error!(%job, %why, "a job cannot be read: its chain may have a gap");
            Ok(Chain::GoesOn)
        }
        promised => promised,
    }
}

/// Promises the first occurrence that is to come before the first link of a chain and has no record: by a clock that was ahead it was part of an
/// outage, whose record speaks for nothing that is to come. What is past remains passed over: one has run in its stead.
async fn promise_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: JobId,
    links: &[&Timer],
    now: Moment,
) -> Result<Chain, Fault> {
    let Some(job) = job_of(ports, tenant, id).await?.filter(|job| job.status == Status::Active) else {
        return Ok(Chain::GoesOn);
    };
    let mut instants = links.iter().map(|link| link.key.run_key().at);
    // A change that keeps the schedule leaves its links as they are: their generation says nothing.
    let is_of_its_chain = |at: &Moment| job.admits(*at) != Err(NotAdmitted::Superseded);
    let Some(first) = instants.find(is_of_its_chain) else { return Ok(Chain::IsElsewhere) };
    let Some(next) = first_unborn(ports, &job, now..first).await? else { return Ok(Chain::GoesOn) };
    promise(ports, tenant, TimerKey::occurrence(id, next), job.generation).await?;
    Ok(Chain::BeganAnew)
}
