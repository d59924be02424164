//! Heeding: a schedule that names calendars is pinned to the versions that these names stand for.
//!
//! Rule **use before pin**: that a job is about to heed a calendar is written before the calendar is read for it. Whoever changes the
//! calendar after that finds it, and takes the change there.

use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::calendar::{Calendar, CalendarName, CalendarUse, Shared};
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Change;
use minutehand_domain::schedule::Schedule;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::amend::amend;

/// Why a schedule cannot heed what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotHeeded {
    /// Its place in the list, and its name.
    NoCalendar(usize, CalendarName),
    /// The calendar that takes the first instant, and why.
    NothingLeft(String),
}

/// A change whose schedule is pinned to what the names stand for that it is not pinned to yet.
pub(super) async fn heeding<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    change: Change,
) -> Result<Result<Change, NotHeeded>, Fault> {
    match change {
        Change::Edit { schedule: Some(schedule), definition } => {
            let pinned = heed(ports, tenant, job, schedule).await?;
            Ok(pinned.map(|schedule| Change::Edit { schedule: Some(schedule), definition }))
        }
        other @ (Change::Edit { schedule: None, .. } | Change::Pause | Change::Resume | Change::Delete) => {
            Ok(Ok(other))
        }
    }
}

/// The same of a schedule of this job.
pub(super) async fn heed<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    schedule: Schedule,
) -> Result<Result<Schedule, NotHeeded>, Fault> {
    pinned(ports, tenant, Some(job), schedule).await
}

/// The same of nobody's: what a job with this schedule would fire.
pub async fn as_nobodys<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    schedule: Schedule,
) -> Result<Result<Schedule, NotHeeded>, Fault> {
    pinned(ports, tenant, None, schedule).await
}

async fn pinned<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: Option<JobId>,
    schedule: Schedule,
) -> Result<Result<Schedule, NotHeeded>, Fault> {
    let heeded = schedule.observance.iter().flat_map(|observance| &observance.calendars).enumerate();
    let named = heeded.filter(|(_, heeded)| heeded.version.is_none());
    let named: Vec<_> = named.map(|(number, heeded)| (number, heeded.name.clone())).collect();
    if named.is_empty() {
        return Ok(Ok(schedule));
    }
    let mut schedule = schedule;
    for (number, name) in named {
        if let Some(job) = job {
            write_use(ports, tenant, &name, job).await?;
        }
        let Some(shared) = there(ports, tenant, &name).await? else {
            return Ok(Err(NotHeeded::NoCalendar(number, name)));
        };
        schedule = schedule.pinned_to(&name, shared.version, &known(ports, &shared).await?);
    }
    Ok(if_it_fires(schedule, ports.clock().now()))
}

/// Refused where calendars take all that is to come; what is past by now is not theirs to refuse.
fn if_it_fires(schedule: Schedule, now: Moment) -> Result<Schedule, NotHeeded> {
    if schedule.next_after(now.just_before()).is_some() {
        return Ok(schedule);
    }
    let first = schedule.next_named_after(now.just_before());
    match first.and_then(|first| schedule.taken_by(schedule.before_jitter(first))) {
        Some((name, reason)) => Err(NotHeeded::NothingLeft(format!("calendar {name} ({reason})"))),
        None => Ok(schedule),
    }
}

/// Written anew where it stands: who is about to erase it sees that it means something.
async fn write_use<D: Ports>(ports: &D, tenant: &Tenant, name: &CalendarName, job: JobId) -> Result<(), Fault> {
    let written = ports.clock().now();
    let rule = |_: Option<&CalendarUse>| Some(CalendarUse { job, written });
    amend(ports, tenant, (name.place(tenant), job), rule).await.map(|_written| ())
}

/// The tenant's calendar of this name; one that goes is not there.
pub async fn there<D: Ports>(ports: &D, tenant: &Tenant, name: &CalendarName) -> Result<Option<Shared>, Fault> {
    let seen = ports.store().get::<Shared>(tenant, name.place(tenant)).await?;
    Ok(seen.map(|seen| seen.item).filter(Shared::is_there))
}

/// What a calendar says.
pub async fn known<D: Ports>(ports: &D, shared: &Shared) -> Result<Arc<Calendar>, Fault> {
    let Shared { tenant, name, version, .. } = shared;
    let known = ports.plans().calendars().of(ports.store(), tenant, name, *version).await?;
    known.ok_or_else(|| Fault::unreadable("the store", format!("the calendar {name} has no version {version}")))
}
