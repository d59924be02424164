//! Attending to a run that waits: what a hint or a look does that finds one. A run whose tasks are being stopped is gone through, one
//! whose deadline has passed is stopped, an approval that nobody answered ends as its task says.
//!
//! Rule **touch**: before a look moves the timer of a waiting run far, it writes the run unchanged, as it was seen: who promised before and
//! acts after is refused. Where the run has stalled, what is written says so: see [`super::stalling`].

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, RunKey};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{Event as RunEvent, Run, Said, State, Stop, TaskPlace, Tending, Waiting};
use minutehand_domain::timer::Timer;
use minutehand_domain::workflow::definition::Approval;
use minutehand_domain::workflow::edge::{Decision, Ended};
use minutehand_domain::workflow::join::{Join, JoinKey, Of, Tree};
use minutehand_domain::workflow::plan::Node;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::birth::made;
use super::family::Family;
use super::following::followed;
use super::judge::going_on_with;
use super::settle::{Due, Settled, Work, settle};
use super::stalling::stall_of;
use super::values::latest;
use crate::aftermath::{Try, make_sure, mark};
use crate::born::born;
use crate::run::callback;

/// How often a run that waits for its tasks is looked at: what died on its way is found then.
const LOOK_AGAIN: Duration = Duration::from_secs(15 * 60);
/// And one that is being stopped.
const STOPPING: Duration = Duration::from_secs(30);

/// Does what a run that waits needs now, if it needs anything.
pub async fn attend<D: Ports>(ports: &D, seen: &Seen<Run>) -> Result<Settled, Fault> {
    let (run, now) = (&seen.item, ports.clock().now());
    match run.waiting() {
        Some(Waiting::Tasks(tasks)) => {
            let mut work = Work::of(&run.tenant);
            if tasks.stop.is_some() {
                work.add(Due::Census(run.key));
            } else if tasks.deadline <= now {
                work.add(Due::Stop(whose_deadline(run), Stop::TimedOut));
            } else {
                work.add(Due::Begin(run.key)); // who unfolded it may have died before all of it was begun
            }
            Box::pin(work.done(ports)).await
        }
        Some(Waiting::Answer { until }) if *until <= now => Box::pin(unanswered(ports, seen)).await,
        Some(Waiting::Answer { .. } | Waiting::Slot { .. }) | None => Ok(Settled::Paid),
    }
}

/// The run whose time is up: a `for_each` has no deadline but that of the run whose task it is, which is stopped as a whole.
pub(super) fn whose_deadline(run: &Run) -> RunKey {
    let is_each = run.graph.as_ref().is_some_and(|graph| graph.each.is_some());
    run.task.as_ref().filter(|_| is_each).map_or(run.key, |task| task.parent)
}

async fn unanswered<D: Ports>(ports: &D, seen: &Seen<Run>) -> Result<Settled, Fault> {
    let (run, now) = (&seen.item, ports.clock().now());
    let default = approval_of(ports, run).await?.map(|approval| approval.default).unwrap_or_default();
    let tending = Tending::Unanswered(default);
    let Ok(next) = run.after(&RunEvent::Tend(&tending), now) else { return Ok(Settled::More) };
    if !ports.store().put(&next.tenant, next.key, &next, seen.guard()).await?.is_written() {
        return Ok(Settled::More); // somebody answered meanwhile: the next look sees
    }
    ports.events().changed(run, &next, now);
    settle(ports, &next).await
}

/// The approval that a task's run asks for.
pub(super) async fn approval_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<Approval>, Fault> {
    let (Some(task), Some(place)) = (&run.task, TaskPlace::of(run.key)) else { return Ok(None) };
    let Some(family) = Family::of(ports, &run.tenant, task.parent).await? else { return Ok(None) };
    Ok(family.plan.node(place.node).and_then(Node::approval).cloned())
}

