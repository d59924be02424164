//! Stalling: whether a run that waits for its tasks waits for nothing. The look that would move its timer far asks so; nothing is decided by
//! the answer but that it is said, once.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::run::{Remark, Remarked, Run, TaskPlace};
use minutehand_domain::workflow::plan::Phase;
use minutehand_domain::workflow::stall::{STALLED_AFTER, branch_in_words, edge_in_words, stalled_since};
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};

use super::family::Family;

pub(super) struct Stall {
    /// When anything last changed.
    pub since: Moment,
    /// Which edge it waits for, in words.
    pub edge: String,
}

impl Stall {
    /// The run with a remark of it, so that it is said once.
    pub(super) fn remarked_on(&self, run: &Run, now: Moment) -> Run {
        run.clone().remarked(Remark { at: now, by: None, what: Remarked::Stalled, note: Some(self.edge.clone()) })
    }
}

/// None where something goes on, is awaited or has changed a short while ago; or where it was said before.
pub(super) async fn stall_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<Stall>, Fault> {
    let (Some(tasks), now) = (run.tasks(), ports.clock().now()) else { return Ok(None) };
    if now.since(run.started_at.unwrap_or(run.key.at)) < STALLED_AFTER {
        return Ok(None);
    }
    let Some(family) = Family::of(ports, &run.tenant, run.key).await? else { return Ok(None) };
    let last = last_tries(family.children().await?);
    let holds = |place| family.plan.holds_failures(place);
    let children = last.values().filter_map(|run| Some((run, holds(TaskPlace::of(run.key)?))));
    let Some(since) = stalled_since(run, children, now) else { return Ok(None) };
    let edge = words(&family, &last, tasks.phase);
    Ok(Some(Stall { since, edge }))
}

fn words<D: Ports>(family: &Family<'_, D>, last: &BTreeMap<(u16, Option<u16>), Run>, phase: Phase) -> String {
    let each = family.each_node();
    if family.graph.each.is_some() {
        let holds = family.plan.holds_failures(TaskPlace::branch(each, 0));
        branch_in_words(family.branches(), |branch| last.get(&(each, Some(branch))), holds)
    } else {
        edge_in_words(&family.plan, phase, |node| last.get(&(node, None)))
    }
}

/// The last try at each task and branch.
fn last_tries(children: Vec<Run>) -> BTreeMap<(u16, Option<u16>), Run> {
    let mut last = BTreeMap::new();
    for run in children {
        if let Some(place) = TaskPlace::of(run.key) {
            last.insert((place.node, place.branch), run); // they are sorted, the last try last
        }
    }
    last
}
