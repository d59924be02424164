//! Creating a job: its first timer, then its head, then its hint.
//!
//! Guard **idempotency put**: the job's id comes from tenant and key, and the head is put only where none is, so of any
//! number of racing creators one makes the job and the others are told of it.

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Doors, Fault};

use crate::bodies;
use crate::fire::fire_if_near;
use crate::promise::promise;

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
}

pub async fn create<D: Doors>(doors: &D, new: NewJob) -> Result<Created, Fault> {
    let there = doors.store().head(&new.tenant, new.id).await?;
    if let Some(Head::Job(job)) = there.as_ref().map(|seen| &seen.item) {
        return Ok(answer_of(job, &new));
    }
    let payload = bodies::keep(doors, &new.tenant, new.id, new.payload.clone(), INLINE_PAYLOAD_BYTES).await?;
    let job = job_of(&new, payload, there.as_ref());
    let promised = match job.first_promise() {
        Some(first) => {
            let key = TimerKey::occurrence(job.id, first);
            Some((first, promise(doors, &job.tenant, key, job.generation).await?))
        }
        None => None,
    };
    put_head(doors, new, job, there, promised).await
}

async fn put_head<D: Doors>(
    doors: &D,
    new: NewJob,
    job: Job,
    there: Option<Seen<Head>>,
    promised: Option<(Moment, Timer)>,
) -> Result<Created, Fault> {
    let guard = there.map_or(Guard::Absent, |seen| seen.guard());
    match doors.store().put_head(&Head::Job(job.clone()), guard).await? {
        Put::Written(_) => {
            doors.events().tell(&Event::Job { job: &job, what: "created" });
            if let Some((first, timer)) = promised {
                fire_if_near(doors, &job, first, &timer).await;
            }
            Ok(Created::New(job))
        }
        Put::Conflict(now_there) => Ok(match now_there.map(|seen| seen.item) {
            Some(Head::Job(theirs)) => answer_of(&theirs, &new),
            Some(Head::Tombstone { .. }) | None => Created::TooSlow,
        }),
    }
}

fn job_of(new: &NewJob, payload: Body, there: Option<&Seen<Head>>) -> Job {
    let definition = Definition { payload, ..new.definition.clone() };
    let epoch = there.map_or(0, |seen| seen.item.epoch());
    let job = Job::new(new.tenant.clone(), new.id, new.schedule.clone(), definition, epoch, new.now);
    Job { fingerprint: new.fingerprint, ..job }
}

fn answer_of(job: &Job, new: &NewJob) -> Created {
    if job.fingerprint == new.fingerprint { Created::Replayed(job.clone()) } else { Created::Taken }
}
