//! A pass of the sweep over one shard: what is due up to the horizon is hinted, what is overdue is looked at, what was
//! written too late is moved, and buckets with nothing left in them are left behind.
//!
//! It takes no input that matters: the cursor says where the last pass came to, and it may be wrong without harm. A pass may
//! be given little time: it says how far it came, and the next one goes on from there. Of two passes at once the one that
//! finds the cursor moved leaves the shard to the other.
//!
//! What fails stops nothing beside it: a partition, a lane or a bucket that is away keeps its own timers waiting, the pass goes
//! on with the next, and the fault is said at its end.

pub mod allowance;
mod bookmark;
pub mod orphan;
pub mod overdue;
pub mod pass;
mod recall;
pub mod repair;
pub mod search;
pub mod take_over;
mod unreadable;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::cursor::{Cursor, Step};
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::notification::Window;
use minutehand_domain::operation::OperationId;
use minutehand_domain::pace;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Bucket, Page, Store as _, Unreadable};
use minutehand_io::{Fault, Ports};

pub use self::allowance::Allowance;
use self::bookmark::Bookmark;
pub use self::pass::{Pass, Swept};
use self::unreadable::{keeps_its_bucket, put_off, put_off_until, say};
use crate::chain::catch_up::dispatch_each;
use crate::chain::dispatch::{Dispatched, dispatch};
use crate::graph::owed::owes;
use crate::operation::carry::look;
use crate::read_at::ReadAt;
use crate::sweep::overdue::inspect_overdue;
use crate::timers::hinting::hint;
use crate::timers::promise::move_to;

/// Timers read at once.
const PAGE: usize = 1000;
/// Timers handled at once: enough to share a commit, few enough to stay fair to the API.
const AT_ONCE: usize = 64;
/// Timers that something was done about before the table is told how far the pass came: what is done again after a crash.
const SAVE_AFTER: u64 = 500;
/// So many buckets one after the other that cannot be read are no one's partition: the table is away, and the pass with it.
const MOST_AWAY: u32 = 4;
/// For how long a pass goes along what has much to make up for, when it has come to everybody's: all others are hinted for longer.
const GOES_ALONG: Duration = Duration::from_secs(120);

/// One pass over one shard, or as much of it as is allowed.
pub async fn sweep<D: Ports>(ports: &D, shard: u16, allowance: &Allowance) -> Swept {
    let began = ReadAt::now(ports.clock());
    let now = began.moment;
    // In boxes: whoever begins a sweep has what it keeps room for on the stack.
    let mut bookmark = match Box::pin(Bookmark::find(ports, shard, began)).await {
        Ok(bookmark) => bookmark,
        Err(fault) => return Swept { fault: Some(fault), ..Swept::default() },
    };
    let Cursor { swept_at, hinted_to, .. } = *bookmark.cursor();
    // Hints that were forgotten leave a `swept_at` that may be no pass's.
    if hinted_to > Moment::EPOCH {
        ports.events().emit(&Event::Sweeping { behind: now.since(swept_at) });
    }
    if let Err(fault) = Box::pin(bookmark.say_when(ports)).await {
        return Swept { fault: Some(fault), ..Swept::default() };
    }
    let sweep = Sweep {
        ports,
        shard,
        before: bookmark.cursor().clone(),
        now,
        horizon: now + pace::HORIZON,
        allowance,
        dispatched: Dispatched::default(),
    };
    let swept = Box::pin(sweep.pass(&mut bookmark)).await;
    let Pass { later, corrupt, .. } = swept.pass;
    if later + corrupt > 0 {
        ports.events().emit(&Event::Unreadable { later, corrupt });
    }
    swept
}

/// Forgets that hints were given: the next pass gives all of them again, from the bucket of `first` if that lies before
/// the oldest known. For a process whose queues died with the last one, and for an operator whose queue was purged.
pub async fn forget_hints<D: Ports>(ports: &D, shard: u16, first: Option<Moment>) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Cursor>(&Tenant::deployment(), shard).await? else { return Ok(()) };
    let forgotten = seen.item.forgotten(first);
    // A clock that was ahead may have put something off, and looks right until it is corrected: the doubt is kept for the pass behind that.
    let forgotten = if ports.me().exclusive_store { forgotten.doubted(seen.item.latest()) } else { forgotten };
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
    /// An operation: whether it was carried on, and when it is to be the next time.
    CarriedOn(bool, Option<Moment>),
    Moved,
    PutOff,
    Later,
    /// No time is left.
    Left,
}

