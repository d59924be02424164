//! Making the runs of a backfill, and withdrawing them.
//!
//! Rule **closed first**: an occurrence gets its backfilled run only when the run that its schedule could have is out of the question: the record at
//! its own key says that it did not fire, and is put there first where none is. So no hint that was long on its way can begin a second one.
//!
//! Rule **one key**: the key of the run follows from the occurrence. Another is taken only where a run under the one before it is over without having
//! begun.

use std::future::ready;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{Origin, RunKey};
use minutehand_domain::job::Job;
use minutehand_domain::limits::OPERATION_LOOKS;
use minutehand_domain::operation::backfill::{has_run, keys, never_begins};
use minutehand_domain::operation::{Acted, Backfill, Operation, Position, Work};
use minutehand_domain::pace;
use minutehand_domain::retention::Kept;
use minutehand_domain::run::{Covered, Made, Run, Skip, SkippedSpan, State, Waiting};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::SPOKEN_FOR;
use minutehand_io::store::{Put, RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use super::AT_ONCE;
use crate::born::{born, on_record_since, quota_bound};
use crate::chain::followed::Followed;
use crate::chain::passing_over::ensure_successor;
use crate::chain::standing::{Asked, Standing, standing};
use crate::lookup::is_withdrawn;
use crate::run::cancel::{Cancelled, cancel_with};
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// Makes the run that makes up for an occurrence, unless it has one.
pub(super) async fn make<D: Ports>(
    ports: &D,
    operation: &Operation,
    backfill: &Backfill,
    (job, at): (&Job, Moment),
    followed: &Followed,
) -> Result<Acted, Fault> {
    let until = match close(ports, operation, (job, at), followed).await? {
        Closed::Until(known) => known,
        Closed::HasRun => return Ok(Acted::Already),
        Closed::NotYet if operation.waits_no_more(ports.clock().now()) => {
            return Ok(Acted::Refused("its schedule has not decided about it yet, and may start it still".to_owned()));
        }
        Closed::NotYet => return Ok(Acted::Held),
        Closed::Forgotten => {
            return Ok(Acted::Refused(
                "it is older than what is kept on record, so that nobody knows whether it has run".to_owned(),
            ));
        }
    };
    for key in keys(job.id, at) {
        let there = match ports.store().get::<Run>(&operation.tenant, key).await? {
            Some(seen) => seen.item,
            None => match put(ports, operation, backfill, job, (key, until)).await? {
                Ok(()) => return Ok(Acted::Done),
                Err(there) => there,
            },
        };
        if operation.has_made(&there) {
            return Ok(Acted::Done);
        }
        if !is_given_up(ports, operation, there).await? {
            return Ok(Acted::Already);
        }
    }
    Ok(Acted::Refused("it was made up for and cancelled too often".to_owned()))
}

/// Whether a run that another backfill has made never begins: it was cancelled, or its backfill was, which has not come to it yet, and it is now.
async fn is_given_up<D: Ports>(ports: &D, operation: &Operation, run: Run) -> Result<bool, Fault> {
    if never_begins(&run) {
        return Ok(true);
    }
    Ok(waits(&run) && is_withdrawn(ports, &run).await? && was_withdrawn(ports, operation, run).await?)
}

/// Whether the schedule can start an occurrence no more.
enum Closed {
    /// And until then somebody may find out once more that it is so.
    Until(Moment),
    /// It has started it, or somebody called it off.
    HasRun,
    /// It may yet.
    NotYet,
    /// What became of it is on record no more.
    Forgotten,
}

/// Rule **made once**: a run that made up for an occurrence, or was given up, is on record until nobody can find out any more that the occurrence did not
/// fire, and then for as long as the slowest maker takes to write another run.
pub(crate) fn made_once(kept: Kept, found_out_until: Moment) -> Kept {
    kept.at_least_until(found_out_until + pace::SLOWEST_MAKER)
}

/// Until when somebody may find out of an occurrence from before its job was made that it did not fire: it is on record nowhere.
pub(crate) fn found_out_of_before(job: &Job) -> Moment {
    job.created_at + job.definition.catch_up.window()
}

/// Rule **closed first**.
async fn close<D: Ports>(
    ports: &D,
    operation: &Operation,
    (job, at): (&Job, Moment),
    followed: &Followed,
) -> Result<Closed, Fault> {
    let key = RunKey::occurrence(job.id, at);
    let mut beyond = Duration::ZERO;
    let closed = match standing(ports, &operation.tenant, key, Asked::ByWhoDecides).await? {
        Standing::Recorded(seen) if has_run(&seen.item) => return Ok(Closed::HasRun),
        // What has expired may be there for days, and what was made of it may not.
        Standing::Recorded(seen) => {
            let until = seen.item.expires_at().filter(|until| *until > ports.clock().now());
            return Ok(until.map_or(Closed::Forgotten, Closed::Until));
        }
        Standing::Covered(job, coverage) => {
            ensure_successor(ports, &job, at, followed).await?;
            let rest = rest_of(coverage.covered);
            beyond = rest.until.since(at);
            put_closing(ports, job.run(key), SPOKEN_FOR, coverage.covered.why, Some(rest)).await?
        }
        // Before it was made nobody can have been hinted of it, and since then all that was made up for is on record.
        Standing::NotAdmitted(_) if at < job.created_at && job.created_at >= on_record_since(ports, job).await? => true,
        _ if at < on_record_since(ports, job).await? => return Ok(Closed::Forgotten),
        Standing::NotAdmitted(why) => put_closing(ports, job.run(key), "scheduled", why.into(), None).await?,
        Standing::Unborn(_) | Standing::NoJob | Standing::NoRecord => return Ok(Closed::NotYet),
    };
    if !closed {
        return Ok(Closed::NotYet); // where a record came meanwhile, the next step sees it
    }
    let kept = quota_bound(ports, &job.run(key)).await.kept.reaching(beyond).at_least_until(found_out_of_before(job));
    Ok(Closed::Until(kept.from(ports.clock().now())))
}

/// Puts the record that an occurrence did not fire, where there is none. No callback is told of the record and no job follows it: they were told of the
/// outage, and will be told of the run that is made now.
async fn put_closing<D: Ports>(
    ports: &D,
    run: Run,
    from: &'static str,
    why: Skip,
    span: Option<SkippedSpan>,
) -> Result<bool, Fault> {
    let now = ports.clock().now();
    let record = Run { followers: vec![], callbacks: vec![], ..run }.skipped(why, span, now);
    Ok(born(ports, &record, from, now).await?.is_written())
}

/// What the record that spoke for this one speaks for behind it: it is looked for a few records back, and those of a backfill lie between.
fn rest_of(Covered { why, until }: Covered) -> SkippedSpan {
    let until = if why == Skip::Coalesced { until } else { until.just_before() };
    SkippedSpan { until, count: None }
}

/// Promise, act: where somebody was faster, what is there.
async fn put<D: Ports>(
    ports: &D,
    operation: &Operation,
    backfill: &Backfill,
    job: &Job,
    (key, until): (RunKey, Moment),
) -> Result<Result<(), Run>, Fault> {
    let now = ports.clock().now();
    let timer = promise(ports, &operation.tenant, TimerKey::run(key, now), job.generation).await?;
    let made = Made { by: operation.id, at: now };
    let (asked_by, nominal) = (Some(operation.by.clone()), backfill.nominal(key.at));
    let due = job.run(key).backfilled(backfill.priority, made);
    let trace = due.trace.clone().asked(operation.trace.clone());
    let run = Run { asked_by, nominal, trace, kept: made_once(due.kept, until), ..due };
    match born(ports, &run, "none", now).await? {
        Put::Written(_) => {
            let lane = job.lane_at(run.priority);
            let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), now).await;
            Ok(Ok(()))
        }
        Put::Conflict(Some(there)) => Ok(Err(there.item)),
        Put::Conflict(None) => Err(Fault::unavailable("store", "a run came and went")),
    }
}

