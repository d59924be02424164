//! Stopping: one word is written into a run that waits for its tasks, and nothing more starts below it. Its look ends what has not
//! begun, asks what runs to end, and ends the run itself when a strong page shows nothing open.
//!
//! Rule **nudge**: whoever stops a run promises a look at it first. Rule **census**: a run that is being stopped is ended by a look that
//! finds none of its runs open, not by its joins: what never began will close no edge. It is looked at after five seconds, and ever less
//! often, to once a minute, for as long as something is open.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::lane::Lane;
use minutehand_domain::owner::{TaskOwner, Undertaking};
use minutehand_domain::run::{Event as RunEvent, Refusal, Run, State, Stop, TaskPlace, Tasks, Tending, Waiting};
use minutehand_domain::target::WorkerTarget;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_domain::workflow::plan::{Phase, Plan};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use super::ending::end;
use super::family::Family;
use super::settle::{Due, Settled, Work, settle};
use crate::run::entry::leave_all_lines;
use crate::run::withdrawal::withdraw_from;
use crate::slots::{Place, places_of, release};
use crate::timers::hinting::hint;
use crate::timers::promise::{promise_like, promise_unless_there, written_now};

/// How long after it was stopped a run is looked at first.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// How long it is left alone at most.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// Queues carry a hint for so long.
const NEAR: Duration = Duration::from_secs(15 * 60);
/// Runs that are ended side by side.
const AT_ONCE: usize = 64;

/// Writes the word, unless one stands.
pub(super) async fn stop<D: Ports>(ports: &D, key: RunKey, stop: Stop, work: &mut Work) -> Result<(), Fault> {
    loop {
        let Some(seen) = ports.store().get::<Run>(&work.tenant, key).await? else { return Ok(()) };
        let guard = seen.guard();
        let run = seen.item;
        let now = ports.clock().now();
        let next = match run.after(&RunEvent::Tend(&Tending::Stop(stop)), now) {
            Ok(next) => next,
            Err(Refusal::Stopping) => break,
            Err(_it_has_ended) => return Ok(()),
        };
        let timer = promise_look(ports, &run).await?;
        if ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
            ports.events().changed(&run, &next, now);
            look_at(ports, &next, &timer, now + FIRST_LOOK).await;
            work.step();
            break;
        }
    }
    work.add(Due::Census(key));
    Ok(())
}

/// What follows at once when somebody has cancelled a run: what it owes is settled, or what is below it is ended. `look`: the one that
/// was promised.
pub async fn after_a_cancel<D: Ports>(ports: &D, run: &Run, look: Option<&Timer>) -> Result<Settled, Fault> {
    if run.tasks().is_none() {
        return settle(ports, run).await;
    }
    if let Some(timer) = look {
        look_at(ports, run, timer, ports.clock().now() + FIRST_LOOK).await;
    }
    let mut work = Work::of(&run.tenant);
    work.add(Due::Census(run.key));
    Box::pin(work.done(ports)).await
}

/// Promises a look at a run, now.
pub async fn promise_look<D: Ports>(ports: &D, run: &Run) -> Result<Timer, Fault> {
    promise_look_at(ports, run, ports.clock().now()).await
}

pub async fn promise_look_at<D: Ports>(ports: &D, run: &Run, at: Moment) -> Result<Timer, Fault> {
    promise_like(ports, look_timer(ports, run, at)).await
}

fn look_timer<D: Ports>(ports: &D, run: &Run, at: Moment) -> Timer {
    Timer { parent: run.derived_from(), ..written_now(ports, &run.tenant, TimerKey::run(run.key, at), 0) }
}

/// A hint, so that nobody waits for the sweep; where it is lost, the timer is found overdue.
async fn look_at<D: Ports>(ports: &D, run: &Run, timer: &Timer, at: Moment) {
    let _a_lost_hint_is_found_overdue = hint(ports, Lane::look(run.priority), &Hint::of(timer), at).await;
}

