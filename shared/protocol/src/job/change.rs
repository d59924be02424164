//! Changing a job: if the change brings a schedule into force its first timer is promised, what it makes the job forget is
//! recorded, then the head is put.
//!
//! Who wants a change decides on the job as it is; where somebody was faster, it decides again.

use minutehand_domain::Moment;
use minutehand_domain::follow::NotToFollow;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal, Status};
use minutehand_domain::pace;
use minutehand_domain::run::Said;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::following::{leave, list_first};
use crate::bodies;
use crate::chain::dispatch::dispatch_if_near;
use crate::chain::forgetting::record_forgotten;
use crate::chain::taken::record_taken;
use crate::contention::Contention;
use crate::job::heed::{NotHeeded, heeding};
use crate::lookup::seen_job_of;
use crate::run::withdrawal::follow_its_job;
use crate::timers::promise::promise;

/// Tries against others who change the same job at the same time.
const TRIES: u32 = 16;

/// What somebody wants of a job, whatever it is by then.
pub trait Want: Sync {
    type No: From<Fault>;

    /// The change that this job needs; none where it is as it is wanted.
    fn of(&self, job: &Job) -> impl Future<Output = Result<Option<Change>, Self::No>> + Send;

    /// Who wants it and why, where that is to be kept.
    fn said(&self) -> Said<'_> {
        Said::default()
    }
}

/// The same of every job.
impl Want for Change {
    type No = Fault;

    async fn of(&self, _job: &Job) -> Result<Option<Change>, Fault> {
        Ok(Some(self.clone()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Done(Job),
    /// Nothing was wanted of it as it is.
    AsItWas(Job),
    /// The job says no; here is how it stands.
    Refused(JobRefusal, Job),
    /// The job that it is to run behind does not let it.
    NotToFollow(NotToFollow),
    NotFound,
    /// Its schedule names calendars that it cannot heed.
    NotHeeded(NotHeeded),
}

impl Changed {
    /// Whether the job is as it was to be, since now or since before.
    pub fn is_as_wanted(&self) -> bool {
        match self {
            Self::Done(_)
            | Self::AsItWas(_)
            | Self::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, _) => true,
            Self::Refused(..) | Self::NotToFollow(_) | Self::NotFound | Self::NotHeeded(_) => false,
        }
    }
}

/// Changes the job to what is wanted of it.
pub async fn change<D: Ports, W: Want>(ports: &D, tenant: &Tenant, id: JobId, want: &W) -> Result<Changed, W::No> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let read_at = ports.clock().now(); // before the read: its answer may have been long on its way
        let Some(seen) = seen_job_of(ports, tenant, id).await? else { return Ok(Changed::NotFound) };
        let Some(change) = want.of(&seen.item).await? else { return Ok(Changed::AsItWas(seen.item)) };
        if let Some(changed) = change_as_seen(ports, (&seen, read_at), &change, want.said()).await? {
            return Ok(changed);
        }
    }
    Err(Fault::unavailable("job", "it is being changed by too many at once").into())
}

/// Changes the job if it still is as it was seen; none where it is not, or where this took so long that the decision must
/// be made again.
async fn change_as_seen<D: Ports>(
    ports: &D,
    (seen, read_at): (&Seen<Job>, Moment),
    change: &Change,
    said: Said<'_>,
) -> Result<Option<Changed>, Fault> {
    let (job, now) = (&seen.item, ports.clock().now());
    let change = match heeding(ports, &job.tenant, job.id, change.clone()).await? {
        Ok(change) => change,
        Err(not_heeded) => return Ok(Some(Changed::NotHeeded(not_heeded))),
    };
    let next = match job.after(&change, now) {
        Ok(next) => next.noted(&change, said),
        Err(refusal) => return Ok(Some(Changed::Refused(refusal, job.clone()))),
    };
    if next.follows() != job.follows()
        && let Err(no) = list_first(ports, &next).await?
    {
        return Ok(Some(Changed::NotToFollow(no)));
    }
    let promised = promise_first(ports, job, &next).await?;
    record_taken_until(ports, job, read_at).await?;
    record_forgotten(ports, job, &next).await?;
    if ports.clock().now().since(now) > pace::STALE_READ {
        return Ok(None); // decided on an old clock
    }
    let head = Head::Job(next.clone());
    if !ports.store().put(head.tenant(), head.id(), &head, seen.guard()).await?.is_written() {
        return Ok(None);
    }
    ports.events().emit(&Event::Job { job: &next, what: word_for(&change) });
    if change == Change::Delete
        && let Err(fault) = bodies::let_go(ports, &next).await
    {
        tracing::warn!(tenant = next.tenant.as_str(), job = %next.id, %fault, "the payload of a deleted job stays");
    }
    if let Some((front, _)) = job.follows() {
        let _whoever_settles_an_end_does_it_again = leave(ports, &next, front).await;
    }
    let _its_next_look_does_it = follow_its_job(ports, job, &next).await;
    if let Some((first, timer)) = promised {
        dispatch_if_near(ports, &next, first, &timer).await;
    }
    Ok(Some(Changed::Done(next)))
}

/// What calendars took until the job was read is on record before another schedule is in force, or none.
async fn record_taken_until<D: Ports>(ports: &D, job: &Job, read_at: Moment) -> Result<(), Fault> {
    if job.status == Status::Active { record_taken(ports, job, read_at).await } else { Ok(()) }
}

/// A schedule newly in force is promised before the head says so. A change of payload or tags promises nothing new.
async fn promise_first<D: Ports>(ports: &D, job: &Job, next: &Job) -> Result<Option<(Moment, Timer)>, Fault> {
    let Some(first) = next.first_promise().filter(|_| next.goes_by_another_schedule(job)) else { return Ok(None) };
    let timer = promise(ports, &next.tenant, TimerKey::occurrence(next.id, first), next.generation).await?;
    Ok(Some((first, timer)))
}

fn word_for(change: &Change) -> &'static str {
    match change {
        Change::Pause => "paused",
        Change::Resume => "resumed",
        Change::Delete => "deleted",
        Change::Edit { schedule: Some(_), .. } => "rescheduled",
        Change::Edit { schedule: None, .. } => "changed",
    }
}
