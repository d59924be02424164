//! Unfolding: what a claim does with a run that has tasks. It is claimed like any other, and nothing is called: it waits for them.
//! Its timer is left, so that its look starts what a process left undone that died right after the claim.
//!
//! Rule **roots**: an unfolded run's timer moves only after its roots exist, and its look starts those that are missing.
//! Rule **empty**: a `for_each` over an empty list ends at once.

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::RunKey;
use minutehand_domain::limits::{BRANCHES, PAYLOAD_BYTES, TASK_RUNS, WHOLE_TASK_RUNS, WORKFLOW_DEPTH};
use minutehand_domain::order::Terms;
use minutehand_domain::run::{Branches, Event as RunEvent, Graph, Refusal, Run, TaskPlace};
use minutehand_domain::target::WorkflowTarget;
use minutehand_domain::workflow::edge::{Closed, Decision};
use minutehand_domain::workflow::parts::parts_for;
use minutehand_domain::workflow::plan::Phase;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};
use std::time::Duration;

use super::birth::{start, start_branches};
use super::ending::end_of_phase;
use super::family::Family;
use super::settle::{Settled, Work};
use super::values::latest;
use crate::bodies;
use crate::lookup::plan_of;

/// For how long after its deadline something of a run may still be looked for.
const KEPT: Duration = Duration::from_secs(7 * 86_400);

/// What a run is to unfold into, or why it cannot.
pub type Unfolding = Result<(Graph, Moment), String>;

/// The graph of a workflow that a run is to carry out.
pub async fn of_workflow<D: Ports>(
    ports: &D,
    run: &Run,
    target: WorkflowTarget,
    given: Option<Json>,
    timeout: Option<Duration>,
) -> Result<Unfolding, Fault> {
    if run.task.as_ref().is_some_and(|task| task.depth >= WORKFLOW_DEPTH) {
        return Ok(Err(format!("workflows call workflows at most {WORKFLOW_DEPTH} deep")));
    }
    let Some(version) = version_of(ports, run, target).await? else {
        return Ok(Err(format!("the workflow {} is not there", target.id)));
    };
    let Some(plan) = plan_of(ports, &run.tenant, target.id, version).await? else {
        return Ok(Err(format!("the workflow {} has no version {version}", target.id)));
    };
    if let Some(told) = beyond_a_share(shares(ports, run).await?, plan.nodes().count()) {
        return Ok(Err(told));
    }
    let policy = plan.policy();
    let (given, is_as_given) = match &policy.params {
        Some(schema) => match schema.admit(given.as_ref()) {
            Ok(params) => {
                let is_as_given = given.as_ref() == Some(&params);
                (Some(params), is_as_given)
            }
            Err(bad) => return Ok(Err(format!("params{}: {}", bad[0].at, bad[0].why))),
        },
        None => (given, true),
    };
    if let Some(given) = given.as_ref().filter(|given| given.len() > PAYLOAD_BYTES) {
        let bytes = given.len();
        return Ok(Err(format!("params: with their defaults they have {bytes} bytes, and at most {PAYLOAD_BYTES}")));
    }
    let now = ports.clock().now();
    let given = bodies::keep_params(ports, run, given, is_as_given, now).await?;
    let deadline = now + timeout.map_or(policy.timeout, |asked| asked.min(policy.timeout));
    let expires_at = run.kept.from(deadline + policy.finally_timeout + KEPT);
    let slot = match policy.max_concurrent_runs {
        Some(_) if has_a_place_above(ports, run, target.id).await? => None,
        most => most,
    };
    let graph = Graph { workflow: target.id, version, each: None, given, parts: plan.parts(), expires_at, slot };
    Ok(Ok((graph, deadline)))
}

/// The version that is asked for; of a run that goes on with another, that one's; else the newest. Of a deleted workflow nothing starts any more.
async fn version_of<D: Ports>(ports: &D, run: &Run, target: WorkflowTarget) -> Result<Option<u32>, Fault> {
    let there = ports.store().get::<Workflow>(&run.tenant, target.id).await?.map(|seen| seen.item);
    let Some(workflow) = there.filter(|workflow| !workflow.deleted) else { return Ok(None) };
    match graph_before(ports, run).await? {
        Some(graph) => Ok(Some(graph.version).filter(|_| graph.workflow == target.id)),
        None => Ok(Some(target.version.unwrap_or(workflow.version))),
    }
}

