//! A pass of the sweep over one shard: what is due up to the horizon is hinted, what is overdue is looked at, what was
//! written too late is moved, and buckets with nothing left in them are left behind.
//!
//! It takes no input that matters: the cursor says where the last pass came to, and it may be wrong without harm. Two
//! passes at once hint twice and harm nothing.

pub mod orphan;
pub mod overdue;
pub mod take_over;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Bucket, Cursor, Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::dispatch::{Dispatched, dispatch};
use crate::sweep::overdue::inspect_overdue;
use crate::timers::hinting::hint;
use crate::timers::promise::move_to;

/// Timers read at once.
const PAGE: usize = 1000;
/// Timers handled at once: enough to share a commit, few enough to stay fair to the API.
const AT_ONCE: usize = 64;

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    pub buckets: u64,
    pub timers_read: u64,
    pub hinted: u64,
    pub looked_at: u64,
    pub moved: u64,
    /// Timers that could not be handled for what they hold; they stay, and their bucket is not left.
    pub unreadable: u64,
}

impl Pass {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            buckets: self.buckets + other.buckets,
            timers_read: self.timers_read + other.timers_read,
            hinted: self.hinted + other.hinted,
            looked_at: self.looked_at + other.looked_at,
            moved: self.moved + other.moved,
            unreadable: self.unreadable + other.unreadable,
        }
    }
}

/// One pass over one shard.
pub async fn sweep<D: Ports>(ports: &D, shard: u16) -> Result<Pass, Fault> {
    let now = ports.clock().now();
    let mut place = Place::find(ports, shard, now).await?;
    let sweep = Sweep {
        ports,
        shard,
        cursor: place.cursor,
        now,
        horizon: now + pace::HORIZON,
        dispatched: Dispatched::default(),
    };
    let pass = sweep.pass(&mut place).await?;
    place.move_to(ports, sweep.swept(place.cursor.oldest)).await?;
    Ok(pass)
}

/// Forgets that hints were given: the next pass gives all of them again, from the bucket of `first` if that lies before
/// the oldest known. For a process whose queues died with the last one, and for an operator whose queue was purged.
pub async fn forget_hints<D: Ports>(ports: &D, shard: u16, first: Option<Moment>) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Cursor>(&Tenant::deployment(), shard).await? else { return Ok(()) };
    let oldest = first.map_or(seen.item.oldest, |first| pace::minute_of(first).min(seen.item.oldest));
    let cursor = Cursor { hinted_to: Moment::EPOCH, oldest, swept_at: Moment::EPOCH };
    // A conflict is a pass that ran meanwhile: it has hinted, and another forgetting is the caller's to ask for.
    let _put = ports.store().put(&Tenant::deployment(), shard, &cursor, seen.guard()).await?;
    Ok(())
}

fn first_cursor(now: Moment) -> Cursor {
    let begin = now - pace::FIRST_LOOK_BACK;
    Cursor { hinted_to: Moment::EPOCH, oldest: pace::minute_of(begin), swept_at: Moment::EPOCH }
}

struct Sweep<'a, D> {
    ports: &'a D,
    shard: u16,
    cursor: Cursor,
    now: Moment,
    horizon: Moment,
    dispatched: Dispatched,
}

/// Where a shard's cursor stands, as this pass has seen it.
struct Place {
    shard: u16,
    cursor: Cursor,
    guard: Guard,
    /// The oldest bucket that the table knows of.
    saved: i64,
}

/// Buckets left before the table is told in the middle of a pass: after an outage of days no pass may live long enough to
/// tell it at the end.
const SAVE_AFTER: i64 = 16;

impl Place {
    async fn find<D: Ports>(ports: &D, shard: u16, now: Moment) -> Result<Self, Fault> {
        let seen = ports.store().get::<Cursor>(&Tenant::deployment(), shard).await?;
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        let cursor = seen.map_or_else(|| first_cursor(now), |seen| seen.item);
        Ok(Self { shard, cursor, guard, saved: cursor.oldest })
    }

    async fn leave<D: Ports>(&mut self, ports: &D, minute: i64) -> Result<(), Fault> {
        self.cursor.oldest = minute + 1;
        if self.cursor.oldest - self.saved >= SAVE_AFTER { self.move_to(ports, self.cursor).await } else { Ok(()) }
    }

    /// Only if no other pass moved it meanwhile: that one gave its hints too, and the next starts from there.
    async fn move_to<D: Ports>(&mut self, ports: &D, cursor: Cursor) -> Result<(), Fault> {
        if let Put::Written(version) = ports.store().put(&Tenant::deployment(), self.shard, &cursor, self.guard).await?
        {
            self.guard = Guard::Seen(version);
            self.saved = cursor.oldest;
        }
        Ok(())
    }
}

/// What one timer came to.
enum Done {
    Nothing,
    Hinted,
    Inspected,
    Moved,
}

