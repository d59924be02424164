//! Looking a job up, or the owner of a run: what every flow and every route about one begins with.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Origin, Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::notification::Rule;
use minutehand_domain::operation::OperationHead;
use minutehand_domain::owner::{RunOwner, TaskOwner};
use minutehand_domain::run::{Run, TaskPlace};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::plan::Plan;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

pub use crate::born::on_record_since_for;
use crate::run::callback;

/// The tenant's job of this id. A tombstone is no job, and another tenant's is not there.
pub async fn job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Fault> {
    Ok(seen_job_of(ports, tenant, id).await?.map(|seen| seen.item))
}

/// Who gives this run its order: read after it.
pub async fn owner_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<RunOwner>, Fault> {
    match (run.key.owner(), &run.task) {
        (Owner::Job(id), _) => {
            let owner = job_of(ports, &run.tenant, id).await?.map(RunOwner::Job);
            if is_withdrawn(ports, run).await? { Ok(owner.map(RunOwner::withdrawn)) } else { Ok(owner) }
        }
        (Owner::Parent, Some(task)) => parent_of(ports, run, task.parent).await,
        (Owner::Parent, None) => match run.callback_of {
            Some(of) => {
                let told_of = callback::owner_of(ports, run, of).await?.map(RunOwner::Told);
                // After an outage that was longer than its retention: what there was to tell has gone.
                Ok(Some(told_of.unwrap_or_else(|| RunOwner::Parent(TaskOwner::gone(run.priority)))))
            }
            None => Ok(None),
        },
        (Owner::Rule(id), _) => {
            let rule = rule_of(ports, &run.tenant, id).await?;
            let task = rule.map_or_else(|| TaskOwner::gone(run.priority), |rule| TaskOwner::telling(&rule));
            Ok(Some(RunOwner::Parent(task)))
        }
    }
}

/// Whether the backfill that made it was cancelled, and nothing of it is to begin any more. Read after the run, as its job is: who
/// cancels a backfill need not find each of its runs.
pub(crate) async fn is_withdrawn<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    let (Origin::Backfill, Some(made)) = (run.key.origin, run.made) else { return Ok(false) };
    let seen = ports.store().get::<OperationHead>(&run.tenant, made.by).await?;
    Ok(seen.and_then(|seen| seen.item.operation()).is_some_and(|operation| !operation.wants_its_runs()))
}

/// The rule of notifications of this id, as it stands now.
pub async fn rule_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Rule>, Fault> {
    let rules = ports.rules().read(ports.store(), tenant, ports.clock().now()).await?;
    Ok(rules.iter().find(|rule| rule.id == id).cloned())
}

/// For how long the oldest of everybody's dead letters has been one, at most: since its run was to begin. Zero where there is none.
pub async fn age_of_the_oldest_letter<D: Ports>(ports: &D) -> Result<Duration, Fault> {
    let oldest = ports.store().oldest_letter().await?;
    Ok(oldest.map_or(Duration::ZERO, |at| ports.clock().now().since(at)))
}

/// The plan of a version of a workflow; none where there is no such version.
pub async fn plan_of<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    workflow: WorkflowId,
    version: u32,
) -> Result<Option<Arc<Plan>>, Fault> {
    ports.plans().of(ports.store(), tenant, workflow, version, ports.clock().now()).await
}

async fn parent_of<D: Ports>(ports: &D, run: &Run, parent: RunKey) -> Result<Option<RunOwner>, Fault> {
    let Some(parent) = ports.store().get::<Run>(&run.tenant, parent).await?.map(|seen| seen.item) else {
        return Ok(None);
    };
    let (Some(graph), Some(place)) = (&parent.graph, TaskPlace::of(run.key)) else { return Ok(None) };
    let Some(plan) = plan_of(ports, &run.tenant, graph.workflow, graph.version).await? else {
        return Ok(None);
    };
    Ok(TaskOwner::of(&plan, &parent, place).map(RunOwner::Parent))
}

