//! Changing a workflow: its next version is written, then the workflow names it, then its own job is what was asked for. Asked again
//! for what the newest version says already, it gets no other; so who died in between may ask again.

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::follow::NotToFollow;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::{Change, Definition as JobDefinition, Job, JobRefusal};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports, plans};

use super::{About, job_of, own_job};
use crate::contention::Contention;
use crate::job::change::{Changed as ChangedJob, Want, change as change_job};
use crate::job::create::{Created as CreatedJob, create as create_job};
use crate::job::heed::NotHeeded;

/// Numbers of versions that a writer passes over which another left half written.
const TRIES: u32 = 16;

/// What somebody wants a workflow to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    pub definition: Definition,
    pub schedule: Schedule,
    pub about: About,
    /// Who wants it has seen it like this.
    pub seen: Option<AsSeen>,
    pub by: By,
    pub now: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsSeen {
    pub version: u32,
    /// Of its own job.
    pub generation: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Done(Workflow, Job),
    NotFound,
    /// It has changed since it was seen.
    NotAsSeen,
    TooSlow,
    /// Its schedule names calendars that it cannot heed.
    NotHeeded(NotHeeded),
    /// The job that its own is to run behind does not let it.
    NotToFollow(NotToFollow),
}

pub async fn change<D: Ports>(ports: &D, tenant: &Tenant, id: WorkflowId, wanted: &Wanted) -> Result<Changed, Fault> {
    let mut contention = Contention::default();
    for skipped in 0..TRIES {
        contention.let_others_pass(ports).await;
        let Some(Seen { item: there, version: seen }) = ports.store().get::<Workflow>(tenant, id).await? else {
            return Ok(Changed::NotFound);
        };
        if there.deleted {
            return Ok(Changed::NotFound);
        }
        if wanted.seen.is_some_and(|seen| seen.version != there.version) {
            return Ok(Changed::NotAsSeen);
        }
        let Some(version) = version_of(ports, &there, wanted, skipped).await? else { continue };
        let next = Workflow { name: wanted.name.clone(), version, changed_at: wanted.now, ..there.clone() };
        let is_as_it_was = version == there.version && next.name == there.name;
        if is_as_it_was || ports.store().put(tenant, id, &next, Guard::Seen(seen)).await?.is_written() {
            return change_own_job(ports, next, wanted).await;
        }
    }
    Err(Fault::unavailable("workflow", "it is being changed by too many at once"))
}

/// The version that says what is wanted: the newest, or the next, which is written. None where that number is another's, who died
/// before the workflow named it.
async fn version_of<D: Ports>(
    ports: &D,
    there: &Workflow,
    wanted: &Wanted,
    skipped: u32,
) -> Result<Option<u32>, Fault> {
    let (store, tenant) = (ports.store(), &there.tenant);
    let newest = plans::read(store, tenant, there.id, there.version).await?;
    if newest.is_some_and(|newest| newest.definition == wanted.definition) {
        return Ok(Some(there.version));
    }
    let next = there.version + 1 + skipped;
    let is_ours = plans::write(store, tenant, (there.id, next), &wanted.definition, (wanted.now, &wanted.by)).await?;
    Ok(is_ours.then_some(next))
}

/// Its own job as it is wanted, made where its creator did not come so far.
async fn change_own_job<D: Ports>(ports: &D, workflow: Workflow, wanted: &Wanted) -> Result<Changed, Fault> {
    let definition = job_of(&workflow, wanted.about.clone());
    let generation = wanted.seen.map(|seen| seen.generation);
    let own = OwnJob { definition: definition.clone(), schedule: &wanted.schedule, generation };
    match change_job(ports, &workflow.tenant, workflow.id.job(), &own).await {
        Ok(ChangedJob::Done(job) | ChangedJob::AsItWas(job)) => Ok(Changed::Done(workflow, job)),
        Ok(ChangedJob::Refused(JobRefusal::Cancelled, _)) => Ok(Changed::NotFound),
        Ok(ChangedJob::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, job)) => {
            Ok(Changed::Done(workflow, job))
        }
        Ok(ChangedJob::NotHeeded(why)) => Ok(Changed::NotHeeded(why)),
        Ok(ChangedJob::NotToFollow(no)) => Ok(Changed::NotToFollow(no)),
        Ok(ChangedJob::NotFound) => made(ports, workflow, definition, wanted).await,
        Err(No::NotAsSeen) => Ok(Changed::NotAsSeen),
        Err(No::Fault(fault)) => Err(fault),
    }
}

