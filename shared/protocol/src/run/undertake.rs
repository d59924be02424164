//! What a claim makes of a run that is not called: the tasks of a workflow, the branches of a `for_each`, a question to people. It is
//! claimed by the same guarded write as any other.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::owner::Undertaking;
use minutehand_domain::run::{Event as RunEvent, Refusal, Run};
use minutehand_domain::slot::{Bound, SlotName};
use minutehand_domain::timer::TimerKey;
use minutehand_domain::workflow::definition::Approval;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Fault, Ports};

use super::claim::{Claim, Dropped, Reading, Ready, dropped, erase_what_is_left, payload, promise_look_by};
use super::entry::{Entered, Entrant, Needs, NotIn, enter, leave_all_lines, leave_lines};
use super::lateness::in_turn;
use crate::bodies;
use crate::graph::settle::Settled;
use crate::graph::stop::tell_of_its_end;
use crate::graph::unfold::{self, Unfolding, begin_below, unfold};
use crate::slots::release_if_over;
use crate::timers::promise::{erase, promise_task};

/// None where the reading is stale: read again.
pub(super) async fn undertake<D: Ports>(
    ports: &D,
    hint: &Hint,
    reading: Reading,
    what: Undertaking,
) -> Result<Option<Claim>, Fault> {
    let given = payload(ports, hint, &reading).await?;
    let now = ports.clock().now();
    if reading.is_stale(ports.clock()) {
        return Ok(None);
    }
    let ready = match reading.ready(hint, now) {
        Ok(ready) => ready,
        Err(dropped) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let ready = match in_turn(ports, hint, ready).await? {
        Ok(ready) => Ready { run: ready.run.hinted(hint.sent, now), ..ready },
        Err(NotIn::Stale) => return Ok(None),
        Err(NotIn::Dropped(dropped)) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let Ready { owner, run, guard, .. } = &ready;
    if !owner.carries_on() {
        return write(ports, hint, (run, *guard), &RunEvent::Cancel { by: None }).await.map(Some);
    }
    let unfolding = match what {
        Undertaking::Ask(approval) => return ask(ports, hint, (run, *guard), &approval).await.map(Some),
        Undertaking::Unfold(target) => {
            let timeout = unfold::timeout_of(run.key, target, owner.terms());
            unfold::of_workflow(ports, run, target, given, timeout).await?
        }
        Undertaking::Branch(node) => branches(ports, run, node).await?,
        Undertaking::Call | Undertaking::Offer(_) => Err("it is carried out elsewhere".to_owned()),
    };
    match unfolding {
        Ok(unfolding) => begin(ports, hint, ready, &unfolding).await,
        Err(told) => write(ports, hint, (run, *guard), &RunEvent::Unmake(&told)).await.map(Some),
    }
}

/// Writes what ends the run, and pays what its end owes.
async fn write<D: Ports>(
    ports: &D,
    hint: &Hint,
    (run, guard): (&Run, Guard),
    event: &RunEvent<'_>,
) -> Result<Claim, Fault> {
    let now = ports.clock().now();
    let next = match run.after(event, now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { due }) => return Ok(Claim::NotYet(due)),
        Err(refusal) => return Ok(Claim::Dropped(dropped(refusal))),
    };
    if !ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
        return Ok(Claim::Dropped(Dropped::Faster));
    }
    ports.events().changed(run, &next, now);
    if next.is_finished() {
        let _whoever_walks_its_lines_passes_it_over = Box::pin(leave_all_lines(ports, run)).await; // apart: few wait
        erase_what_is_left(ports, hint, &next).await?;
    }
    Ok(Claim::Dropped(Dropped::Ended))
}

