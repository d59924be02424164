//! Offering: what the executor does with a run that a worker elsewhere is to carry out. Its offer is put where the workers of its pool
//! look, and those who wait there are told. The run itself is not touched, unless the worker before has lost it.
//!
//! An offer is a hint: it may be there twice, or for what is over, and whoever takes it finds out. Its timer stays.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::owner::RunOwner;
use minutehand_domain::pace;
use minutehand_domain::pool::presence::{Presence, Status};
use minutehand_domain::pool::{HandlerName, Offer, PoolName, understands};
use minutehand_domain::run::{Event as RunEvent, Refusal, Run, State, Waiting};
use minutehand_domain::slot::{Bound, SlotName};
use minutehand_domain::target::WorkerTarget;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::queues::Queues as _;
use minutehand_io::store::{Guard, OfferKey, Put, Store as _, Version};
use minutehand_io::{Fault, Ports};

use super::claim::{Claim, Dropped, Reading, Ready, claimed, dropped, erase_what_is_left, quota_of_pulled};
use super::entry::{Entrant, Needs, NotIn, leave_lines, pass_its_own};
use super::finish::promise_next_attempt;
use super::lateness::in_turn;
use crate::slots::line::stand_in_line;
use crate::slots::{Place, has_room, places_of, rank};
use crate::timers::hinting::hint;

/// Puts the offer of a run as it was read. None where the reading is stale: read again.
pub(super) async fn offer<D: Ports>(
    ports: &D,
    told: &Hint,
    reading: Reading,
    target: &WorkerTarget,
) -> Result<Option<Claim>, Fault> {
    let now = ports.clock().now();
    if reading.is_stale(ports.clock()) {
        return Ok(None);
    }
    let ready = match reading.ready(told, now) {
        Ok(ready) => ready,
        Err(dropped) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let ready = match in_turn(ports, told, ready).await? {
        Ok(ready) => ready,
        Err(NotIn::Stale) => return Ok(None),
        Err(NotIn::Dropped(dropped)) => return Ok(Some(Claim::Dropped(dropped))),
    };
    offer_as_read(ports, told, ready, target).await.map(Some)
}

async fn offer_as_read<D: Ports>(
    ports: &D,
    told: &Hint,
    Ready { owner, run, guard, read_at }: Ready,
    target: &WorkerTarget,
) -> Result<Claim, Fault> {
    let now = ports.clock().now();
    let event = RunEvent::Offer { by: ports.me(), terms: owner.terms() };
    let next = match claimed(&run, &event, owner.carries_on(), now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { due }) => return Ok(Claim::NotYet(due)),
        // A worker that is alive has it for longer by then: a hint that was held until the end of its lease would be held over and over, and each
        // look at it leaves one more. Where it is not, the timer that moved to that end is overdue soon.
        Err(Refusal::Held { until }) if until.since(now) <= pace::SKEW => return Ok(Claim::NotYet(until)),
        Err(refusal) => return Ok(Claim::Dropped(dropped(refusal))),
    };
    // An occurrence without a record gets none here, whatever it has missed: it would go on in a pause, and not be made up for as its job says.
    // And whoever writes its first record, as it waits for others, tells what it has missed.
    let (as_it_is, guard) = if next == run || guard == Guard::Absent {
        (run, guard)
    } else {
        match given_up(ports, told, &owner, (&run, &next), guard).await? {
            Some(version) => (next, Guard::Seen(version)),
            None => return Ok(Claim::Dropped(Dropped::Faster)),
        }
    };
    let entrant = Entrant { run: as_it_is, guard, read_at };
    let next = match unless_its_own_are_in_the_way(ports, told, &owner, entrant).await? {
        Ok(next) => next.timed(now),
        Err(NotIn::Stale) => return Ok(Claim::NotYet(now)),
        Err(NotIn::Dropped(dropped)) => return Ok(Claim::Dropped(dropped)),
    };
    let offered = match next.state {
        State::Scheduled { due } if due <= now => put(ports, told, (&next, due), target).await?,
        State::Scheduled { due } => return Ok(Claim::NotYet(due)),
        State::Waiting(Waiting::Slot { since }) => {
            if !have_room(ports, &next, since, &shared_places(&next)).await? {
                return Ok(Claim::Dropped(Dropped::AwaitsSlot));
            }
            // Whoever takes it asks for a place, and stands where it stood where there is none: until then it holds up nobody. It leaves
            // before it is offered, or it could take from a line who was put back there by who took it.
            leave_lines(ports, &next, &places_of(&next)).await?;
            put(ports, told, (&next, since), target).await?
        }
        _over => return Ok(Claim::Dropped(Dropped::Ended)),
    };
    Ok(Claim::Dropped(offered))
}

