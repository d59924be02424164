//! Lists of runs of workflows, newest first: of one workflow by its own job's history, of all by the index of all runs, from which others
//! are left out after they were read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::run::Run;
use minutehand_domain::target::Target;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::{Page, WorkflowRunsQuery};

use super::whole::item;
use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::{Kind, Problem};
use crate::runs::list::{Found, Position, Query, no_index, window_of};

/// Jobs that are read side by side.
const AT_ONCE: usize = 32;

/// Which runs of workflows are wanted, and what is known of jobs so far: a run that has not begun does not say itself what it will be.
pub(crate) struct OfWorkflows {
    version: Option<u32>,
    jobs: Mutex<BTreeMap<JobId, Option<WorkflowId>>>,
}

impl OfWorkflows {
    /// Runs that one request reads at most: each may need its job.
    pub(crate) const LOOKED_THROUGH: usize = 2000;

    fn new(version: Option<u32>) -> Self {
        Self { version, jobs: Mutex::default() }
    }

    pub(crate) async fn learn<D: Ports>(&self, ports: &D, tenant: &Tenant, read: &[Run]) -> Result<(), Fault> {
        let unknown: Vec<JobId> = {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let of_nobody = read.iter().filter(|run| run.graph.is_none()).map(|run| run.key.job);
            of_nobody.filter(|job| !jobs.contains_key(job)).collect()
        };
        let learn = unknown.into_iter().map(|id| async move {
            let target = job_of(ports, tenant, id).await?.map(|job| job.definition.target);
            Ok::<_, Fault>((id, target.and_then(|target| workflow_of(&target))))
        });
        let learned: Vec<_> = stream::iter(learn).buffer_unordered(AT_ONCE).try_collect().await?;
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).extend(learned);
        Ok(())
    }

    pub(crate) fn wants(&self, run: &Run) -> bool {
        self.workflow(run).is_some()
            && self.version.is_none_or(|version| run.graph.as_ref().is_some_and(|graph| graph.version == version))
    }

    /// The workflow whose run it is, if it is one's.
    fn workflow(&self, run: &Run) -> Option<WorkflowId> {
        match &run.graph {
            Some(graph) => Some(graph.workflow),
            None => *self.jobs.lock().unwrap_or_else(PoisonError::into_inner).get(&run.key.job)?,
        }
    }
}

fn workflow_of(target: &Target) -> Option<WorkflowId> {
    match target {
        Target::Workflow(target) => Some(target.id),
        Target::Http(_) | Target::Noop | Target::Worker(_) | Target::Service(_) => None,
    }
}

/// The runs of all workflows, or of the one that the query names.
pub(crate) async fn across<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<WorkflowRunsQuery>,
) -> Result<Response, Problem> {
    let no_id = |_no_id| Problem::field(Kind::Invalid, "?workflow", "is not a workflow's id");
    let workflow = params.workflow.as_ref().map(|text| text.parse().map_err(no_id)).transpose()?;
    page(&app, &caller, workflow, params).await
}

async fn page<D: Ports>(
    app: &AppState<D>,
    caller: &Caller,
    workflow: Option<WorkflowId>,
    params: WorkflowRunsQuery,
) -> Result<Response, Problem> {
    let (ports, now, tenant) = (&*app.ports, app.ports.clock().now(), caller.tenant());
    let limit = limit_of(params.limit)?;
    let WorkflowRunsQuery { version, status, from, to, .. } = params;
    if version == Some(0) {
        return Err(Problem::field(Kind::Invalid, "?version", "versions are numbered from 1"));
    }
    let scope = Scope::new(tenant, &format!("workflow runs of {workflow:?} {version:?} {status:?} {from:?} {to:?}"));
    let position = match &params.cursor {
        Some(cursor) => Position::open(&scope, cursor, workflow.map(WorkflowId::job))?,
        None => Position { window: window_of(from, to, now)?, before: None },
    };
    let only = OfWorkflows::new(version);
    let query = Query { tenant, status, version: None, workflows: Some(&only), letters: None, limit, now };
    let Found { runs, next } = match workflow {
        Some(id) => {
            ports.store().get::<Workflow>(tenant, id).await?.ok_or_else(Problem::no_workflow)?;
            query.of_job(ports, id.job(), position).await?
        }
        None => query.across(ports, position).await?.ok_or_else(no_index)?,
    };
    let next_cursor = next.map(|next| next.seal(&scope));
    let items = runs.iter().map(|run| item(run, run.key.job, only.workflow(run), now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}
