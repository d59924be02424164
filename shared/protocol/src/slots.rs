//! Slots: how many runs that share a limit may be under way at once. A place is taken before the claim by one update, and is the run's
//! until it was **seen over**. [`line`] is where those stand who found a slot full, [`pace`] how fast attempts may
//! follow one another, and [`turns`] when what is made up for begins.
//!
//! Rule **keep**: a lost claim releases nothing, unless it finds the run over. Rule **absent**: a holder without a record is on its way: it
//! is hinted, not removed, unless its record may have expired: then nobody lets it begin any more. Rule **walk**: whoever releases passes over
//! waiters that wait no more, and removes them. A newcomer who ranks below whoever waits already stands behind them.

pub mod line;
pub mod pace;
pub mod turns;

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::limits::QUEUED_RUNS;
use minutehand_domain::run::Run;
use minutehand_domain::slot::{Bound, HOLDERS, Slot, SlotKey, SlotName, Waiter, items};
use minutehand_domain::target::Target;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::Queues as _;
use minutehand_io::store::{Release, SlotItem, Store as _, Take, Updated};
use minutehand_io::{Fault, Ports};

use self::line::{PATIENCE, ahead_of, tell};
use crate::chain::standing::{Asked, Standing, standing};
use crate::timers::hinting::nudge;

/// Runs that are read side by side.
const AT_ONCE: usize = 32;
/// Holders that whoever finds a slot full looks at.
const LOOKED_AT: usize = 64;

/// Whose place it is, or could be.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub tenant: &'a Tenant,
    pub bound: &'a Bound,
    pub run: RunKey,
}

/// The places that a run has, or may have: one that is over gives them back.
pub fn places_of(run: &Run) -> Vec<Bound> {
    let of_workflow = run.graph.as_ref().and_then(|graph| {
        let slot = SlotName::Workflow(graph.workflow);
        graph.slot.map(|width| Bound { slot, width })
    });
    let mut places = run.admission.places.clone();
    places.extend(of_workflow.filter(|own| places.iter().all(|place| place.slot != own.slot)));
    places
}

/// Takes a place; false where all are taken by runs that are not over, or by right belong to those who stand before it.
pub async fn acquire<D: Ports>(ports: &D, place: Place<'_>, own: &Waiter) -> Result<bool, Fault> {
    loop {
        let full = match must_let_others_go_first(ports, place, own).await? {
            Turn::Own => match take(ports, place).await? {
                Ok(()) => return Ok(true),
                Err(full) => full,
            },
            Turn::Taken => return Ok(true),
            Turn::OfOthers => return Ok(false),
            Turn::Nobodys(full) => full,
        };
        if !remove_who_is_over(ports, place, &full).await? {
            return Ok(false);
        }
    }
}

/// Whose turn it is to take a place.
enum Turn {
    Own,
    /// It has one.
    Taken,
    OfOthers,
    /// There is none: who holds them.
    Nobodys(Vec<Part>),
}

/// Where nobody stands before it, whoever comes tries at once. Otherwise he looks how many places are free, and tells as many of those
/// who stand before him.
async fn must_let_others_go_first<D: Ports>(ports: &D, place: Place<'_>, own: &Waiter) -> Result<Turn, Fault> {
    if ports.clock().now().since(own.since) > PATIENCE {
        return Ok(Turn::Own);
    }
    let ahead = ahead_of(ports, place, own).await?;
    if ahead.is_empty() {
        return Ok(Turn::Own);
    }
    let Occupancy { parts: all, free, is_held } = occupancy(ports, place).await?;
    if is_held {
        return Ok(Turn::Taken);
    }
    if free == 0 {
        return Ok(Turn::Nobodys(all));
    }
    let free = usize::try_from(free).unwrap_or(usize::MAX);
    let first = line::live(ports, place, ahead, free).await?;
    if first.len() < free {
        return Ok(Turn::Own);
    }
    for run in &first {
        nudge(ports, place.tenant, run.key, run.priority.into()).await;
    }
    Ok(Turn::OfOthers)
}

/// Who holds the places of a slot, or stands first in its line, beside this run.
pub async fn others_of<D: Ports>(ports: &D, place: Place<'_>) -> Result<Vec<RunKey>, Fault> {
    let held = occupancy(ports, place).await?.parts;
    let holders = held.iter().flat_map(|part| &part.slot.holders).filter_map(|holder| holder.parse::<RunKey>().ok());
    let waiting = line::first_of(ports, place, QUEUED_RUNS as usize).await?.into_iter().map(|waiter| waiter.run);
    Ok(holders.chain(waiting).filter(|other| *other != place.run).collect())
}

