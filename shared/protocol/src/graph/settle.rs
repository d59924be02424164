//! Settling: paying what the end of a run owes. Each debt is paid by a step that may be done twice; whatever is found over on the way is
//! settled as well, from a list and not by calling each other, since a chain of skipped tasks may be a thousand long.
//!
//! Rule **only settle erases**: a run's timer goes only after its debts are paid. Rule **up**: whoever finds the parent over settles
//! the parent before his own timer goes. Rule **lane**: a lane goes on where a branch closes its edge, not where one of its tries ends.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::{Run, Stop, TaskPlace};
use minutehand_domain::workflow::edge::{Closed, Decision, Ended, On, Rule};
use minutehand_domain::workflow::join::Of;
use minutehand_domain::workflow::plan::Node;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};

use super::birth::{start, take_up_if_started};
use super::ending::end_of_phase;
use super::family::Family;
use super::following::let_follow;
use super::join::{Closing, close};
use super::owed::{Owed, owed, owes};
use super::stop::{census, stop};
use super::unfold::begin;
use crate::day::count;
use crate::notifications::telling::tell;
use crate::run::callback::call_back;
use crate::slots::{Place, places_of, release};

/// What one settling writes: then its timer looks again, so that no call lasts for as long as a graph is large. What was done before
/// is passed over and costs no step, so that each look comes further than the one before.
const STEPS: usize = 100;

/// How far a settling came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a timer may go only when all is paid"]
pub enum Settled {
    Paid,
    /// There is more to do: its timer is to look again soon.
    More,
}

/// What is still to be done.
#[derive(Clone, Debug)]
pub(super) enum Due {
    Settle(Run),
    Stop(RunKey, Stop),
    Census(RunKey),
    /// Of a run's phase whatever nobody has begun yet.
    Begin(RunKey),
}

/// A list of what is to be done, of one tenant's.
pub(super) struct Work {
    pub tenant: Tenant,
    due: VecDeque<Due>,
    steps: usize,
    /// What was paid for: many ways may lead to one that was skipped, and each would lead on to all behind it.
    paid: BTreeSet<RunKey>,
    begun: BTreeSet<RunKey>,
    /// Runs that are to be looked through: each that ends below one asks for that.
    censuses: BTreeSet<RunKey>,
    /// Runs of tasks that were found there. Nothing is promised for one again: each look would leave one more timer at it.
    there: BTreeSet<RunKey>,
    /// Somebody whom an end concerns could not be told.
    untold: bool,
    /// What could not be read on the way. It has stopped nothing beside it, and is said at the end.
    unreadable: Option<Fault>,
}

/// Pays what a finished run owes, and tells whom it concerns. One that owes nothing and concerns nobody costs nothing.
pub async fn settle<D: Ports>(ports: &D, run: &Run) -> Result<Settled, Fault> {
    if !run.is_finished() {
        return Ok(Settled::Paid);
    }
    if !owes(run) {
        return Ok(if tell(ports, run).await { Settled::Paid } else { Settled::More });
    }
    let mut work = Work::of(&run.tenant);
    work.settle(run.clone());
    Box::pin(work.done(ports)).await // apart: most runs owe nothing, and need not carry its size
}

impl Work {
    pub(super) fn of(tenant: &Tenant) -> Self {
        Self {
            tenant: tenant.clone(),
            due: VecDeque::new(),
            steps: 0,
            paid: BTreeSet::new(),
            begun: BTreeSet::new(),
            censuses: BTreeSet::new(),
            there: BTreeSet::new(),
            untold: false,
            unreadable: None,
        }
    }

    pub(super) fn settle(&mut self, run: Run) {
        self.due.push_back(Due::Settle(run));
    }

    pub(super) fn add(&mut self, due: Due) {
        let waits_already = matches!(due, Due::Census(key) if !self.censuses.insert(key));
        if !waits_already {
            self.due.push_back(due);
        }
    }

    /// Stops runs below one that have tasks of their own, as many as one settling can, and looks through all below it behind that.
    pub(super) fn stop_below(&mut self, parent: RunKey, inner: impl Iterator<Item = RunKey>) {
        let before = self.due.len();
        self.due.extend(inner.take(STEPS).map(|run| Due::Stop(run, Stop::Cancelled)));
        if self.due.len() > before {
            self.add(Due::Census(parent));
        }
    }

    pub(super) fn found(&mut self, there: impl IntoIterator<Item = RunKey>) {
        self.there.extend(there);
    }

    pub(super) fn has_found(&self, run: RunKey) -> bool {
        self.there.contains(&run)
    }

    /// Goes on beside an item that cannot be read.
    pub(super) fn put_by(&mut self, done: Result<(), Fault>) -> Result<(), Fault> {
        match done {
            Err(fault) if fault.is_of_an_item() => {
                self.unreadable.get_or_insert(fault);
                Ok(())
            }
            done => done,
        }
    }

