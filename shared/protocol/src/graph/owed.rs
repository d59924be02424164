//! What the end of a run owes, as the table stands: it is decided here, paid by [`super::settle`], and looked for by a repair, which finds
//! what nobody pays any more since the timer behind it was lost.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Run, Stop, TaskPlace, Tasks, Word};
use minutehand_domain::workflow::definition::OnFailure;
use minutehand_domain::workflow::edge::{Closed, Ended, On, Rule};
use minutehand_domain::workflow::join::{Join, JoinKey, Of, Seen as Found, Tree};
use minutehand_domain::workflow::plan::{Node, Phase};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use super::attend::whose_deadline;
use super::family::Family;
use super::following::left_a_follower;
use crate::day::is_uncounted;
use crate::run::callback::is_untold;
use crate::slots::{Place, holds, places_of};

/// What follows the end of a task's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// Nothing, or nothing yet: a failure waits for its verdict.
    Nothing,
    /// The parent is being stopped, and has so few tasks that the last one ends it.
    Census,
    /// The parent is to be stopped.
    Stop(RunKey, Stop),
    /// The parent's next phase: whoever ended this one may have died before that began.
    Begin,
    /// Another try, which somebody asked for.
    Again(TaskPlace),
    /// The edges of what stands here are to close. `fails`: its failure counts.
    Edges { place: TaskPlace, ended: Ended, fails: bool },
}

/// What the end of a run owes to a parent whose tasks stand like this.
pub(super) fn owed<D: Ports>(family: &Family<'_, D>, tasks: &Tasks, run: &Run, now: Moment) -> Owed {
    let (plan, parent) = (&family.plan, &family.parent.item);
    if tasks.stop.is_some() {
        // Its own look sees to the rest; of a few tasks the last one does, so that nobody waits for a look.
        return if family.graph.parts == 1 { Owed::Census } else { Owed::Nothing };
    }
    if tasks.deadline <= now {
        return Owed::Stop(whose_deadline(parent), Stop::TimedOut);
    }
    let Some((place, node)) = TaskPlace::of(run.key).and_then(|place| Some((place, plan.node(place.node)?))) else {
        return Owed::Nothing;
    };
    let phase = plan.phase(place.node);
    if phase < tasks.phase {
        return Owed::Begin;
    }
    if run.verdict() == Some(Word::Retry) {
        return Owed::Again(place.again());
    }
    let Some(ended) = run.ended(plan.holds_failures(place)) else { return Owed::Nothing };
    let fails = ended == Ended::Failed && !node.task.allow_failure;
    let stops = plan.policy().failure == OnFailure::FailFast && phase == Phase::Main;
    if fails && stops && family.stops_at_first_failure(place) {
        return Owed::Stop(parent.key, Stop::Failed);
    }
    Owed::Edges { place, ended, fails }
}

/// Whether the end of a run owes anything to anybody.
pub fn owes(run: &Run) -> bool {
    let holds_places = !run.admission.places.is_empty() || run.graph.as_ref().is_some_and(|graph| graph.slot.is_some());
    run.task.is_some()
        || holds_places
        || run.owes_followers()
        || run.callbacks_owed().next().is_some()
        || run.counted_end().is_some()
}

/// Whether a run that is over owes what nobody has paid. What a look at its parent pays is the parent's: that is not over.
pub async fn is_unpaid<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    if !owes(run) || !run.is_finished() {
        return Ok(false);
    }
    Ok(is_uncounted(ports, run).await?
        || holds_a_place(ports, run).await?
        || left_a_follower(ports, run).await?
        || is_untold(ports, run).await?
        || Box::pin(left_its_parent(ports, run)).await?)
}

