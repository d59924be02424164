//! Cancelling a run: one that waits is ended, one that runs is not tried again, an occurrence nobody has claimed gets
//! its record now, after the timer of its successor.

use minutehand_domain::access::By;
use minutehand_domain::id::{Origin, RunKey, Tenant};
use minutehand_domain::run::{Event as RunEvent, Refusal, Run};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::coverage::covered;
use crate::lookup::job_of;
use crate::promise::promise_successor;

/// Tries against an executor that claims or finishes the same run.
const TRIES: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    Done(Run),
    Refused(Refusal, Run),
    NotFound,
}

pub async fn cancel<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, by: &By) -> Result<Cancelled, Fault> {
    for _ in 0..TRIES {
        let seen = ports.store().run(tenant, key).await?;
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        let run = match seen {
            Some(seen) => seen.item,
            None => match unclaimed(ports, tenant, key).await? {
                Some(run) => run,
                None => return Ok(Cancelled::NotFound),
            },
        };
        let now = ports.clock().now();
        let next = match run.after(&RunEvent::Cancel { by: Some(by) }, now) {
            Ok(next) => next,
            Err(refusal) => return Ok(Cancelled::Refused(refusal, run)),
        };
        if ports.store().put_run(&next, guard).await?.is_written() {
            ports.events().emit(&Event::Run { run: &next, from: run.status(now), now });
            return Ok(Cancelled::Done(next));
        }
    }
    Err(Fault::unavailable("run", "it is being changed by too many at once"))
}

/// An occurrence without a record, its successor promised. A record is like a hint: the successor comes first. One that the
/// record of an outage speaks for is over, as that says.
async fn unclaimed<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Run>, Fault> {
    let Some(job) = job_of(ports, tenant, key.job).await? else { return Ok(None) };
    if key.origin != Origin::Schedule || job.admits(key.at).is_err() {
        return Ok(None);
    }
    let now = ports.clock().now();
    if key.at <= now
        && let Some(covered) = covered(ports, tenant, key).await?
    {
        return Ok(Some(job.run(key).skipped(covered.why, None, now)));
    }
    if let Some(next) = job.next_after(key.at)
        && promise_successor(ports, &job, next).await?.is_none()
    {
        return Err(Fault::unavailable("run", "it is long overdue and being looked at; ask again in a minute"));
    }
    Ok(Some(job.run(key)))
}
