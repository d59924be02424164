//! A job's day: the ends of its runs are written down as they are settled, and counted when somebody asks.
//!
//! Rule **one end, one item**: its key is when the run ended, and the run: whoever settles it again finds it there. Rule **late sets back**:
//! whoever has written an end down, and sees by his clock that a day may have been counted without it, writes the day once more, set back to
//! before it: whoever counts at that time is refused, and whoever counts after it reads the end.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::health::day::{Day, End};
use minutehand_domain::job::Job;
use minutehand_domain::limits::{HEALTH_ENDS, PAGE};
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{EndsOf, Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// Writes down how a run ended, where that is counted.
pub(crate) async fn count<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    let Some(end) = run.counted_end() else { return Ok(()) };
    let _there_it_is_the_same = ports.store().put(&run.tenant, end.key, &end, Guard::Absent).await?;
    let now = ports.clock().now();
    let is_missed = end.is_late(now) && end.is_of_the_day_at(now);
    if is_missed { Box::pin(set_back(ports, run, &end, now)).await } else { Ok(()) }
}

/// Whether a run has ended and nobody has written that down.
pub(crate) async fn is_uncounted<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    // One whose end has expired was counted, or is of no day any more.
    let Some(end) = run.counted_end().filter(|end| end.expires_at() > ports.clock().now()) else { return Ok(false) };
    Ok(ports.store().get::<End>(&run.tenant, end.key).await?.is_none())
}

/// As it is at `now`, so that a day of which nothing was counted lasts longer than whoever counts it just then takes.
async fn set_back<D: Ports>(ports: &D, run: &Run, end: &End, now: Moment) -> Result<(), Fault> {
    let mut there = ports.store().get::<Day>(&run.tenant, run.key.job).await?;
    loop {
        let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
        let day = there.map_or(Day::NOTHING, |seen| seen.item).at(now).set_back_to(end.key.at);
        match ports.store().put(&run.tenant, run.key.job, &day, guard).await? {
            Put::Written(_) => return Ok(()),
            Put::Conflict(now_there) => there = now_there,
        }
    }
}

/// The day of a job as it is at `now`. What no end can come before any more is kept, so that the next one reads on from there.
pub async fn day_of<D: Ports>(ports: &D, job: &Job, now: Moment) -> Result<Day, Fault> {
    let there = ports.store().get::<Day>(&job.tenant, job.id).await?;
    let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
    let before = there.map_or(Day::NOTHING, |seen| seen.item).at(now);
    let Ended { ends, until } = ended(ports, job, before.until..now.just_after()).await?;
    let kept_until = until.min(Day::kept_until(now));
    let kept = ends.partition_point(|end| end.key.at < kept_until);
    let day = before.clone().with(&ends[..kept], kept_until);
    if day.hours != before.hours {
        let _whoever_was_faster_has_counted_the_same = ports.store().put(&job.tenant, job.id, &day, guard).await?;
    }
    Ok(day.with(&ends[kept..], until))
}

/// Ends of a span of time, oldest first, and up to where these are all.
struct Ended {
    ends: Vec<End>,
    until: Moment,
}

async fn ended<D: Ports>(ports: &D, job: &Job, window: Range<Moment>) -> Result<Ended, Fault> {
    let mut ends: Vec<End> = Vec::new();
    loop {
        let within = EndsOf { job: job.id, window: window.clone() };
        let past = ends.last().map(|end| end.key);
        let page = ports.store().list::<End>(&job.tenant, within, past, PAGE).await?.whole()?;
        let is_last = page.len() < PAGE;
        ends.extend(page);
        if is_last {
            return Ok(Ended { ends, until: window.end });
        }
        if ends.len() >= HEALTH_ENDS {
            return Ok(Ended::cut(ends));
        }
    }
}

impl Ended {
    /// Without those of the last millisecond, of which there may be more.
    fn cut(mut ends: Vec<End>) -> Self {
        let until = ends.last().map_or(Moment::EPOCH, |end| end.key.at);
        ends.truncate(ends.partition_point(|end| end.key.at < until));
        Self { ends, until }
    }
}
