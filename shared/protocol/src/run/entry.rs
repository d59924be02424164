//! Entering: what comes before the claim of a run that shares a limit with others. It takes a place of each slot that it needs, in one
//! order, and its turn by its rate; whoever finds a slot full waits in its line, and whoever comes before his turn is due later. A run
//! that shares nothing passes, and costs nothing.
//!
//! Rule **relook**: who has become a waiter looks at the slot once more. Rule **rank**: places are taken in the order of
//! [`SlotName`](minutehand_domain::slot::SlotName), by everybody. Rule **late claim**: what was read before all this is read again where
//! it took long; the places are the run's by then, and it finds them so.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::lane::Lane;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::owner::Undertaking;
use minutehand_domain::pace;
use minutehand_domain::run::{Event as RunEvent, Run, State, Waiting};
use minutehand_domain::slot::{Admission, Bound, Rate, SlotName, Waiter};
use minutehand_io::clock::Clock;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use super::claim::Dropped;
use super::finish::promise_next_attempt;
use super::lateness::postponed;
use super::overlap::{meet, press};
use crate::lookup::owner_of;
use crate::read_at::ReadAt;
use crate::slots::line::{leave_line, leave_line_to_others, stand_in_line};
use crate::slots::pace::put_by;
use crate::slots::{Place, acquire, has_room, holds, rank, release};
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// A run as it was read, at the door.
pub(super) struct Entrant {
    pub(super) run: Run,
    pub(super) guard: Guard,
    pub(super) read_at: ReadAt,
}

/// Why a run was not let in.
pub(super) enum NotIn {
    /// It was read too long ago: read again.
    Stale,
    Dropped(Dropped),
}

/// A run with all that it needs to be claimed.
pub(super) struct Entered {
    pub(super) run: Run,
    pub(super) guard: Guard,
    /// What it gives back where its claim is lost and finds it over.
    pub(super) places: Vec<Bound>,
}

/// What a run asks to be let in by.
pub(super) struct Needs<'a> {
    /// In the order in which they are taken.
    pub(super) places: Vec<Bound>,
    /// What becomes of it where its job's places are taken.
    pub(super) overlap: Overlap,
    pub(super) rate: Option<&'a Rate>,
    /// Which queue hints of it travel on.
    pub(super) lane: Lane,
}

/// Lets a run in, or says why not. One that cannot be claimed now asks for nothing: the claim says why; and one whose lease ran out has
/// what it had.
pub(super) async fn enter<D: Ports>(
    ports: &D,
    told: &Hint,
    needs: Needs<'_>,
    entrant: Entrant,
) -> Result<Result<Entered, NotIn>, Fault> {
    let (now, run) = (ports.clock().now(), &entrant.run);
    let could_begin = match &run.state {
        State::Scheduled { due } => *due <= now,
        state => matches!(state, State::Waiting(Waiting::Slot { .. })),
    };
    let wants_nothing = needs.places.is_empty() && needs.rate.is_none() && run.admission.is_empty();
    if wants_nothing || !could_begin {
        return Ok(Ok(entrant.passing()));
    }
    Box::pin(asked(ports, told, needs, entrant)).await // apart: most runs share nothing, and need not carry its size
}

async fn asked<D: Ports>(
    ports: &D,
    told: &Hint,
    needs: Needs<'_>,
    entrant: Entrant,
) -> Result<Result<Entered, NotIn>, Fault> {
    let Needs { places, overlap, rate, lane } = needs;
    let (entrant, places) = match with_places(ports, told, (places, overlap), entrant).await? {
        Ok(with_places) => with_places,
        Err(not_in) => return Ok(Err(not_in)),
    };
    let entrant = match rate {
        Some(rate) if !entrant.run.admission.has_turn(rate, ports.clock().now()) => {
            match in_its_turn(ports, told, (rate, lane), &places, entrant).await? {
                Ok(entrant) => entrant,
                Err(not_in) => return Ok(Err(not_in)),
            }
        }
        Some(_) | None => entrant,
    };
    Ok(match entrant.if_fresh(ports.clock()) {
        Ok(Entrant { run, guard, .. }) => Ok(Entered { run, guard, places }),
        Err(stale) => Err(stale),
    })
}