/// What a look makes of a run that waits for its tasks: whatever is missing is begun. Answers when to look again; none where the
/// timer in hand is to stay as it is.
pub async fn look<D: Ports>(ports: &D, seen: Seen<Run>) -> Result<Option<Moment>, Fault> {
    let now = ports.clock().now();
    let Some(tasks) = seen.item.tasks().copied() else { return Ok(None) };
    let attended = attend(ports, &seen).await?;
    if tasks.stop.is_some() || tasks.deadline <= now {
        return Ok(Some(now + STOPPING));
    }
    if attended == Settled::More {
        return Ok(Some(now + Duration::from_secs(1)));
    }
    let stalled = stall_of(ports, &seen.item).await?;
    let remarked = stalled.as_ref().map_or_else(|| seen.item.clone(), |stall| stall.remarked_on(&seen.item, now));
    if !ports.store().put(&remarked.tenant, remarked.key, &remarked, seen.guard()).await?.is_written() {
        return Ok(None);
    }
    if let Some(stall) = stalled {
        ports.events().emit(&Event::Stalled { run: &remarked, since: stall.since, edge: &stall.edge });
    }
    Ok(Some(seen.item.looked_at_by(tasks.deadline.min(now + LOOK_AGAIN))))
}

/// Writes a run unchanged, as it was seen. False where somebody was faster: the timer in hand is to stay.
pub async fn touch<D: Ports>(ports: &D, seen: &Seen<Run>) -> Result<bool, Fault> {
    let run = &seen.item;
    Ok(ports.store().put(&run.tenant, run.key, run, seen.guard()).await?.is_written())
}

/// Whether the timer of a finished run may go. That of a failure which waits for a verdict goes only after the run was written
/// unchanged: who judges it and promised before this is refused, and promises again.
pub async fn let_go<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    if run.task.is_none() || run.verdict().is_some() || !Box::pin(is_held(ports, run)).await? {
        return Ok(true);
    }
    let Some(seen) = ports.store().get::<Run>(&run.tenant, run.key).await? else { return Ok(true) };
    if seen.item == *run { touch(ports, &seen).await } else { Ok(false) }
}

/// In whatever way, and whatever somebody made of it.
pub(super) const fn has_failed(run: &Run) -> bool {
    matches!(run.state, State::Failed { .. } | State::TimedOut { .. })
}

/// Whether the failure of this task's run waits for a verdict: its parent goes on, and its policy holds failures.
pub(super) async fn is_held<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    if !has_failed(run) {
        return Ok(false);
    }
    let (Some(task), Some(place)) = (&run.task, TaskPlace::of(run.key)) else { return Ok(false) };
    let Some(family) = Family::of(ports, &run.tenant, task.parent).await? else { return Ok(false) };
    Ok(family.plan.holds_now(&family.parent.item, place))
}

/// What a look makes of the promise of a run that is derived from another, and is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    Made,
    /// The run that it is derived from is not there either.
    Unknown,
    /// Nothing came of what it was promised for, and nothing can any more.
    Withdrawn,
    /// Somebody was faster: the next look sees.
    Busy,
}

/// Makes a run whose timer was promised after a decision that is final, and which is not there: that of a task, of a callback, of a follower,
/// or one that goes on with another. Another try at a run is made where that says there is one.
pub async fn derive<D: Ports>(ports: &D, timer: &Timer, from: RunKey, key: RunKey) -> Result<Derived, Fault> {
    let made = |is_made| if is_made { Derived::Made } else { Derived::Unknown };
    if let Some(place) = TaskPlace::of(key) {
        return derive_task(ports, timer, from, place).await.map(made);
    }
    match key.origin {
        Origin::Callback => callback::derive(ports, timer, from, key).await.map(made),
        Origin::Follow => derive_follower(ports, timer, from, key).await.map(made),
        origin => {
            let Some(before) = ports.store().get::<Run>(&timer.tenant, from).await? else {
                return Ok(Derived::Unknown);
            };
            let is_try = origin == Origin::Redrive;
            if is_try { derive_try(ports, &before, key).await } else { derive_resumed(ports, &before).await }
        }
    }
}

