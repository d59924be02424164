//! The walk: a change of a calendar is taken to the jobs that heed it, one after the other, by whoever changed it, and by a look where he
//! died: the timer of the walk was promised before the change was written, and goes when all are pinned to it.
//!
//! A job is changed as its owner would change it: its first fire is promised before its head says so, and what was moved is carried on.
//! Who is about to heed the calendar and has not written that yet is refused, by another epoch or a tombstone, and reads it anew.
//!
//! A walker that slept over another change takes its own to no job: what the calendar says is read again behind each job, and a walk leaves none as it
//! was read before, though it has nothing to change of it.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::calendar::{Calendar, CalendarUse, Goes, Shared, Walk};
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, Status};
use minutehand_domain::pace;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Deleted, Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::pending_change::{bump_epoch, refuse_creators};
use crate::job::change::{Changed, Want, change};
use crate::job::heed::known;
use crate::timers::promise::{erase, move_to};

/// Jobs of one page, and how many of them are changed at a time.
const PAGE: usize = 64;
const AT_ONCE: usize = 8;
/// Pages of one look; then it goes on with the next pass.
const PAGES: usize = 16;
/// Tries against others who change the same job at the same time.
const TRIES: u32 = 8;

/// How far a walk came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// All who heed it are pinned to what it says now; or it has gone.
    Done,
    /// A job heeds it, so that it stays: the look behind the walk's timer goes on with what it says.
    InUse,
    /// There are more jobs: that look goes on.
    More,
}

/// Goes on with the walk of a calendar whose timer stands. Says too how many jobs were changed.
pub async fn walk<D: Ports>(ports: &D, tenant: &Tenant, place: JobId) -> Result<(Walked, u64), Fault> {
    let mut changed = 0;
    for _ in 0..PAGES {
        let seen = ports.store().get::<Shared>(tenant, place).await?;
        let Some((seen, walk)) = seen.and_then(|seen| seen.item.walk.map(|walk| (seen, walk))) else {
            return Ok((Walked::Done, changed));
        };
        let past = walk.past.map(|job| (place, job));
        let page = ports.store().list::<CalendarUse>(tenant, place, past, PAGE).await?.items;
        let news = News { ports, shared: &seen.item, known: known(ports, &seen.item).await?, goes: walk.goes };
        let (ids, news) = (page.iter().map(|heeds| heeds.job).collect::<Vec<JobId>>(), &news);
        let taking = ids.into_iter().map(|job| async move { take_or_pass(ports, news, job).await });
        let taken: Vec<Taken> = stream::iter(taking).buffered(AT_ONCE).try_collect().await?;
        changed += taken.iter().filter(|taken| **taken == Taken::Changed).count() as u64;
        if taken.contains(&Taken::Holds) {
            let stays = seen.item.walked(Some(Walk::of_a_change()));
            let _or_somebody_was_faster = ports.store().put(tenant, place, &stays, seen.guard()).await?;
            return Ok((Walked::InUse, changed));
        }
        match page.last().filter(|_| page.len() == PAGE) {
            Some(last) => {
                let next = seen.item.walked(Some(Walk { past: Some(last.job), ..walk }));
                let _or_somebody_was_faster = ports.store().put(tenant, place, &next, seen.guard()).await?;
            }
            None if end(ports, &seen).await? => return Ok((Walked::Done, changed)),
            None => {} // it was changed again
        }
    }
    Ok((Walked::More, changed))
}

/// The look behind a walk's timer.
pub async fn inspect_walk<D: Ports>(ports: &D, timer: &Timer, place: JobId) -> Result<(), Fault> {
    match walk(ports, &timer.tenant, place).await? {
        (Walked::Done, _) => erase(ports, timer).await,
        (Walked::InUse | Walked::More, _) => {
            let again = ports.clock().now() + pace::PROMISE_AGAIN;
            move_to(ports, timer, again).await.map(|_moved| ())
        }
    }
}

/// All jobs were passed. False where somebody has changed the calendar again.
async fn end<D: Ports>(ports: &D, seen: &Seen<Shared>) -> Result<bool, Fault> {
    let (store, tenant, place) = (ports.store(), &seen.item.tenant, seen.item.name.place(&seen.item.tenant));
    if seen.item.is_there() {
        return Ok(store.put(tenant, place, &seen.item.walked(None), seen.guard()).await?.is_written());
    }
    let deleted = store.delete::<Shared>(tenant, place, seen.version).await?;
    Ok(!matches!(deleted, Deleted::Conflict(Some(_))))
}

/// What is taken to each job.
struct News<'a, D> {
    ports: &'a D,
    shared: &'a Shared,
    known: Arc<Calendar>,
    goes: Option<Goes>,
}