/// Or who holds them all. Of several items it may have a place of each: whoever asks twice looks at all of them first.
async fn take<D: Ports>(ports: &D, place: Place<'_>) -> Result<Result<(), Vec<Part>>, Fault> {
    let (open, mut full): (Vec<_>, Vec<_>) = if place.is_wide() {
        let seen = occupancy(ports, place).await?;
        if seen.is_held {
            return Ok(Ok(()));
        }
        seen.parts.into_iter().partition(|part| part.left() > 0)
    } else {
        (place.parts().collect(), Vec::new())
    };
    for part in open {
        match ports.store().update(place.tenant, part.key, &Take { run: place.run, room: part.room }).await? {
            Updated::Done(_) => return Ok(Ok(())),
            Updated::Refused(Some(seen)) if seen.item.is_held_by(place.run) => return Ok(Ok(())),
            Updated::Refused(Some(seen)) => full.push(Part { slot: seen.item, ..part }),
            Updated::Refused(None) => return Err(Fault::unavailable("store", "a slot came and went")),
        }
    }
    Ok(Err(full))
}

/// Whether there was one. Nobody else may be left to release what a run held that ended while nobody looked. Of many holders some are looked
/// at, others each time.
async fn remove_who_is_over<D: Ports>(ports: &D, place: Place<'_>, full: &[Part]) -> Result<bool, Fault> {
    let holders = full.iter().flat_map(|part| part.slot.holders.iter().map(|holder| (part.key, holder)));
    let holders: Vec<_> = holders.filter_map(|(key, holder)| Some((key, holder.parse::<RunKey>().ok()?))).collect();
    let first = usize::try_from(ports.chance().number() % holders.len().max(1) as u64).unwrap_or_default();
    let some = holders.iter().cycle().skip(first).take(holders.len().min(LOOKED_AT));
    let looks: Vec<_> = some.map(|(key, holder)| is_removed_if_readable(ports, place, *key, *holder)).collect();
    let removed: Vec<bool> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
    Ok(removed.contains(&true))
}

/// A holder that nobody can read keeps its place, and nobody from asking for another.
async fn is_removed_if_readable<D: Ports>(
    ports: &D,
    place: Place<'_>,
    key: SlotKey,
    holder: RunKey,
) -> Result<bool, Fault> {
    match is_removed(ports, place, key, holder).await {
        Err(fault) if fault.is_of_an_item() => Ok(false),
        looked => looked,
    }
}

/// Of a queue of those who wait whoever has begun is over.
async fn is_removed<D: Ports>(ports: &D, place: Place<'_>, key: SlotKey, holder: RunKey) -> Result<bool, Fault> {
    let Place { tenant, bound, .. } = place;
    let is_over = |run: &Run| run.is_finished() || (matches!(bound.slot, SlotName::Queue(_)) && run.fence > 0);
    let is_gone = match ports.store().get::<Run>(tenant, holder).await? {
        Some(seen) => is_over(&seen.item),
        None if is_forgotten(ports, tenant, holder).await? => true,
        None => {
            nudge(ports, tenant, holder, Lane::default()).await;
            false
        }
    };
    if is_gone {
        let _either_way = ports.store().update(tenant, key, &Release { run: holder }).await?;
    }
    Ok(is_gone)
}

/// Whether a run without a record is on its way no more: its record has expired, or its job has.
async fn is_forgotten<D: Ports>(ports: &D, tenant: &Tenant, holder: RunKey) -> Result<bool, Fault> {
    let standing = Box::pin(standing(ports, tenant, holder, Asked::ByAnyone)).await?; // apart: few holders are absent
    Ok(matches!(standing, Standing::NoRecord | Standing::NoJob))
}

/// Gives back the place of a run that is over, and tells those who are first in the line, as many as there is room for: of two who
/// release at once, each sees what the other gave back, or is seen.
pub(crate) async fn release<D: Ports>(ports: &D, place: Place<'_>) -> Result<(), Fault> {
    let (held, others): (Vec<_>, Vec<_>) = if place.is_wide() {
        occupancy(ports, place).await?.parts.into_iter().partition(|part| part.slot.is_held_by(place.run))
    } else {
        (place.parts().collect(), Vec::new())
    };
    let mut free = others.iter().map(Part::left).sum::<u64>();
    for part in held {
        if let Updated::Done(slot) | Updated::Refused(Some(slot)) =
            ports.store().update(place.tenant, part.key, &Release { run: place.run }).await?
        {
            free += Part { slot: slot.item, ..part }.left();
        }
    }
    tell(ports, place, free.max(1), ports.clock().now()).await
}

/// After a lost claim: the places are the run's until that was seen over, and then nobody else may be left to give them back.
pub async fn release_if_over<D: Ports>(ports: &D, run: &Run, places: &[Bound]) -> Result<(), Fault> {
    if places.is_empty() {
        return Ok(());
    }
    let seen = ports.store().get::<Run>(&run.tenant, run.key).await?;
    if seen.is_none_or(|seen| !seen.item.is_finished()) {
        return Ok(());
    }
    for bound in places {
        Box::pin(release(ports, Place::of(run, bound))).await?; // apart: few claims are lost
    }
    Ok(())
}