async fn made<D: Ports>(
    ports: &D,
    workflow: Workflow,
    definition: JobDefinition,
    wanted: &Wanted,
) -> Result<Changed, Fault> {
    match create_job(ports, own_job(&workflow, definition, &wanted.schedule.unpinned(), wanted.now)).await? {
        CreatedJob::New(job) | CreatedJob::Replayed(job) => Ok(Changed::Done(workflow, job)),
        CreatedJob::Taken | CreatedJob::TooSlow => Ok(Changed::TooSlow),
        CreatedJob::NotHeeded(why) => Ok(Changed::NotHeeded(why)),
        CreatedJob::NotToFollow(no) => Ok(Changed::NotToFollow(no)),
    }
}

struct OwnJob<'a> {
    definition: JobDefinition,
    schedule: &'a Schedule,
    generation: Option<u64>,
}

enum No {
    NotAsSeen,
    Fault(Fault),
}

impl From<Fault> for No {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Want for OwnJob<'_> {
    type No = No;

    async fn of(&self, job: &Job) -> Result<Option<Change>, No> {
        if self.generation.is_some_and(|generation| generation != job.generation) {
            return Err(No::NotAsSeen);
        }
        // What it is pinned to is nobody's to ask for: a calendar, or the job, may have been changed since this was asked.
        let schedule = (!self.schedule.asks_as(&job.schedule)).then(|| self.schedule.unpinned());
        let definition = (self.definition != job.definition).then(|| self.definition.clone());
        Ok((schedule.is_some() || definition.is_some()).then_some(Change::Edit { schedule, definition }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use minutehand_domain::calendar::{Calendar, CalendarVersion, Rules};
    use minutehand_domain::id::JobId;
    use minutehand_domain::schedule::Plan;
    use minutehand_domain::schedule::cron::zone;

    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    /// A change of its calendar was taken to the job while somebody put the workflow, whose schedule stays.
    ///
    /// Removed: the comparison leaves the versions out. The job was pinned back, for ever. Removed: what is asked for is pinned to nothing. The job was
    /// pinned to what it had been pinned to before somebody gave it another schedule, and that it heeds the calendar was written nowhere.
    #[test]
    fn a_schedule_that_stays_leaves_its_job_pinned_as_it_is_by_then() {
        let plan = Plan { every_seconds: Some(60), calendars: vec!["works".parse().unwrap()], ..Plan::default() };
        let (name, says) =
            ("works".parse().unwrap(), Arc::new(Calendar::new(Rules::none(zone("UTC").unwrap())).unwrap()));
        let pinned_to = |text: &str| {
            Schedule::new(&plan, NOW).unwrap().pinned_to(&name, CalendarVersion::of(text.as_bytes()), &says)
        };
        let (asked, tenant) = (pinned_to("as it was"), Tenant::new("acme").unwrap());
        let definition = JobDefinition::default();
        let id = JobId::from_bytes([7; 16]);
        let job = Job::new(tenant, id, pinned_to("as it is by then"), definition.clone(), 0, NOW);
        let own = OwnJob { definition, schedule: &asked, generation: None };
        let since = Schedule::new(&Plan { every_seconds: Some(61), ..Plan::default() }, NOW).unwrap();
        let changed = Job { schedule: since, ..job.clone() };

        let wanted = |job: &Job| own.of(job).now_or_never().unwrap().ok().unwrap();

        assert_eq!(wanted(&job), None);
        assert_eq!(wanted(&changed), Some(Change::reschedule(Schedule::new(&plan, NOW).unwrap())));
    }
}
