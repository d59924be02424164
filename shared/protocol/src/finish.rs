//! Finishing: writing down how an attempt went. If another follows, its timer is promised before the record says so;
//! if not, the timer goes after it.
//!
//! Guard **fence**: the record is put by the claim that is still the last one; an older claim's is refused.

use minutehand_domain::hint::Hint;
use minutehand_domain::pace;
use minutehand_domain::run::{Event as RunEvent, Outcome, Refusal, Run, State};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use crate::claim::Hold;
use crate::dispatch::hint;
use crate::promise::promise;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    Recorded(Run),
    /// The run is another's by now, or is over: this attempt's outcome is not its outcome.
    Refused(Refusal),
}

/// Records how the attempt went.
pub async fn finish<D: Ports>(ports: &D, hold: &Hold, outcome: &Outcome) -> Result<Finished, Fault> {
    let event = RunEvent::Finish { fence: hold.run.fence, outcome, terms: &hold.job.definition.terms };
    record(ports, hold, &event).await
}

/// Hands the run back unfinished: this process is going away.
pub async fn hand_back<D: Ports>(ports: &D, hold: &Hold) -> Result<Finished, Fault> {
    let event = RunEvent::HandBack { fence: hold.run.fence, terms: &hold.job.definition.terms };
    record(ports, hold, &event).await
}

async fn record<D: Ports>(ports: &D, hold: &Hold, event: &RunEvent<'_>) -> Result<Finished, Fault> {
    let (mut run, mut version) = (hold.run.clone(), hold.version);
    loop {
        let now = ports.clock().now();
        let next = match run.after(event, now) {
            Ok(next) => next,
            Err(refusal) => return Ok(Finished::Refused(refusal)),
        };
        let again = promise_next_attempt(ports, &next, hold.hint.stamp.generation).await?;
        match ports.store().put_run(&next, Guard::Seen(version)).await? {
            Put::Written(_) => {
                ports.events().emit(&Event::Run { run: &next, from: run.status(now), now });
                settle(ports, &hold.hint, &next, again).await?;
                return Ok(Finished::Recorded(next));
            }
            Put::Conflict(Some(seen)) => (run, version) = (seen.item, seen.version),
            Put::Conflict(None) => return Ok(Finished::Refused(Refusal::NotHeld)),
        }
    }
}

async fn promise_next_attempt<D: Ports>(ports: &D, next: &Run, generation: u64) -> Result<Option<Timer>, Fault> {
    let State::Scheduled { due } = next.state else { return Ok(None) };
    promise(ports, &next.tenant, TimerKey::run(next.key, due), generation).await.map(Some)
}

/// Hints the next attempt if it is near, and erases the timer of the one that is recorded.
async fn settle<D: Ports>(ports: &D, old: &Hint, run: &Run, again: Option<Timer>) -> Result<(), Fault> {
    if let (Some(timer), State::Scheduled { due }) = (again, &run.state) {
        if *due <= ports.clock().now() + pace::HORIZON {
            let _a_lost_hint_is_found_overdue = hint(ports, run.priority, &Hint::of(&timer), *due).await;
        }
        if timer.key == old.timer {
            return Ok(()); // handed back within the millisecond it was due: the promise took the old timer's place
        }
    }
    ports.store().erase_timer(&old.timer, old.stamp).await.map(|_erased| ())
}
