//! The list of workflows, filtered as jobs are: what is filtered by is their own jobs'.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::operation::JobFilter;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::{Page, WorkflowView, WorkflowsQuery};

use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::jobs::filter_of;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::Problem;

/// Workflows that one filtered request reads at most; its page may then hold fewer than requested, and a cursor.
const LOOKED_THROUGH: usize = 10_000;
/// Jobs that are read at a time.
const AT_A_TIME: usize = 16;

/// The tenant's workflows, by id. Deleted ones are left out, unless it is those that are asked for.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<WorkflowsQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let (filter, now) = (filter_of(&params.of_jobs())?, app.ports.clock().now());
    let scope = Scope::new(caller.tenant(), &format!("workflows {filter:?}"));
    let after = params.cursor.map(|cursor| scope.open(&cursor)).transpose()?.map(WorkflowId::from_bytes);
    let (items, last) = looked_through(&*app.ports, caller.tenant(), after, &filter, limit, now).await?;
    let next_cursor = last.map(|last| scope.seal(last.as_bytes()));
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// The workflows of a page; and where to go on, if there may be more.
async fn looked_through<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    mut after: Option<WorkflowId>,
    filter: &JobFilter,
    limit: usize,
    now: Moment,
) -> Result<(Vec<WorkflowView>, Option<WorkflowId>), Fault> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let at_once = if filter.wants_all() { limit + 1 } else { PAGE };
    while looked < LOOKED_THROUGH {
        let read = ports.store().list::<Workflow>(tenant, (), after, at_once).await?.items;
        let is_last = read.len() < at_once;
        let mut with_jobs = stream::iter(read)
            .map(|workflow| async move {
                let job = job_of(ports, tenant, workflow.id.job()).await?;
                Ok::<_, Fault>((workflow, job))
            })
            .buffered(AT_A_TIME);
        while let Some((workflow, job)) = with_jobs.try_next().await? {
            looked += 1;
            // One whose creator did not come as far as its own job is not there yet.
            if let Some(job) =
                job.filter(|job| filter.admits(job, now) && (filter.wants_deleted() || !workflow.deleted))
            {
                if found.len() == limit {
                    return Ok((found, after));
                }
                found.push(WorkflowView::of(&workflow, &job, now));
            }
            after = Some(workflow.id);
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, after))
}
