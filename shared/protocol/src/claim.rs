//! Claiming: one guarded write makes a run this executor's, until the end of its lease.
//!
//! Guard **claim's condition**: the run is put only as it was seen, or where none was; of any number of executors with
//! any number of hints one gets through.

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Origin;
use minutehand_domain::job::{Job, NotAdmitted, Status};
use minutehand_domain::pace;
use minutehand_domain::run::{Claimant, Event as RunEvent, Refusal, Run, State};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Seen, Store as _, Version};
use minutehand_io::{Fault, Ports};

use crate::bodies;
use crate::coverage::covered;
use crate::lookup::job_of;

/// A run that is ours.
#[derive(Clone, Debug)]
pub struct Hold {
    pub job: Job,
    pub run: Run,
    pub version: Version,
    pub hint: Hint,
    /// What its target is given.
    pub payload: Option<Json>,
}

#[derive(Clone, Debug)]
pub enum Claim {
    Mine(Hold),
    /// It is due only when this executor must be gone: another's to wait for.
    NotYet(Moment),
    /// Nothing to do for this hint: why.
    Dropped(Dropped),
}

/// Why a hint came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// No job yet, or not any more. Its timer stays: a hint right after a create may find nothing yet.
    NoJob,
    /// No such run, and only an occurrence may be born of a hint.
    NoRun,
    NotAdmitted(NotAdmitted),
    /// It is due so much later that nobody should wait for it here: its timer stands.
    TooSoon,
    /// So late that its job no longer wants it to begin. Its timer stays: the look that finds it writes the record.
    PastCatchUpWindow,
    /// The record of an outage speaks for it.
    Covered,
    /// It was finished before; what was left of its timer is erased.
    Finished,
    /// The claim itself ended it: lease after lease was lost, or it was cancelled.
    Ended,
    Held,
    /// Another claimed it between our read and our write.
    Faster,
}

/// What was read before the claim, and when.
struct Sight {
    job: Job,
    run: Option<Seen<Run>>,
    read_at: Moment,
}

/// Waits until the hinted run is due and claims it, if that is at `leaving` or before.
pub async fn claim<D: Ports>(ports: &D, hint: &Hint, leaving: Moment) -> Result<Claim, Fault> {
    loop {
        let sight = match see(ports, hint).await? {
            Ok(sight) => sight,
            Err(dropped) => return Ok(Claim::Dropped(dropped)),
        };
        let (due, now) = (sight.due(hint), ports.clock().now());
        if due.since(now) > pace::HOLD {
            return Ok(Claim::Dropped(Dropped::TooSoon));
        }
        if due.max(now) > leaving {
            return Ok(Claim::NotYet(due));
        }
        ports.clock().sleep_until(due).await;
        if sight.is_stale(ports.clock().now()) {
            continue;
        }
        if sight.run.is_none() && ports.clock().now().since(hint.run.at) > pace::LATE_CLAIM {
            if covered(ports, &hint.tenant, hint.run).await?.is_some() {
                return Ok(Claim::Dropped(Dropped::Covered));
            }
            if sight.is_stale(ports.clock().now()) {
                continue;
            }
        }
        // Read before the claim: a fault now costs no attempt, and after it a lease.
        let payload = bodies::fetch(ports, &hint.tenant, hint.run.job, sight.payload()).await?;
        if sight.is_stale(ports.clock().now()) {
            continue;
        }
        if let Some(answer) = try_claim(ports, hint, sight, payload).await? {
            return Ok(answer);
        }
    }
}

