//! Finishing: writing down how an attempt went. If another follows, its timer is promised before the record says so;
//! if not, what the run's end owes is settled, and the timer goes after that.
//!
//! Guard **fence**: the record is put by the claim that is still the last one; an older claim's is refused.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::SecretHash;
use minutehand_domain::hint::Hint;
use minutehand_domain::hook::Given;
use minutehand_domain::lane::Lane;
use minutehand_domain::order::Terms;
use minutehand_domain::pace;
use minutehand_domain::run::{Event as RunEvent, Holder, Lease, Outcome, Refusal, Run, State};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _, Layer};
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::renewal::renew;
use crate::graph::attend::let_go;
use crate::graph::settle::{Settled, settle};
use crate::graph::stop::{promise_look, promise_look_at};
use crate::timers::hinting::hint;
use crate::timers::promise::{erase, promise};

/// A look that is nearer than this comes soon enough.
const FAR: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    Recorded(Run),
    /// The run is another's by now, or is over: this attempt's outcome is not its outcome.
    Refused(Refusal),
}

/// Records how the attempt of this fence went. `behind` is the hint that began it: with it the timer behind the hint goes; a
/// worker elsewhere knows of none, and the timer is left to the sweep.
pub async fn finish<D: Ports>(
    ports: &D,
    seen: Seen<Run>,
    fence: u32,
    outcome: &Outcome,
    terms: &Terms,
    behind: Option<&Hint>,
) -> Result<Finished, Fault> {
    record(ports, seen, None, &RunEvent::Finish { fence, outcome, terms }, terms, behind).await
}

/// Hands the run back unfinished: its holder is going away.
pub async fn hand_back<D: Ports>(
    ports: &D,
    seen: Seen<Run>,
    fence: u32,
    terms: &Terms,
    behind: Option<&Hint>,
) -> Result<Finished, Fault> {
    record(ports, seen, None, &RunEvent::HandBack { fence, terms }, terms, behind).await
}

/// Leaves the run to whom its holder called: whoever shows this token says later how it went. The timer behind the run is left, and ends the
/// attempt when its time is up; of one that was cancelled meanwhile a look is promised for the end of its grace. Where the target was
/// faster than its own answer, the run has ended.
pub async fn entrust<D: Ports>(
    ports: &D,
    seen: Seen<Run>,
    fence: u32,
    token: &str,
    terms: &Terms,
) -> Result<Finished, Fault> {
    record(ports, seen, None, &RunEvent::Entrust { fence, token: SecretHash::of(token), terms }, terms, None).await
}

/// Ends the run because whoever is asked before a call said that it is not to be.
pub async fn veto<D: Ports>(
    ports: &D,
    seen: Seen<Run>,
    fence: u32,
    told: &str,
    terms: &Terms,
    behind: Option<&Hint>,
) -> Result<Finished, Fault> {
    record(ports, seen, None, &RunEvent::Veto { fence, told }, terms, behind).await
}

/// Writes what became of an attempt. `given`: what a hook gave it in the place of its payload.
pub async fn record<D: Ports>(
    ports: &D,
    seen: Seen<Run>,
    given: Option<&Given>,
    event: &RunEvent<'_>,
    terms: &Terms,
    behind: Option<&Hint>,
) -> Result<Finished, Fault> {
    let Seen { item: mut run, mut version } = seen;
    let fence = run.fence;
    let begun_at = behind.map_or_else(|| last_began(&run), |hint| hint.stamp.written);
    loop {
        let now = ports.clock().now();
        let next = match run.clone().with_given(given).after(event, now) {
            Ok(next) => next,
            Err(refusal) => {
                if run.fence > fence || matches!(refusal, Refusal::Fenced { .. }) {
                    ports.events().emit(&Event::Prevented { by: Layer::Fence });
                }
                if run.fence == fence {
                    settle_what_stands(ports, &run, behind).await?;
                }
                return Ok(Finished::Refused(refusal));
            }
        };
        let again = promise_next_attempt(ports, &next, behind).await?;
        if let Some(end) = next.grace_ends(&run) {
            Box::pin(promise_look_at(ports, &run, end)).await?; // apart: few are cancelled
        }
        let look = if is_far_from_a_look(&run, &next, now) {
            Some(Box::pin(promise_look(ports, &run)).await?) // apart: few are held for so long
        } else {
            None
        };
        match ports.store().put(&next.tenant, next.key, &next, Guard::Seen(version)).await? {
            Put::Written(_) => {
                ports.events().changed(&run, &next, now);
                hint_next_attempt(ports, &next, lane_of_another_attempt(&run, terms), again.as_ref()).await;
                if settle(ports, &next).await? == Settled::Paid && let_go(ports, &next).await? {
                    erase_behind(ports, behind, again.as_ref()).await?;
                    Box::pin(erase_far_behind(ports, behind, again.as_ref(), &run)).await?; // apart: few are taken on
                    if let Some(look) = look {
                        erase(ports, &look).await?;
                    }
                }
                renew(ports, &next, begun_at, now).await;
                return Ok(Finished::Recorded(next));
            }
            Put::Conflict(Some(seen)) => (run, version) = (seen.item, seen.version),
            Put::Conflict(None) => return Ok(Finished::Refused(Refusal::NotHeld)),
        }
    }
}

