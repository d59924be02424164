//! Watching: a run of a workflow, read for people. Its tasks' runs lie in at most sixteen parts, which are read page by page, a few parts
//! side by side: a run of a thousand tasks costs sixteen queries and not a thousand reads. Nothing is decided by what is read here.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::{Graph, Run, TaskPlace};
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::Does;
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::parts;
use minutehand_domain::workflow::plan::{Phase, Plan};
use minutehand_domain::workflow::progress::Progress;
use minutehand_domain::workflow::waits::of_task;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::lookup::plan_of;

pub use super::family::last_try;

/// Parts that are read side by side: of each there is a page in memory.
const AT_ONCE: usize = 4;

/// A run that has unfolded, its plan, and the last try at each task that has one.
#[derive(Clone, Debug)]
pub struct Watched {
    pub run: Run,
    pub graph: Graph,
    pub plan: Arc<Plan>,
    tasks: BTreeMap<u16, Run>,
}

/// How many branches there are in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchCounts {
    pub by_progress: BTreeMap<Progress, usize>,
    /// Runs that were read for it.
    pub read: usize,
    /// It was too much: there are at least so many.
    pub is_cut: bool,
}

/// Where a run of a task stands, told from the whole it is part of.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The workflow's run that it is a task of, of a branch as well.
    pub workflow_run: RunKey,
    pub key: TaskKey,
    pub place: TaskPlace,
    /// The job whose run all of it is.
    pub job: JobId,
    pub plan: Arc<Plan>,
    /// Whether its failure counts as one that is held.
    holds: bool,
}

impl Standing {
    /// What is called to carry it out; none where people are asked.
    pub fn target(&self) -> Option<&Target> {
        match &self.plan.node(self.place.node)?.task.does {
            Does::Call { target, .. } => Some(target),
            Does::Ask(_) => None,
        }
    }

    /// What the run that stands here waits for, in words.
    pub fn waits(&self, run: &Run, now: Moment) -> Option<String> {
        of_task(run, self.plan.node(self.place.node)?, Progress::of_run(run, self.holds, now), now)
    }
}

impl Watched {
    /// None where it has not unfolded, or into branches and not into tasks.
    pub async fn of<D: Ports>(ports: &D, run: Run) -> Result<Option<Self>, Fault> {
        let Some(graph) = run.graph.clone().filter(|graph| graph.each.is_none()) else { return Ok(None) };
        let Some(plan) = plan_of(ports, &run.tenant, graph.workflow, graph.version).await? else {
            return Ok(None);
        };
        let mut tasks = BTreeMap::<u16, Run>::new();
        each_below(ports, &run, &graph, usize::MAX, |run| keep_last(&mut tasks, run)).await?;
        Ok(Some(Self { run, graph, plan, tasks }))
    }

    /// The last try at a task.
    pub fn task(&self, node: u16) -> Option<&Run> {
        self.tasks.get(&node)
    }

    /// How far a task is.
    pub fn progress(&self, node: u16, now: Moment) -> Progress {
        if let Some(run) = self.task(node) {
            return self.progress_of(run, TaskPlace::task(node), now);
        }
        let closed = self.plan.edges_now(node, |node| self.task(node)).filter(|edge| edge.ended.is_some());
        Progress::of_unborn(self.run.may_still_start(self.plan.phase(node)), closed.count())
    }

    /// Of a run of a task or a branch.
    pub fn progress_of(&self, run: &Run, place: TaskPlace, now: Moment) -> Progress {
        Progress::of_run(run, holds(&self.plan, &self.run, run, place), now)
    }

    /// The run of a `for_each`, where a task is one and has unfolded.
    pub fn each(&self, node: u16) -> Option<(&Run, &Graph)> {
        let run = self.task(node)?;
        run.graph.as_ref().filter(|graph| graph.each.is_some()).map(|graph| (run, graph))
    }

    /// How far the branches of a `for_each` are, as far as so many reads tell.
    pub async fn branch_counts<D: Ports>(&self, ports: &D, node: u16, most: usize) -> Result<BranchCounts, Fault> {
        let mut counts = BranchCounts::default();
        let Some((each, graph)) = self.each(node) else { return Ok(counts) };
        let (count, now) = (graph.each.map_or(0, |each| each.count), ports.clock().now());
        let mut last = BTreeMap::<u16, (u16, Progress)>::new();
        let read = each_below(ports, each, graph, most, |run| {
            let Some((branch, place)) = branch_of(run.key) else { return };
            let progress = self.progress_of_branch(each, &run, place, now);
            let there = last.entry(branch).or_insert((place.turn, progress));
            if place.turn >= there.0 {
                *there = (place.turn, progress);
            }
        });
        (counts.read, counts.is_cut) = read.await?;
        for (_, progress) in last.values() {
            *counts.by_progress.entry(*progress).or_default() += 1;
        }
        let unborn = usize::from(count).saturating_sub(last.len());
        if unborn > 0 && !counts.is_cut {
            *counts.by_progress.entry(self.unborn_branch(each)).or_default() += unborn;
        }
        Ok(counts)
    }

