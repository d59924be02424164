//! Claiming: one guarded write makes a run this executor's, until the end of its lease.
//!
//! Guard **claim's condition**: the run is put only as it was seen, or where none was; of any number of executors with
//! any number of hints one gets through.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::NotAdmitted;
use minutehand_domain::lane::Lane;
use minutehand_domain::notification::Window;
use minutehand_domain::order::Order;
use minutehand_domain::owner::{RunOwner, Undertaking};
use minutehand_domain::pace;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::made_up::GivenUp;
use minutehand_domain::run::{Event as RunEvent, Look, Refusal, Run, State, Waiting};
use minutehand_domain::slot::Bound;
use minutehand_domain::target::Target;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_domain::trace::Sampling;
use minutehand_io::clock::Clock;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::queues::Queues as _;
use minutehand_io::store::{Beneath, Guard, Put, Seen, Store as _, Version};
use minutehand_io::targets::{Material, Targets as _, Upcoming};
use minutehand_io::{Fault, Ports};

use crate::bodies;
use crate::born::bounded;
use crate::chain::standing::{Asked, Standing, standing};
use crate::chain::taken::{record_taken, record_taken_before_what_was_called_off};
use crate::graph::attend::{attend, let_go};
use crate::graph::settle::{Settled, settle};
use crate::graph::stop::look_again;
use crate::lookup::owner_of;
use crate::notifications::digest::{Digested, tell_of_window};
use crate::read_at::ReadAt;
use crate::run::callback::told_of as told_of_end;
use crate::run::entry::{Entered, Entrant, Needs, NotIn, enter};
use crate::run::lateness::in_turn;
use crate::run::offer::{given_up, offer};
use crate::run::sla::told_of;
use crate::run::undertake::undertake;
use crate::slots::release_if_over;
use crate::timers::hinting;
use crate::timers::promise::promise;

/// A look that comes at most this much later is as good as the one wanted: no other is promised.
const NOTICED: Duration = Duration::from_secs(60);

/// A run that is ours until its lease ends, and what it is to carry out.
#[derive(Clone, Debug)]
pub struct ClaimedRun {
    pub run: Run,
    /// Since when it could have been claimed, where that can be said.
    pub ready: Option<Moment>,
    pub version: Version,
    pub order: Order,
    /// What its target is given.
    pub payload: Option<Json>,
    /// What its call takes beside that.
    pub material: Material,
    /// When that was read, before the claim.
    pub prepared_at: ReadAt,
    /// And the call of whoever is asked before it.
    pub hook: Material,
    /// What brought us here, and the timer behind it.
    pub hint: Hint,
}

#[derive(Clone, Debug)]
pub enum Claim {
    Mine(ClaimedRun),
    /// Not to be had before then, and nothing to wait for here: it is due only when this executor must be gone, or another's
    /// lease on it ends so soon that the hint is still worth something.
    NotYet(Moment),
    /// Nothing to do for this hint: why.
    Dropped(Dropped),
}

/// Why a hint came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// No owner yet, or not any more. Its timer stays: a hint right after a create may find nothing yet.
    NoOwner,
    /// No such run, and none of its kind is born of a hint.
    NoRecord,
    NotAdmitted(NotAdmitted),
    /// Its call is long and it came among short ones: it was sent on to the lane of its own.
    SentOn,
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
    /// It waits for its tasks or for an answer, and has what it needs.
    Waits,
    /// It carries out tasks, or somebody is asked: the hint was for a look at it.
    LookedAt,
    /// It waits for a place among those with whom it shares a limit: whoever gives one back hints it.
    AwaitsSlot,
    /// It made way for another of its job.
    Yielded,
    /// Its rate, or its turn among what is made up for, lets it begin later: it is due then.
    Postponed,
    /// It has a turn that could not be written down: its timer stands, and its look takes another.
    TurnLost,
    /// Its tasks have begun, or somebody is asked.
    Begun,
    /// It lies where the workers of its pool look, from now on.
    Offered,
    /// It lay there already.
    StillOffered,
    /// Another claimed it between our read and our write.
    Faster,
}

