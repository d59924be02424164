//! Overlap: what a run does that found its job's places taken. It waits, makes way for the other, or asks that one to make way, as its
//! job says.
//!
//! Rule **older**: of two runs of a job that would cancel each other the newer one goes on. Whoever waits for the end of another has
//! become a waiter before it asks for it, so that the end finds somebody to tell.

use minutehand_domain::access::By;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::overlap::{Meeting, Overlap};
use minutehand_domain::run::{Event as RunEvent, Run};
use minutehand_domain::slot::SlotName;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use super::cancel::cancel_with;
use super::claim::{Dropped, erase_what_is_left};
use super::entry::{Entrant, NotIn, leave_lines, waits_since};
use crate::slots::{Place, acquire, others_of, rank};

/// What its job says to a run that found no place among the others of it, before it waits. Of what jobs share it says nothing: there whoever
/// finds no place waits.
pub(super) async fn meet<D: Ports>(
    ports: &D,
    told: &Hint,
    overlap: Overlap,
    place: Place<'_>,
    mut entrant: Entrant,
) -> Result<Result<Entrant, NotIn>, Fault> {
    if !matches!(place.bound.slot, SlotName::Job(_)) {
        return Ok(Ok(entrant));
    }
    let others = others_of(ports, place).await?;
    match overlap.meets(place.run, &others) {
        Meeting::Waits | Meeting::Replaces(_) => Ok(Ok(entrant)),
        Meeting::Yields(to) => make_way(ports, told, entrant, to).await.map(Err),
        // Who waits already has its place there.
        Meeting::WaitsIn(_) if waits_since(&entrant.run).is_some() => Ok(Ok(entrant)),
        Meeting::WaitsIn(queue) => {
            let own = rank(&entrant.run, ports.clock().now());
            if !acquire(ports, Place { bound: &queue, ..place }, &own).await? {
                return make_way(ports, told, entrant, others.first().copied()).await.map(Err);
            }
            entrant.run.admission.places.push(queue);
            entrant.run.admission.places.sort();
            Ok(Ok(entrant))
        }
    }
}

/// What a run does that stands in the line: it asks those to end for whose place it waits, or makes way after all. Of two that come at once
/// whoever stands there later sees the other.
pub(super) async fn press<D: Ports>(
    ports: &D,
    told: &Hint,
    overlap: Overlap,
    place: Place<'_>,
    entrant: Entrant,
) -> Result<NotIn, Fault> {
    if overlap == Overlap::CancelPrevious && matches!(place.bound.slot, SlotName::Job(_)) {
        let others = others_of(ports, place).await?;
        match overlap.meets(place.run, &others) {
            Meeting::Yields(to) => return make_way(ports, told, entrant, to).await,
            Meeting::Replaces(others) => replace(ports, &entrant.run, &others).await?,
            Meeting::Waits | Meeting::WaitsIn(_) => {}
        }
    }
    Ok(NotIn::Dropped(Dropped::AwaitsSlot))
}

/// Asks the runs whose place this one waits for to end, but for those that were asked before or are ending: that would stop a `finally` that cleans up. Asks
/// nobody if this run was cancelled meanwhile.
async fn replace<D: Ports>(ports: &D, run: &Run, others: &[RunKey]) -> Result<(), Fault> {
    for other in others {
        let seen = ports.store().get::<Run>(&run.tenant, run.key).await?;
        let still_waits = seen.is_some_and(|seen| waits_since(&seen.item).is_some());
        if still_waits && !is_asked_or_ending(ports, &run.tenant, *other).await? {
            let note = format!("run {} of its job has come", run.key);
            let _it_may_be_over = cancel_with(ports, &run.tenant, *other, &By::overlap(), Some(&note)).await?;
        }
    }
    Ok(())
}

async fn is_asked_or_ending<D: Ports>(ports: &D, tenant: &Tenant, other: RunKey) -> Result<bool, Fault> {
    let seen = ports.store().get::<Run>(tenant, other).await?;
    let run = seen.map(|seen| seen.item);
    Ok(run.is_some_and(|run| run.is_finished() || run.cancel.is_some() || run.is_ending()))
}

/// Writes that the run does not begin, and erases its timer. One that has not waited holds nothing.
async fn make_way<D: Ports>(ports: &D, told: &Hint, entrant: Entrant, to: Option<RunKey>) -> Result<NotIn, Fault> {
    let now = ports.clock().now();
    let Entrant { mut run, guard, .. } = match entrant.if_fresh(ports.clock()) {
        Ok(entrant) => entrant,
        Err(stale) => return Ok(stale),
    };
    if waits_since(&run).is_none() {
        run.admission.places.clear();
    }
    let to = to.map_or_else(|| "another run".to_owned(), |run| format!("run {run}"));
    let Ok(next) = run.after(&RunEvent::Yield(&format!("{to} of its job was not over")), now) else {
        return Ok(NotIn::Dropped(Dropped::Waits));
    };
    if !ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
        return Ok(NotIn::Dropped(Dropped::Faster));
    }
    ports.events().changed(&run, &next, now);
    leave_lines(ports, &run, &run.admission.places).await?;
    erase_what_is_left(ports, told, &next).await?;
    Ok(NotIn::Dropped(Dropped::Yielded))
}