async fn holds_a_place<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    for bound in &places_of(run) {
        if holds(ports, Place::of(run, bound)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the parent waits for what this end was to bring about.
async fn left_its_parent<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    let Some(task) = &run.task else { return Ok(false) };
    let Some(family) = Family::of(ports, &run.tenant, task.parent).await? else { return Ok(false) };
    let Some(tasks) = family.parent.item.tasks().copied() else { return Ok(false) };
    match owed(&family, &tasks, run, ports.clock().now()) {
        Owed::Nothing | Owed::Census | Owed::Begin | Owed::Stop(_, Stop::TimedOut | Stop::Cancelled) => Ok(false),
        Owed::Stop(_, Stop::Failed) => Ok(true),
        Owed::Again(place) => lacks(&family, place).await,
        Owed::Edges { place, ended, fails } => {
            let tainted = fails || task.tainted;
            let Some(node) = family.plan.node(place.node) else { return Ok(false) };
            match place.branch {
                Some(branch) => left_a_branch(&family, node, branch, ended).await,
                None => left_a_task(&family, node, place.node, (ended, tainted)).await,
            }
        }
    }
}

async fn left_a_branch<D: Ports>(
    family: &Family<'_, D>,
    node: &Node,
    branch: u16,
    ended: Ended,
) -> Result<bool, Fault> {
    if let Some(next) = family.next_in_lane(node, branch)
        && lacks(family, TaskPlace::branch(family.each_node(), next)).await?
    {
        return Ok(true);
    }
    let closed = Closed::edge(On::Finished, ended, ended == Ended::Failed);
    // The parent has not ended: where all of its branches are told of, somebody was to end it.
    Ok(edge(family, Of::End, branch.into(), closed, Rule::All).await? != Edge::Closed)
}

async fn left_a_task<D: Ports>(
    family: &Family<'_, D>,
    node: &Node,
    number: u16,
    (ended, tainted): (Ended, bool),
) -> Result<bool, Fault> {
    for child in &node.children {
        let Some(after) = family.plan.node(child.node) else { continue };
        let closed = Closed::edge(after.parents[child.edge].on, ended, tainted);
        let is_left = match edge(family, Of::Task(child.node), child.edge, closed, after.task.rule).await? {
            Edge::Open => true,
            Edge::Closed => false,
            Edge::Last => lacks(family, TaskPlace::task(child.node)).await?,
        };
        if is_left {
            return Ok(true);
        }
    }
    let Some(at) = node.end else { return Ok(false) };
    let (of, closed) = (family.plan.end(family.plan.phase(number)), Closed::edge(On::Finished, ended, tainted));
    Ok(edge(family, of, at, closed, Rule::All).await? != Edge::Closed)
}

async fn lacks<D: Ports>(family: &Family<'_, D>, place: TaskPlace) -> Result<bool, Fault> {
    Ok(family.ports.store().get::<Run>(family.tenant(), family.key(place)).await?.is_none())
}

/// How an edge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// It is told nowhere, or not as far up as all that is known below reaches.
    Open,
    /// It is told, and others are not.
    Closed,
    /// It is told, and all is known that the rule asks for.
    Last,
}

/// What [`super::join::close`] would find, without closing anything.
async fn edge<D: Ports>(family: &Family<'_, D>, of: Of, edge: usize, how: Closed, rule: Rule) -> Result<Edge, Fault> {
    let edges = family.edges(of);
    if edges <= 1 {
        return Ok(if rule.decide(how, true).is_some() { Edge::Last } else { Edge::Closed });
    }
    let (tree, (mut node, mut at)) = (Tree::of(edges), Tree::leaf(edge));
    loop {
        let key = JoinKey::new(family.parent.item.key, family.graph.parts, of, node);
        let join = family.ports.store().get::<Join>(family.tenant(), key).await?;
        let Some(join) = join.filter(|join| join.item.has_closed(at)) else { return Ok(Edge::Open) };
        match tree.look(node, &join.item, rule) {
            Found::Open => return Ok(Edge::Closed),
            Found::Decided(..) => return Ok(Edge::Last),
            Found::Up { node: above, edge, .. } => (node, at) = (above, edge),
        }
    }
}