impl Claim {
    /// Whether the hint has brought its run as far as it goes for now: it has begun, or waits for others than an executor.
    fn has_reached_it(&self) -> bool {
        match self {
            Self::Mine(_) => true,
            Self::NotYet(_) => false,
            Self::Dropped(why) => match why {
                Dropped::Begun | Dropped::Offered | Dropped::AwaitsSlot | Dropped::Postponed => true,
                Dropped::NoOwner
                | Dropped::NoRecord
                | Dropped::NotAdmitted(_)
                | Dropped::SentOn
                | Dropped::TooSoon
                | Dropped::PastCatchUpWindow
                | Dropped::Covered
                | Dropped::Finished
                | Dropped::Ended
                | Dropped::Held
                | Dropped::Waits
                | Dropped::LookedAt
                | Dropped::Yielded
                | Dropped::TurnLost
                | Dropped::StillOffered
                | Dropped::Faster => false,
            },
        }
    }
}

/// What was read before the claim, and when.
pub(super) struct Reading {
    pub(super) owner: RunOwner,
    pub(super) run: Option<Seen<Run>>,
    pub(super) read_at: ReadAt,
    sampling: Sampling,
}

/// A run that may be claimed by what was read, as it stands or as its owner would have it.
pub(super) struct Ready {
    pub(super) owner: RunOwner,
    pub(super) run: Run,
    pub(super) guard: Guard,
    pub(super) read_at: ReadAt,
}

/// How often a run is read for one claim: before it is waited for, after that, and twice for a world that is slow for a moment.
const READINGS: usize = 4;

/// Waits until the run is due whose hint came on `lane`, and claims it, if that is at `leaving` or before.
///
/// Where each reading is stale before anything could be decided on it, the table or the vault is too slow: another reading would
/// only ask more of it, and the hint is given back.
pub async fn claim<D: Ports>(ports: &D, hint: &Hint, lane: Lane, leaving: Moment) -> Result<Claim, Fault> {
    if let Some(nothing) = await_window(ports, hint, leaving).await? {
        return Ok(nothing);
    }
    let mut ready = None;
    for _ in 0..READINGS {
        let reading = match read(ports, hint).await? {
            Ok(reading) => reading,
            Err(dropped) => return Ok(Claim::Dropped(dropped)),
        };
        let (due, now) = (reading.due(hint), ports.clock().now());
        if due.since(now) > pace::HOLD {
            return Ok(Claim::Dropped(Dropped::TooSoon));
        }
        if send_on(ports, hint, lane, &reading).await? {
            return Ok(Claim::Dropped(Dropped::SentOn));
        }
        if due.max(now) > leaving {
            return Ok(Claim::NotYet(due));
        }
        ports.clock().sleep_until(due).await;
        record_what_was_taken(ports, hint, &reading).await?;
        if reading.is_stale(ports.clock()) {
            continue;
        }
        ready = ready.or(reading.ready_since(hint)); // what a reading before this one has written down is not ready any more
        if let Some(answer) = claim_as_read(ports, hint, reading).await? {
            if let (Some((priority, since)), true) = (ready, answer.has_reached_it()) {
                let (tenant, run, now) = (&hint.tenant, hint.run, ports.clock().now());
                ports.events().emit(&Event::Reached { tenant, run, priority, since, now });
            }
            return Ok(answer);
        }
    }
    Err(Fault::unavailable("the claim", "what it reads is stale each time before it can be decided on"))
}

/// Rule **told before what follows**: what calendars took before an occurrence that is about to begin.
async fn record_what_was_taken<D: Ports>(ports: &D, hint: &Hint, reading: &Reading) -> Result<(), Fault> {
    match (&reading.run, &reading.owner) {
        (None, RunOwner::Job(job)) => record_taken(ports, job, hint.run.at).await,
        (Some(_), _) | (None, RunOwner::Parent(_) | RunOwner::Told(_)) => Ok(()),
    }
}

