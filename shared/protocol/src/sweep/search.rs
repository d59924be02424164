//! The search for the first bucket of shards whose cursor was lost, where only all timers together could tell. It is the
//! deployment's one [`Survey`], kept page by page: whoever has time left goes on with it.

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::survey::{Found, Survey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Part, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// Segments of the table that are read side by side: a page of each is a megabyte, and a sweeper's memory is small.
const SEGMENTS: usize = 4;

/// Goes on with the search for shards whose cursor is unknown since then. True once it is done: the next pass knows.
pub async fn search<D: Ports>(ports: &D, since: Moment, until: Moment) -> Result<bool, Fault> {
    let now = ports.clock().now();
    let seen = ports.store().get::<Survey>(&Tenant::deployment(), ()).await?;
    let mut guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
    let serving = seen.map(|seen| seen.item).filter(|survey| survey.serves(since, now));
    let mut survey = serving.unwrap_or_else(|| Survey::begin(now, SEGMENTS));
    while !survey.is_done() {
        if ports.clock().now() >= until {
            return Ok(false);
        }
        for (number, found) in read_pages(ports, &survey).await? {
            survey.note(number, found);
        }
        match ports.store().put(&Tenant::deployment(), (), &survey, guard).await? {
            Put::Written(version) => guard = Guard::Seen(version),
            Put::Conflict(_) => return Ok(false), // somebody else is at it
        }
        if survey.is_done() {
            tracing::info!(timers = survey.timers, "all timers were searched through");
        }
    }
    Ok(true)
}

/// The next page of each segment.
async fn read_pages<D: Ports>(ports: &D, survey: &Survey) -> Result<Vec<(usize, Found)>, Fault> {
    let of = survey.segments.len();
    let reading = survey
        .left()
        .map(|(number, behind)| async move { Ok((number, ports.store().survey(Part { number, of }, behind).await?)) });
    try_join_all(reading).await
}
