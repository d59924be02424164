//! The line of a slot: those who found it full, by rank. Whoever gives a place back tells the first of them; nobody polls.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::run::{Run, Waiting};
use minutehand_domain::slot::{SlotId, Waiter};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Deleted, Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::Place;
use crate::timers::hinting::nudge_at;

/// Waiters that are read at once.
const LINE: usize = 16;

/// Who has waited for so long takes what is free, whoever stands before him: one that cannot come holds up nobody for ever.
pub(super) const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// How long whoever was offered to workers has to find one, before the next in the line is told of a place that may still be free.
const YIELD: Duration = Duration::from_secs(5);

/// Stands in the line.
pub async fn stand_in_line<D: Ports>(ports: &D, place: Place<'_>, waiter: &Waiter) -> Result<(), Fault> {
    let key = (place.slot(), waiter.clone());
    // Where it stands already it is the same.
    let _put = ports.store().put(place.tenant, key, waiter, Guard::Absent).await?;
    Ok(())
}

/// Leaves the line without a place. It may have been told of one that is free: whoever is next comes in a while, and finds it free or taken.
pub async fn leave_line_to_others<D: Ports>(ports: &D, place: Place<'_>, waiter: &Waiter) -> Result<(), Fault> {
    leave_line(ports, place, waiter).await?;
    tell(ports, place, 1, ports.clock().now() + YIELD).await
}

/// Leaves the line.
pub async fn leave_line<D: Ports>(ports: &D, place: Place<'_>, waiter: &Waiter) -> Result<(), Fault> {
    leave(ports, place.tenant, place.slot(), waiter).await
}

async fn leave<D: Ports>(ports: &D, tenant: &Tenant, slot: SlotId, waiter: &Waiter) -> Result<(), Fault> {
    let key = (slot, waiter.clone());
    if let Some(Seen { version, .. }) = ports.store().get::<Waiter>(tenant, key.clone()).await? {
        let _either_way_it_is_gone: Deleted<Waiter> = ports.store().delete(tenant, key, version).await?;
    }
    Ok(())
}

/// The first of those who stand there.
pub(super) async fn first_of<D: Ports>(ports: &D, place: Place<'_>, most: usize) -> Result<Vec<Waiter>, Fault> {
    Ok(ports.store().list::<Waiter>(place.tenant, place.slot(), None, most).await?.items)
}

/// The first of those who rank before this one.
pub(super) async fn ahead_of<D: Ports>(ports: &D, place: Place<'_>, own: &Waiter) -> Result<Vec<Waiter>, Fault> {
    let line = first_of(ports, place, LINE).await?;
    Ok(line.into_iter().filter(|waiter| waiter.run != own.run && waiter.is_before(own)).collect())
}

/// The runs of the first of these that wait still, at most so many.
pub(super) async fn live<D: Ports>(
    ports: &D,
    place: Place<'_>,
    line: Vec<Waiter>,
    most: usize,
) -> Result<Vec<Run>, Fault> {
    let mut waiting = Vec::new();
    for waiter in line {
        if waiting.len() == most {
            break;
        }
        waiting.extend(still_waiting(ports, place, &waiter).await?);
    }
    Ok(waiting)
}

/// Its run; rule **walk**: one that waits no more is taken out of the line. One that nobody can read stands where it is, and holds up nobody.
async fn still_waiting<D: Ports>(ports: &D, place: Place<'_>, waiter: &Waiter) -> Result<Option<Run>, Fault> {
    let seen = match ports.store().get::<Run>(place.tenant, waiter.run).await {
        Err(fault) if fault.is_of_an_item() => return Ok(None),
        seen => seen?,
    };
    match seen.map(|seen| seen.item) {
        Some(run) if matches!(run.waiting(), Some(Waiting::Slot { .. })) => Ok(Some(run)),
        Some(_) | None => leave_line(ports, place, waiter).await.map(|()| None),
    }
}

/// Tells the first of the line, as many as there is room for, to come then.
pub(super) async fn tell<D: Ports>(ports: &D, place: Place<'_>, mut most: u64, at: Moment) -> Result<(), Fault> {
    let (slot, mut past) = (place.slot(), None);
    loop {
        let line = ports.store().list::<Waiter>(place.tenant, slot, past, LINE).await?.items;
        for waiter in &line {
            let Some(run) = still_waiting(ports, place, waiter).await? else { continue };
            nudge_at(ports, place.tenant, run.key, run.priority.into(), at).await;
            most -= 1;
            if most == 0 {
                return Ok(());
            }
        }
        past = line.last().map(|waiter| (slot, waiter.clone()));
        if line.len() < LINE {
            return Ok(());
        }
    }
}

impl Place<'_> {
    fn slot(&self) -> SlotId {
        self.bound.slot.id(self.tenant)
    }
}