/// A tenant's jobs by id, past the last one seen: fewer than asked for only where there are no more. One whose calendars cannot be read is left out, as
/// one that cannot be read itself is: it stops nothing beside it.
pub async fn jobs_of<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    past: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, Fault> {
    let (mut jobs, mut past) = (Vec::with_capacity(limit), past);
    while jobs.len() < limit {
        let wanted = limit - jobs.len();
        let heads = ports.store().list::<Head>(tenant, (), past, wanted).await?.items;
        let are_the_last = heads.len() < wanted;
        past = heads.last().map(Head::id).or(past);
        for job in heads.into_iter().filter_map(Head::into_job) {
            let id = job.id;
            match knowing(ports, job).await {
                Err(why) if why.is_of_an_item() => {
                    tracing::error!(tenant = tenant.as_str(), job = %id, %why, "a job is in no list: one of its calendars cannot be read");
                }
                known => jobs.push(known?),
            }
        }
        if are_the_last {
            break;
        }
    }
    Ok(jobs)
}

/// A job, to be changed.
pub async fn seen_job_of<D: Ports>(ports: &D, tenant: &Tenant, id: JobId) -> Result<Option<Seen<Job>>, Fault> {
    let Some(Seen { item, version }) = ports.store().get::<Head>(tenant, id).await? else { return Ok(None) };
    match item.into_job() {
        Some(job) => Ok(Some(Seen { item: knowing(ports, job).await?, version })),
        None => Ok(None),
    }
}

/// A job as it was read from the store, with what the calendars say that it is pinned to: nothing of a job that heeds some may be asked
/// before. One that heeds none costs nothing.
pub async fn knowing<D: Ports>(ports: &D, mut job: Job) -> Result<Job, Fault> {
    if !job.heeds_calendars() {
        return Ok(job);
    }
    let mut schedules = vec![&mut job.schedule];
    schedules.extend(job.before.iter_mut().map(|before| &mut before.schedule));
    for schedule in schedules {
        know(ports, &job.tenant, job.id, schedule).await?;
    }
    Ok(job)
}

/// The same of a schedule of that job, wherever it stands.
pub async fn know<D: Ports>(ports: &D, tenant: &Tenant, job: JobId, schedule: &mut Schedule) -> Result<(), Fault> {
    let Some(observance) = &mut schedule.observance else { return Ok(()) };
    for heeded in observance.calendars.iter_mut().filter(|heeded| heeded.known.is_none()) {
        let Some(version) = heeded.version else { continue };
        let known = ports.plans().calendars().of(ports.store(), tenant, &heeded.name, version).await?;
        let missing =
            || format!("{} {job}: there is no version {version} of the calendar {}", tenant.as_str(), heeded.name);
        heeded.known = Some(known.ok_or_else(|| Fault::unreadable("the store", missing()))?);
    }
    Ok(())
}

/// What lies where the record of an occurrence would.
pub enum Lying {
    Nothing,
    Record(Box<Run>),
    /// A record that nobody can read: something became of the occurrence.
    Corrupt,
}

pub async fn lying_at<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<Lying, Fault> {
    match ports.store().get::<Run>(&job.tenant, RunKey::occurrence(job.id, t)).await {
        Ok(Some(seen)) => Ok(Lying::Record(Box::new(seen.item))),
        Ok(None) => Ok(Lying::Nothing),
        Err(why) if Discard::Corrupt.admits(&why) => Ok(Lying::Corrupt),
        Err(fault) => Err(fault),
    }
}

/// What is there, where it can be read: what is wrong with one item stops nothing that is only named beside it.
pub fn if_readable<T>(read: Result<Option<T>, Fault>) -> Result<Option<T>, Fault> {
    match read {
        Err(fault) if fault.is_of_an_item() => Ok(None),
        read => read,
    }
}
