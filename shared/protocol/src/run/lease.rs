//! A lease of a worker elsewhere: what it is called by, and what its holder may say. Each of them shows the token of the lease; whoever
//! shows another, or an old one, is refused, and nothing has happened.
//!
//! Guard **fence**: the record is put by the claim that is still the last one; an older claim's is refused.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{Tenant, Worker};
use minutehand_domain::limits::INLINE_RESULT_BYTES;
use minutehand_domain::order::Terms;
use minutehand_domain::owner::{RunOwner, Undertaking};
use minutehand_domain::pool::PoolName;
use minutehand_domain::run::logbook::{Entry, LateWord};
use minutehand_domain::run::{AttemptError, Outcome, Refusal, Run};
use minutehand_domain::signing::SigningSecrets;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{ExtendLease, Seen, Store as _, Updated};
use minutehand_io::{Fault, Ports};

pub use minutehand_domain::run::lease_id::LeaseId;

use super::finish::{Finished, finish, hand_back};
use super::logbook::{enter, note_late};
use crate::bodies::{self, BodyOf};
use crate::lookup::owner_of;

/// What a holder shows.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub tenant: &'a Tenant,
    pub lease: LeaseId,
    pub token: &'a str,
}

/// How what a holder said was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<T> {
    Taken(T),
    /// The run is another's by now, or is over.
    Refused(Refusal, Run),
    /// The token is not this lease's.
    NotYours,
    /// There is no such run.
    NotFound,
}

/// A lease as a heartbeat leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    pub until: Moment,
    pub cancel_requested: bool,
    /// Whose it is, and of which pool, as far as its job still says so.
    pub worker: Worker,
    pub pool: Option<PoolName>,
}

/// A sign of life, and what the holder says beside that: the run is its holder's for longer, but never for longer than an attempt may take.
pub async fn heartbeat<D: Ports>(
    ports: &D,
    shown: Shown<'_>,
    lease: Duration,
    entry: &Entry,
) -> Result<Said<Beaten>, Fault> {
    let (held, owner) = match held(ports, shown).await? {
        Said::Taken(held) => held,
        other => return Ok(other.without()),
    };
    let now = ports.clock().now();
    let longest = held.item.may_be_held_until(owner.terms()).unwrap_or(now);
    // Whom a call reaches, and who took the run on, may have it for longer than a heartbeat asks for: nothing is shortened.
    let extend = ExtendLease { fence: shown.lease.fence, until: (now + lease).min(longest) };
    let there = match ports.store().update(shown.tenant, held.item.key, &extend).await? {
        Updated::Done(seen) | Updated::Refused(Some(seen)) => seen.item,
        Updated::Refused(None) => return Ok(Said::NotFound),
    };
    let lease = match there.lease() {
        Some(lease) if there.fence == shown.lease.fence => *lease,
        _another_holds_it_or_it_is_over => return Ok(refused(shown, there)),
    };
    if !entry.is_empty() {
        enter(ports, &there, entry).await?;
    }
    let (worker, pool) = (lease.holder.worker(), owner.target().pool().cloned());
    Ok(Said::Taken(Beaten { until: lease.until, cancel_requested: lease.cancelled, worker, pool }))
}

/// How it went, as a worker says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    Succeeded(Option<Json>),
    Failed(AttemptError),
}

/// Says how it went. What came of it is kept only where it is its holder who says so.
pub async fn complete<D: Ports>(ports: &D, shown: Shown<'_>, report: &Report) -> Result<Said<Run>, Fault> {
    let (held, owner) = match held(ports, shown).await? {
        Said::Taken(held) => held,
        Said::Refused(refusal, run) => return came_late(ports, shown, report, refusal, run).await,
        other => return Ok(other.without()),
    };
    let outcome = match report {
        Report::Succeeded(json) => {
            let of = BodyOf::run(&held.item, ports.clock().now());
            let result = bodies::keep_of(ports, of, json.clone(), INLINE_RESULT_BYTES).await?;
            Outcome::Succeeded { result }
        }
        Report::Failed(error) => Outcome::Failed { error: error.clone(), retry_after: None },
    };
    let behind = shown.behind();
    match finish(ports, held, shown.lease.fence, &outcome, owner.terms(), Some(&behind)).await? {
        Finished::Recorded(run) => Ok(Said::Taken(run)),
        Finished::Refused(_) => match as_it_stands(ports, shown).await? {
            Said::Refused(refusal, run) => came_late(ports, shown, report, refusal, run).await,
            other => Ok(other),
        },
    }
}

/// What is said of an attempt that is over is noted, and nothing more.
async fn came_late<D: Ports>(
    ports: &D,
    shown: Shown<'_>,
    report: &Report,
    refusal: Refusal,
    run: Run,
) -> Result<Said<Run>, Fault> {
    note_late(ports, shown.tenant, &run, shown.lease.fence, report.word()).await?;
    Ok(Said::Refused(refusal, run))
}