/// Tells of the end of a run's time, where that is so near that no look of the sweep may come before: a message without a timer of its own.
pub async fn tell_of_its_end<D: Ports>(ports: &D, run: &Run, deadline: Moment) {
    if deadline.since(ports.clock().now()) <= NEAR {
        let key = TimerKey::run(run.key, deadline);
        look_at(ports, run, &written_now(ports, &run.tenant, key, 0), deadline).await;
    }
}

/// What a hint that finds a stopped run does when it has been gone through: the next look is promised, further away than this one was, and hinted by
/// the hint that erases its own timer. One that does not was not the first, or lost the answer that said so: all who look at about this time
/// promise one look, which the first of them has written. So one look stays one, and is never none.
pub async fn look_again<D: Ports>(ports: &D, told: &Hint) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Run>(&told.tenant, told.run).await? else { return Ok(()) };
    if seen.item.tasks().is_none_or(|tasks| tasks.stop.is_none()) {
        return Ok(());
    }
    let run = &seen.item;
    let at = next_look(run.key, told.stamp.written, ports.clock().now());
    let next = promise_unless_there(ports, look_timer(ports, run, at)).await?;
    if next.key != told.timer && ports.store().erase_timer(&told.timer, told.stamp).await? {
        look_at(ports, run, &next, next.key.due).await;
    }
    Ok(())
}

/// The next of the instants that are ten or twenty seconds apart, or a minute, as this look is soon or long after it was promised; but none that is near
/// already. Each run has instants of its own: many may be stopped at once.
fn next_look(run: RunKey, promised: Moment, now: Moment) -> Moment {
    let step = match now.since(promised) {
        soon if soon < Duration::from_secs(8) => Duration::from_secs(10),
        later if later < Duration::from_secs(15) => Duration::from_secs(20),
        _ => LAST_LOOK,
    };
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let mixed = run.to_bytes().iter().fold(0_u32, |mixed, byte| mixed.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    let (step, own) = (millis(step), i64::from(mixed) % millis(LAST_LOOK));
    let past = (now + FIRST_LOOK).millis() - own;
    Moment::from_millis(own + (past.div_euclid(step) + 1) * step)
}

/// Ends what has not begun below a run that is being stopped, asks the rest to end; and ends the run where nothing is open.
pub(super) async fn census<D: Ports>(ports: &D, key: RunKey, work: &mut Work) -> Result<(), Fault> {
    let Some(mut family) = Family::of(ports, &work.tenant, key).await? else { return Ok(()) };
    let Some(tasks) = family.parent.item.tasks().copied() else {
        work.settle(family.parent.item);
        return Ok(());
    };
    let Some(stop) = tasks.stop else { return Ok(()) };
    let shown: Vec<_> = family.children().await?.iter().map(|run| (run.key, shown(run))).collect();
    let (plan, parent) = (&family.plan, &family.parent.item);
    let ending = stream::iter(shown).map(|(run, shown)| async move {
        match shown {
            Some(found) => Ok(found),
            None => end_or_ask(ports, (plan, parent), run).await,
        }
    });
    let found: Vec<Found> = ending.buffer_unordered(AT_ONCE).try_collect().await?;
    work.stop_below(key, found.iter().filter_map(Found::inner));
    if found.iter().any(|found| *found != Found::Over) {
        return Ok(());
    }
    end(&mut family, tasks.phase, Some(stop), work).await
}

/// What stands below a run that is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Over,
    /// It was asked to end, or is being stopped itself.
    Open,
    /// It has tasks of its own, which nobody has stopped.
    Inner(RunKey),
}

impl Found {
    fn inner(&self) -> Option<RunKey> {
        match self {
            Self::Inner(run) => Some(*run),
            Self::Over | Self::Open => None,
        }
    }
}