async fn derive_follower<D: Ports>(ports: &D, timer: &Timer, from: RunKey, key: RunKey) -> Result<bool, Fault> {
    match followed(ports, timer, from, key).await? {
        Some(run) => put_derived(ports, &run).await.map(|()| true),
        None => Ok(false),
    }
}

/// Rule **promise, mark, make**: before a promise goes of which the old run says nothing, that is written unchanged.
async fn derive_try<D: Ports>(ports: &D, before: &Seen<Run>, key: RunKey) -> Result<Derived, Fault> {
    if before.item.redriven_as() == Some(key) {
        make_sure(ports, &before.item).await?;
        return Ok(Derived::Made);
    }
    Ok(if touch(ports, before).await? { Derived::Withdrawn } else { Derived::Busy })
}

/// Rule **promise, mark, make** here too, but that its look marks what nobody has seen to: who asked for it may have died before the old run
/// said so. Where that was dismissed since, or is tried again otherwise, nothing comes of the promise.
async fn derive_resumed<D: Ports>(ports: &D, before: &Seen<Run>) -> Result<Derived, Fault> {
    let now = ports.clock().now();
    let run = going_on_with(&before.item, None, now);
    let run = before.item.other_try(now).filter(|told| told.key == run.key).unwrap_or(run);
    if before.item.aftermath.is_some() && before.item.redriven_as() != Some(run.key) {
        return Ok(if touch(ports, before).await? { Derived::Withdrawn } else { Derived::Busy });
    }
    if before.item.aftermath.is_none() {
        let other =
            Try { key: run.key, payload: None, said: Said::default(), operation: None, lane: Lane::look(run.priority) };
        if mark(ports, before, other).await?.is_none() {
            return Ok(Derived::Busy);
        }
    }
    put_derived(ports, &run).await.map(|()| Derived::Made)
}

/// Or records that it is not wanted any more.
async fn derive_task<D: Ports>(ports: &D, timer: &Timer, parent: RunKey, place: TaskPlace) -> Result<bool, Fault> {
    let Some(mut family) = Family::of(ports, &timer.tenant, parent).await? else { return Ok(false) };
    let tainted = is_tainted(&family, place).await?;
    let run = made(&mut family, place, Decision::Start, tainted).await?; // decided again, as it was
    let is_wanted = family.parent.item.wants(family.plan.phase(place.node));
    let now = ports.clock().now();
    let run = if is_wanted || run.is_finished() {
        run
    } else {
        run.after(&RunEvent::Cancel { by: None }, now).unwrap_or(run)
    };
    put_derived(ports, &run).await.map(|()| true)
}

async fn put_derived<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    born(ports, run, "none", ports.clock().now()).await.map(|_whoever_was_faster_made_the_same| ())
}

/// Whether a failure lies before a task that was decided to start, as its join or the one task before it says.
async fn is_tainted<D: Ports>(family: &Family<'_, D>, place: TaskPlace) -> Result<bool, Fault> {
    let Some(node) = family.plan.node(place.node).filter(|_| place.branch.is_none()) else { return Ok(false) };
    match node.parents.as_slice() {
        [] => Ok(false),
        [only] => {
            let Some(run) = latest(family.ports, &family.parent.item, only.node).await? else {
                return Ok(false);
            };
            let is_allowed = family.plan.node(only.node).is_none_or(|node| node.task.allow_failure);
            let before = run.task.as_ref().is_some_and(|task| task.tainted);
            let holds = family.plan.holds_failures(TaskPlace::task(only.node));
            Ok(before || run.ended(holds) == Some(Ended::Failed) && !is_allowed)
        }
        many => {
            let root = Tree::of(many.len()).root();
            let key = JoinKey::new(family.parent.item.key, family.graph.parts, Of::Task(place.node), root);
            let join = family.ports.store().get::<Join>(family.tenant(), key).await?;
            Ok(join.is_some_and(|seen| seen.item.known().1.tainted))
        }
    }
}
