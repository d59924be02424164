//! Catching up: what a look makes of an occurrence that nobody has claimed, and of those after it that are past too.
//!
//! Rule **catch-up is decided once**: only the head of a chain decides for others, and its record, put where nothing is, is
//! what every reader then goes by.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::catch_up::CatchUpPlan;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Missed};
use minutehand_domain::run::{Run, Skip, SkippedSpan};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Put;
use minutehand_io::{Fault, Ports};

use crate::born::born;
use crate::chain::dispatch::{Dispatched, admitted, dispatch};
use crate::chain::links::{first_gap, promise_gap};
use crate::chain::passing_over::pass_over;
use crate::chain::putting_off::{Comes, put_off, record_too_late};
use crate::chain::successor::promise_successor;
use crate::chain::taken::{record_taken, record_taken_between};
use crate::graph::settle::{Settled, settle};
use crate::run::sla::{await_claim, tell_of_a_late_promise};
use crate::timers::hinting::hint;
use crate::timers::promise::{erase, promise};

/// How long a look goes along one chain before others have their turn.
const LOOK_LASTS: Duration = Duration::from_secs(5);

/// Does what its job says of an occurrence that nobody had claimed at `now` and that no record speaks for.
pub(crate) async fn catch_up<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    now: Moment,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    match job.catch_up_plan(key.at, now) {
        CatchUpPlan::FireAll if job.definition.catch_up.is_of_all() => {
            dispatch_each(ports, key.at, timer, horizon, dispatched).await
        }
        CatchUpPlan::FireAll => dispatch_late(ports, (job, key.at), timer, horizon, dispatched).await,
        _ if is_a_straggler(ports, job, key.at, now, dispatched).await? => {
            handle_straggler(ports, timer, job, key, dispatched).await
        }
        CatchUpPlan::FireFrom { at, passed_over } => {
            let span = SkippedSpan { until: at, count: Some(passed_over) };
            let Some(decided) = decide(ports, job, key, span, now).await? else { return Ok(()) };
            dispatch_replacement(ports, timer, &decided, now, horizon, dispatched).await
        }
        CatchUpPlan::SkipAll { last, count } => {
            let span = (last > key.at).then_some(SkippedSpan { until: last, count: Some(count) });
            pass_over(ports, timer, (job, key), "scheduled", (Skip::Missed, span), dispatched).await
        }
    }
}

/// Whether the chain goes on behind an occurrence whose successor is past too: then it decides for itself alone.
async fn is_a_straggler<D: Ports>(
    ports: &D,
    job: &Job,
    t: Moment,
    now: Moment,
    dispatched: &Dispatched,
) -> Result<bool, Fault> {
    match job.next_after(t).filter(|next| *next <= now) {
        Some(next) => Ok(first_gap(ports, job, next, &dispatched.followed).await?.is_none()),
        None => Ok(false),
    }
}

async fn handle_straggler<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let now = ports.clock().now();
    if job.is_too_late(key.at, now) {
        return pass_over(ports, timer, (job, key), "scheduled", (Skip::Missed, None), dispatched).await;
    }
    if job.makes_up_for(key.at, now) {
        return match put_off(ports, timer, job, key.at, &dispatched.turns).await? {
            Comes::InTurn => Ok(()),
            Comes::TooLate(_) => {
                pass_over(ports, timer, (job, key), "scheduled", (Skip::Missed, None), dispatched).await
            }
        };
    }
    let moved = await_claim(ports, timer, job, key).await?;
    hint(ports, job.lane(), &Hint::behind(&moved, key, job.generation), ports.clock().now()).await
}

/// The head of the chain becomes the record of the outage, put only where nothing is. None where something else was faster:
/// the next look sees what.
async fn decide<D: Ports>(
    ports: &D,
    job: &Job,
    key: RunKey,
    span: SkippedSpan,
    now: Moment,
) -> Result<Option<Run>, Fault> {
    record_taken(ports, job, key.at).await?;
    record_taken_between(ports, job, key.at, span.until).await?;
    let record = job.run(key).skipped(Skip::Coalesced, Some(span), now);
    match born(ports, &record, "scheduled", now).await? {
        Put::Written(_) => Ok(Some(record)),
        Put::Conflict(there) => Ok(there.map(|seen| seen.item).filter(|run| run.replacement(now).is_some())),
    }
}

/// Every reader of a coalescing record goes on with the occurrence that fires in its stead. It may be read long after it was
/// decided: where at `now`, when the look began, the window or the cap begins later, the look at that occurrence decides anew.
/// The look that decided goes by the instant it decided at: by a later one, an occurrence that came meanwhile would undo what
/// was just decided, and where each look takes the same while, for ever.
pub(crate) async fn dispatch_replacement<D: Ports>(
    ports: &D,
    timer: &Timer,
    record: &Run,
    now: Moment,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let Some(at) = record.coalesced_until() else { return Ok(()) };
    let key = TimerKey::occurrence(record.key.job, at);
    let promised = promise(ports, &timer.tenant, key, timer.stamp.generation).await?;
    dispatch_from(ports, at, &promised, now, horizon, dispatched).await?;
    if settle(ports, record).await? == Settled::More {
        return Ok(()); // the next look pays the rest
    }
    erase(ports, timer).await
}

async fn dispatch_from<D: Ports>(
    ports: &D,
    t: Moment,
    timer: &Timer,
    now: Moment,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let Ok(job) = admitted(ports, timer, t).await? else { return Ok(()) };
    tell_of_a_late_promise(ports, timer, &job, t);
    if !job.definition.catch_up.is_of_all() {
        return dispatch_late(ports, (&job, t), timer, horizon, dispatched).await;
    }
    match job.catch_up_plan(t, now) {
        CatchUpPlan::FireAll => dispatch_each(ports, t, timer, horizon, dispatched).await,
        CatchUpPlan::FireFrom { .. } | CatchUpPlan::SkipAll { .. } => Ok(()),
    }
}

