//! What an operation does to one job, or to one run. Each may be done twice: what it finds done, or changed since it was looked at, it leaves alone.

use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal, Status};
use minutehand_domain::operation::{Acted, JobAct, Operation, RunAct, RunFilter};
use minutehand_domain::run::{NotALetter, Refusal, Run, Said, State, Waiting};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::aftermath::{Try, make_sure, try_again};
use crate::job::change::{Changed, Want, change};
use crate::lookup::job_of;
use crate::run::cancel::{Cancelled, cancel_with};
use crate::run::letter::{self, Dismissed};

/// Tries against others who do something to the same run.
const TRIES: u32 = 8;

/// A change of a job that stands as it was looked at.
struct AsSeen {
    change: Change,
    generation: u64,
}

impl Want for AsSeen {
    type No = Fault;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Fault> {
        Ok((job.generation == self.generation).then(|| self.change.clone()))
    }
}

pub(super) async fn act_on_job<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    act: JobAct,
    id: JobId,
    generation: u64,
) -> Result<Acted, Fault> {
    let change_to = match act {
        JobAct::Pause => Change::Pause,
        JobAct::Resume => Change::Resume,
        JobAct::Cancel => Change::Delete,
    };
    let want = AsSeen { change: change_to, generation };
    Ok(match change(ports, tenant, id, &want).await? {
        Changed::Done(_) => Acted::Done,
        Changed::AsItWas(job) | Changed::Refused(JobRefusal::AlreadyPaused | JobRefusal::AlreadyActive, job)
            if is_as_asked(act, &job) =>
        {
            Acted::Done
        }
        Changed::Refused(JobRefusal::Cancelled, _) if act == JobAct::Cancel => Acted::Done,
        Changed::AsItWas(_) => Acted::Refused("it has been changed since it was looked at".to_owned()),
        Changed::Refused(why, _) => Acted::Refused(why.to_string()),
        // Only another schedule can be refused so.
        Changed::NotHeeded(_) | Changed::NotToFollow(_) => Acted::Refused("its schedule cannot be kept".to_owned()),
        Changed::NotFound => Acted::Refused("it is not there".to_owned()),
    })
}

fn is_as_asked(act: JobAct, job: &Job) -> bool {
    match act {
        JobAct::Pause => job.status == Status::Paused,
        JobAct::Resume => job.status == Status::Active,
        JobAct::Cancel => job.status == Status::Cancelled,
    }
}

pub(super) async fn act_on_run<D: Ports>(
    ports: &D,
    operation: &Operation,
    (act, filter): (RunAct, &RunFilter),
    key: RunKey,
) -> Result<Acted, Fault> {
    for _ in 0..TRIES {
        let Some(seen) = ports.store().get::<Run>(&operation.tenant, key).await? else {
            return Ok(Acted::Refused("it is not there".to_owned()));
        };
        let acted = match act {
            RunAct::Cancel => Some(end(ports, operation, &seen.item).await?),
            RunAct::Retry => retry(ports, operation, &seen, filter.names_a_status()).await?,
            RunAct::Dismiss => Some(dismiss(ports, operation, &seen.item).await?),
        };
        if let Some(acted) = acted {
            return Ok(acted);
        }
    }
    Ok(Acted::Refused("it is being changed by too many at once".to_owned()))
}

/// Somebody may have asked since the operation was: then it is done. What asks somebody is for those to end who may answer it, and an operation does
/// not know the role of who asked for it.
async fn end<D: Ports>(ports: &D, operation: &Operation, run: &Run) -> Result<Acted, Fault> {
    if run.cancel.as_ref().is_some_and(|asked| asked.at >= operation.asked_at) {
        return Ok(Acted::Done);
    }
    if matches!(run.waiting(), Some(Waiting::Answer { .. })) {
        return Ok(Acted::Refused("it asks somebody: it is answered, or cancelled by itself".to_owned()));
    }
    let (tenant, note) = (&operation.tenant, operation.note.as_deref());
    Ok(match cancel_with(ports, tenant, run.key, &operation.by, note).await? {
        Cancelled::Done(_) => Acted::Done,
        Cancelled::Refused(_, run) if matches!(run.state, State::Cancelled { .. }) => Acted::Already,
        Cancelled::Refused(Refusal::Stopping, _) => Acted::Already,
        Cancelled::Refused(why, _) => Acted::Refused(why.to_string()),
        Cancelled::NotFound => Acted::Refused("it is not there".to_owned()),
    })
}

/// Another try, by the rules of [`aftermath`](crate::aftermath): the old run says that this operation tried it again, so that it is one,
/// whoever makes it and however often. What somebody has seen to is tried again only where its status was named, and not where that was
/// after the operation was asked for. None where somebody was faster.
async fn retry<D: Ports>(
    ports: &D,
    operation: &Operation,
    seen: &Seen<Run>,
    is_named: bool,
) -> Result<Option<Acted>, Fault> {
    let run = &seen.item;
    if run.redriven_as().is_some_and(|again| operation.has_tried(run.key, again)) {
        make_sure(ports, run).await?;
        return Ok(Some(Acted::Done));
    }
    if run.aftermath.is_some() && (!is_named || run.seen_to_at() > Some(operation.asked_at)) {
        return Ok(Some(Acted::Already));
    }
    let key = operation.retry_of(run.key, ports.clock().now());
    if let Some(why) = not_to_retry(run, key) {
        return Ok(Some(Acted::Refused(why)));
    }
    let job = match job_of(ports, &operation.tenant, run.key.job).await? {
        Some(job) if job.status != Status::Cancelled => job,
        Some(_) => return Ok(Some(Acted::Refused(JobRefusal::Cancelled.to_string()))),
        None => return Ok(Some(Acted::Refused("its job is not there".to_owned()))),
    };
    let (said, lane) = (said(operation), job.lane_at(run.priority));
    let other = Try { key, payload: None, said, operation: Some(operation.id), lane };
    Ok(try_again(ports, seen, other).await?.map(|_made| Acted::Done))
}

fn not_to_retry(run: &Run, key: RunKey) -> Option<String> {
    if run.task.is_some() {
        return Some("it is the run of a task: resume the run that it is a task of".to_owned());
    }
    if run.callback_of.is_some() {
        return Some("it was to tell of the end of another run: it is not tried again".to_owned());
    }
    run.redriven(key).err().map(|why| why.to_string())
}

async fn dismiss<D: Ports>(ports: &D, operation: &Operation, run: &Run) -> Result<Acted, Fault> {
    Ok(match letter::dismiss(ports, &operation.tenant, run.key, said(operation)).await? {
        Dismissed::Done(_) => Acted::Done,
        Dismissed::Already(run) if run.seen_to_at() >= Some(operation.asked_at) => Acted::Done,
        Dismissed::Already(_) | Dismissed::Refused(NotALetter::Redriven(_)) => Acted::Already,
        Dismissed::Refused(why) => Acted::Refused(why.to_string()),
        Dismissed::NotFound => Acted::Refused("it is not there".to_owned()),
    })
}

fn said(operation: &Operation) -> Said<'_> {
    Said { by: Some(&operation.by), note: operation.note.as_deref() }
}