/// Cancels a page of what a backfill has made and nobody has begun: how many, and where it goes on.
pub(super) async fn withdraw<D: Ports>(ports: &D, operation: &Operation) -> Result<(u64, Position), Fault> {
    let (Work::Backfill(backfill), Position::Made { before }) = (&operation.work, operation.position) else {
        return Ok((0, Position::End));
    };
    let within = RunsOf { job: backfill.job, window: backfill.from..backfill.until };
    let page = ports.store().list::<Run>(&operation.tenant, within, before, OPERATION_LOOKS).await?.items;
    let is_last = page.len() < OPERATION_LOOKS;
    let last = page.last().map(|run| run.key);
    let its_own = page.into_iter().filter(|run| run.key.origin == Origin::Backfill && operation.has_made(run));
    let each = stream::iter(its_own.map(|run| was_withdrawn(ports, operation, run))).buffer_unordered(AT_ONCE);
    let withdrawn = each.try_fold(0, |sum, was| ready(Ok(sum + u64::from(was)))).await?;
    Ok((withdrawn, if is_last { Position::End } else { Position::Made { before: last } }))
}

/// Cancels a run that nobody has begun. Of several who cancel the same page one is heard: each counts what is cancelled, whoever did it.
async fn was_withdrawn<D: Ports>(ports: &D, operation: &Operation, run: Run) -> Result<bool, Fault> {
    let was_never_begun = |run: &Run| run.fence == 0 && matches!(run.state, State::Cancelled { .. });
    if !waits(&run) {
        return Ok(was_never_begun(&run));
    }
    let note = Some("its backfill was cancelled");
    Ok(match cancel_with(ports, &operation.tenant, run.key, &operation.by, note).await? {
        Cancelled::Done(run) | Cancelled::Refused(_, run) => was_never_begun(&run),
        Cancelled::NotFound => false,
    })
}

/// Nobody has begun it.
fn waits(run: &Run) -> bool {
    let is_waiting = matches!(run.state, State::Scheduled { .. } | State::Waiting(Waiting::Slot { .. }));
    is_waiting && run.fence == 0
}
