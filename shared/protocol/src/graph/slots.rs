//! Slots: how many runs of a workflow may be under way at once. A place is taken before the claim by one update, and is the run's until it was
//! **seen over**.
//!
//! Rule **keep**: a lost claim releases nothing, unless it finds the run over. Rule **absent**: a holder without a record is on its way: it is hinted, not removed.
//! Rule **relook**: who has become a waiter looks at the slot again. Rule **walk**: whoever releases passes over waiters that wait no
//! more, and removes them.

use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{Run, Waiting};
use minutehand_domain::timer::TimerKey;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::slot::{Slot, SlotKey, Waiter, items};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Deleted, Guard, Release, Seen, Store as _, Take, Updated};
use minutehand_io::{Fault, Ports};

use crate::timers::hinting::hint;
use crate::timers::promise::written_now;

/// Waiters that are read at once.
const LINE: usize = 16;

/// Whose place it is, or could be.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub tenant: &'a Tenant,
    pub workflow: WorkflowId,
    /// How many there are.
    pub width: u32,
    pub run: RunKey,
}

/// Takes a place; false where all are taken by runs that are not over. A newcomer stands behind whoever waits already.
pub async fn acquire<D: Ports>(ports: &D, place: Place<'_>, is_newcomer: bool) -> Result<bool, Fault> {
    if is_newcomer && somebody_waits(ports, place).await? {
        return Ok(false);
    }
    loop {
        let mut full = Vec::new();
        for (key, room) in items(place.workflow, place.width, place.run) {
            match ports.store().update(place.tenant, key, &Take { run: place.run, room }).await? {
                Updated::Done(_) => return Ok(true),
                Updated::Refused(Some(seen)) if seen.item.holders.contains(&place.run.to_string()) => return Ok(true),
                Updated::Refused(Some(seen)) => full.push((key, seen.item)),
                Updated::Refused(None) => return Err(Fault::unavailable("store", "a slot came and went")),
            }
        }
        if !remove_who_is_over(ports, place, &full).await? {
            return Ok(false);
        }
    }
}

/// Whether there was one. Nobody else may be left to release what a run held that ended while nobody looked.
async fn remove_who_is_over<D: Ports>(ports: &D, place: Place<'_>, full: &[(SlotKey, Slot)]) -> Result<bool, Fault> {
    let mut removed = false;
    for (key, slot) in full {
        for holder in slot.holders.iter().filter_map(|holder| holder.parse::<RunKey>().ok()) {
            match ports.store().get::<Run>(place.tenant, holder).await? {
                Some(seen) if seen.item.is_finished() => {
                    let _either_way_it_is_gone =
                        ports.store().update(place.tenant, *key, &Release { run: holder }).await?;
                    removed = true;
                }
                Some(_) => {}
                None => nudge(ports, place.tenant, holder).await,
            }
        }
    }
    Ok(removed)
}

async fn somebody_waits<D: Ports>(ports: &D, place: Place<'_>) -> Result<bool, Fault> {
    let line = ports.store().list::<Waiter>(place.tenant, place.workflow, None, LINE).await?;
    for waiter in line.items.iter().filter(|waiter| waiter.run != place.run) {
        if still_waits(ports, place.tenant, waiter.run).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn still_waits<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey) -> Result<bool, Fault> {
    let seen = ports.store().get::<Run>(tenant, run).await?;
    Ok(seen.is_some_and(|seen| matches!(seen.item.waiting(), Some(Waiting::Slot { .. }))))
}

/// Stands in the line.
pub async fn stand_in_line<D: Ports>(ports: &D, place: Place<'_>, waiter: &Waiter) -> Result<(), Fault> {
    let key = (place.workflow, waiter.clone());
    // Where it stands already it is the same.
    let _put = ports.store().put(place.tenant, key, waiter, Guard::Absent).await?;
    Ok(())
}

/// Leaves the line.
pub async fn leave_line<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    workflow: WorkflowId,
    waiter: &Waiter,
) -> Result<(), Fault> {
    let key = (workflow, waiter.clone());
    if let Some(Seen { version, .. }) = ports.store().get::<Waiter>(tenant, key.clone()).await? {
        let _either_way_it_is_gone: Deleted<Waiter> = ports.store().delete(tenant, key, version).await?;
    }
    Ok(())
}

/// Gives back the place of a run that is over, and tells those who are first in the line, as many as there is room for: of two who
/// release at once, each sees what the other gave back, or is seen.
pub(super) async fn release<D: Ports>(ports: &D, place: Place<'_>) -> Result<(), Fault> {
    let mut free = 0;
    for (key, room) in items(place.workflow, place.width, place.run) {
        let updated = ports.store().update(place.tenant, key, &Release { run: place.run }).await?;
        if let Updated::Done(slot) | Updated::Refused(Some(slot)) = &updated {
            free += room.saturating_sub(slot.item.holders.len() as u64);
        }
        if let Updated::Done(_) = updated {
            break;
        }
    }
    tell(ports, place, free.max(1)).await
}

/// Tells the first of the line.
async fn tell<D: Ports>(ports: &D, place: Place<'_>, mut most: u64) -> Result<(), Fault> {
    let (tenant, workflow, mut past) = (place.tenant, place.workflow, None);
    loop {
        let line = ports.store().list::<Waiter>(tenant, workflow, past, LINE).await?.items;
        for waiter in &line {
            if !still_waits(ports, tenant, waiter.run).await? {
                leave_line(ports, tenant, workflow, waiter).await?;
                continue;
            }
            nudge(ports, tenant, waiter.run).await;
            most -= 1;
            if most == 0 {
                return Ok(());
            }
        }
        past = line.last().map(|waiter| (workflow, waiter.clone()));
        if line.len() < LINE {
            return Ok(());
        }
    }
}

/// After a lost claim: the place is the run's until that was seen over, and then nobody else may be left to give it back.
pub async fn release_if_over<D: Ports>(ports: &D, place: Place<'_>) -> Result<(), Fault> {
    match ports.store().get::<Run>(place.tenant, place.run).await? {
        Some(seen) if seen.item.is_finished() => release(ports, place).await,
        Some(_) | None => Ok(()),
    }
}

/// A hint without a timer of its own: the one that stands behind the run is found by its look.
async fn nudge<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey) {
    let now = ports.clock().now();
    let timer = written_now(ports, tenant, TimerKey::run(run, now), 0);
    let _a_lost_hint_is_found_overdue = hint(ports, Lane::default(), &Hint::of(&timer), now).await;
}