/// What the last run that this one goes on with had unfolded to: one that ended before that is passed over.
pub(super) async fn graph_before<D: Ports>(ports: &D, run: &Run) -> Result<Option<Graph>, Fault> {
    let mut next = run.before();
    while let Some(before) = next {
        let Some(Seen { item, .. }) = ports.store().get::<Run>(&run.tenant, before).await? else { break };
        next = item.before();
        if item.graph.is_some() {
            return Ok(item.graph);
        }
    }
    Ok(None)
}

/// Why a run may not have the runs of tasks that its lists ask for, by itself or by its share of the whole that it is below.
pub async fn too_many<D: Ports>(ports: &D, parent: &Seen<Run>) -> Result<Option<String>, Fault> {
    let Some(family) = Family::below(ports, parent.clone()).await? else { return Ok(None) };
    let shares = shares(ports, &parent.item).await?;
    let most = family.plan.nodes().count() + family.plan.lists().count() * BRANCHES;
    if most <= TASK_RUNS && shares.saturating_mul(most) <= WHOLE_TASK_RUNS {
        return Ok(None); // they cannot be too many
    }
    let runs = asked_for(&family).await?;
    if runs > TASK_RUNS {
        return Ok(Some(format!("a run has at most {TASK_RUNS} runs of tasks, and this one's lists ask for {runs}")));
    }
    Ok(beyond_a_share(shares, runs))
}

fn beyond_a_share(shares: usize, runs: usize) -> Option<String> {
    (shares.saturating_mul(runs) > WHOLE_TASK_RUNS).then(|| {
        format!(
            "all workflows of a run together have at most {WHOLE_TASK_RUNS} runs of tasks: this is one of {shares}, and asks for {runs}"
        )
    })
}

/// Whether a run above this one has a place of the same workflow. It keeps that until it is over, and waits for this one: one more place
/// would be waited for by the two of them for ever.
async fn has_a_place_above<D: Ports>(ports: &D, run: &Run, workflow: WorkflowId) -> Result<bool, Fault> {
    let mut above = run.task.as_ref().map(|task| task.parent);
    while let Some(parent) = above {
        let Some(seen) = ports.store().get::<Run>(&run.tenant, parent).await? else { break };
        let has_a_place = |graph: &Graph| graph.workflow == workflow && graph.slot.is_some();
        if seen.item.graph.as_ref().is_some_and(has_a_place) {
            return Ok(true);
        }
        above = seen.item.task.map(|task| task.parent);
    }
    Ok(false)
}

/// Into how many shares the whole is divided where a run is: at each level above it there are as many as branches, or as tasks that are
/// workflows. So the bound holds without a count that all of them would write.
async fn shares<D: Ports>(ports: &D, run: &Run) -> Result<usize, Fault> {
    let mut shares = 1_usize;
    let mut above = run.task.as_ref().map(|task| task.parent);
    while let Some(parent) = above {
        let Some(family) = Family::of(ports, &run.tenant, parent).await? else { break };
        shares = shares.saturating_mul(family.graph.each.map_or(family.plan.callers(), |each| each.count.into()));
        above = family.parent.item.task.map(|task| task.parent);
    }
    Ok(shares)
}

/// How many runs of tasks a run asks for, as far as its lists are judged: the list of a `for_each` is on record before that unfolds, so
/// of two that are too many together at least one sees the other.
async fn asked_for<D: Ports>(family: &Family<'_, D>) -> Result<usize, Fault> {
    let (ports, parent) = (family.ports, &family.parent);
    let mut runs = family.plan.nodes().count();
    for node in family.plan.lists() {
        let Some(each) = latest(ports, &parent.item, node).await? else { continue };
        let count = match (&each.graph.as_ref().and_then(|graph| graph.each), &each.payload) {
            (Some(branches), _) => branches.count.into(),
            (None, Some(list)) => {
                let list = bodies::fetch_of(ports, &each, list).await?;
                list.map_or(0, |list| list.items().len())
            }
            (None, None) => 0,
        };
        runs += count;
    }
    Ok(runs)
}