/// One that may be late, and those after it up to the horizon. Successor first here too; what is late is put off until its turn.
async fn dispatch_late<D: Ports>(
    ports: &D,
    (job, t): (&Job, Moment),
    timer: &Timer,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    if !job.makes_up_for(t, ports.clock().now()) {
        let waiting = moved_if_past(ports, timer, job, t).await?;
        return dispatch(ports, t, &waiting, horizon, dispatched).await.map(|_next_look_decides| ());
    }
    let successor = match job.next_after(t) {
        Some(next) => match promise_successor(ports, job, next).await? {
            Some(successor) => Some((next, successor)),
            None => return Ok(()), // its bucket is past its write line: the next look decides
        },
        None => None,
    };
    dispatched.add(job.id, t);
    if let Comes::TooLate(missed) = put_off(ports, timer, job, t, &dispatched.turns).await? {
        let alone = Missed { last: t, count: 1 };
        record_too_late(ports, timer, job, t, if missed.last == t { missed } else { alone }).await?;
    }
    match successor.filter(|(next, _)| *next <= horizon && !dispatched.contains(job.id, *next)) {
        Some((next, timer)) => dispatch(ports, next, &timer, horizon, dispatched).await.map(|_next_look_decides| ()),
        None => Ok(()),
    }
}

/// One after the other, **successor first** here too: promised a second ahead where its bucket is past the write line, so that
/// whoever dies on the way is followed by the next pass; only then is this one put off until its turn, which may be hours away. One
/// that a timer or a record of its own looks after is left to it, and one that another look of this pass is at: of two that go along a chain
/// side by side, each would take a turn for it. After a while the rest is left until the pass has come to everybody's: what others are due in the
/// shard waits for this one.
pub(crate) async fn dispatch_each<D: Ports>(
    ports: &D,
    t: Moment,
    timer: &Timer,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let (mut t, mut timer, until) = (t, timer.clone(), ports.clock().now() + LOOK_LASTS);
    loop {
        if !dispatched.add(timer.key.run_key().job, t) {
            return Ok(());
        }
        let Ok(job) = admitted(ports, &timer, t).await? else { return Ok(()) };
        let now = ports.clock().now();
        let Some(next) = job.next_after(t).filter(|next| *next <= now) else {
            return dispatch_late(ports, (&job, t), &timer, horizon, dispatched).await;
        };
        let promised = promise_late(ports, &job, next, dispatched).await?;
        let comes = make_up(ports, (&job, t), &timer, dispatched).await?;
        let promised = match comes {
            Comes::InTurn => promised,
            Comes::TooLate(missed) => after_too_late(ports, (&job, t), &timer, missed, promised, dispatched).await?,
        };
        match promised.filter(|(gap, _)| *gap <= horizon && !dispatched.contains(job.id, *gap)) {
            Some(next) if ports.clock().now() < until => (t, timer) = next,
            Some((t, timer)) => {
                dispatched.leave(t, timer);
                return Ok(());
            }
            None => return Ok(()),
        }
    }
}

/// Puts one off until its turn, or hints it now: what is hardly late takes none.
async fn make_up<D: Ports>(
    ports: &D,
    (job, t): (&Job, Moment),
    timer: &Timer,
    dispatched: &Dispatched,
) -> Result<Comes, Fault> {
    let now = ports.clock().now();
    if job.makes_up_for(t, now) {
        return put_off(ports, timer, job, t, &dispatched.turns).await;
    }
    let waiting = moved_if_past(ports, timer, job, t).await?;
    let told = Hint::behind(&waiting, RunKey::occurrence(job.id, t), job.generation);
    hint(ports, job.lane(), &told, now).await?;
    Ok(Comes::InTurn)
}

/// The first of what comes next, promised late.
async fn promise_late<D: Ports>(
    ports: &D,
    job: &Job,
    next: Moment,
    dispatched: &Dispatched,
) -> Result<Option<(Moment, Timer)>, Fault> {
    let promised = promise_gap(ports, job, next, &dispatched.followed).await?;
    if let Some((gap, timer)) = &promised {
        tell_of_a_late_promise(ports, timer, job, *gap);
    }
    Ok(promised)
}

/// What is too late for its turn is recorded as one, and what comes after that is gone on with. Where the next one has a turn of its own, or
/// is looked after otherwise, this record speaks for itself alone.
async fn after_too_late<D: Ports>(
    ports: &D,
    (job, t): (&Job, Moment),
    timer: &Timer,
    missed: Missed,
    promised: Option<(Moment, Timer)>,
    dispatched: &Dispatched,
) -> Result<Option<(Moment, Timer)>, Fault> {
    let goes_on = promised.as_ref().is_some_and(|(gap, _)| Some(*gap) == job.next_after(t));
    if missed.last == t || !goes_on {
        record_too_late(ports, timer, job, t, Missed { last: t, count: 1 }).await?;
        return Ok(promised);
    }
    let after = match job.next_after(missed.last) {
        Some(next) => promise_late(ports, job, next, dispatched).await?,
        None => None,
    };
    record_too_late(ports, timer, job, t, missed).await?;
    Ok(after)
}

/// Moves a timer whose time is past; one that was just promised ahead stays for the next pass.
async fn moved_if_past<D: Ports>(ports: &D, timer: &Timer, job: &Job, t: Moment) -> Result<Timer, Fault> {
    if timer.key.due > ports.clock().now() {
        return Ok(timer.clone());
    }
    await_claim(ports, timer, job, RunKey::occurrence(job.id, t)).await
}
