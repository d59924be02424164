//! Changing a calendar: what it says is written, then the look behind its walk is promised, then its name stands for that; and then it is
//! taken to the jobs that heed it.

use std::time::Duration;

use minutehand_domain::calendar::{AsSeen, CalendarName, CalendarVersion, Goes, Rules, Shared, Walk, Writing};
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::CALENDARS;
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports, calendars};

use super::walk::{Walked, walk};
use crate::contention::Contention;
use crate::timers::promise::{erase, promise};

/// Tries against others who change it at the same time.
const TRIES: u32 = 16;
/// By then whoever changes a calendar has taken it to its jobs, or is dead.
const WALKED_BY: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    Done {
        shared: Shared,
        is_new: bool,
        /// How many jobs were pinned anew by now.
        jobs: u64,
    },
    /// It has changed since it was seen.
    NotAsSeen,
    TooMany,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It is gone, or will be once the look behind its walk has come through its jobs; so many go on without it by now.
    Done {
        jobs: u64,
    },
    /// Jobs heed it.
    InUse,
    NotAsSeen,
    NotFound,
}

/// Lets a calendar's name stand for this, if what it stands for is as its writer has seen it.
pub async fn put<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    name: &CalendarName,
    rules: &Rules,
    seen: AsSeen,
) -> Result<Put, Fault> {
    let version = calendars::write(ports.store(), tenant, name, rules).await?;
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let there = ports.store().get::<Shared>(tenant, name.place(tenant)).await?;
        let standing = there.as_ref().map(|there| &there.item).filter(|there| there.is_there());
        if !seen.admits(standing.map(Shared::writing)) {
            return Ok(Put::NotAsSeen);
        }
        if there.is_none() && are_too_many(ports, tenant).await? {
            return Ok(Put::TooMany);
        }
        let is_new = standing.is_none();
        let next = match next_of(ports, (tenant, name), version, there.as_ref().map(|there| &there.item)) {
            Next::As(shared) => return Ok(Put::Done { shared, is_new: false, jobs: 0 }),
            Next::Is(shared) => shared,
        };
        if let Some((_, jobs)) = written(ports, &next, there.as_ref()).await? {
            return Ok(Put::Done { shared: next, is_new, jobs });
        }
    }
    Err(Fault::unavailable("calendar", "it is being changed by too many at once"))
}

enum Next {
    /// It says that already, and so do all its jobs.
    As(Shared),
    Is(Shared),
}

fn next_of<D: Ports>(
    ports: &D,
    (tenant, name): (&Tenant, &CalendarName),
    version: CalendarVersion,
    there: Option<&Shared>,
) -> Next {
    let now = ports.clock().now();
    match there {
        Some(there) if there.is_there() && there.version == version && there.walk.is_none() => Next::As(there.clone()),
        // Who asks again goes on with the walk, from its begin.
        Some(there) if there.is_there() && there.version == version => {
            Next::Is(there.walked(Some(Walk::of_a_change())))
        }
        Some(there) => Next::Is(there.changed(version, now)),
        None => Next::Is(Shared::new(tenant.clone(), name.clone(), version, now)),
    }
}

/// Lets a calendar go: unless a job heeds it, or in any case.
pub async fn delete<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    name: &CalendarName,
    goes: Goes,
    seen: Option<Writing>,
) -> Result<Gone, Fault> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let there = ports.store().get::<Shared>(tenant, name.place(tenant)).await?;
        let Some(there) = there.filter(|there| there.item.is_there()) else { return Ok(Gone::NotFound) };
        if seen.is_some_and(|seen| seen != there.item.writing()) {
            return Ok(Gone::NotAsSeen);
        }
        let next = there.item.going(goes, ports.clock().now());
        match written(ports, &next, Some(&there)).await? {
            Some((Walked::InUse, _)) => return Ok(Gone::InUse),
            Some((Walked::Done | Walked::More, jobs)) => return Ok(Gone::Done { jobs }),
            None => {}
        }
    }
    Err(Fault::unavailable("calendar", "it is being changed by too many at once"))
}

/// Writes it as it was seen, the look behind its walk promised before, and walks. None where somebody else was faster.
async fn written<D: Ports>(
    ports: &D,
    next: &Shared,
    there: Option<&Seen<Shared>>,
) -> Result<Option<(Walked, u64)>, Fault> {
    let (tenant, place) = (&next.tenant, next.name.place(&next.tenant));
    let key = TimerKey::calendar(place, ports.clock().now() + WALKED_BY);
    let timer = promise(ports, tenant, key, next.generation).await?;
    let guard = there.map_or(Guard::Absent, Seen::guard);
    if !ports.store().put(tenant, place, next, guard).await?.is_written() {
        return Ok(None); // the timer too many is looked at and erased
    }
    walked(ports, next, &timer).await.map(Some)
}

/// A fault here is nobody's: the calendar is changed, and the look behind its walk goes on.
async fn walked<D: Ports>(ports: &D, next: &Shared, timer: &Timer) -> Result<(Walked, u64), Fault> {
    match walk(ports, &next.tenant, next.name.place(&next.tenant)).await {
        Ok(ended @ (Walked::Done, _)) => {
            erase(ports, timer).await?;
            Ok(ended)
        }
        Ok(not_yet) => Ok(not_yet),
        Err(_the_look_goes_on) => Ok((Walked::More, 0)),
    }
}

async fn are_too_many<D: Ports>(ports: &D, tenant: &Tenant) -> Result<bool, Fault> {
    Ok(ports.store().list::<Shared>(tenant, (), None, CALENDARS).await?.items.len() >= CALENDARS)
}
