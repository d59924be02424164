//! The aftermath of a run that came to nothing, as it is written: it says in one guarded write that it was tried again or dismissed, and
//! which run the other try is.
//!
//! Rule **one of the two**: the old run itself says what became of it, as it was seen: whoever comes second reads who was first.
//!
//! Rule **promise, mark, make**: the other try is promised, with the run that it is a try at; then the old one says so; then it is put. Where
//! its maker died on the way, the look that finds the promise makes it. Where it finds that the old one says nothing of it, it writes the
//! old one unchanged before the promise goes: whoever promised before that and marks after it is refused, and promises again.
//!
//! Rule **no mark without its run**: whoever takes the place of a mark makes sure of its run first.

use minutehand_domain::body::Body;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::lane::Lane;
use minutehand_domain::operation::OperationId;
use minutehand_domain::run::{Run, Said};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::born;
use crate::timers::hinting::hint;
use crate::timers::promise::promise_task;

/// A try that there is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    Now(Run),
    /// Somebody else has made it.
    Before(Run),
}

/// The other try that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Try<'a> {
    pub key: RunKey,
    /// In place of the one's before.
    pub payload: Option<&'a Body>,
    pub said: Said<'a>,
    /// The operation that asks for it, where one does.
    pub operation: Option<OperationId>,
    /// How it travels.
    pub lane: Lane,
}

/// Tries a run again, as it was seen. None where somebody was faster: its promise is left to the look, which finds that nothing came of it.
pub async fn try_again<D: Ports>(ports: &D, of: &Seen<Run>, other: Try<'_>) -> Result<Option<Made>, Fault> {
    let now = ports.clock().now();
    let timer = promise_task(ports, &of.item.tenant, TimerKey::run(other.key, now), of.item.key).await?;
    let Some(marked) = mark(ports, of, other).await? else { return Ok(None) };
    let made = made(ports, &marked).await?;
    if let Some(Made::Now(_)) = made {
        let _a_lost_hint_is_found_overdue = hint(ports, other.lane, &Hint::of(&timer), now).await;
    }
    Ok(made)
}

/// Writes into the old run that it was tried again. None where somebody was faster.
pub async fn mark<D: Ports>(ports: &D, of: &Seen<Run>, other: Try<'_>) -> Result<Option<Run>, Fault> {
    let before = &of.item;
    match before.redriven_as() {
        Some(key) if key == other.key => return Ok(Some(before.clone())),
        Some(_another) => {
            make_sure(ports, before).await?;
        }
        None => {}
    }
    let now = ports.clock().now();
    let marked = match other.operation {
        Some(operation) => before.tried_again_by(operation, other.key, other.said, now),
        None => before.tried_again(other.key, other.payload.cloned(), other.said, now),
    };
    let written = ports.store().put(&marked.tenant, marked.key, &marked, of.guard()).await?.is_written();
    Ok(written.then_some(marked))
}

/// The other try that a run says there is, made where it is not there; none where it says nothing of one.
pub async fn make_sure<D: Ports>(ports: &D, marked: &Run) -> Result<Option<Made>, Fault> {
    let Some(key) = marked.redriven_as() else { return Ok(None) };
    match ports.store().get::<Run>(&marked.tenant, key).await? {
        Some(there) => Ok(Some(Made::Before(there.item))),
        None => made(ports, marked).await,
    }
}

async fn made<D: Ports>(ports: &D, marked: &Run) -> Result<Option<Made>, Fault> {
    let now = ports.clock().now();
    let Some(run) = marked.other_try(now) else { return Ok(None) };
    match born(ports, &run, "none", now).await? {
        Put::Written(_) => Ok(Some(Made::Now(run))),
        Put::Conflict(Some(there)) => Ok(Some(Made::Before(there.item))),
        Put::Conflict(None) => Err(Fault::unavailable("store", "a run came and went")),
    }
}

impl Made {
    pub fn run(self) -> Run {
        match self {
            Self::Now(run) | Self::Before(run) => run,
        }
    }
}
