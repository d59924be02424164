//! Creating a job: its first timer, or its entry in the list of the job that it runs behind; then its head, then its hint.
//!
//! Guard **idempotency put**: the job's id comes from tenant and key, and the head is put only where none is, so of any
//! number of racing creators one makes the job and the others are told of it.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::follow::NotToFollow;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_domain::trace::TraceContext;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::following::list_first;
use crate::bodies;
use crate::chain::dispatch::dispatch_if_near;
use crate::job::heed::{NotHeeded, heed};
use crate::lookup::knowing;
use crate::timers::promise::promise;

/// What a client asks for, parsed.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub tenant: Tenant,
    pub id: JobId,
    pub schedule: Schedule,
    /// Its payload is empty still: `payload` goes there, or apart.
    pub definition: Definition,
    pub payload: Option<Json>,
    pub fingerprint: Option<Fingerprint>,
    /// The trace that the request was made in.
    pub trace: Option<TraceContext>,
    /// When the request was understood: what `now` meant to the schedule.
    pub now: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    New(Job),
    /// The same request made it before.
    Replayed(Job),
    /// The key belongs to another request.
    Taken,
    /// This creator slept so long that its promise was given up as an orphan: ask again.
    TooSlow,
    /// Its schedule names calendars that it cannot heed.
    NotHeeded(NotHeeded),
    /// The job that it is to run behind does not let it.
    NotToFollow(NotToFollow),
}

/// Tries against changes of the calendars that it names: who changes one refuses whoever has read it before.
const TRIES: u32 = 8;

pub async fn create<D: Ports>(ports: &D, new: NewJob) -> Result<Created, Fault> {
    if new.schedule.observance.is_none() {
        let there = existing_head(ports, &new).await?;
        return create_beside(ports, new, there).await;
    }
    for number in 0..TRIES {
        let there = if number == 0 {
            existing_head(ports, &new).await?
        } else {
            ports.store().get::<Head>(&new.tenant, new.id).await?
        };
        match heeding(ports, &new, there).await? {
            Created::TooSlow => {}
            created => return Ok(created),
        }
    }
    Ok(Created::TooSlow)
}

/// A job whose schedule heeds calendars.
async fn heeding<D: Ports>(ports: &D, new: &NewJob, there: Option<Seen<Head>>) -> Result<Created, Fault> {
    if let Some(Head::Job(job)) = there.as_ref().map(|seen| &seen.item) {
        return Ok(answer_of(&knowing(ports, job.clone()).await?, new.fingerprint));
    }
    match heed(ports, &new.tenant, new.id, new.schedule.clone()).await? {
        Ok(schedule) => create_beside(ports, NewJob { schedule, ..new.clone() }, there).await,
        Err(not_heeded) => Ok(Created::NotHeeded(not_heeded)),
    }
}

async fn create_beside<D: Ports>(ports: &D, new: NewJob, there: Option<Seen<Head>>) -> Result<Created, Fault> {
    if let Some(Head::Job(job)) = there.as_ref().map(|seen| &seen.item) {
        return Ok(answer_of(&knowing(ports, job.clone()).await?, new.fingerprint));
    }
    let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
    let job = job_of(ports, new, there.map_or(0, |seen| seen.item.epoch())).await?;
    if let Err(no) = list_first(ports, &job).await? {
        return Ok(Created::NotToFollow(no));
    }
    let promised = match job.first_promise() {
        Some(first) => {
            let key = TimerKey::occurrence(job.id, first);
            Some((first, promise(ports, &job.tenant, key, job.generation).await?))
        }
        None => None,
    };
    put_head(ports, job, guard, promised).await
}

/// An id that was not made from a key is this creator's own: nobody can be there.
async fn existing_head<D: Ports>(ports: &D, new: &NewJob) -> Result<Option<Seen<Head>>, Fault> {
    match new.fingerprint {
        Some(_) => ports.store().get::<Head>(&new.tenant, new.id).await,
        None => Ok(None),
    }
}

async fn job_of<D: Ports>(ports: &D, new: NewJob, epoch: u32) -> Result<Job, Fault> {
    let payload = bodies::keep(ports, &new.tenant, new.id, new.payload, INLINE_PAYLOAD_BYTES).await?;
    let definition = Definition { payload, ..new.definition };
    let job = Job::new(new.tenant, new.id, new.schedule, definition, epoch, new.now);
    Ok(Job { fingerprint: new.fingerprint, trace: new.trace, ..job })
}

async fn put_head<D: Ports>(
    ports: &D,
    job: Job,
    guard: Guard,
    promised: Option<(Moment, Timer)>,
) -> Result<Created, Fault> {
    let fingerprint = job.fingerprint;
    let head = Head::Job(job);
    let put = ports.store().put(head.tenant(), head.id(), &head, guard).await?;
    match (put, head) {
        (Put::Written(_), Head::Job(job)) => {
            ports.events().emit(&Event::Job { job: &job, what: "created" });
            if let Some((first, timer)) = promised {
                dispatch_if_near(ports, &job, first, &timer).await;
            }
            Ok(Created::New(job))
        }
        (Put::Conflict(Some(Seen { item: Head::Job(theirs), .. })), _) => {
            Ok(answer_of(&knowing(ports, theirs).await?, fingerprint))
        }
        (Put::Written(_) | Put::Conflict(_), _) => Ok(Created::TooSlow),
    }
}

fn answer_of(job: &Job, fingerprint: Option<Fingerprint>) -> Created {
    if job.fingerprint == fingerprint { Created::Replayed(job.clone()) } else { Created::Taken }
}