/// The graph of a `for_each`: one task, and a branch for each item of the list that its run was given.
pub fn of_branches(parent: &Run, run: &Run, node: u16, list: &Json, until: Moment) -> Unfolding {
    let Some(above) = &parent.graph else { return Err("it is a task of nothing".to_owned()) };
    let count = u16::try_from(list.items().len()).map_err(|_many| "its list is too long".to_owned())?;
    let (given, parts) = (run.payload.clone().unwrap_or(Body::Empty), parts_for(count.into()));
    let graph = Graph { each: Some(Branches { node, count }), given, parts, slot: None, ..above.clone() };
    Ok((graph, until))
}

/// Claims a run that has tasks, and begins them. None where somebody was faster.
pub async fn unfold<D: Ports>(
    ports: &D,
    seen: (Run, Guard),
    unfolding: &(Graph, Moment),
) -> Result<Result<Option<Seen<Run>>, Refusal>, Fault> {
    let ((run, guard), now) = (seen, ports.clock().now());
    let event = RunEvent::Unfold { graph: &unfolding.0, deadline: unfolding.1 };
    let next = match run.after(&event, now) {
        Ok(next) => next,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let Put::Written(version) = ports.store().put(&next.tenant, next.key, &next, guard).await? else {
        return Ok(Ok(None));
    };
    ports.events().changed(&run, &next, now);
    Ok(Ok(Some(Seen { item: next, version })))
}

/// Begins the tasks of a run that has just unfolded: those that depend on nothing.
pub async fn begin_below<D: Ports>(ports: &D, seen: Seen<Run>) -> Result<Settled, Fault> {
    let mut work = Work::of(&seen.item.tenant);
    let Some(mut family) = Family::below(ports, seen).await? else { return Ok(Settled::Paid) };
    begin_missing(&mut family, &mut work).await?;
    work.done(ports).await
}

/// The same, where some may have begun before.
pub(super) async fn begin<D: Ports>(ports: &D, key: RunKey, work: &mut Work) -> Result<(), Fault> {
    let Some(mut family) = Family::of(ports, &work.tenant, key).await? else { return Ok(()) };
    let Some(tasks) = family.parent.item.tasks().copied() else { return Ok(()) };
    find_begun(&family, tasks.phase, work).await?;
    begin_missing(&mut family, work).await
}

/// Begins what is not among the runs that were found there.
async fn begin_missing<D: Ports>(family: &mut Family<'_, D>, work: &mut Work) -> Result<(), Fault> {
    let Some(tasks) = family.parent.item.tasks().copied() else { return Ok(()) };
    if let Some(each) = family.graph.each {
        if each.count == 0 {
            return end_of_phase(family, family.plan.end(Phase::Main), Closed::NONE, work).await;
        }
        let lanes = family.plan.node(each.node).and_then(|node| node.task.for_each.as_ref()?.max_concurrent);
        let first = 0..each.count.min(lanes.unwrap_or(each.count));
        let missing = |branch: &u16| !work.has_found(family.key(TaskPlace::branch(each.node, *branch)));
        let missing: Vec<u16> = first.filter(missing).collect();
        return start_branches(family, missing, work).await;
    }
    let roots: Vec<u16> = family.plan.roots(tasks.phase).collect();
    for node in roots {
        start(family, TaskPlace::task(node), Decision::Start, false, work).await?;
    }
    Ok(())
}

/// Finds the runs that are there already. One of this phase that was born over has no timer: it is settled again. One of the phase before is
/// paid for, since that has ended; settled, it would begin this one, and so itself, for ever.
async fn find_begun<D: Ports>(family: &Family<'_, D>, phase: Phase, work: &mut Work) -> Result<(), Fault> {
    let children = family.children().await?;
    work.found(children.iter().map(|run| run.key));
    let is_of_this_phase = |run: &Run| {
        family.graph.each.is_some() || TaskPlace::of(run.key).is_some_and(|at| family.plan.phase(at.node) == phase)
    };
    let born_over = children.into_iter().filter(|run| run.is_finished() && run.fence == 0);
    born_over.filter(is_of_this_phase).for_each(|run| work.settle(run));
    Ok(())
}

/// How long a run of a workflow may take by the word of whoever starts it, which can only shorten what the version says: its own
/// job leaves it at that.
pub fn timeout_of(run: RunKey, target: WorkflowTarget, terms: &Terms) -> Option<Duration> {
    (run.job != target.id.job()).then_some(terms.timeout)
}
