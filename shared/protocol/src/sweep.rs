//! A pass of the sweep over one shard: what is due up to the horizon is hinted, what is overdue is looked at, what was
//! written too late is moved, and buckets with nothing left in them are left behind.
//!
//! It takes no input that matters: the cursor says where the last pass came to, and it may be wrong without harm. A pass may
//! be given little time: it says how far it came, and the next one goes on from there. Of two passes at once the one that
//! finds the cursor moved leaves the shard to the other.

pub mod allowance;
mod bookmark;
pub mod orphan;
pub mod overdue;
pub mod pass;
pub mod search;
pub mod take_over;
mod unreadable;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_domain::Moment;
use minutehand_domain::cursor::{Cursor, Step};
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Bucket, Page, Store as _};
use minutehand_io::{Fault, Ports};

pub use self::allowance::Allowance;
use self::bookmark::Bookmark;
pub use self::pass::Pass;
use self::unreadable::{keeps_its_bucket, put_off};
use crate::chain::dispatch::{Dispatched, dispatch};
use crate::sweep::overdue::inspect_overdue;
use crate::timers::hinting::hint;
use crate::timers::promise::move_to;

/// Timers read at once.
const PAGE: usize = 1000;
/// Timers handled at once: enough to share a commit, few enough to stay fair to the API.
const AT_ONCE: usize = 64;
/// Timers that something was done about before the table is told how far the pass came: what is done again after a crash.
const SAVE_AFTER: u64 = 500;

/// One pass over one shard, or as much of it as is allowed.
pub async fn sweep<D: Ports>(ports: &D, shard: u16, allowance: &Allowance) -> Result<Pass, Fault> {
    let now = ports.clock().now();
    let mut bookmark = Bookmark::find(ports, shard, now).await?;
    let sweep = Sweep {
        ports,
        shard,
        before: bookmark.cursor().clone(),
        now,
        horizon: now + pace::HORIZON,
        allowance,
        dispatched: Dispatched::default(),
    };
    sweep.pass(&mut bookmark).await
}

/// Forgets that hints were given: the next pass gives all of them again, from the bucket of `first` if that lies before
/// the oldest known. For a process whose queues died with the last one, and for an operator whose queue was purged.
pub async fn forget_hints<D: Ports>(ports: &D, shard: u16, first: Option<Moment>) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Cursor>(&Tenant::deployment(), shard).await? else { return Ok(()) };
    let forgotten = seen.item.forgotten(first);
    // A conflict is a pass that ran meanwhile: it has hinted, and another forgetting is the caller's to ask for.
    let _put = ports.store().put(&Tenant::deployment(), shard, &forgotten, seen.guard()).await?;
    Ok(())
}

struct Sweep<'a, D> {
    ports: &'a D,
    shard: u16,
    /// What the passes before have done.
    before: Cursor,
    now: Moment,
    horizon: Moment,
    allowance: &'a Allowance,
    dispatched: Dispatched,
}

/// What one timer came to.
enum Done {
    Nothing,
    Hinted,
    Inspected,
    Moved,
    PutOff,
    Later,
    /// No time is left.
    Left,
}

/// How it went with a bucket.
enum Swept {
    /// All of it was handled; so many timers were found.
    Whole(usize),
    /// The pass ends here.
    Stopped,
}