/// What becomes of the hint of a message whose window has to be over first: it is waited for as a run is, and then has a record or tells of
/// nothing. None of what is to be claimed.
async fn await_window<D: Ports>(ports: &D, hint: &Hint, leaving: Moment) -> Result<Option<Claim>, Fault> {
    if Window::told_by(hint.run).is_none() || ports.store().get::<Run>(&hint.tenant, hint.run).await?.is_some() {
        return Ok(None);
    }
    let (due, now) = (hint.run.at, ports.clock().now());
    if due.since(now) > pace::HOLD {
        return Ok(Some(Claim::Dropped(Dropped::TooSoon)));
    }
    if due.max(now) > leaving {
        return Ok(Some(Claim::NotYet(due)));
    }
    ports.clock().sleep_until(due).await;
    match Box::pin(tell_of_window(ports, &hint.tenant, hint.run)).await? {
        Digested::Born | Digested::NotADigest => Ok(None),
        Digested::NotYet(due) => Ok(Some(Claim::NotYet(due))),
        Digested::Empty => {
            ports.store().erase_timer(&hint.timer, hint.stamp).await?;
            Ok(Some(Claim::Dropped(Dropped::NoRecord)))
        }
    }
}

/// Rule **long calls travel apart**: the giver of this hint did not know the run's terms, or they have changed since.
async fn send_on<D: Ports>(ports: &D, hint: &Hint, came_on: Lane, reading: &Reading) -> Result<bool, Fault> {
    let lane = ports.queues().lane_for(reading.owner.lane());
    // What came on as a look was counted by no limit of calls.
    let is_counted = lane.is_look || !came_on.is_look;
    if lane.length <= came_on.length && is_counted {
        return Ok(false);
    }
    hinting::hint(ports, lane, hint, reading.due(hint)).await.map(|()| true)
}

/// Reads the run and its owner, and says at once where there is nothing to claim.
pub(super) async fn read<D: Ports>(ports: &D, hint: &Hint) -> Result<Result<Reading, Dropped>, Fault> {
    let read_at = ReadAt::now(ports.clock()); // before the read: its answer may have been long on its way
    let (owner, run) = match standing(ports, &hint.tenant, hint.run, Asked::ByAHint).await? {
        Standing::Recorded(seen) if seen.item.is_finished() => {
            erase_what_is_left(ports, hint, &seen.item).await?;
            return Ok(Err(if seen.item.graph.is_some() { Dropped::LookedAt } else { Dropped::Finished }));
        }
        Standing::Recorded(seen) if matches!(seen.item.waiting(), Some(Waiting::Tasks(_) | Waiting::Answer { .. })) => {
            let _a_look_stands_behind_it = Box::pin(attend(ports, &seen)).await?;
            if seen.item.tasks().is_some_and(|tasks| tasks.stop.is_some()) {
                Box::pin(look_again(ports, hint)).await?;
            }
            return Ok(Err(Dropped::LookedAt));
        }
        Standing::Recorded(seen) => match Box::pin(owner_of(ports, &seen.item)).await? {
            Some(owner) => (owner, Some(seen)),
            None => return Ok(Err(Dropped::NoOwner)),
        },
        Standing::Unborn(job) => (RunOwner::Job(bounded(ports, job).await), None),
        Standing::Covered(..) => return Ok(Err(Dropped::Covered)),
        Standing::NotAdmitted(why) => return Ok(Err(Dropped::NotAdmitted(why))),
        Standing::NoJob => return Ok(Err(Dropped::NoOwner)),
        Standing::NoRecord => return Ok(Err(Dropped::NoRecord)),
    };
    Ok(Ok(Reading { owner, run, read_at, sampling: ports.sampling() }))
}

/// A finished run needs no timer, but the record of an outage does: the sweeper fires its last occurrence. Rule **only settle
/// erases**: what its end owes is paid first, and a failure that waits for a verdict is left to the look.
pub(super) async fn erase_what_is_left<D: Ports>(ports: &D, hint: &Hint, run: &Run) -> Result<(), Fault> {
    record_taken_before_what_was_called_off(ports, run).await?;
    let is_paid = settle(ports, run).await? == Settled::Paid;
    if is_paid && run.coalesced_until().is_none() && let_go(ports, run).await? {
        ports.store().erase_timer(&hint.timer, hint.stamp).await?;
    }
    Ok(())
}

