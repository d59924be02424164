//! Reading one run: the whole with the first of its tasks, further tasks, the branches of a `for_each`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::Run;
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::plan::Node;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::graph::watch::{BranchCounts, Watched};
use minutehand_wire::page::DEFAULT_LIMIT;
use minutehand_wire::{BranchView, BranchesQuery, Page, RunTaskView, TaskState, TasksQuery, WorkflowRunView};

use super::Whole;
use super::names::Names;
use super::task::{branch, deciders, task};
use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::keyring::Caller;
use crate::params::{Params, RunPath, TaskPath, limit_of};
use crate::problem::{Kind, Problem};

/// Runs of branches that one request reads to count them: as many as one `for_each` may have. Where several have more together, the
/// counts of the later ones say "at least".
const COUNTED: usize = minutehand_domain::limits::BRANCHES;
/// Branches that one request looks at which asks for those in one state.
const LOOKED_THROUGH: u16 = 2000;
/// Branches that are read side by side, and are in memory.
const AT_ONCE: u16 = 500;

/// One run of a workflow, with the first of its tasks.
pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let whole = found(&app, &caller, key).await?;
    Ok(Json(shown(&*app.ports, &whole).await?).into_response())
}

/// As an answer shows it.
pub(super) async fn shown<D: Ports>(ports: &D, whole: &Whole) -> Result<WorkflowRunView, Fault> {
    let Some(watched) = &whole.watched else { return whole.view(ports, &BTreeMap::new()).await };
    let (tasks, next) = tasks_of(ports, watched, 0, DEFAULT_LIMIT).await?;
    // What the first of its tasks wait for, with the branches that were counted for them.
    let told = tasks.iter().filter(|task| task.branches.is_some());
    let told = told.filter_map(|task| Some((task.key.as_str(), task.tried.waiting_for.clone()?))).collect();
    let view = whole.view(ports, &told).await?;
    let next_cursor = next.map(|next| scope_of_tasks(&whole.run).seal(&next.to_be_bytes()));
    Ok(WorkflowRunView { tasks, next_cursor, ..view })
}

pub(super) async fn found<D: Ports>(app: &AppState<D>, caller: &Caller, key: RunKey) -> Result<Whole, Problem> {
    Whole::find(&*app.ports, caller.tenant(), key).await?.ok_or_else(no_workflow_run)
}

fn no_workflow_run() -> Problem {
    Problem::new(Kind::NotFound, "there is no such run of a workflow")
}

/// More of its tasks.
pub(crate) async fn tasks<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    Params(params): Params<TasksQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let whole = found(&app, &caller, key).await?;
    let scope = scope_of_tasks(&whole.run);
    let first = match &params.cursor {
        Some(cursor) => u16::from_be_bytes(scope.open(cursor)?),
        None => 0,
    };
    let (items, next) = match &whole.watched {
        Some(watched) => tasks_of(&*app.ports, watched, first, limit).await?,
        None => (Vec::new(), None),
    };
    let next_cursor = next.map(|next| scope.seal(&next.to_be_bytes()));
    Ok(Json(Page { items, next_cursor }).into_response())
}

fn scope_of_tasks(run: &Run) -> Scope {
    Scope::new(&run.tenant, &format!("tasks of {}", run.key))
}

/// So many tasks from this one on, and which comes after them.
async fn tasks_of<D: Ports>(
    ports: &D,
    watched: &Watched,
    first: u16,
    limit: usize,
) -> Result<(Vec<RunTaskView>, Option<u16>), Fault> {
    let mut nodes: Vec<(u16, &Node)> =
        watched.plan.nodes().skip(usize::from(first)).take(limit.saturating_add(1)).collect();
    let next = (nodes.len() > limit).then(|| nodes.pop()).flatten().map(|(node, _)| node);
    let mut counts = BTreeMap::<u16, BranchCounts>::new();
    let mut left = COUNTED;
    for (node, _) in nodes.iter().filter(|(node, _)| watched.each(*node).is_some()) {
        let counted = watched.branch_counts(ports, *node, left).await?;
        left = left.saturating_sub(counted.read);
        counts.insert(*node, counted);
    }
    let runs = nodes.iter().filter_map(|(node, _)| watched.task(*node));
    let names = Names::of(ports, &watched.run.tenant, runs.flat_map(deciders)).await?;
    let now = ports.clock().now();
    Ok((nodes.iter().map(|at| task(watched, *at, counts.get(&at.0), &names, now)).collect(), next))
}