/// What a run waits for that has not begun and is due, where its queue keeps it back: its tenant's quota, and how much of that is taken.
/// What only looks are given to is kept back by none.
pub fn kept_back<D: Ports>(ports: &D, tenant: &Tenant, target: &Target, due: Moment) -> Option<(Bound, usize)> {
    if !target.is_called() || ports.clock().now() < due {
        return None;
    }
    let width = ports.queues().reached_limit(tenant)?;
    Some((Bound { slot: SlotName::Quota, width }, usize::try_from(width).unwrap_or(usize::MAX)))
}

/// Of which slot a run that waits has no place, and how many of it are taken; none where it has all, or its record names none.
pub async fn awaited<D: Ports>(ports: &D, run: &Run) -> Result<Option<(Bound, usize)>, Fault> {
    let is_waited_for = |bound: &&Bound| !matches!(bound.slot, SlotName::Queue(_));
    for bound in run.admission.places.iter().filter(is_waited_for) {
        let occupancy = occupancy(ports, Place::of(run, bound)).await?;
        if !occupancy.is_held {
            let taken = occupancy.parts.iter().map(|part| part.slot.holders.len()).sum();
            return Ok(Some((bound.clone(), taken)));
        }
    }
    Ok(None)
}

/// Whether the run holds a place.
pub async fn holds<D: Ports>(ports: &D, place: Place<'_>) -> Result<bool, Fault> {
    Ok(occupancy(ports, place).await?.is_held)
}

/// Whether the run holds a place, or would find one: a free one, or that of a run which is over.
pub async fn has_room<D: Ports>(ports: &D, place: Place<'_>) -> Result<bool, Fault> {
    loop {
        let Occupancy { parts: all, free, is_held } = occupancy(ports, place).await?;
        if is_held || free > 0 {
            return Ok(true);
        }
        if !remove_who_is_over(ports, place, &all).await? {
            return Ok(false);
        }
    }
}

/// A slot as it was read.
struct Occupancy {
    parts: Vec<Part>,
    /// How many places are free, as far as whoever asks may see it.
    free: u64,
    /// Whether one is his.
    is_held: bool,
}

/// One item of a slot, and how many holders it takes.
struct Part {
    key: SlotKey,
    room: u64,
    slot: Slot,
}

async fn occupancy<D: Ports>(ports: &D, place: Place<'_>) -> Result<Occupancy, Fault> {
    let read = if place.is_wide() { read_wide(ports, place).await? } else { read_narrow(ports, place).await? };
    let is_held = read.iter().any(|part| part.slot.is_held_by(place.run));
    Ok(Occupancy { free: read.iter().map(Part::left).sum(), is_held, parts: read })
}

async fn read_narrow<D: Ports>(ports: &D, place: Place<'_>) -> Result<Vec<Part>, Fault> {
    let mut read: Vec<Part> = place.parts().collect();
    for part in &mut read {
        let seen = ports.store().get::<Slot>(place.tenant, part.key).await?;
        part.slot = seen.map(|seen| seen.item).unwrap_or_default();
    }
    Ok(read)
}

/// By their list: each run reads all of them twice, and they lie in one partition. One by one they would be a unit each, however few hold them.
async fn read_wide<D: Ports>(ports: &D, place: Place<'_>) -> Result<Vec<Part>, Fault> {
    let (slot, most) = (place.bound.slot.id(place.tenant), place.parts().count());
    let listed = ports.store().list::<SlotItem>(place.tenant, slot, None, most).await?.whole()?;
    let mut there: BTreeMap<u32, Slot> = listed.into_iter().map(|item| (item.number, item.slot)).collect();
    let filled = |part: Part| Part { slot: there.remove(&part.key.number).unwrap_or_default(), ..part };
    Ok(place.parts().map(filled).collect())
}

impl Part {
    fn left(&self) -> u64 {
        self.room.saturating_sub(self.slot.holders.len() as u64)
    }
}

impl<'a> Place<'a> {
    pub fn of(run: &'a Run, bound: &'a Bound) -> Self {
        Self { tenant: &run.tenant, bound, run: run.key }
    }

    /// The items that it is made of, not read yet.
    fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let items = items(self.bound.slot.id(self.tenant), self.bound.width, self.run);
        items.map(|(key, room)| Part { key, room, slot: Slot::default() })
    }

    /// Whether it is made of several items.
    fn is_wide(&self) -> bool {
        self.bound.width > HOLDERS
    }
}

/// The rank in a line of a run that waits since then.
pub fn rank(run: &Run, since: Moment) -> Waiter {
    Waiter::of(run.key, run.priority, since)
}