impl<D: Ports> Sweep<'_, D> {
    /// Goes through the buckets from the oldest not yet left, and leaves those that are done.
    async fn pass(&self, place: &mut Place) -> Result<Pass, Fault> {
        let mut pass = Pass::default();
        for minute in self.cursor.oldest..=pace::minute_of(self.horizon) {
            let bucket = Bucket { minute, shard: self.shard };
            let found = self.sweep_bucket(bucket, &mut pass).await?;
            if minute == place.cursor.oldest && self.may_leave(bucket, found).await? {
                place.leave(self.ports, minute).await?;
            }
        }
        Ok(pass)
    }

    /// Where the cursor stands once all hints of this pass were given.
    fn swept(&self, oldest: i64) -> Cursor {
        Cursor { hinted_to: self.horizon.max(self.cursor.hinted_to), oldest, swept_at: self.now }
    }

    async fn sweep_bucket(&self, bucket: Bucket, pass: &mut Pass) -> Result<usize, Fault> {
        let (mut after, mut found) = (None, 0);
        pass.buckets += 1;
        loop {
            let page = self.ports.store().timers(bucket, after, self.horizon, PAGE).await?;
            found += page.items.len() + usize::try_from(page.unreadable).unwrap_or(usize::MAX);
            pass.timers_read += page.items.len() as u64;
            pass.unreadable += page.unreadable;
            after = page.items.last().map(|timer| timer.key);
            let full = page.items.len() == PAGE;
            self.handle_all(page.items, pass).await?;
            if !full {
                return Ok(found);
            }
        }
    }

    /// Handles a page, all of it even if some fail; then the first fault, so that the cursor stays where it was.
    async fn handle_all(&self, page: Vec<Timer>, pass: &mut Pass) -> Result<(), Fault> {
        let done: Vec<_> = stream::iter(page)
            .map(|timer| async move { self.handle(&timer).await })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let mut fault = None;
        for each in done {
            match each {
                Ok(Done::Nothing) => {}
                Ok(Done::Hinted) => pass.hinted += 1,
                Ok(Done::Inspected) => pass.looked_at += 1,
                Ok(Done::Moved) => pass.moved += 1,
                Err(Fault::Unreadable { .. } | Fault::Illegal { .. }) => pass.unreadable += 1,
                Err(why @ Fault::Unavailable { .. }) => fault = fault.or(Some(why)),
            }
        }
        fault.map_or(Ok(()), Err)
    }

    async fn handle(&self, timer: &Timer) -> Result<Done, Fault> {
        if was_written_late(timer) {
            move_to(self.ports, timer, self.ports.clock().now() + pace::PROMISE_AGAIN).await?;
            return Ok(Done::Moved);
        }
        if timer.key.due + pace::OVERDUE <= self.now {
            inspect_overdue(self.ports, timer, self.horizon, &self.dispatched).await?;
            return Ok(Done::Inspected);
        }
        if self.was_hinted(timer) {
            return Ok(Done::Nothing);
        }
        self.hint(timer).await
    }

    async fn hint(&self, timer: &Timer) -> Result<Done, Fault> {
        match timer.key.obligation {
            Obligation::Occurrence(job) if self.dispatched.contains(job, timer.key.due) => Ok(Done::Nothing),
            Obligation::Occurrence(_) => {
                dispatch(self.ports, timer.key.due, timer, self.horizon, &self.dispatched).await?;
                Ok(Done::Hinted)
            }
            Obligation::Run(_) => self.hint_run(timer, Hint::of(timer)).await,
            // It may also be the promise of a change: this hint's run must not erase it.
            Obligation::MovedOccurrence(..) => self.hint_run(timer, Hint::behind(timer, timer.key.run_key(), 0)).await,
        }
    }

    /// A lease or a backoff ends at the timer's own time. What has no record is looked at when it is overdue.
    async fn hint_run(&self, timer: &Timer, told: Hint) -> Result<Done, Fault> {
        match self.ports.store().get::<Run>(&timer.tenant, told.run).await? {
            Some(run) if !run.item.is_finished() => {
                hint(self.ports, run.item.priority.into(), &told, timer.key.due).await?;
                Ok(Done::Hinted)
            }
            _ => Ok(Done::Nothing),
        }
    }

    /// Whether an earlier pass hinted it: it lies behind the cursor, and was there when that pass began.
    fn was_hinted(&self, timer: &Timer) -> bool {
        timer.key.due <= self.cursor.hinted_to && timer.stamp.written + 2 * pace::SKEW < self.cursor.swept_at
    }

    /// Guard **drain**: a bucket is left only past its leave line, after a strong read that found nothing.
    async fn may_leave(&self, bucket: Bucket, found: usize) -> Result<bool, Fault> {
        if self.now < pace::leave_line(bucket.minute) {
            return Ok(false);
        }
        let left = found > 0 && !self.ports.store().timers(bucket, None, Moment::END, 1).await?.is_empty();
        Ok(!left)
    }
}

/// Guard **write line**: a timer written after its bucket's line promises nothing where it is: an earlier pass may have
/// left the bucket already.
fn was_written_late(timer: &Timer) -> bool {
    timer.stamp.written >= pace::write_line(timer.key.minute()) - pace::SKEW
}
