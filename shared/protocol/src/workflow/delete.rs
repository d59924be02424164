//! Deleting a workflow: its own job first, so that nothing more starts of it; then the workflow, so that nobody calls it any more;
//! then, where that is wanted, what of it is still under way. Who died in between deletes again, and finds what is left. So does who had
//! no time for all of it: a page of its history is read after the other, and nothing is begun after a moment that the caller names.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
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
    /// There was no time to look through all its runs: ask again, and those that were cancelled are over.
    NotYet,
    NotFound,
}

/// Who deletes, and what becomes of runs that are under way.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Whether they are cancelled; else they keep the workflow from being deleted.
    pub cancel_runs: bool,
    pub by: By,
    /// Nothing is begun from then on.
    pub until: Moment,
}

/// Runs that are cancelled side by side.
const AT_ONCE: usize = 16;

pub async fn delete<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    deletion: &Deletion,
) -> Result<Deleted, Fault> {
    let Some(there) = ports.store().get::<Workflow>(tenant, id).await? else { return Ok(Deleted::NotFound) };
    if there.item.deleted && !deletion.cancel_runs {
        return Ok(Deleted::Done);
    }
    if !deletion.cancel_runs {
        match first_open(ports, (tenant, id), deletion.until).await? {
            Ok(None) => {}
            Ok(Some(open)) => return Ok(Deleted::Open(open)),
            Err(OutOfTime) => return Ok(Deleted::NotYet),
        }
    }
    change_job(ports, tenant, id.job(), &Change::Delete).await?;
    mark(ports, (tenant, id)).await?;
    if deletion.cancel_runs { cancel_open_runs(ports, (tenant, id), deletion).await } else { Ok(Deleted::Done) }
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

/// The moment has come after which nothing is begun.
struct OutOfTime;

/// The newest run of its own job that is not over.
async fn first_open<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    until: Moment,
) -> Result<Result<Option<RunKey>, OutOfTime>, Fault> {
    let mut before = None;
    loop {
        let Page { runs, last } = open_runs(ports, (tenant, id), before).await?;
        if let Some(open) = runs.first() {
            return Ok(Ok(Some(open.key)));
        }
        if last.is_none() {
            return Ok(Ok(None));
        }
        if ports.clock().now() >= until {
            return Ok(Err(OutOfTime));
        }
        before = last;
    }
}

/// The newest first. One that is being ended already is left to that: a second cancel would stop its `finally` too.
async fn cancel_open_runs<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    deletion: &Deletion,
) -> Result<Deleted, Fault> {
    let mut before = None;
    loop {
        let Page { runs, last } = open_runs(ports, (tenant, id), before).await?;
        let open: Vec<RunKey> = runs.iter().filter(|run| !run.is_ending()).map(|run| run.key).collect();
        for some in open.chunks(AT_ONCE) {
            if ports.clock().now() >= deletion.until {
                return Ok(Deleted::NotYet);
            }
            let cancelling = stream::iter(some.to_vec()).map(|run| cancel(ports, tenant, run, &deletion.by));
            let _each_is_over_or_ending: Vec<_> = cancelling.buffer_unordered(AT_ONCE).try_collect().await?;
        }
        match last {
            None => return Ok(Deleted::Done),
            Some(_) if ports.clock().now() >= deletion.until => return Ok(Deleted::NotYet),
            Some(_) => before = last,
        }
    }
}

/// What one page of its history has.
struct Page {
    /// That are not over.
    runs: Vec<Run>,
    /// The next page is behind it; none at the end.
    last: Option<RunKey>,
}

/// The newest first.
async fn open_runs<D: Ports>(
    ports: &D,
    (tenant, id): (&Tenant, WorkflowId),
    before: Option<RunKey>,
) -> Result<Page, Fault> {
    let within = RunsOf { job: id.job(), window: Moment::EPOCH..Moment::END };
    let read = ports.store().list::<Run>(tenant, within, before, PAGE).await?.items;
    let last = read.last().map(|run| run.key).filter(|_| read.len() == PAGE);
    Ok(Page { runs: read.into_iter().filter(|run| !run.is_finished()).collect(), last })
}