/// The run as it may be offered, or why not: others of its job are under way, and the job does not have its runs overlap.
async fn unless_its_own_are_in_the_way<D: Ports>(
    ports: &D,
    told: &Hint,
    owner: &RunOwner,
    entrant: Entrant,
) -> Result<Result<Run, NotIn>, Fault> {
    let could_begin = match &entrant.run.state {
        State::Scheduled { due } => *due <= ports.clock().now(),
        State::Waiting(Waiting::Slot { .. }) => true,
        _over_or_under_way => false,
    };
    if !could_begin || owner.overlap(entrant.run.key) == Overlap::default() {
        return Ok(Ok(entrant.run));
    }
    let places = owner.places(quota_of_pulled(ports, &entrant.run.tenant).await);
    let needs = Needs { places, overlap: owner.overlap(entrant.run.key), rate: owner.rate(), lane: owner.lane() };
    let passed = Box::pin(pass_its_own(ports, told, &needs, entrant)).await?;
    Ok(passed.map(|entrant| entrant.run))
}

/// The places that it shares with runs of other jobs.
pub(super) fn shared_places(run: &Run) -> Vec<Bound> {
    let is_shared = |bound: &Bound| !matches!(bound.slot, SlotName::Job(_) | SlotName::Queue(_));
    places_of(run).into_iter().filter(is_shared).collect()
}