/// The run with its places, and which. Rule **rank**: whoever has begun has what he asked for, and whoever holds a place asks for none that
/// he did not ask for at first, whatever his job says by now: two of them could wait for each other.
async fn with_places<D: Ports>(
    ports: &D,
    told: &Hint,
    (needed, overlap): (Vec<Bound>, Overlap),
    mut entrant: Entrant,
) -> Result<Result<(Entrant, Vec<Bound>), NotIn>, Fault> {
    if entrant.run.has_begun_with_places() {
        let places = entrant.run.admission.places.clone();
        return Ok(Ok((entrant, places)));
    }
    let needed = as_it_asked(ports, &entrant.run, entrant.run.wants_of(needed)).await?;
    let needed = if entrant.run.admission.is_for(&needed) {
        needed
    } else if holds_any(ports, &entrant.run).await? {
        entrant.run.admission.among(needed)
    } else {
        entrant = match asking_for(ports, &needed, entrant).await? {
            Ok(entrant) => entrant,
            Err(not_in) => return Ok(Err(not_in)),
        };
        needed
    };
    let beyond = left_over(ports, &entrant.run, &needed).await?;
    entrant.run = admitted(entrant.run, &needed, &beyond);
    for bound in &needed {
        entrant = match with_a_place(ports, told, (bound, overlap), entrant).await? {
            Ok(entrant) => entrant,
            Err(not_in) => return Ok(Err(not_in)),
        };
    }
    Ok(Ok((entrant, needed)))
}

/// The place of a workflow alone is written down nowhere: who holds it and no key, or waits with nothing written down, has asked before its job said one, and
/// asks for none now.
async fn as_it_asked<D: Ports>(ports: &D, run: &Run, needed: Vec<Bound>) -> Result<Vec<Bound>, Fault> {
    let workflow =
        needed.iter().find(|bound| is_of_a_workflow(bound)).filter(|_| run.admission.is_empty() && needed.len() > 1);
    let Some(workflow) = workflow else { return Ok(needed) };
    if waits_since(run).is_none() && !holds(ports, Place::of(run, workflow)).await? {
        return Ok(needed);
    }
    for bound in needed.iter().filter(|bound| !is_of_a_workflow(bound)) {
        if holds(ports, Place::of(run, bound)).await? {
            return Ok(needed);
        }
    }
    Ok(vec![workflow.clone()])
}

