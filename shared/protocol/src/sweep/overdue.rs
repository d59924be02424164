//! Looking at an overdue timer: what became of its obligation? It is met, or it is carried on, or it was never one.
//!
//! Guard **overdue look**: whatever a queue lost is found here. Rule **drain**: a look erases its timer or moves it, so
//! that sweeping costs what is due and a backlog is not hinted every minute.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::pace;
use minutehand_domain::run::made_up::GivenUp;
use minutehand_domain::run::{Look, Run, Skip, State};
use minutehand_domain::timer::{Obligation, Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::events::SPOKEN_FOR;
use minutehand_io::store::{Discard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::keepings_at;
use crate::calendar::walk::inspect_walk;
use crate::chain::catch_up::{catch_up, dispatch_replacement};
use crate::chain::dispatch::{Dispatched, NothingToDispatch};
use crate::chain::passing_over::{ensure_successor, erase_unless_change_pending, pass_over};
use crate::chain::standing::{Asked, Standing, standing};
use crate::chain::taken::record_taken_before_what_was_called_off;
use crate::graph::attend::{attend, let_go, look as look_below, touch};
use crate::graph::settle::{Settled, settle};
use crate::lookup::job_of;
use crate::operation::carry::look;
use crate::run::renewal::renew;
use crate::run::sla::note_missed_sla;
use crate::sweep::orphan::{inspect_orphaned_occurrence, inspect_orphaned_run};
use crate::timers::hinting::hint;
use crate::timers::promise::{erase, move_to, move_to_next_hint};

/// Looks at a timer whose time passed at least `pace::OVERDUE` ago.
pub async fn inspect_overdue<D: Ports>(
    ports: &D,
    timer: &Timer,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    match timer.key.obligation {
        Obligation::Run(key) => match ports.store().get::<Run>(&timer.tenant, key).await? {
            Some(seen) if seen.item.is_put_off() => {
                let job = job_of(ports, &timer.tenant, key.job).await?;
                inspect_run(ports, timer, seen, job, dispatched).await
            }
            Some(seen) => inspect_run(ports, timer, seen, None, dispatched).await,
            None if key.is_occurrence() => inspect_unrecorded(ports, timer, key, dispatched).await,
            None => inspect_orphaned_run(ports, timer, key).await,
        },
        Obligation::Calendar(place) => inspect_walk(ports, timer, place).await,
        Obligation::Occurrence(_) | Obligation::MovedOccurrence(..) => {
            Box::pin(inspect_link(ports, timer, timer.key.run_key(), horizon, dispatched)).await
        }
        Obligation::Operation(id) => Box::pin(look(ports, timer, id)).await.map(|_again| ()),
    }
}

/// An occurrence whose look was promised by whoever was about to write its record. A timer of its chain stands behind it, which decides of
/// it; but the record may still come, and owe something: so the look stays for as long as there may be one.
async fn inspect_unrecorded<D: Ports>(
    ports: &D,
    timer: &Timer,
    key: RunKey,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let nothing = match standing(ports, &timer.tenant, key, Asked::ByWhoDecides).await? {
        Standing::Recorded(seen) => return inspect_run(ports, timer, seen, None, dispatched).await,
        Standing::Covered(job, coverage) => {
            return pass_over(ports, timer, (&job, key), SPOKEN_FOR, (coverage.covered.why, None), dispatched).await;
        }
        Standing::Unborn(_) => return move_to_next_hint(ports, timer, key.at, None).await.map(|_moved| ()),
        Standing::NotAdmitted(why) => NothingToDispatch::NotAdmitted(why),
        Standing::NoJob | Standing::NoRecord => NothingToDispatch::Absent,
    };
    inspect_orphaned_occurrence(ports, timer, key, nothing).await
}

/// A link of a job's chain.
async fn inspect_link<D: Ports>(
    ports: &D,
    timer: &Timer,
    key: RunKey,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let now = ports.clock().now(); // before the job is read: a schedule that came into force since is not decided on
    let standing = match standing(ports, &timer.tenant, key, Asked::ByWhoDecides).await {
        Err(why) if Discard::Corrupt.admits(&why) => return go_on_behind(ports, timer, why, dispatched).await,
        standing => standing?,
    };
    let nothing = match standing {
        Standing::Recorded(seen) if seen.item.replacement(now).is_some() => {
            return dispatch_replacement(ports, timer, &seen.item, now, horizon, dispatched).await;
        }
        Standing::Recorded(seen) => {
            let job = job_of(ports, &timer.tenant, key.job).await?;
            return inspect_run(ports, timer, seen, job, dispatched).await;
        }
        Standing::Covered(job, coverage) => {
            return pass_over(ports, timer, (&job, key), SPOKEN_FOR, (coverage.covered.why, None), dispatched).await;
        }
        // In boxes: what a look may come to is deep, and whoever polls it has all of that on the stack.
        Standing::Unborn(job) => {
            let job = as_far_as_certain(ports, job, key.at).await?;
            return Box::pin(catch_up(ports, timer, &job, key, now, horizon, dispatched)).await;
        }
        Standing::NotAdmitted(why) => NothingToDispatch::NotAdmitted(why),
        Standing::NoJob | Standing::NoRecord => NothingToDispatch::Absent,
    };
    inspect_orphaned_occurrence(ports, timer, key, nothing).await
}

/// Whoever cannot read what became of an occurrence puts its timer off, for as long as it takes somebody to look; its chain goes on meanwhile.
async fn go_on_behind<D: Ports>(ports: &D, timer: &Timer, why: Fault, dispatched: &Dispatched) -> Result<(), Fault> {
    let RunKey { job, at, .. } = timer.key.run_key();
    if let Some(job) = job_of(ports, &timer.tenant, job).await? {
        ensure_successor(ports, &job, at, &dispatched.followed).await?;
    }
    Err(why)
}

/// A job that makes up for nothing of which nobody knows whether it has run: a timer may outlive the record of its run, where whoever was to erase it
/// died, and since then somebody has said that older things are to be made up for.
async fn as_far_as_certain<D: Ports>(ports: &D, job: Job, t: Moment) -> Result<Job, Fault> {
    let Some(quota) = keepings_at(ports, &job.tenant, t).await? else { return Ok(job) };
    Ok(job.as_far_as_certain(t, quota, ports.clock().now()))
}

/// There is a record: its own state says what the timer is still good for. `job` is the one whose chain the timer is a link
/// of; none for a timer that only looks after one run.
async fn inspect_run<D: Ports>(
    ports: &D,
    timer: &Timer,
    seen: Seen<Run>,
    job: Option<Job>,
    dispatched: &Dispatched,
) -> Result<(), Fault> {
    let Some(seen) = note_missed_sla(ports, seen).await? else { return Ok(()) };
    let (run, now) = (&seen.item, ports.clock().now());
    renew(ports, run, timer.stamp.written, now).await;
    if let Some(job) = &job {
        if !is_put_off_beside_its_chain(timer, run) {
            ensure_successor(ports, job, run.key.at, &dispatched.followed).await?;
        }
        if run.is_put_off()
            && let Some(why) = job.gives_up(run, now)
        {
            return give_up(ports, timer, &seen, job, why).await;
        }
    }
    match (run.inspect_overdue(now, ports.me()), job) {
        (Look::Later(due), Some(job)) if waits_elsewhere(ports, run, due).await? => {
            erase_unless_change_pending(ports, timer, &job).await
        }
        (Look::Later(due), _) => move_far(ports, timer, &seen, due.max(now + pace::PROMISE_AGAIN)).await,
        (Look::Claimable { since }, job) => {
            let moved = move_to_next_hint(ports, timer, since, run.sla_ends()).await?;
            let lane = job.as_ref().map_or(run.priority.into(), Job::lane);
            let generation = job.map_or(moved.stamp.generation, |job| job.generation);
            hint(ports, lane, &Hint::behind(&moved, run.key, generation), now).await
        }
        (Look::Tend, _) => look_after_tasks(ports, timer, seen).await,
        (Look::Unanswered, _) => {
            let _settled_or_looked_at_again = attend(ports, &seen).await?;
            move_to(ports, timer, now + pace::PROMISE_AGAIN).await.map(|_moved| ())
        }
        (Look::Erase, job) => erase_settled(ports, timer, run, job).await,
    }
}

/// Whether nobody need look what comes after a run: it waits for its turn, and its timer has left its place in the chain. Its successor stood
/// before that. One whose timer is in its place may have been put off when it was the last, or was on record before its schedule went on.
fn is_put_off_beside_its_chain(timer: &Timer, run: &Run) -> bool {
    run.is_put_off() && !matches!(timer.key.obligation, Obligation::Occurrence(_))
}

/// What was put off and is not to begin any more is recorded so.
async fn give_up<D: Ports>(ports: &D, timer: &Timer, seen: &Seen<Run>, job: &Job, why: GivenUp) -> Result<(), Fault> {
    let now = ports.clock().now();
    let why = match why {
        GivenUp::TooLate => Skip::Missed,
        GivenUp::Refused(why) => why.into(),
    };
    let record = seen.item.clone().skipped(why, None, now);
    if !ports.store().put(&record.tenant, record.key, &record, seen.guard()).await?.is_written() {
        return Ok(()); // the next look sees what became of it
    }
    ports.events().changed(&seen.item, &record, now);
    erase_settled(ports, timer, &record, Some(job.clone())).await
}

/// Whether the timer that its next attempt was promised with stands: a link that was put anew beside a run that had begun is one
/// too many, and each of the two would be hinted in each pass. Only of what waits for another try: then that timer was put first.
async fn waits_elsewhere<D: Ports>(ports: &D, run: &Run, due: Moment) -> Result<bool, Fault> {
    let waits = matches!(run.state, State::Scheduled { .. }) && run.fence > 0;
    Ok(waits && ports.store().timer(&TimerKey::run(run.key, due)).await?.is_some())
}

/// Rule **touch**: of a question that waits for its answer, whoever promised a look before this and answers after it is refused.
async fn move_far<D: Ports>(ports: &D, timer: &Timer, seen: &Seen<Run>, due: Moment) -> Result<(), Fault> {
    if seen.item.waiting().is_some() && !touch(ports, seen).await? {
        return Ok(()); // the next look sees what became of it
    }
    move_to(ports, timer, due).await.map(|_moved| ())
}

/// Whatever is missing below a run that waits for its tasks is begun, and its timer moves far.
async fn look_after_tasks<D: Ports>(ports: &D, timer: &Timer, seen: Seen<Run>) -> Result<(), Fault> {
    match Box::pin(look_below(ports, seen)).await? {
        Some(again) => move_to(ports, timer, again).await.map(|_moved| ()),
        None => Ok(()),
    }
}

/// Rule **only settle erases**: what the run's end owes is paid, and only then its timer goes. A failure that waits for a verdict is
/// written unchanged first: rule **touch**.
async fn erase_settled<D: Ports>(ports: &D, timer: &Timer, run: &Run, job: Option<Job>) -> Result<(), Fault> {
    record_taken_before_what_was_called_off(ports, run).await?;
    if settle(ports, run).await? == Settled::More {
        let again = ports.clock().now() + pace::PROMISE_AGAIN;
        return move_to(ports, timer, again).await.map(|_moved| ());
    }
    if !let_go(ports, run).await? {
        return Ok(());
    }
    match job {
        Some(job) => erase_unless_change_pending(ports, timer, &job).await,
        None => erase(ports, timer).await,
    }
}
