//! Successors: the timer of a chain's next link, put before anything is made of the link before it.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::taken::record_taken_as_read;
use crate::timers::promise::written_now;

/// Puts the timer of a job's next occurrence unless it is there. None if its bucket is past the write line by now: a
/// successor is never put into the past, the next look decides.
///
/// A timer that is there was promised in time by its writer, or will be moved by the sweeper that finds it was not. One
/// made from an earlier generation is put anew: a hint given then knows another successor, and must not erase it.
pub async fn promise_successor<D: Ports>(ports: &D, job: &Job, next: Moment) -> Result<Option<Timer>, Fault> {
    let key = TimerKey::occurrence(job.id, next);
    let mut ours = written_now(ports, &job.tenant, key, job.generation);
    let there = match ports.store().put_timer_if_absent(&ours).await {
        Err(why) if Discard::Corrupt.admits(&why) => {
            ours.key = key.beside();
            ports.store().put_timer_if_absent(&ours).await?
        }
        there => there?,
    };
    let timer = if there.stamp.generation < job.generation { ports.store().put_timer(&ours).await? } else { there };
    let in_time = ports.clock().now() < pace::write_line(key.minute());
    Ok(in_time.then_some(timer))
}

/// An occurrence as its first record, to be put by who wants it to end unclaimed; its successor is promised: a record is like a
/// hint, the successor comes first.
pub async fn first_record<D: Ports>(ports: &D, job: &Job, key: RunKey, read_at: Moment) -> Result<Run, Fault> {
    if let Some(next) = job.next_after(key.at)
        && promise_successor(ports, job, next).await?.is_none()
    {
        return Err(Fault::unavailable("run", "it is long overdue and being looked at; ask again in a minute"));
    }
    record_taken_as_read(ports, job, key.at, read_at).await?;
    Ok(job.run(key))
}