async fn holds_any<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    for bound in &run.admission.places {
        if holds(ports, Place::of(run, bound)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The places that it holds and needs no more: they are its own until it is over. It stands in no other line.
async fn left_over<D: Ports>(ports: &D, run: &Run, needed: &[Bound]) -> Result<Vec<Bound>, Fault> {
    let mut held = Vec::new();
    let beyond = run.admission.beyond(needed);
    leave_lines(ports, run, &beyond).await?;
    for bound in beyond {
        if holds(ports, Place::of(run, &bound)).await? {
            held.push(bound);
        }
    }
    Ok(held)
}

/// One that waits and holds nothing asks for what its job says by now; what it asks for is written down before.
async fn asking_for<D: Ports>(ports: &D, needed: &[Bound], entrant: Entrant) -> Result<Result<Entrant, NotIn>, Fault> {
    let Entrant { mut run, guard, read_at } = entrant;
    leave_lines(ports, &run, &run.admission.places).await?;
    run = admitted(run, needed, &[]);
    Ok(match ports.store().put(&run.tenant, run.key, &run, guard).await? {
        Put::Written(version) => Ok(Entrant { run, guard: Guard::Seen(version), read_at }),
        Put::Conflict(_) => Err(NotIn::Dropped(Dropped::Faster)),
    })
}

/// The place of a workflow's run stands in the graph that it unfolds into: by itself it is written down nowhere else.
fn admitted(run: Run, needed: &[Bound], beyond: &[Bound]) -> Run {
    if needed.iter().chain(beyond).all(is_of_a_workflow) {
        with_admission(run, &[], &[])
    } else {
        with_admission(run, needed, beyond)
    }
}

fn is_of_a_workflow(bound: &Bound) -> bool {
    matches!(bound.slot, SlotName::Workflow(_))
}

fn with_admission(run: Run, needed: &[Bound], beyond: &[Bound]) -> Run {
    let mut places = [needed, beyond].concat();
    places.sort();
    let admission = Admission { places, ..run.admission.clone() };
    Run { admission, ..run }
}

/// Before a run is offered whose job counts those under way: one that finds no place does as it would where a worker took it. It takes none,
/// and who takes it asks again.
pub(super) async fn pass_its_own<D: Ports>(
    ports: &D,
    told: &Hint,
    needs: &Needs<'_>,
    mut entrant: Entrant,
) -> Result<Result<Entrant, NotIn>, Fault> {
    let of_its_job = needs.places.iter().find(|bound| matches!(bound.slot, SlotName::Job(_)));
    let Some(bound) = of_its_job.filter(|_| entrant.run.fence == 0) else { return Ok(Ok(entrant)) };
    let tenant = entrant.run.tenant.clone();
    let place = Place { tenant: &tenant, bound, run: entrant.run.key };
    if has_room(ports, place).await? {
        return Ok(Ok(entrant));
    }
    if waits_since(&entrant.run).is_none() {
        entrant.run = with_admission(entrant.run, &needs.places, &[]);
    }
    wait_in_line(ports, told, (place, needs.overlap), entrant, false).await
}

/// The run, with a place of its own; or why it has none.
async fn with_a_place<D: Ports>(
    ports: &D,
    told: &Hint,
    (bound, overlap): (&Bound, Overlap),
    entrant: Entrant,
) -> Result<Result<Entrant, NotIn>, Fault> {
    let (tenant, waits_since) = (entrant.run.tenant.clone(), waits_since(&entrant.run));
    let place = Place { tenant: &tenant, bound, run: entrant.run.key };
    let own = rank(&entrant.run, waits_since.unwrap_or_else(|| ports.clock().now()));
    if acquire(ports, place, &own).await? {
        return match waits_since {
            Some(_) => in_place(ports, place, &own, entrant).await.map(Ok),
            None => Ok(Ok(entrant)),
        };
    }
    wait_in_line(ports, told, (place, overlap), entrant, true).await
}

/// A run that found no place waits for one, if its job has it wait. Rule **relook**: who has become a waiter looks once more, and `takes` a place
/// that has come free, or leaves it to whoever takes the run.
async fn wait_in_line<D: Ports>(
    ports: &D,
    told: &Hint,
    (place, overlap): (Place<'_>, Overlap),
    entrant: Entrant,
    takes: bool,
) -> Result<Result<Entrant, NotIn>, Fault> {
    let entrant = match Box::pin(meet(ports, told, overlap, place, entrant)).await? {
        Ok(entrant) => entrant,
        Err(not_in) => return Ok(Err(not_in)),
    };
    let entrant = match waits_since(&entrant.run) {
        Some(_) => entrant,
        None => match become_a_waiter(ports, entrant).await? {
            Ok(waiter) => waiter,
            Err(not_in) => return Ok(Err(not_in)),
        },
    };
    let own = rank(&entrant.run, waits_since(&entrant.run).unwrap_or_else(|| ports.clock().now()));
    stand_in_line(ports, place, &own).await?;
    if takes && acquire(ports, place, &own).await? {
        return in_place(ports, place, &own, entrant).await.map(Ok);
    }
    if !takes && has_room(ports, place).await? {
        return Ok(Ok(entrant));
    }
    Box::pin(press(ports, told, overlap, place, entrant)).await.map(Err)
}

/// Who waited and has a place now stands in no line, and leaves its job's queue to the next.
async fn in_place<D: Ports>(ports: &D, place: Place<'_>, own: &Waiter, mut entrant: Entrant) -> Result<Entrant, Fault> {
    leave_line(ports, place, own).await?;
    let is_of_the_queue = |bound: &Bound| matches!(bound.slot, SlotName::Queue(_));
    let (queued, others): (Vec<_>, Vec<_>) = entrant.run.admission.places.into_iter().partition(is_of_the_queue);
    entrant.run.admission.places = others;
    for bound in &queued {
        release(ports, Place::of(&entrant.run, bound)).await?;
    }
    Ok(entrant)
}

async fn become_a_waiter<D: Ports>(ports: &D, entrant: Entrant) -> Result<Result<Entrant, NotIn>, Fault> {
    let now = ports.clock().now();
    let Entrant { run, guard, read_at } = match entrant.if_fresh(ports.clock()) {
        Ok(entrant) => entrant,
        Err(stale) => return Ok(Err(stale)),
    };
    let Ok(next) = run.after(&RunEvent::AwaitSlot, now) else { return Ok(Err(NotIn::Dropped(Dropped::Waits))) };
    let Put::Written(version) = ports.store().put(&next.tenant, next.key, &next, guard).await? else {
        return Ok(Err(NotIn::Dropped(Dropped::Faster)));
    };
    ports.events().changed(&run, &next, now);
    Ok(Ok(Entrant { run: next, guard: Guard::Seen(version), read_at }))
}

/// Takes a run that waits out of the lines of these slots.
pub(super) async fn leave_lines<D: Ports>(ports: &D, run: &Run, slots: &[Bound]) -> Result<(), Fault> {
    let Some(since) = waits_since(run) else { return Ok(()) };
    for bound in slots {
        leave_line_to_others(ports, Place::of(run, bound), &rank(run, since)).await?;
    }
    Ok(())
}

/// Takes a run that was ended while it waited out of its lines. Where nobody gives a place back any more, because its workflow has no bound
/// by now, nobody walks them either.
pub(crate) async fn leave_all_lines<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    if waits_since(run).is_none() {
        return Ok(());
    }
    let of_a_workflow = match owner_of(ports, run).await?.map(|owner| owner.undertaking()) {
        Some(Undertaking::Unfold(called)) => Some(Bound { slot: SlotName::Workflow(called.id), width: 1 }),
        _ => None,
    };
    let lines: Vec<Bound> = run.admission.places.iter().cloned().chain(of_a_workflow).collect();
    leave_lines(ports, run, &lines).await
}

pub(super) fn waits_since(run: &Run) -> Option<Moment> {
    match run.waiting() {
        Some(Waiting::Slot { since }) => Some(*since),
        _ => None,
    }
}

/// The run, if its turn is now. If not, it is due at the instant that was put by for it: promised there, written, and erased here. Its
/// places are written down with that, a workflow's too: it has unfolded into nothing that would say so.
async fn in_its_turn<D: Ports>(
    ports: &D,
    told: &Hint,
    (rate, lane): (&Rate, Lane),
    places: &[Bound],
    entrant: Entrant,
) -> Result<Result<Entrant, NotIn>, Fault> {
    let missed = entrant.run.admission.turn.is_some();
    let until = put_by(ports, &entrant.run.tenant, rate, missed).await?;
    let now = ports.clock().now();
    if until <= now {
        return Ok(Ok(entrant));
    }
    let Entrant { run, guard, .. } = match entrant.if_fresh(ports.clock()) {
        Ok(entrant) => entrant,
        Err(stale) => return Ok(Err(stale)),
    };
    let Ok(next) = run.after(&RunEvent::Postpone { until }, now) else {
        return Ok(Err(NotIn::Dropped(Dropped::Waits)));
    };
    let beyond = next.admission.beyond(places);
    let next = with_admission(next, places, &beyond);
    match write_turn(ports, told, lane, (&run, guard), (&next, until)).await {
        // It has left its line for the place that it holds now: the next look at it may be an hour away, and others wait for that place.
        Err(fault) if waits_since(&run).is_some() => Err(fault),
        written => Ok(Err(NotIn::Dropped(postponed(told, written)))),
    }
}

/// Whether the turn of a run is written down. It is promised there before, and what led here is erased after.
async fn write_turn<D: Ports>(
    ports: &D,
    told: &Hint,
    lane: Lane,
    (run, guard): (&Run, Guard),
    (next, until): (&Run, Moment),
) -> Result<bool, Fault> {
    // What has no record yet is its job's: whoever dies here leaves a timer of its chain behind, and no run that somebody promised.
    let again = match guard {
        Guard::Absent => Some(promise(ports, &next.tenant, told.timer.moved_to(until), told.stamp.generation).await?),
        Guard::Seen(_) => promise_next_attempt(ports, next, Some(told)).await?,
    };
    if !ports.store().put(&next.tenant, next.key, next, guard).await?.is_written() {
        return Ok(false);
    }
    let now = ports.clock().now();
    ports.events().changed(run, next, now);
    if let Some(timer) = again {
        if until <= now + pace::HORIZON {
            let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), until).await;
        }
        if timer.key != told.timer {
            ports.store().erase_timer(&told.timer, told.stamp).await?;
        }
    }
    Ok(true)
}

impl Entrant {
    /// It shares nothing, or has what it needs.
    pub(super) fn passing(self) -> Entered {
        Entered { run: self.run, guard: self.guard, places: Vec::new() }
    }

    pub(super) fn if_fresh(self, clock: &impl Clock) -> Result<Self, NotIn> {
        if self.read_at.is_stale(clock) { Err(NotIn::Stale) } else { Ok(self) }
    }
}
