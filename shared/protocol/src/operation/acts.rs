//! What an operation does to one job, or to one run. Each may be done twice: what it finds done, or changed since it was looked at, it leaves alone.

use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{Change, Job, JobRefusal, Status};
use minutehand_domain::operation::{Acted, JobAct, Operation, RunAct};
use minutehand_domain::run::{Made, Refusal, Run, State};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::job::change::{Changed, Want, change};
use crate::lookup::job_of;
use crate::run::cancel::{Cancelled, cancel_with};
use crate::run::on_demand::{Answered, queue};

/// How often a run is asked for that was promised and given up: each time the sweep was away for a quarter of an hour.
const TURNS: u32 = 8;

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
    act: RunAct,
    key: RunKey,
) -> Result<Acted, Fault> {
    let Some(seen) = ports.store().get::<Run>(&operation.tenant, key).await? else {
        return Ok(Acted::Refused("it is not there".to_owned()));
    };
    match act {
        RunAct::Cancel => end(ports, operation, &seen.item).await,
        RunAct::Retry => retry(ports, operation, &seen.item).await,
    }
}

/// Somebody may have asked since the operation was: then it is done.
async fn end<D: Ports>(ports: &D, operation: &Operation, run: &Run) -> Result<Acted, Fault> {
    if run.cancel.as_ref().is_some_and(|asked| asked.at >= operation.asked_at) {
        return Ok(Acted::Done);
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

/// Another try, under a key that follows from the operation and the run: it is one, whoever makes it and however often.
async fn retry<D: Ports>(ports: &D, operation: &Operation, run: &Run) -> Result<Acted, Fault> {
    if run.task.is_some() {
        return Ok(Acted::Refused("it is the run of a task: resume the run that it is a task of".to_owned()));
    }
    let Some(job) = job_of(ports, &operation.tenant, run.key.job).await? else {
        return Ok(Acted::Refused("its job is not there".to_owned()));
    };
    if job.status == Status::Cancelled {
        return Ok(Acted::Refused(JobRefusal::Cancelled.to_string()));
    }
    for turn in 0..TURNS {
        let again = match run.redriven(operation.retry_of(run.key, turn)) {
            Ok(again) => again,
            Err(why) => return Ok(Acted::Refused(why.to_string())),
        };
        let made = Some(Made { by: operation.id, at: operation.asked_at });
        let again = Run { made, asked_by: Some(operation.by.clone()), ..again };
        match queue(ports, &job, again, true).await? {
            Answered::Queued(_) | Answered::Replayed(_) => return Ok(Acted::Done),
            Answered::TooSlow => {}
            _ => break,
        }
    }
    Ok(Acted::Refused("it was promised and given up too often: ask again".to_owned()))
}