/// What its state alone says of a run; none if it is still to be ended, or asked to end.
fn shown(run: &Run) -> Option<Found> {
    match &run.state {
        // In its `finally` it has ended before, or was stopped: only a cancel of that run itself stops it.
        State::Waiting(Waiting::Tasks(Tasks { stop: None, phase: Phase::Main, .. })) => Some(Found::Inner(run.key)),
        State::Waiting(Waiting::Tasks(_)) => Some(Found::Open),
        State::Running(lease) if lease.cancelled => Some(Found::Open),
        _ => run.is_finished().then_some(Found::Over),
    }
}

/// Ends a run below this parent that has not begun, and asks one that runs to end.
pub(super) async fn end_or_ask<D: Ports>(
    ports: &D,
    (plan, parent): (&Plan, &Run),
    key: RunKey,
) -> Result<Found, Fault> {
    loop {
        let Some(seen) = ports.store().get::<Run>(&parent.tenant, key).await? else { return Ok(Found::Over) };
        let (guard, run) = (seen.guard(), seen.item);
        if let Some(found) = shown(&run) {
            return Ok(found);
        }
        let now = ports.clock().now();
        let found = |run: &Run| if run.is_finished() { Found::Over } else { Found::Open };
        let Ok(next) = run.after(&RunEvent::Cancel { by: None }, now) else { return Ok(found(&run)) };
        if let Some(end) = next.grace_ends(&run) {
            promise_look_at(ports, &run, end).await?;
        }
        if ports.store().put(&next.tenant, key, &next, guard).await?.is_written() {
            ports.events().changed(&run, &next, now);
            let _whoever_walks_its_lines_passes_it_over = Box::pin(leave_all_lines(ports, &run)).await;
            if let Some(target) = workers_of(plan, parent, key) {
                let _whoever_takes_it_finds_it_over = withdraw_from(ports, &target, &run).await;
            }
            give_back(ports, &next).await?;
            return Ok(found(&next));
        }
    }
}

/// Who was to carry it out, where that is workers.
fn workers_of(plan: &Plan, parent: &Run, task: RunKey) -> Option<WorkerTarget> {
    match TaskOwner::of(plan, parent, TaskPlace::of(task)?)?.undertaking {
        Undertaking::Offer(target) => Some(target),
        _offered_to_nobody => None,
    }
}

/// The places of one that has ended: its timer, which pays for all the rest, may be due only behind a backoff of a day.
async fn give_back<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    if run.is_finished() {
        for bound in &places_of(run) {
            Box::pin(release(ports, Place::of(run, bound))).await?; // apart: few have a place
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::JobId;

    use super::*;

    /// Who looks twice at about one time comes to the same instant, and so do looks that went apart.
    #[test]
    fn looks_are_ever_further_apart_to_once_a_minute_and_meet_again() {
        for number in 0..200_u64 {
            let run = RunKey::manual(JobId::from_bytes([7; 16]), Moment::EPOCH, number);
            let stopped = Moment::from_secs(1_800_000_000) + Duration::from_millis(337 * number);
            let mut looks = vec![stopped, stopped + FIRST_LOOK];
            while looks.len() < 12 {
                let (promised, now) = (looks[looks.len() - 2], looks[looks.len() - 1] + Duration::from_millis(40));
                looks.push(next_look(run, promised, now));
            }

            let apart: Vec<Duration> = looks.windows(2).map(|two| two[1].since(two[0])).collect();

            assert!(apart.iter().all(|apart| *apart >= FIRST_LOOK && *apart <= LAST_LOOK + FIRST_LOOK), "{apart:?}");
            assert!(apart[1] <= 3 * FIRST_LOOK, "{apart:?}");
            assert!(apart[7..].iter().all(|apart| *apart == LAST_LOOK), "{apart:?}");
            let late = looks[10] + Duration::from_secs(17);
            assert_eq!(next_look(run, looks[9], late), looks[11], "the one that came late goes on with the others");
        }
    }
}
