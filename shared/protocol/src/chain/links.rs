//! Links: whether a chain goes on from an instant, or breaks there.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, NotAdmitted};
use minutehand_domain::limits::PAGE;
use minutehand_domain::pace;
use minutehand_domain::run::{Covered, Run, Skip, State, Waiting};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::keepings_at;
use crate::chain::coverage::covering;
use crate::chain::followed::{Followed, Walk};
use crate::chain::successor::promise_successor;
use crate::lookup::{Lying, lying_at};
use crate::timers::promise::promise;

/// How many records in a row a chain is followed through; a straggler an hour behind a job of every five seconds.
const LINKS_FOLLOWED: usize = 720;

/// Promises the first occurrence from `next` on that nothing stands for; none where the chain goes on.
pub async fn promise_gap<D: Ports>(
    ports: &D,
    job: &Job,
    next: Moment,
    followed: &Followed,
) -> Result<Option<(Moment, Timer)>, Fault> {
    let Some(gap) = first_gap(ports, job, next, followed).await? else { return Ok(None) };
    let timer = promise(ports, &job.tenant, TimerKey::occurrence(job.id, gap), job.generation).await?;
    Ok(Some((gap, timer)))
}

/// The first occurrence from `next` on that nothing stands for: where the chain breaks. None while it goes on.
///
/// A run record does not prove that the chain continues: an older schedule may have produced it. Follow records until a timer
/// exists. One made from an earlier generation is put anew, so that a hint of that time does not erase it.
pub(crate) async fn first_gap<D: Ports>(
    ports: &D,
    job: &Job,
    next: Moment,
    followed: &Followed,
) -> Result<Option<Moment>, Fault> {
    let walked = followed.along(job, Walk::Schedule);
    let mut walked = walked.lock().await;
    let from = walked.behind(next);
    let mut t = from;
    for _ in 0..LINKS_FOLLOWED {
        let after = match link_at(ports, job, t).await? {
            Link::Timer => return Ok(None),
            Link::Recorded(_) | Link::Corrupt => t,
            Link::Covered(covered) => covered.until.just_before(),
            Link::Forgotten { until } => until.just_before(),
            Link::Broken => return Ok(Some(t)),
        };
        let Some(next) = job.next_after(after) else { return Ok(None) };
        walked.add(from, next);
        t = walked.behind(next);
    }
    Ok(None)
}

/// The first instant after `t` that was to fire, cannot any more, and that nothing stands for. Those before it may have run
/// by hints that were given while their schedule was in force.
pub(crate) async fn forgone_gap<D: Ports>(
    ports: &D,
    job: &Job,
    t: Moment,
    followed: &Followed,
) -> Result<Option<(Moment, NotAdmitted)>, Fault> {
    let walked = followed.along(job, Walk::Forgone);
    let mut walked = walked.lock().await;
    let from = walked.behind(t);
    let mut t = from;
    for _ in 0..LINKS_FOLLOWED {
        let Some((forgone, why)) = job.forgone_after(t) else { return Ok(None) };
        let come_to = match link_at(ports, job, forgone).await? {
            Link::Timer => return Ok(None),
            Link::Recorded(run) => run.span_end(ports.clock().now()),
            Link::Corrupt => forgone,
            Link::Covered(covered) => covered.until.just_before(),
            Link::Forgotten { until } => until.just_before(),
            Link::Broken => return Ok(Some((forgone, why))),
        };
        walked.add(from, come_to);
        t = walked.behind(come_to);
    }
    Ok(None)
}

/// What stands for an instant.
enum Link {
    /// A timer: its look goes on from there.
    Timer,
    Recorded(Run),
    /// A record that nobody can read: something became of it, and the chain went on from there.
    Corrupt,
    Covered(Covered),
    /// Its record may have expired, as any from before then.
    Forgotten {
        until: Moment,
    },
    Broken,
}

async fn link_at<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<Link, Fault> {
    let key = RunKey::occurrence(job.id, t);
    if let Some(timer) = standing_timer(ports, job, t).await? {
        if timer.stamp.generation < job.generation {
            promise(ports, &job.tenant, timer.key, job.generation).await?;
        }
        return Ok(Link::Timer);
    }
    match lying_at(ports, job, t).await? {
        Lying::Record(run) => return Ok(Link::Recorded(*run)),
        Lying::Corrupt => return Ok(Link::Corrupt),
        Lying::Nothing => {}
    }
    if let Some(coverage) = covering(ports, &job.tenant, key).await? {
        return Ok(Link::Covered(coverage.covered));
    }
    let until = forgotten_until(ports, job, t).await?;
    Ok(if t < until { Link::Forgotten { until } } else { Link::Broken })
}

/// Until when records may have expired, if that is after `t`; else `t`. By the clock, and by what has begun since: a clock that is ahead by days would
/// pass over what is yet to come.
async fn forgotten_until<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<Moment, Fault> {
    let Some(quota) = keepings_at(ports, &job.tenant, t).await? else { return Ok(t) };
    let (now, by) = (ports.clock().now(), |now| job.certain_since(quota, now));
    if by(now) <= t {
        return Ok(t);
    }
    let since = RunsOf { job: job.id, window: t..Moment::END };
    let newest = ports.store().list::<Run>(&job.tenant, since, None, PAGE).await?.items;
    let begun = newest.iter().find(|run| run.key.is_occurrence() && has_had_its_turn(run));
    // It is not much later than when the next one was to begin.
    Ok(begun.map_or(t, |run| by(job.next_after(run.key.at).unwrap_or(run.key.at).min(now))))
}

/// It began, or was to and others were under way.
fn has_had_its_turn(run: &Run) -> bool {
    let found_others =
        matches!(run.state, State::Skipped { why: Skip::Overlap, .. } | State::Waiting(Waiting::Slot { .. }));
    run.started_at.is_some() || found_others
}

/// A link in a bucket that may have been left by now does not count: nobody may look at it again. Where each occurrence is
/// made up for, one that waits for its next hint is a link as well: without that, each pass would hint a backlog whole.
async fn standing_timer<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<Option<Timer>, Fault> {
    let (key, now) = (TimerKey::occurrence(job.id, t), ports.clock().now());
    if now < pace::leave_line(key.minute()) {
        match ports.store().timer(&key).await {
            Ok(None) => {}
            Err(why) if Discard::Corrupt.admits(&why) => return promise_successor(ports, job, t).await,
            link => return link,
        }
    }
    if job.definition.catch_up.is_of_all() {
        return ports.store().timer(&key.moved_to(pace::next_inspection(t, now))).await;
    }
    Ok(None)
}