/// Whether a worker that takes the run would find a place of each. Where there is none it stands in its line, and is told: it may have left
/// it for an offer that is gone. Rule **relook**: who has come to stand there looks once more.
pub(super) async fn have_room<D: Ports>(ports: &D, run: &Run, since: Moment, places: &[Bound]) -> Result<bool, Fault> {
    for bound in places {
        let place = Place::of(run, bound);
        if has_room(ports, place).await? {
            continue;
        }
        stand_in_line(ports, place, &rank(run, since)).await?;
        if !has_room(ports, place).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes what became of a run whose worker has lost it. If another attempt follows later, its timer is promised before. None where somebody was
/// faster.
pub(super) async fn given_up<D: Ports>(
    ports: &D,
    told: &Hint,
    owner: &RunOwner,
    (run, next): (&Run, &Run),
    guard: Guard,
) -> Result<Option<Version>, Fault> {
    let now = ports.clock().now();
    let again = match &next.state {
        State::Scheduled { due } if *due > now => promise_next_attempt(ports, next, Some(told)).await?,
        _at_once_or_over => None, // the timer behind the hint stands
    };
    let Put::Written(version) = ports.store().put(&next.tenant, next.key, next, guard).await? else { return Ok(None) };
    ports.events().changed(run, next, now);
    if next.is_finished() {
        erase_what_is_left(ports, told, next).await?;
    }
    if let (Some(timer), State::Scheduled { due }) = (&again, &next.state) {
        let _a_lost_hint_is_found_overdue = hint(ports, owner.lane(), &Hint::of(timer), *due).await;
    }
    Ok(Some(version))
}

/// Where it stands already it is the same, unless its job has named another handler since, or its SLA was missed: who takes it is to know by
/// its timer that this was told; or it has stood for so long that it would go.
async fn put<D: Ports>(
    ports: &D,
    told: &Hint,
    (run, since): (&Run, Moment),
    target: &WorkerTarget,
) -> Result<Dropped, Fault> {
    let (WorkerTarget { pool, handler }, now) = (target.clone(), ports.clock().now());
    let offer = Offer { pool, handler, priority: run.priority, since, hint: told.clone() };
    let (tenant, key) = (&run.tenant, OfferKey::of(&run.tenant, &offer));
    let is_as_good = |there: &Offer| {
        let is_told_of = there.hint.stamp == told.stamp || run.sla_missed().is_none();
        there.handler == offer.handler && is_told_of && there.stands_for_a_while(now)
    };
    let put = ports.store().put(tenant, key, &offer, Guard::Absent).await?;
    if let Put::Conflict(Some(there)) = &put
        && !is_as_good(&there.item)
    {
        let _either_way_it_is_gone = ports.store().delete::<Offer>(tenant, key, there.version).await?;
        let _put = ports.store().put(tenant, key, &offer, Guard::Absent).await?;
    }
    ports.queues().ring(key.line.pool);
    if put.is_written() {
        return Ok(Dropped::Offered);
    }
    tell_of_a_wait(ports, run, &offer).await?;
    Ok(Dropped::StillOffered)
}

/// Workers of a pool that are read at once, and how often at most: who comes and goes under new names is listed for a day. Of a pool that had more of
/// them in a day an alarm may say that it has none.
const WORKERS: usize = 100;
const PAGES: usize = 10;

/// Offers of a line that are looked through for those of one job, oldest first, and how old they may be: what is older may have been called off while
/// nobody came, and no alarm asks for as much.
const OLDEST: usize = 20;
const AT_MOST: Duration = Duration::from_secs(15 * 60);

/// Tells for how long a run has waited that was offered before: nobody is there who takes it, or all are busy. It is looked at again a minute
/// later, then two, four, up to sixty: so this costs little where much waits. The time that it stood in a line for a place counts too.
async fn tell_of_a_wait<D: Ports>(ports: &D, run: &Run, offer: &Offer) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(offer.since) < pace::OVERDUE {
        return Ok(());
    }
    let Offer { pool, handler, .. } = offer;
    let waited = now.since(first_offered(ports, run, offer).await?);
    ports.events().emit(&match silent_for(ports, &run.tenant, pool, handler).await? {
        None => Event::AwaitsWorker { run, pool, waited, now },
        Some(silent) => Event::Unattended { run, pool, silent: silent.min(waited) },
    });
    Ok(())
}

/// What fires in the stead of others has waited since the first of them, whose offer stands for longer than anybody asks here: of a job of each few
/// seconds none waits for a minute by itself. What was offered before its job was changed or paused is not counted.
async fn first_offered<D: Ports>(ports: &D, run: &Run, offer: &Offer) -> Result<Moment, Fault> {
    if !run.key.is_occurrence() {
        return Ok(offer.since);
    }
    let key = OfferKey::of(&run.tenant, offer);
    let before = OfferKey { since: ports.clock().now() - AT_MOST, ..key };
    let oldest = ports.store().list::<Offer>(&run.tenant, key.line, Some(before), OLDEST).await?.items;
    let is_before_it = |other: &&Offer| {
        let of_its_job = other.hint.run.is_occurrence() && other.hint.run.job == run.key.job;
        of_its_job && other.handler == offer.handler && other.hint.stamp.generation == offer.hint.stamp.generation
    };
    Ok(oldest.iter().find(is_before_it).map_or(offer.since, |first| first.since.min(offer.since)))
}

/// For how long nobody was heard of who takes this handler; none while somebody is alive who does. One that drains takes nothing any more: at a
/// restart those who come next may be seconds behind those who go.
async fn silent_for<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    pool: &PoolName,
    handler: &HandlerName,
) -> Result<Option<Duration>, Fault> {
    let (now, mut past, mut last_seen) = (ports.clock().now(), None, Moment::EPOCH);
    for _page in 0..PAGES {
        let page = ports.store().list::<Presence>(tenant, Some(pool.clone()), past, WORKERS).await?;
        for worker in page.items.iter().filter(|worker| understands(worker.handlers.as_ref(), handler)) {
            if worker.status(now) == Status::Live {
                return Ok(None);
            }
            last_seen = last_seen.max(worker.took_until());
        }
        if page.items.len() < WORKERS {
            break;
        }
        past = page.items.last().map(Presence::key);
    }
    Ok(Some(now.since(last_seen)))
}