impl<D: Ports> News<'_, D> {
    /// The job's schedule as it is to be; none where it is so.
    fn for_schedule(&self, schedule: &Schedule) -> Option<Schedule> {
        let heeded = schedule.heeded(&self.shared.name)?;
        match self.goes {
            Some(_) => Some(schedule.without(&self.shared.name)),
            None if heeded.version == Some(self.shared.version) => None,
            None => Some(schedule.pinned_to(&self.shared.name, self.shared.version, &self.known)),
        }
    }

    /// Whether it is what the calendar says, or does, now that a job was read. Who changes the calendar after this comes to that job after this.
    async fn is_in_force(&self) -> Result<bool, Fault> {
        let place = self.shared.name.place(&self.shared.tenant);
        let there = self.ports.store().get::<Shared>(&self.shared.tenant, place).await?.map(|seen| seen.item);
        Ok(there.is_some_and(|there| {
            there.walked(None) == self.shared.walked(None) && there.walk.and_then(|walk| walk.goes) == self.goes
        }))
    }
}

impl<D: Ports> Want for News<'_, D> {
    type No = Fault;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Fault> {
        match self.for_schedule(&job.schedule) {
            Some(schedule) if self.is_in_force().await? => Ok(Some(Change::reschedule(schedule))),
            Some(_) | None => Ok(None),
        }
    }
}

/// What the walk made of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Changed,
    AsItWas,
    /// It heeds the calendar that is to go.
    Holds,
}

/// What is wrong with one job stops nothing beside it: the calendar goes, or is changed, for all others. Where it is to go only if no job heeds
/// it, it stays: nobody knows that this one does not.
async fn take_or_pass<D: Ports>(ports: &D, news: &News<'_, D>, id: JobId) -> Result<Taken, Fault> {
    match take_to(ports, news, id).await {
        Err(why) if why.is_of_an_item() => {
            let (tenant, calendar) = (news.shared.tenant.as_str(), news.shared.name.as_str());
            tracing::error!(tenant, calendar, job = %id, %why, "a change of a calendar does not reach a job that cannot be read");
            Ok(if news.goes == Some(Goes::IfUnused) { Taken::Holds } else { Taken::AsItWas })
        }
        taken => taken,
    }
}

async fn take_to<D: Ports>(ports: &D, news: &News<'_, D>, id: JobId) -> Result<Taken, Fault> {
    let (tenant, name) = (&news.shared.tenant, &news.shared.name);
    for _ in 0..TRIES {
        let heeds = ports.store().get::<CalendarUse>(tenant, (name.place(tenant), id)).await?;
        let there = ports.store().get::<Head>(tenant, id).await?;
        let job = there.as_ref().and_then(|seen| seen.item.job());
        let is_gone = job.is_some_and(|job| job.status == Status::Cancelled);
        let is_heeding = !is_gone && job.is_some_and(|job| job.schedule.heeded(name).is_some());
        let is_closed = match job {
            Some(_) if is_gone => true,
            Some(_) if is_heeding && news.goes == Some(Goes::IfUnused) => return Ok(Taken::Holds),
            Some(job) if news.for_schedule(&job.schedule).is_some() => return change_of(ports, news, id).await,
            Some(_) | None => refuse_who_is_about_to(ports, tenant, id, there).await?,
        };
        if is_closed {
            if !is_heeding {
                forget_use(ports, news, id, heeds).await?;
            }
            return Ok(Taken::AsItWas);
        }
    }
    Err(Fault::unavailable("job", "it is being changed by too many at once"))
}

async fn change_of<D: Ports>(ports: &D, news: &News<'_, D>, id: JobId) -> Result<Taken, Fault> {
    match change(ports, &news.shared.tenant, id, news).await? {
        Changed::Done(_) => Ok(Taken::Changed),
        Changed::AsItWas(_)
        | Changed::Refused(..)
        | Changed::NotHeeded(_)
        | Changed::NotToFollow(_)
        | Changed::NotFound => Ok(Taken::AsItWas),
    }
}

/// A creator, a changer or another walker that has read the calendar as it was, and has not written the job yet, is refused and reads it again.
async fn refuse_who_is_about_to<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: JobId,
    there: Option<Seen<Head>>,
) -> Result<bool, Fault> {
    let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
    match there {
        Some(Seen { item: Head::Job(job), .. }) => bump_epoch(ports, job, guard).await,
        there => refuse_creators(ports, tenant, id, there).await,
    }
}

/// Only as it was before the job was looked at: who has written it anew since is about to heed the calendar as it is now.
async fn forget_use<D: Ports>(
    ports: &D,
    news: &News<'_, D>,
    id: JobId,
    heeds: Option<Seen<CalendarUse>>,
) -> Result<(), Fault> {
    let Some(heeds) = heeds else { return Ok(()) };
    let Shared { tenant, name, .. } = news.shared;
    let _or_it_was_written_anew =
        ports.store().delete::<CalendarUse>(tenant, (name.place(tenant), id), heeds.version).await?;
    Ok(())
}