/// The branches of a `for_each`, in their order.
pub(crate) async fn branches<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    TaskPath(key, task): TaskPath,
    Params(params): Params<BranchesQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let whole = found(&app, &caller, key).await?;
    let scope = Scope::new(caller.tenant(), &format!("branches of {task} of {key} {:?}", params.state));
    let first = match &params.cursor {
        Some(cursor) => u16::from_be_bytes(scope.open(cursor)?),
        None => 0,
    };
    let Some(watched) = &whole.watched else { return Err(no_task(&task)) };
    let (node, planned) = for_each_of(watched, &task)?;
    let page = Branches { watched, node, planned, state: params.state, limit };
    let (items, next) = page.from(&*app.ports, first).await?;
    let next_cursor = next.map(|next| scope.seal(&next.to_be_bytes()));
    Ok(Json(Page { items, next_cursor }).into_response())
}

struct Branches<'a> {
    watched: &'a Watched,
    node: u16,
    planned: &'a Node,
    state: Option<TaskState>,
    limit: usize,
}

impl Branches<'_> {
    /// The page that begins with this branch, and where the next one does.
    async fn from<D: Ports>(&self, ports: &D, first: u16) -> Result<(Vec<BranchView>, Option<u16>), Problem> {
        let Some((each, graph)) = self.watched.each(self.node) else { return Ok((Vec::new(), None)) };
        let count = graph.each.map_or(0, |each| each.count);
        if first > count {
            return Err(foreign());
        }
        let (mut at, mut items) = (first, Vec::new());
        let end = if self.state.is_some() { first.saturating_add(LOOKED_THROUGH).min(count) } else { count };
        while at < end && items.len() < self.limit {
            let most = u16::try_from(self.limit - items.len()).unwrap_or(AT_ONCE).min(AT_ONCE);
            let upto = at.saturating_add(if self.state.is_some() { AT_ONCE } else { most }).min(end);
            let runs = self.watched.branches(ports, self.node, at..upto).await?;
            let names = Names::of(ports, &each.tenant, runs.iter().flatten().flat_map(deciders)).await?;
            let now = ports.clock().now();
            for (number, run) in (at..upto).zip(&runs) {
                if items.len() == self.limit {
                    break;
                }
                let view = branch(self.watched, each, (number, self.planned), run.as_ref(), &names, now);
                if self.state.is_none_or(|state| view.tried.state == state) {
                    items.push(view);
                }
                at = number + 1;
            }
        }
        Ok((items, (at < count).then_some(at)))
    }
}

pub(super) fn planned<'a>(watched: &'a Watched, task: &TaskKey) -> Result<(u16, &'a Node), Problem> {
    let node = watched.plan.node_of(task).and_then(|node| Some((node, watched.plan.node(node)?)));
    node.ok_or_else(|| no_task(task))
}

/// The same, of a task that has branches.
pub(super) fn for_each_of<'a>(watched: &'a Watched, task: &TaskKey) -> Result<(u16, &'a Node), Problem> {
    match planned(watched, task)? {
        (_, planned) if planned.task.for_each.is_none() => {
            Err(Problem::conflict(format!("`{task}` is no for_each: it has no branches")))
        }
        there => Ok(there),
    }
}

/// What has become of a run's tasks, to decide about one of them.
pub(super) fn begun(whole: &Whole, now: Moment) -> Result<&Watched, Problem> {
    let status = whole.run.status(now);
    let nothing = || Problem::conflict(format!("the run is {status}, and none of its tasks has begun"));
    whole.watched.as_ref().ok_or_else(nothing)
}

pub(super) fn no_task(task: &TaskKey) -> Problem {
    Problem::new(Kind::NotFound, format!("there is no task `{task}` in this run"))
}
