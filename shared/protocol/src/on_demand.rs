//! Running a job because somebody asked: the run's timer, its record, its hint. Two askings are two runs.

use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{JobRefusal, Status};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::run::Run;
use minutehand_domain::timer::TimerKey;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Doors, Fault};

use crate::bodies;
use crate::fire::hint;
use crate::lookup::job_of;
use crate::promise::promise;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Queued(Run),
    Refused(JobRefusal),
    NotFound,
    /// This asker slept so long that its promise was given up as an orphan: ask again.
    TooSlow,
}

/// Queues a run of the job now, with `payload` in place of the job's own where one is given. A paused job may be asked.
pub async fn run_now<D: Doors>(doors: &D, tenant: &Tenant, id: JobId, payload: Option<Json>) -> Result<Asked, Fault> {
    let Some(job) = job_of(doors, tenant, id).await? else { return Ok(Asked::NotFound) };
    if job.status == Status::Cancelled {
        return Ok(Asked::Refused(JobRefusal::Cancelled));
    }
    let now = doors.clock().now();
    let key = RunKey::manual(id, now, doors.chance().number().max(1));
    let mut run = Run::new(tenant.clone(), key, job.definition.priority);
    if payload.is_some() {
        run.payload = Some(bodies::keep(doors, tenant, id, payload, INLINE_PAYLOAD_BYTES).await?);
    }
    let timer = promise(doors, tenant, TimerKey::run(key, now), job.generation).await?;
    if !doors.store().put_run(&run, Guard::Absent).await?.is_written() {
        return Ok(Asked::TooSlow);
    }
    doors.events().tell(&Event::Run { run: &run, from: "none", now });
    let _a_lost_hint_is_found_overdue = hint(doors, run.priority, &Hint::of(&timer), now).await;
    Ok(Asked::Queued(run))
}