impl<D: Ports> Sweep<'_, D> {
    /// Goes through the buckets from the oldest not yet left, and leaves those that are done.
    async fn pass(&self, bookmark: &mut Bookmark) -> Result<Pass, Fault> {
        let mut pass = Pass { searching: self.before.searching, ..Pass::default() };
        for minute in self.before.oldest..=pace::minute_of(self.horizon) {
            let bucket = Bucket { minute, shard: self.shard };
            match self.sweep_bucket(bucket, &mut pass, bookmark).await? {
                Swept::Stopped => return self.stop(pass, bookmark).await,
                Swept::Whole(found) if minute == bookmark.cursor().oldest && self.may_leave(bucket, found).await? => {
                    bookmark.leave(self.ports, minute).await?;
                }
                Swept::Whole(_) => {}
            }
        }
        let swept = bookmark.cursor().swept(self.now, self.horizon);
        bookmark.write(self.ports, swept).await?;
        Ok(pass)
    }

    /// The next pass goes on from here, unless another has the shard.
    async fn stop(&self, pass: Pass, bookmark: &mut Bookmark) -> Result<Pass, Fault> {
        bookmark.save(self.ports).await?;
        let overtaken = bookmark.is_overtaken();
        Ok(Pass { unfinished: u64::from(!overtaken), overtaken: u64::from(overtaken), ..pass })
    }

    async fn sweep_bucket(&self, bucket: Bucket, pass: &mut Pass, bookmark: &mut Bookmark) -> Result<Swept, Fault> {
        let (mut after, mut found) = (None, 0);
        pass.buckets += 1;
        loop {
            if self.is_over(pass) || bookmark.is_overtaken() {
                return Ok(Swept::Stopped);
            }
            let page = self.ports.store().timers(bucket, after, self.horizon, PAGE).await?;
            found += page.items.len() + page.unreadable.iter().filter(|left| keeps_its_bucket(left)).count();
            let full = page.items.len() == PAGE;
            after = page.items.last().map(|timer| timer.key);
            if !self.handle_page(page, pass, bookmark).await? {
                return Ok(Swept::Stopped);
            }
            if !full {
                return Ok(Swept::Whole(found));
            }
        }
    }

    /// False where no time was left for all of it.
    async fn handle_page(&self, page: Page<Timer>, pass: &mut Pass, bookmark: &mut Bookmark) -> Result<bool, Fault> {
        pass.timers_read += page.items.len() as u64;
        for left in page.unreadable {
            put_off(self.ports, &left, self.now, pass).await?;
        }
        let (worked, keys) = (pass.worked(), page.items.iter().map(|timer| timer.key).collect::<Vec<_>>());
        let through = self.handle_all(page.items, pass).await?;
        if let Some(last) = through.checked_sub(1).and_then(|last| keys.get(last)) {
            bookmark.came_to(Step { through: *last, began: self.now }, pass.worked() - worked);
        }
        if bookmark.unsaved() >= SAVE_AFTER {
            bookmark.save(self.ports).await?;
        }
        Ok(through == keys.len())
    }

    /// Handles a page, all of it even if some fail; then the first fault, so that the cursor stays where it was. Says how many
    /// from the first on were handled before no time was left.
    async fn handle_all(&self, page: Vec<Timer>, pass: &mut Pass) -> Result<usize, Fault> {
        let mut through = page.len();
        let done: Vec<_> = stream::iter(page.into_iter().enumerate())
            .map(|(place, timer)| async move { (place, self.handle_in_time(&timer).await) })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let mut fault = None;
        for (place, each) in done {
            match each {
                Ok(Done::Left) => through = through.min(place),
                Ok(done) => note(pass, &done),
                Err(why) => fault = fault.or(Some(why)),
            }
        }
        fault.map_or(Ok(through), Err)
    }

    async fn handle_in_time(&self, timer: &Timer) -> Result<Done, Fault> {
        if self.is_late() { Ok(Done::Left) } else { self.handle_or_put_off(timer).await }
    }

    /// What is wrong with one item stops nothing that lies beside it.
    async fn handle_or_put_off(&self, timer: &Timer) -> Result<Done, Fault> {
        match self.handle(timer).await {
            Err(why @ Fault::Later { .. }) => {
                tracing::warn!(timer = ?timer.key, tenant = timer.tenant.as_str(), %why, "a timer waits for a later release");
                Ok(Done::Later)
            }
            Err(why @ (Fault::Unreadable { .. } | Fault::Illegal { .. })) => {
                tracing::error!(timer = ?timer.key, tenant = timer.tenant.as_str(), %why, "a timer points at what nobody can read");
                if timer.key.due + pace::OVERDUE <= self.now {
                    move_to(self.ports, timer, self.now + pace::CORRUPT).await?;
                }
                Ok(Done::PutOff)
            }
            done => done,
        }
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
        if self.before.was_hinted(timer) {
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

    /// Guard **drain**: a bucket is left only past its leave line, after a strong read that found nothing.
    async fn may_leave(&self, bucket: Bucket, found: usize) -> Result<bool, Fault> {
        if self.now < pace::leave_line(bucket.minute) {
            return Ok(false);
        }
        if found == 0 {
            return Ok(true);
        }
        let left = self.ports.store().timers(bucket, None, Moment::END, 1).await?;
        Ok(left.items.is_empty() && !left.unreadable.iter().any(keeps_its_bucket))
    }

    fn is_over(&self, pass: &Pass) -> bool {
        pass.worked() >= self.allowance.timers || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.ports.clock().now() >= self.allowance.until
    }
}

fn note(pass: &mut Pass, done: &Done) {
    match done {
        Done::Nothing | Done::Left => {}
        Done::Hinted => pass.hinted += 1,
        Done::Inspected => pass.looked_at += 1,
        Done::Moved => pass.moved += 1,
        Done::PutOff => pass.corrupt += 1,
        Done::Later => pass.later += 1,
    }
}

/// Guard **write line**: a timer written after its bucket's line promises nothing where it is: an earlier pass may have
/// left the bucket already.
fn was_written_late(timer: &Timer) -> bool {
    timer.stamp.written >= pace::write_line(timer.key.minute()) - pace::SKEW
}
