//! Overdue: the earliest occurrence of a job that should have begun, and has not. By the job's own schedule, with its zone, what daylight saving
//! does to it, its jitter and its bounds; [`pace::OVERDUE`] late, which is when a sweeper too goes and looks what has become of it.
//!
//! An occurrence has begun with its first attempt: one that waits for a worker, for a place or for its turn has not. One that was skipped or
//! cancelled is on record, and nothing is missing. A job that is paused or deleted has nothing to begin.
//!
//! It is looked for from the oldest occurrence among the records on; where there is none among them, from when the schedule came into force, or from
//! the oldest record where there may be more; and from no earlier than what is on record for certain. Each step either ends there or passes a record,
//! so that there are as many as there are records.

use crate::Moment;
use crate::job::{Job, Status};
use crate::limits::HEALTH_RUNS;
use crate::pace;
use crate::run::Run;

pub(super) fn overdue_since(
    job: &Job,
    newest: &[Run],
    unread: &[Moment],
    on_record_since: Moment,
    now: Moment,
) -> Option<Moment> {
    if job.status != Status::Active {
        return None;
    }
    // What stands there and has not begun does not expire.
    let stands = |run: &&Run| run.key.is_occurrence() && run.started_at.is_none() && !run.is_finished();
    let unbegun = newest.iter().rfind(stands).map_or(Moment::END, |run| run.key.at);
    let mut next = job.next_after(begin(job, newest).max(on_record_since.min(unbegun)).just_before());
    while let Some(t) = next.filter(|t| *t + pace::OVERDUE <= now) {
        let Some(passed) = passed(newest, unread, t, now) else { return Some(t) };
        next = job.next_after(passed);
    }
    None
}

fn begin(job: &Job, newest: &[Run]) -> Moment {
    let in_force = job.remembered_since();
    let oldest_read = || newest.last().filter(|_| newest.len() >= HEALTH_RUNS);
    let oldest = newest.iter().rfind(|run| run.key.is_occurrence()).or_else(oldest_read);
    oldest.map_or(in_force, |run| in_force.max(run.key.at))
}

/// Up to where nothing is missing from `t` on, where nothing is missing at `t`.
fn passed(newest: &[Run], unread: &[Moment], t: Moment, now: Moment) -> Option<Moment> {
    let own = newest.iter().find(|run| run.key.is_occurrence() && run.key.at == t);
    if own.is_some_and(|run| run.started_at.is_none() && !run.is_finished()) {
        return None;
    }
    if own.is_none() && unread.contains(&t) {
        // An unread record may speak for what comes after it, up to what can be read.
        let later = newest.iter().filter(|run| run.key.is_occurrence()).map(|run| run.key.at).filter(|at| *at > t);
        return Some(later.min().map_or(t, Moment::just_before));
    }
    // A record speaks for what comes after it: for `t` where that has none, and maybe for what comes after `t`.
    let of_others = own.map_or(t, |_| t.just_after());
    let spoken_for =
        newest.iter().filter_map(|run| run.covers(of_others, now)).map(|covered| covered.until.just_before()).max();
    spoken_for.or(own.map(|_| t))
}