impl Report {
    fn word(&self) -> LateWord {
        match self {
            Self::Succeeded(_) => LateWord::Succeeded,
            Self::Failed(_) => LateWord::Failed,
        }
    }
}

/// Gives the run back unfinished. This costs no attempt.
pub async fn give_back<D: Ports>(ports: &D, shown: Shown<'_>) -> Result<Said<Run>, Fault> {
    let (held, owner) = match held(ports, shown).await? {
        Said::Taken(held) => held,
        other => return Ok(other.without()),
    };
    let (terms, behind): (&Terms, Hint) = (owner.terms(), shown.behind());
    match hand_back(ports, held, shown.lease.fence, terms, Some(&behind)).await? {
        Finished::Recorded(run) => Ok(Said::Taken(run)),
        Finished::Refused(_) => as_it_stands(ports, shown).await,
    }
}

/// The run of a lease that is shown, and whose it is.
async fn held<D: Ports>(ports: &D, shown: Shown<'_>) -> Result<Said<(Seen<Run>, RunOwner)>, Fault> {
    let Some(seen) = ports.store().get::<Run>(shown.tenant, shown.lease.run).await? else { return Ok(Said::NotFound) };
    let is_current = seen.item.fence == shown.lease.fence;
    match seen.item.lease() {
        Some(_) if is_current && !is_holders(ports, &seen.item, shown.token).await? => return Ok(Said::NotYours),
        Some(_) if is_current => {}
        _another_holds_it_or_it_is_over if !may_have_held(ports, &seen.item, shown).await? => {
            return Ok(Said::NotYours);
        }
        _another_holds_it_or_it_is_over => return Ok(refused(shown, seen.item)),
    }
    match owner_of(ports, &seen.item).await? {
        Some(owner) => Ok(Said::Taken((seen, owner))),
        None => Ok(Said::NotFound),
    }
}

/// Whether the token is the holder's: that of its lease, or while a call is under way what the call told its target.
pub(super) async fn is_holders<D: Ports>(ports: &D, run: &Run, token: &str) -> Result<bool, Fault> {
    let Some(lease) = run.lease() else { return Ok(false) };
    if lease.token.is_some() {
        return Ok(lease.is_of(token));
    }
    was_told_to_a_target(ports, run, run.fence, token).await
}

/// Whether the token may be that of an attempt which is over. What a call told its target is known still. That of a worker's lease went with the lease:
/// of a run that workers carry out any token is believed.
async fn may_have_held<D: Ports>(ports: &D, run: &Run, shown: Shown<'_>) -> Result<bool, Fault> {
    match owner_of(ports, run).await?.map(|owner| owner.undertaking()) {
        Some(Undertaking::Call) => was_told_to_a_target(ports, run, shown.lease.fence, shown.token).await,
        _for_workers_or_nobody_can_tell => Ok(true),
    }
}

async fn was_told_to_a_target<D: Ports>(ports: &D, run: &Run, fence: u32, token: &str) -> Result<bool, Fault> {
    let secrets = ports.store().get::<SigningSecrets>(&run.tenant, ()).await?;
    let now = ports.clock().now();
    Ok(secrets.is_some_and(|secrets| secrets.item.knows_lease_token(token, run.key, fence, now)))
}

fn refused<T>(shown: Shown<'_>, run: Run) -> Said<T> {
    let refusal = if run.fence != shown.lease.fence {
        Refusal::Fenced { offered: shown.lease.fence, current: run.fence }
    } else if run.is_finished() {
        Refusal::Finished
    } else {
        Refusal::NotHeld
    };
    Said::Refused(refusal, run)
}

/// Why nothing was taken, by the run as somebody who was faster has left it.
async fn as_it_stands<D: Ports>(ports: &D, shown: Shown<'_>) -> Result<Said<Run>, Fault> {
    let seen = ports.store().get::<Run>(shown.tenant, shown.lease.run).await?;
    Ok(seen.map_or(Said::NotFound, |seen| refused(shown, seen.item)))
}

impl<T> Said<T> {
    /// What was not taken, of something else.
    fn without<U>(self) -> Said<U> {
        match self {
            Self::Refused(refusal, run) => Said::Refused(refusal, run),
            Self::NotYours => Said::NotYours,
            Self::Taken(_) | Self::NotFound => Said::NotFound,
        }
    }
}

impl Shown<'_> {
    /// What brought the run to its holder, as the executor that called it would know it.
    fn behind(&self) -> Hint {
        let LeaseId { run, timer, stamp, .. } = self.lease;
        Hint { tenant: self.tenant.clone(), run, timer, stamp, sent: None }
    }
}
