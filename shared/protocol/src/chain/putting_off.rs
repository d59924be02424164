//! Putting off: an occurrence that is made up for begins when its turn comes. It is on record from then on, so that a change of its job does
//! not take it, and its timer stands at its turn. What would have its turn when it is too late for it is recorded as missed.
//!
//! **Promise, act, erase** here too: the timer at the turn, the record, and then the timer that was overdue goes. A turn may be lost on the
//! way; no occurrence is.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Missed};
use minutehand_domain::pace;
use minutehand_domain::run::{Event as RunEvent, Run, Skip, SkippedSpan};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::bounded;
use crate::chain::dispatch::admitted;
use crate::chain::passing_over::{erase_unless_change_pending, skip};
use crate::chain::taken::{record_taken, record_taken_between};
use crate::read_at::ReadAt;
use crate::run::sla::told_of;
use crate::slots::turns::{TooLate, Turn, Turns, turn};
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// What comes of an occurrence that nobody began in time.
pub(crate) enum Comes {
    /// It has its turn, or somebody else was faster.
    InTurn,
    /// The next turn is too late for it, and for those after it up to the last of these.
    TooLate(Missed),
}

/// Gives it its turn. What is too late is left as it is: whoever asks makes sure first of what comes after it.
pub(crate) async fn put_off<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    t: Moment,
    turns: &Turns,
) -> Result<Comes, Fault> {
    let key = RunKey::occurrence(job.id, t);
    if ports.store().get::<Run>(&job.tenant, key).await?.is_some() {
        return Ok(Comes::InTurn); // the look at another link of its chain has met it before: no turn is lost by that
    }
    let given = turn(ports, job, t, turns).await?;
    let now = ports.clock().now();
    match given {
        Err(TooLate(turn)) => Ok(job.too_late_for(t, turn, now).map_or(Comes::InTurn, Comes::TooLate)),
        Ok(turn) => put_down(ports, timer, t, turn).await.map(|()| Comes::InTurn),
    }
}

/// What is on record outlives a pause: so it goes by its job as that is now, not as it was when the look began. Where that no longer admits it,
/// or somebody was faster, the next look sees what is so. Rule **told before what follows**: whoever claims it finds a record, and looks no further.
async fn put_down<D: Ports>(ports: &D, timer: &Timer, t: Moment, turn: Turn) -> Result<(), Fault> {
    let read_at = ReadAt::now(ports.clock()); // before the read: its answer may have been long on its way
    let Ok(job) = admitted(ports, timer, t).await? else { return Ok(()) };
    let job = bounded(ports, job).await;
    record_taken(ports, &job, t).await?;
    let run = told_of(job.run(RunKey::occurrence(job.id, t)), &timer.key, timer.stamp).sampled_by(ports.sampling());
    let _is_written = write(ports, &Hint::of(timer), &job, (&run, Guard::Absent), turn, read_at).await?;
    Ok(())
}

/// Writes that a run waits for its turn, if it is as it was read, and that was not too long ago; its timer moves there, and it is hinted then.
pub(crate) async fn write<D: Ports>(
    ports: &D,
    told: &Hint,
    job: &Job,
    (run, guard): (&Run, Guard),
    turn: Turn,
    read_at: ReadAt,
) -> Result<bool, Fault> {
    let now = ports.clock().now();
    let Ok(next) = run.after(&RunEvent::MakeUp { turn: turn.at, per_minute: turn.per_minute }, now) else {
        return Ok(false);
    };
    // A link of its chain, moved: whoever dies here leaves no run behind that somebody promised.
    let timer = promise(ports, &next.tenant, told.timer.moved_to(turn.at), told.stamp.generation).await?;
    if read_at.is_stale(ports.clock()) || !ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
        return Ok(false);
    }
    ports.events().changed(run, &next, now);
    if let Some(end) = next.sla_ends().filter(|end| *end < turn.at) {
        promise(ports, &next.tenant, TimerKey::run(next.key, end), 0).await?;
    }
    if turn.at <= now + pace::HORIZON {
        let behind = Hint::behind(&timer, next.key, job.generation);
        let _a_lost_hint_is_found_overdue = hint(ports, job.lane(), &behind, turn.at).await;
    }
    if timer.key != told.timer {
        ports.store().erase_timer(&told.timer, told.stamp).await?;
    }
    Ok(true)
}

/// One record for all of these, which are too late for their turn. The timer of what comes after them stands.
pub(crate) async fn record_too_late<D: Ports>(
    ports: &D,
    timer: &Timer,
    job: &Job,
    t: Moment,
    missed: Missed,
) -> Result<(), Fault> {
    let span = (missed.last > t).then_some(SkippedSpan { until: missed.last, count: Some(missed.count) });
    record_taken(ports, job, t).await?;
    record_taken_between(ports, job, t, missed.last).await?;
    if skip(ports, job.run(RunKey::occurrence(job.id, t)), "scheduled", Skip::Missed, span).await? {
        erase_unless_change_pending(ports, timer, job).await?;
    }
    Ok(())
}