/// A run that has ended in this attempt: its end may have been written a moment ago, by a try that was told of a fault behind that. What it owes is paid now;
/// its timer may be an hour away.
async fn settle_what_stands<D: Ports>(ports: &D, run: &Run, behind: Option<&Hint>) -> Result<(), Fault> {
    if run.is_finished() && settle(ports, run).await? == Settled::Paid && let_go(ports, run).await? {
        erase_behind(ports, behind, None).await?;
    }
    Ok(())
}

/// Rule **nudge**, of an end that somebody elsewhere tells of: no message stands behind it, and its timer stands where its lease would have
/// ended, maybe days from now. What the end owes is to be paid before, though the process that writes it dies.
fn is_far_from_a_look(run: &Run, next: &Run, now: Moment) -> bool {
    let is_elsewhere = |lease: &Lease| matches!(lease.holder, Holder::Remote(_) | Holder::Target(_));
    next.is_finished() && run.lease().is_some_and(|lease| is_elsewhere(lease) && lease.until > now + FAR)
}

/// When the attempt under way began.
fn last_began(run: &Run) -> Moment {
    run.attempts.last().map_or(Moment::EPOCH, |attempt| attempt.started_at)
}

/// The timer of the next attempt; and one that looks at the run when its SLA ends, where that is before.
pub(super) async fn promise_next_attempt<D: Ports>(
    ports: &D,
    next: &Run,
    behind: Option<&Hint>,
) -> Result<Option<Timer>, Fault> {
    let State::Scheduled { due } = next.state else { return Ok(None) };
    let generation = behind.map_or(0, |hint| hint.stamp.generation); // only a link of a chain is told apart by it
    if let Some(end) = next.sla_ends().filter(|end| *end < due) {
        promise(ports, &next.tenant, TimerKey::run(next.key, end), 0).await?;
    }
    promise(ports, &next.tenant, TimerKey::run(next.key, due), generation).await.map(Some)
}

/// What a worker had is offered to workers again.
fn lane_of_another_attempt(run: &Run, terms: &Terms) -> Lane {
    match &run.state {
        State::Running(Lease { holder: Holder::Remote(_), .. }) => Lane::look(run.priority),
        _ => Lane::of(run.priority, terms),
    }
}

/// Hints the next attempt if it is near.
async fn hint_next_attempt<D: Ports>(ports: &D, run: &Run, lane: Lane, again: Option<&Timer>) {
    if let (Some(timer), State::Scheduled { due }) = (again, &run.state)
        && *due <= ports.clock().now() + pace::HORIZON
    {
        let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(timer), *due).await;
    }
}

/// Of what a target had taken on: a look has moved its timer to when its time would have been up, days from now.
async fn erase_far_behind<D: Ports>(
    ports: &D,
    behind: Option<&Hint>,
    again: Option<&Timer>,
    before: &Run,
) -> Result<(), Fault> {
    let (Some(behind), Some(Lease { holder: Holder::Target(_), until, .. })) = (behind, before.lease()) else {
        return Ok(());
    };
    match ports.store().timer(&behind.timer.moved_to(*until)).await? {
        Some(far) if again.is_none_or(|timer| timer.key != far.key) => erase(ports, &far).await,
        Some(_) | None => Ok(()),
    }
}

/// Erases the timer of the attempt that is recorded, where it is known.
async fn erase_behind<D: Ports>(ports: &D, behind: Option<&Hint>, again: Option<&Timer>) -> Result<(), Fault> {
    let Some(behind) = behind else { return Ok(()) };
    if again.is_some_and(|timer| timer.key == behind.timer) {
        return Ok(()); // handed back within the millisecond it was due: the promise took the old timer's place
    }
    ports.store().erase_timer(&behind.timer, behind.stamp).await.map(|_erased| ())
}
