//! Deleting a workflow: its own job first, so that nothing more starts of it; then the workflow, so that nobody calls it any more;
//! then, where that is wanted, what of it is still under way. Who died in between deletes again, and finds what is left.

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Change;
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::Run;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::job::change::change as change_job;
use crate::run::cancel::cancel;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    Done,
    /// This run of it is under way, and is not to be cancelled.
    Open(RunKey),
    NotFound,
}

/// `cancel_runs`: whether runs that are under way are cancelled; else they keep it from being deleted.
pub async fn delete<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    cancel_runs: bool,
    by: &By,
) -> Result<Deleted, Fault> {
    let Some(there) = ports.store().get::<Workflow>(tenant, id).await? else { return Ok(Deleted::NotFound) };
    if there.item.deleted && !cancel_runs {
        return Ok(Deleted::Done);
    }
    if !cancel_runs && let Some(open) = open_runs(ports, tenant, id, true).await?.first() {
        return Ok(Deleted::Open(open.key));
    }
    change_job(ports, tenant, id.job(), &Change::Delete).await?;
    mark(ports, (tenant, id)).await?;
    if cancel_runs {
        // One that is being ended already is left to that: a second cancel would stop its `finally` too.
        for run in open_runs(ports, tenant, id, false).await?.into_iter().filter(|run| !run.is_ending()) {
            cancel(ports, tenant, run.key, by).await?;
        }
    }
    Ok(Deleted::Done)
}

async fn mark<D: Ports>(ports: &D, (tenant, id): (&Tenant, WorkflowId)) -> Result<(), Fault> {
    let mut there = ports.store().get::<Workflow>(tenant, id).await?;
    while let Some(seen) = there.filter(|seen| !seen.item.deleted) {
        let deleted = Workflow { deleted: true, changed_at: ports.clock().now(), ..seen.item.clone() };
        there = match ports.store().put(tenant, id, &deleted, seen.guard()).await? {
            Put::Written(_) => None,
            Put::Conflict(there) => there,
        };
    }
    Ok(())
}

/// The runs of its own job that are not over, the newest first; where one is enough, that is all.
async fn open_runs<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: WorkflowId,
    one_is_enough: bool,
) -> Result<Vec<Run>, Fault> {
    let (mut open, mut before) = (Vec::new(), None);
    loop {
        let runs = RunsOf { job: id.job(), window: Moment::EPOCH..Moment::END };
        let read = ports.store().list::<Run>(tenant, runs, before, PAGE).await?.items;
        let is_last = read.len() < PAGE;
        before = read.last().map(|run| run.key);
        open.extend(read.into_iter().filter(|run| !run.is_finished()));
        if is_last || one_is_enough && !open.is_empty() {
            return Ok(open);
        }
    }
}