    /// Something was changed.
    pub(super) fn step(&mut self) {
        self.steps += 1;
    }

    /// Does all of it, and what comes of it.
    pub(super) async fn done<D: Ports>(mut self, ports: &D) -> Result<Settled, Fault> {
        while let Some(due) = self.due.pop_front() {
            if self.steps >= STEPS {
                return Ok(Settled::More);
            }
            match due {
                Due::Settle(run) if self.paid.insert(run.key) => pay(ports, &run, &mut self).await?,
                Due::Stop(key, word) => stop(ports, key, word, &mut self).await?,
                Due::Census(key) => {
                    self.censuses.remove(&key);
                    census(ports, key, &mut self).await?;
                }
                Due::Begin(key) if self.begun.insert(key) => begin(ports, key, &mut self).await?,
                Due::Settle(_) | Due::Begin(_) => {}
            }
        }
        match self.unreadable {
            Some(fault) => Err(fault),
            None => Ok(if self.untold { Settled::More } else { Settled::Paid }),
        }
    }
}

async fn pay<D: Ports>(ports: &D, run: &Run, work: &mut Work) -> Result<(), Fault> {
    for bound in &places_of(run) {
        let released = release(ports, Place::of(run, bound)).await;
        work.put_by(released)?;
    }
    count(ports, run).await?;
    let_follow(ports, run, work).await?;
    for _ in 0..call_back(ports, run).await? {
        work.step();
    }
    work.untold |= !tell(ports, run).await;
    match &run.task {
        Some(task) => settle_task(ports, run, task.parent, work).await,
        None => Ok(()),
    }
}

async fn settle_task<D: Ports>(ports: &D, run: &Run, parent: RunKey, work: &mut Work) -> Result<(), Fault> {
    let Some(mut family) = Family::of(ports, &run.tenant, parent).await? else { return Ok(()) };
    let Some(tasks) = family.parent.item.tasks().copied() else {
        if family.parent.item.is_finished() && owes(&family.parent.item) {
            work.settle(family.parent.item);
        }
        return Ok(());
    };
    let before = run.task.as_ref().is_some_and(|task| task.tainted);
    match owed(&family, &tasks, run, ports.clock().now()) {
        Owed::Nothing => {}
        Owed::Census => work.add(Due::Census(parent)),
        Owed::Stop(key, how) => work.add(Due::Stop(key, how)),
        Owed::Begin => work.add(Due::Begin(parent)),
        Owed::Again(place) => start(&mut family, place, Decision::Start, before, work).await?,
        Owed::Edges { place, ended, fails } => {
            let plan = Arc::clone(&family.plan);
            let Some(node) = plan.node(place.node) else { return Ok(()) };
            match place.branch {
                Some(branch) => settle_branch(&mut family, node, branch, ended, work).await?,
                None => settle_node(&mut family, node, place.node, (ended, before || fails), work).await?,
            }
        }
    }
    Ok(())
}

async fn settle_branch<D: Ports>(
    family: &mut Family<'_, D>,
    node: &Node,
    branch: u16,
    ended: Ended,
    work: &mut Work,
) -> Result<(), Fault> {
    let place = TaskPlace::branch(family.each_node(), branch);
    if let Some(next) = family.next_in_lane(node, branch) {
        start(family, TaskPlace { branch: Some(next), ..place }, Decision::Start, false, work).await?;
    }
    let closed = Closed::edge(On::Finished, ended, ended == Ended::Failed);
    if let Some((_, closed, _)) = close(family, Of::End, branch.into(), closed, Rule::All).await? {
        end_of_phase(family, Of::End, closed, work).await?;
    }
    Ok(())
}

async fn settle_node<D: Ports>(
    family: &mut Family<'_, D>,
    node: &Node,
    number: u16,
    (ended, tainted): (Ended, bool),
    work: &mut Work,
) -> Result<(), Fault> {
    let plan = Arc::clone(&family.plan);
    for child in &node.children {
        let Some(after) = plan.node(child.node) else { continue };
        let closed = Closed::edge(after.parents[child.edge].on, ended, tainted);
        let decided = close(family, Of::Task(child.node), child.edge, closed, after.task.rule).await?;
        if let Some((decision, closed, closing)) = decided {
            let place = TaskPlace::task(child.node);
            if closing == Closing::Now || !take_up_if_started(family, place, work).await? {
                start(family, place, decision, closed.tainted, work).await?;
            }
        }
    }
    if let Some(edge) = node.end {
        let of = family.plan.end(family.plan.phase(number));
        let closed = Closed::edge(On::Finished, ended, tainted);
        if let Some((_, closed, _)) = close(family, of, edge, closed, Rule::All).await? {
            end_of_phase(family, of, closed, work).await?;
        }
    }
    Ok(())
}
