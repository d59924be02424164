//! Changing a job: if the change brings a schedule into force its first timer is promised, then the head is put.

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal};
use minutehand_domain::pace;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Doors, Fault};

use crate::fire::fire_if_near;
use crate::promise::promise;

/// Tries against others who change the same job at the same time.
const TRIES: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Done(Job),
    /// The job says no; here is how it stands.
    Refused(JobRefusal, Job),
    NotFound,
}

pub async fn change<D: Doors>(doors: &D, tenant: &Tenant, id: JobId, change: &Change) -> Result<Changed, Fault> {
    for _ in 0..TRIES {
        let Some((seen, job)) = read(doors, tenant, id).await? else { return Ok(Changed::NotFound) };
        let now = doors.clock().now();
        let next = match job.after(change, now) {
            Ok(next) => next,
            Err(refusal) => return Ok(Changed::Refused(refusal, job)),
        };
        let promised = promise_first(doors, &job, &next).await?;
        if doors.clock().now().since(now) > pace::STALE {
            continue; // decided on an old clock: decide again
        }
        if doors.store().put_head(&Head::Job(next.clone()), seen.guard()).await?.is_written() {
            doors.events().tell(&Event::Job { job: &next, what: word_for(change) });
            if let Some((first, timer)) = promised {
                fire_if_near(doors, &next, first, &timer).await;
            }
            return Ok(Changed::Done(next));
        }
    }
    Err(Fault::unavailable("job", "it is being changed by too many at once"))
}

async fn read<D: Doors>(doors: &D, tenant: &Tenant, id: JobId) -> Result<Option<(Seen<Head>, Job)>, Fault> {
    let seen = doors.store().head(tenant, id).await?;
    Ok(seen.and_then(|seen| seen.item.job().cloned().map(|job| (seen, job))))
}

/// A schedule newly in force is promised before the head says so. A change of payload or tags promises nothing new.
async fn promise_first<D: Doors>(doors: &D, job: &Job, next: &Job) -> Result<Option<(Moment, Timer)>, Fault> {
    let Some(first) = next.first_promise().filter(|_| next.since != job.since) else { return Ok(None) };
    let timer = promise(doors, &next.tenant, TimerKey::occurrence(next.id, first), next.generation).await?;
    Ok(Some((first, timer)))
}

fn word_for(change: &Change) -> &'static str {
    match change {
        Change::Pause => "paused",
        Change::Resume => "resumed",
        Change::Delete => "deleted",
        Change::Reschedule(_) => "rescheduled",
        Change::Define(_) => "changed",
    }
}