/// None where the clock says that it is too early after all, or that the reading is stale: read again.
async fn claim_as_read<D: Ports>(ports: &D, hint: &Hint, reading: Reading) -> Result<Option<Claim>, Fault> {
    match reading.owner.undertaking() {
        Undertaking::Call => {}
        Undertaking::Offer(target) => return Box::pin(offer(ports, hint, reading, &target)).await,
        other => return Box::pin(undertake(ports, hint, reading, other)).await,
    }
    // Read before the claim: a fault now costs no attempt, and after it a lease.
    let payload = payload(ports, hint, &reading).await?;
    let prepared_at = ReadAt::now(ports.clock());
    let material = material(ports, hint, &reading, payload.as_ref()).await?;
    let hook = hook_material(ports, hint, &reading).await?;
    let quota = quota_of(ports, &hint.tenant).await;
    let now = ports.clock().now();
    if reading.is_stale(ports.clock()) {
        return Ok(None);
    }
    let ready = match reading.ready(hint, now) {
        Ok(ready) => ready,
        Err(dropped) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let Ready { owner, run, guard, read_at } = match in_turn(ports, hint, ready).await? {
        Ok(ready) => ready,
        Err(NotIn::Stale) => return Ok(None),
        Err(NotIn::Dropped(dropped)) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let carries_on = owner.carries_on();
    let entrant = Entrant { run, guard, read_at };
    let Entered { run, guard, places } = match entered(ports, hint, &owner, quota, entrant).await? {
        Ok(entered) => entered,
        Err(NotIn::Stale) => return Ok(None),
        Err(NotIn::Dropped(dropped)) => return Ok(Some(Claim::Dropped(dropped))),
    };
    let now = ports.clock().now();
    let run = run.hinted(hint.sent, now);
    let claim = RunEvent::Claim { by: ports.me(), terms: owner.terms() };
    let next = match claimed(&run, &claim, carries_on, now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { .. }) => return Ok(None),
        Err(Refusal::Finished) => return Ok(Some(Claim::Dropped(Dropped::Finished))),
        Err(Refusal::Held { until }) if until.since(now) <= pace::HOLD => return Ok(Some(Claim::NotYet(until))),
        Err(refusal) => return Ok(Some(Claim::Dropped(dropped(refusal)))),
    };
    let _left_to_the_sweep = Box::pin(promise_end_of_lease(ports, hint, &run, &next)).await?; // apart: few have waited
    let version = match write_claim(ports, hint, &owner, (&run, &next), guard, &places).await? {
        WrittenClaim::Held(version) => version,
        WrittenClaim::Ended => return Ok(Some(Claim::Dropped(Dropped::Ended))),
        WrittenClaim::Faster => return Ok(Some(Claim::Dropped(Dropped::Faster))),
    };
    let (order, ready) = (owner.order(), run.ready_since());
    let hint = hint.clone();
    let claimed = ClaimedRun { run: next, ready, version, order, payload, material, prepared_at, hook, hint };
    Ok(Some(Claim::Mine(claimed)))
}

/// A look at the end of the lease, where the timer of what has waited for long stands far beyond that.
pub(super) async fn promise_end_of_lease<D: Ports>(
    ports: &D,
    told: &Hint,
    run: &Run,
    next: &Run,
) -> Result<Option<Timer>, Fault> {
    match next.lease() {
        Some(lease) => promise_look_by(ports, told, run, lease.until).await,
        None => Ok(None),
    }
}

/// A look at that time, where the next one would be much later: the hint may die with its process, which has begun to change the run, and nobody else would
/// meet it before.
pub(super) async fn promise_look_by<D: Ports>(
    ports: &D,
    told: &Hint,
    run: &Run,
    at: Moment,
) -> Result<Option<Timer>, Fault> {
    let now = ports.clock().now();
    let Look::Claimable { since } = run.inspect_overdue(now, ports.me()) else { return Ok(None) };
    if pace::next_inspection(since, now) <= at + NOTICED {
        return Ok(None);
    }
    promise(ports, &run.tenant, TimerKey::run(run.key, at), told.stamp.generation).await.map(Some)
}

/// What came of a claim.
pub(super) enum WrittenClaim {
    /// The run is the claimant's.
    Held(Version),
    /// Whoever had it before has lost it for good, or another attempt comes later.
    Ended,
    /// Somebody else was.
    Faster,
}

/// Writes what a claim makes of a run. A claim that is lost leaves the run its places, unless it finds it over.
pub(super) async fn write_claim<D: Ports>(
    ports: &D,
    told: &Hint,
    owner: &RunOwner,
    (run, next): (&Run, &Run),
    guard: Guard,
    places: &[Bound],
) -> Result<WrittenClaim, Fault> {
    if next.lease().is_none() {
        if Box::pin(given_up(ports, told, owner, (run, next), guard)).await?.is_some() {
            return Ok(WrittenClaim::Ended);
        }
    } else if let Put::Written(version) = put(ports, run, next, guard, ports.clock().now()).await? {
        return Ok(WrittenClaim::Held(version));
    }
    Box::pin(release_if_over(ports, run, places)).await?;
    Ok(WrittenClaim::Faster)
}

/// How many runs of a tenant may be under way at once, where it falls to places to keep that.
pub(super) async fn quota_of<D: Ports>(ports: &D, tenant: &Tenant) -> Option<u32> {
    if ports.queues().keeps_limits() {
        return None;
    }
    quota_of_pulled(ports, tenant).await
}

/// The same of runs that workers hold: they are in no queue that could count them.
pub(super) async fn quota_of_pulled<D: Ports>(ports: &D, tenant: &Tenant) -> Option<u32> {
    ports.quotas().of(ports.store(), tenant, ports.clock().now()).await.max_concurrent_runs
}

/// Lets a run in that is to be called or pulled. One that nobody wants any more needs nothing: its claim ends it.
pub(super) async fn entered<D: Ports>(
    ports: &D,
    hint: &Hint,
    owner: &RunOwner,
    quota: Option<u32>,
    entrant: Entrant,
) -> Result<Result<Entered, NotIn>, Fault> {
    if !owner.carries_on() {
        return Ok(Ok(entrant.passing()));
    }
    let needs = Needs {
        places: owner.places(quota),
        overlap: owner.overlap(entrant.run.key),
        rate: owner.rate(),
        lane: owner.lane(),
    };
    enter(ports, hint, needs, entrant).await
}

/// Why a hint comes to nothing whose run refuses a claim.
pub(super) fn dropped(refusal: Refusal) -> Dropped {
    match refusal {
        Refusal::Finished => Dropped::Finished,
        Refusal::TooEarly { .. } => Dropped::TooSoon,
        Refusal::Waiting | Refusal::NotWaiting | Refusal::Stopping | Refusal::NotAsked | Refusal::Decided => {
            Dropped::Waits
        }
        Refusal::Held { .. } | Refusal::Fenced { .. } | Refusal::NotHeld => Dropped::Held,
    }
}

/// What this run was given, or else what its order gives every run.
pub(super) async fn payload<D: Ports>(ports: &D, hint: &Hint, reading: &Reading) -> Result<Option<Json>, Fault> {
    if let RunOwner::Told(callback) = &reading.owner {
        return told_of_end(ports, &callback.of).await.map(Some);
    }
    match reading.run.as_ref().and_then(|seen| seen.item.payload.as_ref()) {
        Some(own) => bodies::fetch_by(ports, &hint.tenant, hint.run, own).await,
        None => bodies::fetch(ports, &hint.tenant, hint.run.job, reading.owner.payload()).await,
    }
}

/// What the call takes beside its payload.
async fn material<D: Ports>(
    ports: &D,
    hint: &Hint,
    reading: &Reading,
    payload: Option<&Json>,
) -> Result<Material, Fault> {
    prepare(ports, reading.owner.target(), &hint.tenant, payload).await
}

/// The same once more, for a call that comes long after its claim.
pub async fn material_again<D: Ports>(ports: &D, claimed: &ClaimedRun) -> Result<Material, Fault> {
    prepare(ports, &claimed.order.target, &claimed.run.tenant, claimed.payload.as_ref()).await
}

/// The same of the call of whoever is asked before.
pub async fn hook_material_again<D: Ports>(ports: &D, claimed: &ClaimedRun) -> Result<Material, Fault> {
    let Some(before) = &claimed.order.before else { return Ok(Material::default()) };
    prepare(ports, &Target::Http(before.target.clone()), &claimed.run.tenant, None).await
}

/// What is taken by the call of whoever is asked before.
async fn hook_material<D: Ports>(ports: &D, hint: &Hint, reading: &Reading) -> Result<Material, Fault> {
    let Some(before) = reading.owner.before() else { return Ok(Material::default()) };
    prepare(ports, &Target::Http(before.target.clone()), &hint.tenant, None).await
}

async fn prepare<D: Ports>(
    ports: &D,
    target: &Target,
    tenant: &Tenant,
    payload: Option<&Json>,
) -> Result<Material, Fault> {
    let upcoming = Upcoming { target, tenant, payload, now: ports.clock().now() };
    ports.targets().prepare(upcoming, ports.chance(), ports.vault()).await
}

/// An owner that is gone has its runs cancelled rather than tried again.
pub(super) fn claimed(run: &Run, claim: &RunEvent<'_>, carries_on: bool, now: Moment) -> Result<Run, Refusal> {
    if carries_on {
        return run.after(claim, now);
    }
    let cancelled = run.after(&RunEvent::Cancel { by: None }, now)?;
    if cancelled.is_finished() { Ok(cancelled) } else { cancelled.after(claim, now) }
}

/// The attempt that the claim displaces is written whole first.
async fn put<D: Ports>(ports: &D, run: &Run, next: &Run, guard: Guard, now: Moment) -> Result<Put<Run>, Fault> {
    if let Some(attempt) = run.displaced_by_next_claim() {
        // Where it stands already it is the same.
        let (key, attempt) = ((run.key, attempt.number), Beneath::of(run, attempt.clone(), now));
        let _put = ports.store().put(&run.tenant, key, &attempt, Guard::Absent).await?;
    }
    let put = ports.store().put(&next.tenant, next.key, next, guard).await?;
    if put.is_written() {
        ports.events().changed(run, next, now);
    }
    Ok(put)
}

impl ClaimedRun {
    /// As our claim wrote it.
    pub fn as_claimed(&self) -> Seen<Run> {
        Seen { item: self.run.clone(), version: self.version }
    }
}

impl From<GivenUp> for Dropped {
    fn from(why: GivenUp) -> Self {
        match why {
            GivenUp::TooLate => Self::PastCatchUpWindow,
            GivenUp::Refused(why) => Self::NotAdmitted(why),
        }
    }
}

impl Ready {
    pub(super) fn if_fresh(self, clock: &impl Clock) -> Result<Self, NotIn> {
        if self.read_at.is_stale(clock) { Err(NotIn::Stale) } else { Ok(self) }
    }
}

impl Reading {
    fn due(&self, hint: &Hint) -> Moment {
        match self.run.as_ref().map(|seen| &seen.item.state) {
            Some(State::Scheduled { due }) => *due,
            // It has begun, though perhaps by a clock that was ahead: whoever takes it over need not wait for its instant.
            Some(State::Running(_)) => hint.run.at.min(self.read_at.moment),
            _ => hint.run.at,
        }
    }

    /// Of what can begin for the first time: its priority, and since when it could. What workers come for was offered before it was put off.
    fn ready_since(&self, hint: &Hint) -> Option<(Priority, Moment)> {
        match (&self.run, &self.owner) {
            (Some(Seen { item: run, .. }), RunOwner::Job(job))
                if run.is_put_off() && matches!(job.definition.target, Target::Worker(_)) =>
            {
                None
            }
            (Some(seen), _) => Some((seen.item.priority, seen.item.ready_since()?)),
            (None, RunOwner::Job(job)) => Some((job.definition.priority, hint.run.at)),
            (None, RunOwner::Parent(_) | RunOwner::Told(_)) => None,
        }
    }

    /// What there is to claim at `now`, or why there is nothing.
    pub(super) fn ready(self, hint: &Hint, now: Moment) -> Result<Ready, Dropped> {
        let Self { owner, run, read_at, sampling } = self;
        if run.is_none() && owner.is_too_late(hint.run, now) {
            return Err(Dropped::PastCatchUpWindow);
        }
        if let (RunOwner::Job(job), Some(seen)) = (&owner, &run)
            && let Some(why) = job.gives_up(&seen.item, now)
        {
            return Err(why.into());
        }
        let guard = run.as_ref().map_or(Guard::Absent, Seen::guard);
        let born = |run: Run| told_of(run, &hint.timer, hint.stamp).sampled_by(sampling);
        let unborn = || owner.unborn(hint.run).map(born);
        let run = run.map(|seen| seen.item).or_else(unborn).ok_or(Dropped::NoRecord)?;
        Ok(Ready { owner, run, guard, read_at })
    }

    pub(super) fn is_stale(&self, clock: &impl Clock) -> bool {
        self.read_at.is_stale(clock)
    }
}