/// How it went with a bucket.
enum Bucketful {
    /// All of it was handled; so many timers were found.
    Whole(usize),
    /// Some of it failed, and waits in it for the next pass.
    Failed,
    /// It could not be read, or not to its end.
    Away,
    /// The pass ends here.
    Stopped,
}

/// How far it went with a page, as the number of its timers from the first on.
struct Handled {
    /// Before no time was left.
    through: usize,
    /// Before a hint could not be given.
    hinted: usize,
    failed: bool,
}

impl<D: Ports> Sweep<'_, D> {
    /// Goes through the buckets from the oldest not yet left, and leaves those that are done.
    async fn pass(&self, bookmark: &mut Bookmark) -> Swept {
        let mut swept = Swept::searching(self.before.searching);
        let mut away = 0;
        let mut minute = self.before.oldest;
        while minute <= pace::minute_of(self.horizon) {
            let bucket = Bucket { minute, shard: self.shard };
            match self.sweep_bucket(bucket, &mut swept, bookmark).await {
                Bucketful::Stopped => return self.stop(swept, bookmark).await,
                Bucketful::Away if away + 1 == MOST_AWAY => {
                    bookmark.hold();
                    break;
                }
                Bucketful::Away => away += 1,
                Bucketful::Failed => away = 0,
                Bucketful::Whole(found) => {
                    away = 0;
                    if minute == bookmark.cursor().oldest {
                        let left = self.leave(bucket, found, bookmark).await;
                        swept.note(left);
                    }
                }
            }
            minute = bookmark.cursor().oldest.max(minute + 1);
        }
        let ended = bookmark.end(self.ports, self.horizon).await;
        swept.note(ended);
        self.go_along_what_was_left(&mut swept, bookmark).await;
        swept
    }

    /// Along the chains with much to make up for, each for a while. Whatever is left then is found overdue by the next pass, as behind one that died.
    async fn go_along_what_was_left(&self, swept: &mut Swept, bookmark: &Bookmark) {
        let until = self.ports.clock().now() + GOES_ALONG;
        while self.ports.clock().now() < until && !self.is_late() && !bookmark.is_in_doubt(self.ports) {
            let left = self.dispatched.take_left();
            if left.is_empty() {
                return;
            }
            let go = |(t, timer)| {
                let each = async move { dispatch_each(self.ports, t, &timer, self.horizon, &self.dispatched).await };
                each.boxed()
            };
            let gone: Vec<_> = stream::iter(left).map(go).buffer_unordered(AT_ONCE).collect().await;
            for each in gone {
                swept.note(each);
            }
        }
    }

    /// The next pass goes on from here, unless another has the shard.
    async fn stop(&self, mut swept: Swept, bookmark: &mut Bookmark) -> Swept {
        let saved = bookmark.save(self.ports).await;
        swept.note(saved);
        let overtaken = bookmark.is_overtaken();
        (swept.pass.unfinished, swept.pass.overtaken) = (u64::from(!overtaken), u64::from(overtaken));
        swept
    }

    async fn sweep_bucket(&self, bucket: Bucket, swept: &mut Swept, bookmark: &mut Bookmark) -> Bucketful {
        let (mut after, mut found, mut failed) = (None, 0, false);
        swept.pass.buckets += 1;
        loop {
            if self.is_over(&swept.pass) || bookmark.is_overtaken() || bookmark.is_in_doubt(self.ports) {
                return Bucketful::Stopped;
            }
            let page = match self.ports.store().timers(bucket, after, self.horizon, PAGE).await {
                Ok(page) => page,
                Err(fault) => {
                    if self.is_hinted_at(pace::end_of(bucket.minute)) {
                        bookmark.hold();
                    }
                    swept.note(Err(fault));
                    return Bucketful::Away;
                }
            };
            found += page.items.len() + page.unreadable.iter().filter(|left| keeps_its_bucket(left)).count();
            let (read, last, more) = (page.items.len(), page.items.last().map(|timer| timer.key), page.more);
            let handled = self.handle_page(page, swept, bookmark).await;
            if handled.through < read {
                return Bucketful::Stopped;
            }
            failed |= handled.failed;
            after = last;
            if !more {
                return if failed { Bucketful::Failed } else { Bucketful::Whole(found) };
            }
        }
    }

    async fn handle_page(&self, page: Page<Timer>, swept: &mut Swept, bookmark: &mut Bookmark) -> Handled {
        swept.pass.timers_read += page.items.len() as u64;
        let mut failed = self.put_off_all(page.unreadable, swept).await;
        let (worked, keys) = (swept.pass.worked(), page.items.iter().map(|timer| timer.key).collect::<Vec<_>>());
        let handled = self.handle_all(page.items, swept).await;
        let come = handled.through.min(handled.hinted);
        if let Some(last) = come.checked_sub(1).and_then(|last| keys.get(last)) {
            bookmark.came_to(Step { through: *last, began: self.now }, swept.pass.worked() - worked);
        }
        if handled.hinted < keys.len() {
            bookmark.hold();
        }
        if bookmark.unsaved() >= SAVE_AFTER {
            failed |= swept.note(bookmark.save(self.ports).await);
        }
        Handled { failed: failed || handled.failed, ..handled }
    }

    /// What fails, or is left for want of time, keeps its bucket. Says whether any did.
    async fn put_off_all(&self, unreadable: Vec<Unreadable>, swept: &mut Swept) -> bool {
        for left in &unreadable {
            say(left, &mut swept.pass);
        }
        let putting_off = unreadable.into_iter().map(|left| self.put_off_in_time(left).boxed());
        let all: Vec<_> = stream::iter(putting_off).buffer_unordered(AT_ONCE).collect().await;
        all.into_iter().fold(false, |is_any_left, each| match each {
            Ok(is_put_off) => is_any_left || !is_put_off,
            Err(fault) => swept.note(Err(fault)) || is_any_left,
        })
    }

    async fn put_off_in_time(&self, left: Unreadable) -> Result<bool, Fault> {
        if self.is_late() {
            return Ok(false);
        }
        put_off(self.ports, &left, self.now).await.map(|()| true)
    }

    /// Handles a page, all of it even if some fail. Rule **catch-up is decided once**: the occurrences of one job one after the other, so that each look
    /// sees what the one before has decided for it.
    async fn handle_all(&self, page: Vec<Timer>, swept: &mut Swept) -> Handled {
        let mut handled = Handled { through: page.len(), hinted: page.len(), failed: false };
        let done: Vec<_> = stream::iter(by_chain(page))
            // In a box: the stream keeps room for one of them from the start, and most pages are empty. And without its type, which says all
            // that a look may come to: who spawns a sweep would need a higher recursion limit.
            .map(|chain| self.handle_each(chain).boxed())
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (place, due, each) in done.into_iter().flatten() {
            match each {
                Ok(Done::Left) => handled.through = handled.through.min(place),
                Ok(done) => note(&mut swept.pass, &done),
                Err(fault) => {
                    handled.failed = swept.note(Err(fault));
                    if self.is_hinted_at(due) {
                        handled.hinted = handled.hinted.min(place);
                    }
                }
            }
        }
        handled
    }

    async fn handle_each(&self, chain: Vec<(usize, Timer)>) -> Vec<(usize, Moment, Result<Done, Fault>)> {
        let mut done = Vec::with_capacity(chain.len());
        for (place, timer) in chain {
            done.push((place, timer.key.due, self.handle_in_time(&timer).await));
        }
        done
    }

    /// What is overdue is looked at by each pass, whatever the cursor says of hints.
    fn is_hinted_at(&self, due: Moment) -> bool {
        due + pace::OVERDUE > self.now
    }

    async fn handle_in_time(&self, timer: &Timer) -> Result<Done, Fault> {
        if self.is_late() { Ok(Done::Left) } else { self.handle_or_put_off(timer).await }
    }

    /// What is wrong with one item stops nothing that lies beside it.
    async fn handle_or_put_off(&self, timer: &Timer) -> Result<Done, Fault> {
        let done = self.handle(timer).await;
        let (why, done) = match done {
            Err(why @ Fault::Later { .. }) => {
                tracing::warn!(timer = ?timer.key, tenant = timer.tenant.as_str(), %why, "a timer waits for a later release");
                (why, Done::Later)
            }
            Err(why @ (Fault::Unreadable { .. } | Fault::Illegal { .. })) => {
                tracing::error!(timer = ?timer.key, tenant = timer.tenant.as_str(), %why, "a timer points at what nobody can read");
                (why, Done::PutOff)
            }
            done => return done,
        };
        if let Some(until) = put_off_until(&timer.key, &why, self.now) {
            move_to(self.ports, timer, until).await?;
        }
        Ok(done)
    }

    async fn handle(&self, timer: &Timer) -> Result<Done, Fault> {
        if was_written_late(timer) {
            move_to(self.ports, timer, self.ports.clock().now() + pace::PROMISE_AGAIN).await?;
            return Ok(Done::Moved);
        }
        if let Obligation::Operation(id) = timer.key.obligation {
            return self.carry_on(timer, id).await;
        }
        if !self.is_hinted_at(timer.key.due) {
            Box::pin(inspect_overdue(self.ports, timer, self.horizon, &self.dispatched)).await?;
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
            Obligation::Calendar(_) | Obligation::Operation(_) => Ok(Done::Nothing),
            Obligation::Run(_) => self.hint_run(timer, Hint::of(timer)).await,
            // This pass has put it off, and hinted it where its turn is near.
            Obligation::MovedOccurrence(job, at) if self.dispatched.contains(job, at) => Ok(Done::Nothing),
            Obligation::MovedOccurrence(_, at) if timer.key.stands_beside_a_link() => {
                dispatch(self.ports, at, timer, self.horizon, &self.dispatched).await?;
                Ok(Done::Hinted)
            }
            // It may also be the promise of a change: this hint's run must not erase it.
            Obligation::MovedOccurrence(..) => self.hint_run(timer, Hint::behind(timer, timer.key.run_key(), 0)).await,
        }
    }

    /// Nobody is hinted of an operation: whoever sweeps carries it on, once its time has come.
    async fn carry_on(&self, timer: &Timer, id: OperationId) -> Result<Done, Fault> {
        if timer.key.due > self.ports.clock().now() {
            return Ok(Done::CarriedOn(false, Some(timer.key.due)));
        }
        Ok(Done::CarriedOn(true, Box::pin(look(self.ports, timer, id)).await?))
    }

    /// A lease or a backoff ends at the timer's own time. What has no record is looked at when it is overdue.
    async fn hint_run(&self, timer: &Timer, told: Hint) -> Result<Done, Fault> {
        match self.ports.store().get::<Run>(&timer.tenant, told.run).await? {
            // Its turn has come before, and its look hints it ever less often.
            Some(run) if run.item.is_put_off() && run.item.is_due_before(timer.key.due) => Ok(Done::Nothing),
            // One that is over is hinted where its end may owe something: who ended it may have died before all was paid.
            Some(run) if !run.item.is_finished() || owes(&run.item) => {
                hint(self.ports, run.item.priority.into(), &told, timer.key.due).await?;
                Ok(Done::Hinted)
            }
            // A window that is over then: its message has no record before.
            None if Window::told_by(told.run).is_some() => {
                hint(self.ports, Priority::High.into(), &told, timer.key.due).await?;
                Ok(Done::Hinted)
            }
            _ => Ok(Done::Nothing),
        }
    }

    async fn leave(&self, bucket: Bucket, found: usize, bookmark: &mut Bookmark) -> Result<(), Fault> {
        if !self.may_leave(bucket, found).await? {
            return Ok(());
        }
        bookmark.leave(self.ports, bucket.minute).await?;
        if found == 0 { bookmark.skip_empty(self.ports, self.now).await } else { Ok(()) }
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

/// The timers of a page with their places, the occurrences of each job together and all else alone.
fn by_chain(page: Vec<Timer>) -> Vec<Vec<(usize, Timer)>> {
    let (mut chains, mut chain_of) = (Vec::<Vec<_>>::new(), HashMap::new());
    for (place, timer) in page.into_iter().enumerate() {
        let Obligation::Occurrence(job) = timer.key.obligation else {
            chains.push(vec![(place, timer)]);
            continue;
        };
        let chain = *chain_of.entry(job).or_insert(chains.len());
        if chain == chains.len() {
            chains.push(Vec::new());
        }
        chains[chain].push((place, timer));
    }
    chains
}

fn note(pass: &mut Pass, done: &Done) {
    match done {
        Done::Nothing | Done::Left => {}
        Done::Hinted => pass.hinted += 1,
        Done::Inspected => pass.looked_at += 1,
        Done::CarriedOn(is_looked_at, again) => {
            pass.looked_at += u64::from(*is_looked_at);
            pass.carries_on = [pass.carries_on, *again].into_iter().flatten().min();
        }
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
