//! Turns in catching up: when an occurrence begins that is made up for. What an outage held up begins one after the other, at a pace of its
//! tenant and, where its job names one, at the job's; and what is more urgent begins first.
//!
//! Each priority has a pace of its own, and takes no instant before those that were put by for what is more urgent. So nothing waits for what
//! is less urgent; and who comes to its turn while what is more urgent has turns asks for another.

use std::collections::BTreeMap;

use futures_util::lock::Mutex;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::Job;
use minutehand_domain::priority::Priority;
use minutehand_domain::slot::{Pace, SlotId, interval};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// Tries against others that put an instant by at the same time: each try that fails is one that another had.
const TRIES: u32 = 256;
/// Instants that a pass puts by at once, once it has used as many: what is left of them when it ends is lost.
const MOST_AT_ONCE: u32 = 32;

/// When it begins, and how many do in a minute: of its job where that says so, or else of its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub at: Moment,
    pub per_minute: u32,
}

/// The next turn would be then, which is too late for it: none was put by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate(pub Moment);

/// What one pass has put by and not used yet: the first asks for one, who comes after it for ever more at once. Many would else ask for one
/// each, and all of them write one item.
#[derive(Debug, Default)]
pub struct Turns(Mutex<BTreeMap<(Tenant, Priority), Block>>);

#[derive(Clone, Copy, Debug)]
struct Block {
    /// By a clock that may be set back behind it.
    asked_at: Moment,
    next: Moment,
    left: u32,
    size: u32,
}

/// The turn of an occurrence of this job at `t`, if it is not too late for it then.
pub async fn turn<D: Ports>(ports: &D, job: &Job, t: Moment, of_pass: &Turns) -> Result<Result<Turn, TooLate>, Fault> {
    let limits = ports.quotas().of(ports.store(), &job.tenant, ports.clock().now()).await;
    let per_minute = limits.catch_up_per_minute();
    let among_all = match of_pass.next(ports, job, t, per_minute).await? {
        Ok(at) => at,
        Err(too_late) => return Ok(Err(too_late)),
    };
    let Some(of_job) = job.definition.catch_up.per_minute() else {
        return Ok(Ok(Turn { at: among_all, per_minute }));
    };
    let asked =
        Asked { tenant: &job.tenant, id: Pace::of_job(job.id, &job.tenant), from: among_all, per_minute: of_job };
    let own = put_by(ports, asked, 1, |at| !job.is_too_late(t, at)).await?;
    Ok(own.map(|at| Turn { at, per_minute: of_job.min(per_minute) }))
}

/// Whether something more urgent has turns that have not come yet.
pub async fn is_behind_others<D: Ports>(ports: &D, job: &Job) -> Result<bool, Fault> {
    let now = ports.clock().now();
    Ok(after_what_is_more_urgent(ports, job, now).await? > now)
}

impl Turns {
    async fn next<D: Ports>(
        &self,
        ports: &D,
        job: &Job,
        t: Moment,
        per_minute: u32,
    ) -> Result<Result<Moment, TooLate>, Fault> {
        let (tenant, priority) = (&job.tenant, job.definition.priority);
        let mut blocks = self.0.lock().await;
        let now = ports.clock().now();
        let there = blocks.get(&(tenant.clone(), priority)).copied();
        let (block, at) = match there.filter(|block| block.left > 0 && (block.asked_at..=block.next).contains(&now)) {
            Some(block) if job.is_too_late(t, block.next) => return Ok(Err(TooLate(block.next))),
            Some(block) => (block, block.next),
            None => {
                let size = there.map_or(1, |block| (block.size * 2).min(MOST_AT_ONCE)).min(per_minute.div_ceil(20));
                let from = after_what_is_more_urgent(ports, job, now).await?;
                let asked = Asked { tenant, id: Pace::of_priority(priority, tenant), from, per_minute };
                match put_by(ports, asked, size, |at| !job.is_too_late(t, at)).await? {
                    Ok(at) => (Block { asked_at: now, next: at, left: size, size }, at),
                    Err(too_late) => return Ok(Err(too_late)),
                }
            }
        };
        let rest = Block { next: at + interval(per_minute), left: block.left - 1, ..block };
        blocks.insert((tenant.clone(), priority), rest);
        Ok(Ok(at))
    }
}

/// When the last of what is more urgent has had its turn, as far as those were put by.
async fn after_what_is_more_urgent<D: Ports>(ports: &D, job: &Job, now: Moment) -> Result<Moment, Fault> {
    let mut after = now;
    for more_urgent in Priority::ALL.into_iter().filter(|other| *other < job.definition.priority) {
        let pace = ports.store().get::<Pace>(&job.tenant, Pace::of_priority(more_urgent, &job.tenant)).await?;
        after = pace.map_or(after, |seen| after.max(seen.item.believed(now).next));
    }
    Ok(after)
}

struct Asked<'a> {
    tenant: &'a Tenant,
    id: SlotId,
    /// No earlier than this.
    from: Moment,
    per_minute: u32,
}

/// Puts instants by that are nobody else's, whether they are used or not; none where the first of them is of no use.
async fn put_by<D: Ports>(
    ports: &D,
    asked: Asked<'_>,
    count: u32,
    is_of_use: impl Fn(Moment) -> bool,
) -> Result<Result<Moment, TooLate>, Fault> {
    let Asked { tenant, id, from, per_minute } = asked;
    let mut there = ports.store().get::<Pace>(tenant, id).await?;
    for _ in 0..TRIES {
        let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
        let now = ports.clock().now();
        let pace = there.map_or(Pace::from(now), |seen| seen.item);
        let (first, next) = pace.after_several(from, now, interval(per_minute), count);
        if !is_of_use(first) {
            return Ok(Err(TooLate(first)));
        }
        match ports.store().put(tenant, id, &next, guard).await? {
            Put::Written(_) => return Ok(Ok(first)),
            Put::Conflict(now_there) => there = now_there,
        }
    }
    Err(Fault::unavailable("the pace of catching up", "it is taken by too many at once"))
}
