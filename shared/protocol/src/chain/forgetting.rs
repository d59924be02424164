//! Forgetting: a job remembers one schedule beside the one in force, with some versions of its calendars, and a change may make it forget
//! that one.
//!
//! Rule **record what you forget**: a link that stands leads to what comes after it by the schedules that its job knows then. Where
//! the hints of an older schedule began runs of this one before its chain did, nothing else leads to what follows them; so whoever
//! makes a job forget a schedule first looks where its chain broke, and records there what is not made up for any more.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, RunKey};
use minutehand_domain::job::{Before, Job};
use minutehand_domain::pace;
use minutehand_domain::run::{Run, SkippedSpan};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::coverage::covering;
use crate::chain::passing_over::skip;
use crate::lookup::{Lying, lying_at};
use crate::timers::promise::is_promised;

/// No schedule fires more often in the time that hints are given ahead.
pub(crate) const MOST_HINTED: usize = 1_000;
/// Records go after weeks; what was in force that long ago was swept, or its first timer still stands.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// Records what of the schedules that `next` does not know any more was to fire and cannot, if nothing stands for it.
pub async fn record_forgotten<D: Ports>(ports: &D, job: &Job, next: &Job) -> Result<(), Fault> {
    let (forgotten, why) = job.forgets(next);
    for (before, until) in forgotten {
        if ports.clock().now().since(before.since) > REMEMBERED {
            continue;
        }
        if let Some(gap) = gap_in(ports, job, (&before, until)).await? {
            let span = SkippedSpan { until: until.max(gap), count: Some(before.count(gap, until)) };
            let run = job.run(RunKey::occurrence(job.id, gap));
            let _a_record_is_there_now = skip(ports, run, "scheduled", why.into(), Some(span)).await?;
        }
    }
    Ok(())
}

/// The first instant of a schedule, while it was in force, that neither has a record nor comes after a timer that stands.
///
/// Hints of the schedule before it were given for a horizon ahead at most: a run later than that was hinted by its own chain,
/// which goes on from there.
async fn gap_in<D: Ports>(ports: &D, job: &Job, (before, until): (&Before, Moment)) -> Result<Option<Moment>, Fault> {
    let hinted_until = before.since + pace::HORIZON + pace::SKEW;
    let recorded = recorded_in(ports, job, before.since..hinted_until.min(until)).await?;
    let next_after = |t| before.next_after(t).filter(|next| *next < until);
    let mut next = next_after(before.since.just_before());
    while let Some(t) = next {
        let decided_to = if let Some(end) = recorded.get(&t) {
            *end
        } else if !matches!(lying_at(ports, job, t).await?, Lying::Nothing) {
            if t >= hinted_until {
                return Ok(None);
            }
            t
        } else if leads_on(ports, job, t).await? {
            return Ok(None);
        } else if let Some(coverage) = covering(ports, &job.tenant, RunKey::occurrence(job.id, t)).await? {
            coverage.covered.until.just_before()
        } else {
            return Ok(Some(t));
        };
        next = next_after(decided_to);
    }
    Ok(None)
}

/// The instants of a window that have a record which can be read, and how far each of them speaks.
async fn recorded_in<D: Ports>(ports: &D, job: &Job, window: Range<Moment>) -> Result<BTreeMap<Moment, Moment>, Fault> {
    let within = RunsOf { job: job.id, window };
    let runs = ports.store().list::<Run>(&job.tenant, within, None, MOST_HINTED).await?.but_for_corrupt()?;
    let now = ports.clock().now();
    let scheduled = runs.into_iter().filter(|run| run.key.origin == Origin::Schedule);
    Ok(scheduled.map(|run| (run.key.at, run.span_end(now))).collect())
}

/// Whether a timer stands there that somebody will look at: what its job refuses by then is recorded by that look.
async fn leads_on<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<bool, Fault> {
    let key = TimerKey::occurrence(job.id, t);
    Ok(ports.clock().now() < pace::leave_line(key.minute()) && is_promised(ports, &key).await?)
}