    /// The last try at each of these branches, none where it has not begun. Each is read by its own key, many side by side.
    pub async fn branches<D: Ports>(
        &self,
        ports: &D,
        node: u16,
        branches: std::ops::Range<u16>,
    ) -> Result<Vec<Option<Run>>, Fault> {
        let Some((each, graph)) = self.each(node) else { return Ok(Vec::new()) };
        let read = branches.map(|branch| last_try(ports, each, graph, TaskPlace::branch(node, branch)));
        stream::iter(read).buffered(16 * AT_ONCE).try_collect().await
    }

    pub fn progress_of_branch(&self, each: &Run, run: &Run, place: TaskPlace, now: Moment) -> Progress {
        Progress::of_run(run, holds(&self.plan, each, run, place), now)
    }

    /// Of a branch that has no run.
    pub fn unborn_branch(&self, each: &Run) -> Progress {
        Progress::of_unborn(each.may_still_start(Phase::Main), 0)
    }
}

/// Shows each run of a task below a run that has unfolded, in no order, until so many were read. Answers how many were, and whether that
/// was not all.
pub async fn each_below<D: Ports>(
    ports: &D,
    parent: &Run,
    graph: &Graph,
    most: usize,
    mut see: impl FnMut(Run),
) -> Result<(usize, bool), Fault> {
    let pages = parts::places(parent.key, graph.parts).map(|job| pages_of(ports, &parent.tenant, job));
    let mut pages = std::pin::pin!(stream::iter(pages).flatten_unordered(AT_ONCE));
    let mut read = 0;
    while let Some(page) = pages.try_next().await? {
        for run in page {
            if read == most {
                return Ok((read, true));
            }
            read += 1;
            see(run);
        }
    }
    Ok((read, false))
}

fn pages_of<'a, D: Ports>(
    ports: &'a D,
    tenant: &'a Tenant,
    job: JobId,
) -> stream::BoxStream<'a, Result<Vec<Run>, Fault>> {
    let within = RunsOf { job, window: Moment::EPOCH..Moment::END };
    stream::try_unfold(Some(None), move |past: Option<Option<RunKey>>| {
        let within = within.clone();
        async move {
            let Some(past) = past else { return Ok(None) };
            let page = ports.store().list::<Run>(tenant, within, past, PAGE).await?.items;
            let next = (page.len() == PAGE).then(|| page.last().map(|run| run.key));
            Ok(Some((page, next)))
        }
    })
    .boxed()
}

/// The run of a workflow that a run is a task of, and what it is called there. None where it is no task's, or what it belongs to is gone.
pub async fn standing_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<Standing>, Fault> {
    let (Some(task), Some(place)) = (&run.task, TaskPlace::of(run.key)) else { return Ok(None) };
    let Some(parent) = read(ports, &run.tenant, task.parent).await? else { return Ok(None) };
    let whole = match (&parent.graph, &parent.task) {
        (Some(Graph { each: Some(_), .. }), Some(above)) => read(ports, &run.tenant, above.parent).await?,
        _ => Some(parent.clone()),
    };
    let Some(whole) = whole else { return Ok(None) };
    let Some(graph) = &whole.graph else { return Ok(None) };
    let Some(plan) = plan_of(ports, &run.tenant, graph.workflow, graph.version).await? else {
        return Ok(None);
    };
    let Some(key) = plan.node(place.node).map(|node| node.task.key.clone()) else { return Ok(None) };
    let holds = holds(&plan, &parent, run, place);
    let (workflow_run, mut root) = (whole.key, whole);
    while let Some(task) = root.task.as_ref().map(|task| task.parent) {
        let Some(above) = read(ports, &run.tenant, task).await? else { return Ok(None) };
        root = above;
    }
    Ok(Some(Standing { workflow_run, key, place, job: root.key.job, plan, holds }))
}

/// Whether a run's failure counts as one that is held: it waits for its verdict, or has it. A verdict stands also when the whole is over.
fn holds(plan: &Plan, parent: &Run, run: &Run, place: TaskPlace) -> bool {
    plan.holds_now(parent, place) || run.verdict().is_some() && plan.holds_failures(place)
}

async fn read<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Run>, Fault> {
    Ok(ports.store().get::<Run>(tenant, key).await?.map(|seen| seen.item))
}

fn keep_last(tasks: &mut BTreeMap<u16, Run>, run: Run) {
    let Some(place) = TaskPlace::of(run.key) else { return };
    let turn = |run: &Run| TaskPlace::of(run.key).map(|place| place.turn);
    let is_later = tasks.get(&place.node).is_none_or(|there| turn(there) < Some(place.turn));
    if is_later {
        tasks.insert(place.node, run);
    }
}

fn branch_of(key: RunKey) -> Option<(u16, TaskPlace)> {
    let place = TaskPlace::of(key)?;
    Some((place.branch?, place))
}
