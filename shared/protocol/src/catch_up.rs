//! Catching up: what a look makes of an occurrence that nobody has claimed, and of those after it that are past too.
//!
//! Rule **catch-up is decided once**: only the head of a chain decides for others, and its record, put where nothing is, is
//! what every reader then goes by.

use minutehand_domain::Moment;
use minutehand_domain::catch_up::MadeUp;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Also, Job};
use minutehand_domain::run::{Run, Skip};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Doors, Fault};

use crate::coverage::{first_gap, promise_gap};
use crate::fire::{Fired, admitted, fire, hint};
use crate::look::{pass_over, wait_on};
use crate::promise::{erase, promise_link};

/// Does what its job says of an occurrence that nobody had claimed at `now` and that no record speaks for.
pub(crate) async fn catch_up<D: Doors>(
    doors: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    now: Moment,
    horizon: Moment,
    fired: &Fired,
) -> Result<(), Fault> {
    match job.made_up_for(key.at, now) {
        MadeUp::FromHere if job.definition.catch_up.is_of_all() => {
            fire_each(doors, key.at, timer, horizon, fired).await
        }
        MadeUp::FromHere => {
            let moved = wait_on(doors, timer, key.at).await?;
            fire(doors, key.at, &moved, horizon, fired).await.map(|_next_look_decides| ())
        }
        _ if is_a_straggler(doors, job, key.at, now).await? => see_to_straggler(doors, timer, job, key, now).await,
        MadeUp::From { at, passed_over } => {
            let also = Also { until: at, count: Some(passed_over) };
            let Some(decided) = decide(doors, job, key, also, now).await? else { return Ok(()) };
            fire_in_its_stead(doors, timer, &decided, horizon, fired).await
        }
        MadeUp::Nothing { last, count } => {
            let also = (last > key.at).then_some(Also { until: last, count: Some(count) });
            pass_over(doors, timer, job, key, Skip::Missed, also).await
        }
    }
}

/// Whether the chain goes on behind an occurrence whose successor is past too: then it decides for itself alone.
async fn is_a_straggler<D: Doors>(doors: &D, job: &Job, t: Moment, now: Moment) -> Result<bool, Fault> {
    match job.next_after(t).filter(|next| *next <= now) {
        Some(next) => Ok(first_gap(doors, job, next).await?.is_none()),
        None => Ok(false),
    }
}

async fn see_to_straggler<D: Doors>(
    doors: &D,
    timer: &Timer,
    job: &Job,
    key: RunKey,
    now: Moment,
) -> Result<(), Fault> {
    if job.is_too_late(key.at, now) {
        return pass_over(doors, timer, job, key, Skip::Missed, None).await;
    }
    let moved = wait_on(doors, timer, key.at).await?;
    hint(doors, job.definition.priority, &Hint::behind(&moved, key, job.generation), doors.clock().now()).await
}

/// The head of the chain becomes the record of the outage, put only where nothing is. None where something else was faster:
/// the next look sees what.
async fn decide<D: Doors>(doors: &D, job: &Job, key: RunKey, also: Also, now: Moment) -> Result<Option<Run>, Fault> {
    let record = job.run(key).skipped(Skip::Coalesced, Some(also), now);
    match doors.store().put_run(&record, Guard::Absent).await? {
        Put::Written(_) => {
            doors.events().tell(&Event::Run { run: &record, from: "scheduled", now });
            Ok(Some(record))
        }
        Put::Conflict(there) => Ok(there.map(|seen| seen.item).filter(|run| run.coalesced_until().is_some())),
    }
}

/// Every reader of a coalescing record goes on with the occurrence that fires in its stead. It may be read long after it was
/// decided: where by now the window or the cap begins later, the look at that occurrence decides anew.
pub(crate) async fn fire_in_its_stead<D: Doors>(
    doors: &D,
    timer: &Timer,
    record: &Run,
    horizon: Moment,
    fired: &Fired,
) -> Result<(), Fault> {
    let Some(at) = record.coalesced_until() else { return Ok(()) };
    let key = TimerKey::occurrence(record.key.job, at);
    let promised = promise_link(doors, &timer.tenant, key, timer.mark.generation).await?;
    go_on(doors, at, &promised, horizon, fired).await?;
    erase(doors, timer).await
}

async fn go_on<D: Doors>(doors: &D, t: Moment, timer: &Timer, horizon: Moment, fired: &Fired) -> Result<(), Fault> {
    let Ok(job) = admitted(doors, timer, t).await? else { return Ok(()) };
    if !job.definition.catch_up.is_of_all() {
        return fire(doors, t, timer, horizon, fired).await.map(|_next_look_decides| ());
    }
    match job.made_up_for(t, doors.clock().now()) {
        MadeUp::FromHere => fire_each(doors, t, timer, horizon, fired).await,
        MadeUp::From { .. } | MadeUp::Nothing { .. } => Ok(()),
    }
}

/// One after the other, **successor first** here too: promised a second ahead where its bucket is past the write line, so that
/// whoever dies on the way is followed by the next pass; only then does this one wait for its next hint, which may be an hour
/// away. One that a timer or a record of its own looks after is left to it.
async fn fire_each<D: Doors>(doors: &D, t: Moment, timer: &Timer, horizon: Moment, fired: &Fired) -> Result<(), Fault> {
    let (mut t, mut timer) = (t, timer.clone());
    loop {
        let Ok(job) = admitted(doors, &timer, t).await? else { return Ok(()) };
        let now = doors.clock().now();
        let Some(next) = job.next_after(t).filter(|next| *next <= now) else {
            let waiting = waiting(doors, &timer, t).await?;
            return fire(doors, t, &waiting, horizon, fired).await.map(|_next_look_decides| ());
        };
        let promised = promise_gap(doors, &job, next).await?;
        let waiting = waiting(doors, &timer, t).await?;
        fired.add(job.id, t);
        let told = Hint::behind(&waiting, RunKey::occurrence(job.id, t), job.generation);
        hint(doors, job.definition.priority, &told, now).await?;
        match promised.filter(|(gap, _)| *gap <= horizon && !fired.contains(job.id, *gap)) {
            Some(next) => (t, timer) = next,
            None => return Ok(()),
        }
    }
}

/// Moves a timer whose time is past; one that was just promised ahead stays for the next pass.
async fn waiting<D: Doors>(doors: &D, timer: &Timer, t: Moment) -> Result<Timer, Fault> {
    if timer.key.due > doors.clock().now() { Ok(timer.clone()) } else { wait_on(doors, timer, t).await }
}
