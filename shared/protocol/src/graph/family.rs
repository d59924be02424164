//! A family: a run that has unfolded, its plan, and what its tasks may speak of. It is read once for whatever one settling does below
//! that run.

use std::collections::BTreeMap;
use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::{Graph, Run, TaskPlace, Word};
use minutehand_domain::workflow::definition::Tolerate;
use minutehand_domain::workflow::join::Of;
use minutehand_domain::workflow::parts;
use minutehand_domain::workflow::path::Root;
use minutehand_domain::workflow::plan::{Node, Plan};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::bodies::BodyOf;
use crate::lookup::plan_of;

pub(super) struct Family<'a, D> {
    pub ports: &'a D,
    pub parent: Seen<Run>,
    pub graph: Graph,
    pub plan: Arc<Plan>,
    /// The run of the whole workflow, where the parent is a `for_each`'s.
    top: Option<Run>,
    /// What was read of it and of its tasks.
    pub(super) values: BTreeMap<Root, Json>,
    /// What was told of its tasks.
    pub(super) told: BTreeMap<u16, Option<Run>>,
    /// Something that was to be read is larger than all of it may be.
    pub(super) too_much: bool,
    pub(super) items: Option<Vec<Json>>,
    /// The same run in those that are gone on with, as far back as was asked for.
    pub(super) past: BTreeMap<RunKey, Past>,
}

/// What stands in the place of a family's parent in a run that is gone on with.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub run: Run,
    /// The list of a `for_each`, once it was asked for.
    pub items: Option<Vec<Json>>,
}

impl<'a, D: Ports> Family<'a, D> {
    /// The family below a run; none where that is not there, or has not unfolded.
    pub(super) async fn of(ports: &'a D, tenant: &Tenant, parent: RunKey) -> Result<Option<Self>, Fault> {
        match ports.store().get::<Run>(tenant, parent).await? {
            Some(seen) => Self::below(ports, seen).await,
            None => Ok(None),
        }
    }

    pub(super) async fn below(ports: &'a D, parent: Seen<Run>) -> Result<Option<Self>, Fault> {
        let Some(graph) = parent.item.graph.clone() else { return Ok(None) };
        let (tenant, Graph { workflow, version, .. }) = (&parent.item.tenant, &graph);
        let Some(plan) = plan_of(ports, tenant, *workflow, *version).await? else {
            return Err(Fault::unreadable("store", format!("version {version} of {workflow} is not there")));
        };
        Ok(Some(Self {
            ports,
            parent,
            graph,
            plan,
            top: None,
            values: BTreeMap::new(),
            told: BTreeMap::new(),
            too_much: false,
            items: None,
            past: BTreeMap::new(),
        }))
    }

    pub(super) fn tenant(&self) -> &Tenant {
        &self.parent.item.tenant
    }

    /// The run of the whole workflow: the parent, or its own.
    pub(super) async fn top(&mut self) -> Result<&Run, Fault> {
        let above = self.graph.each.and(self.parent.item.task.as_ref()).map(|task| task.parent);
        let Some(above) = above else { return Ok(&self.parent.item) };
        if self.top.is_none() {
            let top = self.ports.store().get::<Run>(self.tenant(), above).await?;
            self.top = Some(top.ok_or_else(|| Fault::unreadable("store", "the run of a task is not there"))?.item);
        }
        Ok(self.top.as_ref().unwrap_or(&self.parent.item))
    }

    /// Of the bodies of a task that is about to be born.
    pub(super) fn body_of(&self, task: RunKey) -> BodyOf<'_> {
        BodyOf { run: task, ..BodyOf::run(&self.parent.item, self.ports.clock().now()) }
    }

    /// The run that stands at a place below the parent.
    pub(super) fn key(&self, place: TaskPlace) -> RunKey {
        place.key(self.parent.item.key, self.graph.parts)
    }

    /// How many edges meet at a join below it.
    pub(super) fn edges(&self, of: Of) -> usize {
        match self.graph.each {
            Some(each) => each.count.into(),
            None => self.plan.edges(of),
        }
    }

    /// How many branches, where it is a `for_each`.
    pub(super) fn branches(&self) -> u16 {
        self.graph.each.map_or(0, |each| each.count)
    }

    /// The branch that begins where this one has ended, of a `for_each` whose branches go in lanes.
    pub(super) fn next_in_lane(&self, node: &Node, branch: u16) -> Option<u16> {
        let lanes = node.task.for_each.as_ref()?.max_concurrent?;
        branch.checked_add(lanes.max(1)).filter(|next| *next < self.branches())
    }

    pub(super) fn each_node(&self) -> u16 {
        self.graph.each.map_or(0, |each| each.node)
    }

    /// Whether the failure of what stands here ends all below the parent: a `for_each` that tolerates some does not end at the first.
    pub(super) fn stops_at_first_failure(&self, place: TaskPlace) -> bool {
        let each = self.plan.node(place.node).and_then(|node| node.task.for_each.as_ref());
        place.branch.is_none() || each.is_none_or(|each| each.tolerate == Tolerate::default())
    }

    /// Every run below the parent, part by part, as strong reads see them.
    pub(super) async fn children(&self) -> Result<Vec<Run>, Fault> {
        children_of(self.ports, &self.parent.item, &self.graph).await
    }
}

/// The last try at what stands at a place below a run; none where none was made.
pub async fn last_try<D: Ports>(
    ports: &D,
    parent: &Run,
    graph: &Graph,
    mut place: TaskPlace,
) -> Result<Option<Run>, Fault> {
    let mut last = None;
    while let Some(seen) = ports.store().get::<Run>(&parent.tenant, place.key(parent.key, graph.parts)).await? {
        let is_tried_again = seen.item.verdict() == Some(Word::Retry);
        last = Some(seen.item);
        if !is_tried_again {
            break;
        }
        place = place.again();
    }
    Ok(last)
}

/// Every run of a task below a run that has unfolded.
pub(super) async fn children_of<D: Ports>(ports: &D, parent: &Run, graph: &Graph) -> Result<Vec<Run>, Fault> {
    let mut children = Vec::new();
    for job in parts::places(parent.key, graph.parts) {
        let within = RunsOf { job, window: Moment::EPOCH..Moment::END };
        let mut past = None;
        loop {
            let page = ports.store().list::<Run>(&parent.tenant, within.clone(), past, PAGE).await?.whole()?;
            past = page.last().map(|run| run.key);
            let is_last = page.len() < PAGE;
            children.extend(page);
            if is_last {
                break;
            }
        }
    }
    children.sort_by_key(|run| TaskPlace::of(run.key));
    Ok(children)
}