async fn branches<D: Ports>(ports: &D, run: &Run, node: u16) -> Result<Unfolding, Fault> {
    let parent = run.task.as_ref().map(|task| task.parent);
    let parent = match parent {
        Some(parent) => ports.store().get::<Run>(&run.tenant, parent).await?,
        None => None,
    };
    let Some(parent) = parent else { return Ok(Err("it is a task of nothing".to_owned())) };
    let until = parent.item.tasks().map_or(Moment::END, |tasks| tasks.deadline);
    let list = match &run.payload {
        Some(body) => bodies::fetch_of(ports, run, body).await?,
        None => None,
    };
    let Some(list) = list else { return Ok(Err("its list is not there".to_owned())) };
    if let Some(told) = unfold::too_many(ports, &parent).await? {
        return Ok(Err(told));
    }
    let parent = &parent.item;
    Ok(unfold::of_branches(parent, run, node, &list, until))
}

/// The timer of the question's end is promised before it is asked.
async fn ask<D: Ports>(
    ports: &D,
    hint: &Hint,
    (run, guard): (&Run, Guard),
    approval: &Approval,
) -> Result<Claim, Fault> {
    let (Some(task), now) = (&run.task, ports.clock().now()) else { return Ok(Claim::Dropped(Dropped::NoRecord)) };
    let until = now + approval.timeout;
    let next = match run.after(&RunEvent::Ask { until }, now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { due }) => return Ok(Claim::NotYet(due)),
        Err(refusal) => return Ok(Claim::Dropped(dropped(refusal))),
    };
    promise_task(ports, &run.tenant, TimerKey::run(run.key, until), task.parent).await?;
    if !ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
        return Ok(Claim::Dropped(Dropped::Faster)); // the timer too many is looked at and erased
    }
    ports.events().changed(run, &next, now);
    ports.store().erase_timer(&hint.timer, hint.stamp).await?;
    Ok(Claim::Dropped(Dropped::Begun))
}

/// Takes a place where places are few, claims the run, and begins its tasks. Its timer is left: rule **roots**. None where the reading
/// is stale by then: read again.
async fn begin<D: Ports>(
    ports: &D,
    hint: &Hint,
    Ready { owner, run, guard, read_at }: Ready,
    unfolding: &(minutehand_domain::run::Graph, Moment),
) -> Result<Option<Claim>, Fault> {
    let graph = &unfolding.0;
    let of_the_workflow = |width| Bound { slot: SlotName::Workflow(graph.workflow), width };
    if graph.slot.is_none() {
        leave_lines(ports, &run, &[of_the_workflow(1)]).await?; // it waited while the workflow had a bound
    }
    let own = graph.slot.map(of_the_workflow);
    let mut places: Vec<Bound> = own.into_iter().chain(owner.places(None)).collect();
    places.sort();
    let needs = Needs { places, overlap: owner.overlap(run.key), rate: owner.rate(), lane: owner.lane() };
    let entrant = Entrant { run, guard, read_at };
    let Entered { run, guard, places } = match enter(ports, hint, needs, entrant).await? {
        Ok(entered) => entered,
        Err(NotIn::Stale) => return Ok(None),
        Err(NotIn::Dropped(dropped)) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let look = Box::pin(promise_look_by(ports, hint, &run, ports.clock().now())).await?; // apart: few have waited
    let seen = match unfold(ports, (run.clone(), guard), unfolding).await? {
        Ok(Some(seen)) => seen,
        Ok(None) => {
            release_if_over(ports, &run, &places).await?;
            return Ok(Some(Claim::Dropped(Dropped::Faster)));
        }
        Err(Refusal::TooEarly { due }) => return Ok(Some(Claim::NotYet(due))),
        Err(refusal) => return Ok(Some(Claim::Dropped(dropped(refusal)))),
    };
    if graph.each.is_none() {
        tell_of_its_end(ports, &seen.item, unfolding.1).await;
    }
    if let (Settled::Paid, Some(look)) = (begin_below(ports, seen).await?, look) {
        erase(ports, &look).await?;
    }
    Ok(Some(Claim::Dropped(Dropped::Begun)))
}