/// Reads the job and the run, and says at once where there is nothing to claim.
async fn see<D: Ports>(ports: &D, hint: &Hint) -> Result<Result<Sight, Dropped>, Fault> {
    let read_at = ports.clock().now(); // before the read: its answer may have been long on its way
    let Some(job) = job_of(ports, &hint.tenant, hint.run.job).await? else { return Ok(Err(Dropped::NoJob)) };
    let run = ports.store().run(&hint.tenant, hint.run).await?;
    match (&run, hint.run.origin) {
        (Some(seen), _) if seen.item.is_finished() => {
            erase_what_is_left(ports, hint, &seen.item).await?;
            return Ok(Err(Dropped::Finished));
        }
        (Some(_), _) => {}
        (None, Origin::Schedule) => {
            if let Err(why) = job.admits(hint.run.at) {
                return Ok(Err(Dropped::NotAdmitted(why)));
            }
        }
        (None, Origin::Manual | Origin::Redrive) => return Ok(Err(Dropped::NoRun)),
    }
    Ok(Ok(Sight { job, run, read_at }))
}

/// A finished run needs no timer, but the record of an outage does: the sweeper fires its last occurrence.
async fn erase_what_is_left<D: Ports>(ports: &D, hint: &Hint, run: &Run) -> Result<(), Fault> {
    if run.coalesced_until().is_none() {
        ports.store().erase_timer(&hint.timer, hint.stamp).await?;
    }
    Ok(())
}

/// None where the clock says it is too early after all: look again.
async fn try_claim<D: Ports>(
    ports: &D,
    hint: &Hint,
    sight: Sight,
    payload: Option<Json>,
) -> Result<Option<Claim>, Fault> {
    let guard = sight.run.as_ref().map_or(Guard::Absent, Seen::guard);
    let job = sight.job;
    let now = ports.clock().now();
    if sight.run.is_none() && job.is_too_late(hint.run.at, now) {
        return Ok(Some(Claim::Dropped(Dropped::PastCatchUpWindow)));
    }
    let run = sight.run.map_or_else(|| job.run(hint.run), |seen| seen.item);
    let next = match claimed(&run, &job, ports.me(), now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { .. }) => return Ok(None),
        Err(Refusal::Finished) => return Ok(Some(Claim::Dropped(Dropped::Finished))),
        Err(Refusal::Held { .. } | Refusal::Fenced { .. } | Refusal::NotHeld) => {
            return Ok(Some(Claim::Dropped(Dropped::Held)));
        }
    };
    if let Some(attempt) = run.displaced_by_next_claim() {
        ports.store().put_attempt(&hint.tenant, hint.run, attempt).await?;
    }
    let Put::Written(version) = ports.store().put_run(&next, guard).await? else {
        return Ok(Some(Claim::Dropped(Dropped::Faster)));
    };
    ports.events().emit(&Event::Run { run: &next, from: run.status(now), now });
    if next.is_finished() {
        ports.store().erase_timer(&hint.timer, hint.stamp).await?;
        return Ok(Some(Claim::Dropped(Dropped::Ended)));
    }
    Ok(Some(Claim::Mine(Hold { job, run: next, version, hint: hint.clone(), payload })))
}

/// A deleted job's runs are not tried again; a paused job's, once started, are.
fn claimed(run: &Run, job: &Job, by: Claimant, now: Moment) -> Result<Run, Refusal> {
    let claim = RunEvent::Claim { by, terms: &job.definition.terms };
    match job.status {
        Status::Active | Status::Paused => run.after(&claim, now),
        Status::Cancelled => {
            let cancelled = run.after(&RunEvent::Cancel { by: None }, now)?;
            if cancelled.is_finished() { Ok(cancelled) } else { cancelled.after(&claim, now) }
        }
    }
}

impl Sight {
    fn due(&self, hint: &Hint) -> Moment {
        match self.run.as_ref().map(|seen| &seen.item.state) {
            Some(State::Scheduled { due }) => *due,
            _ => hint.run.at,
        }
    }

    /// What this run was given, or else what its job gives every run.
    fn payload(&self) -> &Body {
        let own = self.run.as_ref().and_then(|seen| seen.item.payload.as_ref());
        own.unwrap_or(&self.job.definition.payload)
    }

    /// Rule **late claim**: what was read too long ago is read again before anything is decided on it.
    fn is_stale(&self, now: Moment) -> bool {
        now.since(self.read_at) > pace::STALE_READ
    }
}
