//! The embedded store: everything in one process, in memory or in one durable file. What the items are, under which keys
//! they lie and what guards a write is said here, once; [`engine`] says how bytes are kept.

mod alarm;
mod backup;
mod codec;
mod discarding;
mod engine;
mod file;
mod keys;
mod memory;
mod reading;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant, base32, from_base32};
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::survey::Found;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};

use tokio::sync::Notify;

use self::alarm::Alarm;
pub use self::backup::{BackupError, Header};
pub use self::codec::Codec;
use self::codec::{Expiring, Stamp, stamp_of};
pub use self::discarding::{Corrupt, NotDiscarded};
pub use self::engine::Engine;
use self::engine::{Applied, Change, Entry, Made, Span, Table, Write};
pub use self::file::{
    Backup, File, OpenError, RestoreError, Restored, check_backup, durable, owner_only, restore_backup,
};
pub use self::memory::Memory;
use super::item::{Item, Listed};
use super::place;
use super::update::{self, Update};
use super::{
    Across, Bucket, Deleted, Discard, Everything, FirstBucket, Guard, Page, Part, Put, Remain, Remains, RunsPage, Seen,
    Store, Unreadable, Updated, Version,
};
use crate::Fault;

/// In memory: gone with the process. Answers at once, on any executor.
pub type MemoryStore = Embedded<Memory>;

/// In one file: what was acknowledged survives any crash.
pub type FileStore = Embedded<File>;

/// A key and a value, as the engine keeps them.
type RawEntry = (Vec<u8>, Vec<u8>);

pub struct Embedded<E> {
    engine: Arc<E>,
    codec: Codec,
    shards: u16,
    alarm: Alarm,
    /// The timer of an operation was put: nobody is hinted of it, and a host that sleeps would find it a minute later.
    operations: Notify,
    reads: AtomicU64,
    writes: AtomicU64,
    later: AtomicU64,
    corrupt: AtomicU64,
}

/// Something whose time is over, as it was found.
#[derive(Clone, Debug)]
pub struct Expired {
    entry: Vec<u8>,
    expiring: Expiring,
}

/// Some of what has expired, by when that was.
#[derive(Clone, Debug)]
pub struct ExpiredPage {
    pub found: Vec<Expired>,
    /// Behind what the next one begins; none at the end.
    pub next: Option<Vec<u8>>,
}

/// Where a page of a list ends.
#[derive(Clone, Copy)]
enum Most {
    Items(usize),
    /// Whether they can be read and count, or not.
    Looks(usize),
}

impl Most {
    fn is_reached(self, items: usize, looks: usize) -> bool {
        match self {
            Self::Items(most) => items >= most,
            Self::Looks(most) => looks >= most,
        }
    }
}

/// How a walk through all there is goes on: behind a key of a table, or with the table's first.
type Onward = (Table, Option<Vec<u8>>);

/// What a walk through some of a table came to.
struct Walked {
    items: usize,
    unreadable: Vec<Unreadable>,
    next: Option<Onward>,
}

/// What a store was asked for since it was opened. Counts of items, so that they mean the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Items looked up or walked over.
    pub reads: u64,
    /// Items written or erased; a conflict writes nothing.
    pub writes: u64,
    /// Times that something was made durable: one commit holds the writes of everybody who was waiting.
    pub commits: u64,
    /// Times that an item was left where it is because a later release wrote it.
    pub later: u64,
    /// Times that an item was met that is corrupt.
    pub corrupt: u64,
}

impl<E: Engine> Embedded<E> {
    /// One writer takes all there is, so that dividing a minute would only divide the walk.
    fn new(engine: E) -> Self {
        Self::divided(engine, 1)
    }

    fn divided(engine: E, shards: u16) -> Self {
        Self::over(Arc::new(engine), shards, Codec::Ours)
    }

    fn over(engine: Arc<E>, shards: u16, codec: Codec) -> Self {
        let [reads, writes, later, corrupt] = [0; 4].map(AtomicU64::new);
        let (alarm, operations) = (Alarm::default(), Notify::new());
        Self { engine, codec, shards, alarm, operations, reads, writes, later, corrupt }
    }

    /// The same items as a process sees them that reads and writes with this codec.
    #[must_use]
    pub fn seen_through(&self, codec: Codec) -> Self {
        Self::over(Arc::clone(&self.engine), self.shards, codec)
    }

    pub fn meter(&self) -> Meter {
        Meter {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            commits: self.engine.commits(),
            later: self.later.load(Ordering::Relaxed),
            corrupt: self.corrupt.load(Ordering::Relaxed),
        }
    }

    /// Where no letter stands: nobody makes one of it meanwhile, or the entry stays.
    async fn unlist_letter(&self, entry: Vec<u8>, run: Vec<u8>) -> Result<(), Fault> {
        let codec = self.codec;
        let compute = Box::new(move |standing: Option<&[u8]>| {
            let seen: Option<Seen<Run>> = standing.map(|bytes| codec.decode(bytes)).transpose()?;
            let is_letter = seen.is_some_and(|seen| seen.item.is_dead_letter());
            let made = Made { value: standing.map(<[u8]>::to_vec), entries: vec![no_letter(entry)] };
            Ok((!is_letter).then_some(made))
        });
        let write = Write { table: Table::Runs, key: run, change: Change::Computed(compute) };
        self.apply(write).await.map(|_applied| ())
    }

    /// When the earliest of all timers is due that can be read.
    pub fn first_timer(&self) -> Result<Option<Moment>, Fault> {
        let first = self.page(Table::Timers, &keys::all_timers(), Most::Items(1), |key, bytes| {
            self.timer_at(key, bytes).map(Some)
        })?;
        Ok(first.items.first().map(|timer| timer.key.due))
    }

    /// The earliest of all timers, whether it can be read or not: nothing is said of it, nor counted.
    pub fn first_timer_key(&self) -> Result<Option<TimerKey>, Fault> {
        let mut first = None;
        self.engine.walk(Table::Timers, &keys::all_timers(), |key, _| {
            first = keys::timer_of(key);
            Ok(if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(first)
    }

    /// Hands up to so many of a table's items on, one after the other.
    fn walk_some(
        &self,
        (table, behind): Onward,
        most: usize,
        mut read: impl FnMut(&[u8], &[u8]) -> Result<(), Fault>,
    ) -> Result<Walked, Fault> {
        let (mut items, mut unreadable, mut next) = (0, Vec::new(), table_behind(table).map(|table| (table, None)));
        self.engine.walk(table, &keys::whole_behind(behind), |key, value| {
            match read(key, value) {
                Err(why) if why.is_of_an_item() => unreadable.push(self.left(table, key, why)),
                read => read?,
            }
            items += 1;
            if items < most {
                return Ok(ControlFlow::Continue(()));
            }
            next = Some((table, Some(key.to_vec())));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(Walked { items, unreadable, next })
    }

    /// What of a table and those behind it cannot be read.
    fn unreadable_from(&self, begin: Onward) -> Result<Walked, Fault> {
        let mut walked = Walked { items: 0, unreadable: Vec::new(), next: Some(begin) };
        while walked.items < EVERYTHING_PAGE
            && let Some((table, behind)) = walked.next.take()
        {
            let read = |key: &[u8], value: &[u8]| reading::read(self.codec, table, key, value).unwrap_or(Ok(()));
            let more = self.walk_some((table, behind), EVERYTHING_PAGE - walked.items, read)?;
            walked.items += more.items;
            walked.unreadable.extend(more.unreadable);
            walked.next = more.next;
        }
        Ok(walked)
    }

    /// Deletes what has expired at `now`, at most so many items, and says how many.
    pub async fn sweep_expired(&self, now: Moment, most: usize) -> Result<usize, Fault> {
        self.delete_expired(self.expired(now, None, most)?.found).await
    }

    /// A page of what has expired at `now`, behind the one before: for whoever keeps it elsewhere before it is deleted, and may leave some of it.
    /// It costs what it finds, whatever else the store holds. An entry that cannot be read is passed over: it keeps nothing else from its end.
    pub fn expired(&self, now: Moment, behind: Option<Vec<u8>>, most: usize) -> Result<ExpiredPage, Fault> {
        let entries = self.entries(Table::Expiring, &keys::expired(now, behind), most)?;
        let next = entries.last().filter(|_| entries.len() == most).map(|(entry, _)| entry.clone());
        let readable = entries.into_iter().filter_map(|(entry, bytes)| Some((entry, Expiring::of_bytes(&bytes).ok()?)));
        Ok(ExpiredPage { found: readable.map(|(entry, expiring)| Expired { entry, expiring }).collect(), next })
    }

    /// The run that expired; none where it was another thing, or the run was written again since. One that this release cannot read is a
    /// later release's, whose expiry it is.
    pub fn expired_run(&self, expired: &Expired) -> Result<Option<Run>, Fault> {
        let Expiring { version, table, ref key, .. } = expired.expiring;
        if Table::numbered(table) != Some(Table::Runs) {
            return Ok(None);
        }
        let seen = self.read(Table::Runs, key, |bytes| self.codec.decode::<Run>(bytes))?;
        Ok(seen.filter(|seen| seen.version == version).map(|seen| seen.item))
    }

    /// Deletes what was found expired, side by side, so that many deletions share a commit; and says how many there were.
    pub async fn delete_expired(&self, expired: Vec<Expired>) -> Result<usize, Fault> {
        let deletions = stream::iter(expired).map(|each| self.delete_one(each)).buffer_unordered(DELETED_AT_ONCE);
        deletions.try_fold(0, |deleted, is_deleted| async move { Ok(deleted + usize::from(is_deleted)) }).await
    }

    /// An item that was written again since stands under another expiry, or under this one as another version; and so does one
    /// that was gone and made again, for no two lives share a version: then only this entry goes, and only if it is still the
    /// one that was seen. With a run goes what lies beneath it, and with a job too.
    async fn delete_one(&self, Expired { entry, expiring }: Expired) -> Result<bool, Fault> {
        let Some(table) = Table::numbered(expiring.table) else { return Ok(false) };
        if expiring.version == IMMUTABLE && self.read(Table::Expiring, &entry, |_| Ok(()))?.is_none() {
            return Ok(false); // it was taken away meanwhile, and another that stands there has no version to be known by
        }
        let seen = engine::Guard::Stamped(Stamp::Version(expiring.version));
        let guard = if expiring.version == IMMUTABLE { engine::Guard::Anything } else { seen };
        let listed = Some(expiring.listed).filter(|key| !key.is_empty());
        let mut entries = vec![Entry { table: Table::Expiring, key: entry.clone(), value: None }];
        entries.extend(listed.iter().filter_map(|key| keys::letter_listed_at(key)).map(no_letter));
        entries.extend(listed.map(|key| Entry { table: Table::RunsByTime, key, value: None }));
        match table {
            Table::Runs => entries.extend(self.all_in(keys::beneath_a_run(&expiring.key))?),
            Table::Heads => entries.extend(self.bodies_of(&expiring.key)?),
            _ => {}
        }
        let change = Change::Guarded(guard, Made { value: None, entries });
        if self.apply(Write { table, key: expiring.key, change }).await?.is_made() {
            return Ok(true);
        }
        let change = Change::Guarded(seen, Made::default());
        self.apply(Write { table: Table::Expiring, key: entry, change }).await?;
        Ok(false)
    }

    /// The bodies that lie beside a job: nobody asks for them when the job is gone, and whoever makes it anew finds it gone with them, and writes
    /// his own. A run that is kept for longer may have been given one of them: where any is left they stay, for ever.
    fn bodies_of(&self, job: &[u8]) -> Result<Vec<Entry>, Fault> {
        let beneath = |table| (table, keys::beneath(job.to_vec()));
        let mut has_runs = false;
        let (runs, span) = beneath(Table::Runs);
        self.engine.walk(runs, &span, |_, _| {
            has_runs = true;
            Ok(ControlFlow::Break(()))
        })?;
        if has_runs { Ok(Vec::new()) } else { self.all_in(vec![beneath(Table::Bodies)]) }
    }

    /// What lies there, erased.
    fn all_in(&self, spans: Vec<(Table, Span)>) -> Result<Vec<Entry>, Fault> {
        let mut found = Vec::new();
        for (table, span) in spans {
            self.engine.walk(table, &span, |key, _| {
                found.push(Entry { table, key: key.to_vec(), value: None });
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(found)
    }

    /// Waits until the timer of an operation is put, or returns at once where one was since the last wait.
    pub async fn operation_promised(&self) {
        self.operations.notified().await;
    }

    /// Waits until there is a timer due before `t`, and says when. A host that sleeps until the first timer wakes by this
    /// when an earlier one is put.
    pub async fn earlier_than(&self, t: Moment) -> Result<Moment, Fault> {
        let waiting = self.alarm.set(t);
        loop {
            // Listening begins before looking, so that what is put between the two is heard.
            let rung = waiting.rung();
            if let Some(first) = self.first_timer()?.filter(|first| *first < t) {
                return Ok(first);
            }
            rung.await;
        }
    }

    fn read<T>(
        &self,
        table: Table,
        key: &[u8],
        decode: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.engine.get(table, key, decode)
    }

    /// Some items of a span; what decodes to nothing is left out, and what cannot be read is named.
    fn page<T>(
        &self,
        table: Table,
        span: &Span,
        most: Most,
        decode: impl Fn(&[u8], &[u8]) -> Result<Option<T>, Fault>,
    ) -> Result<Page<T>, Fault> {
        let (mut page, mut walked) = (Page::default(), 0);
        if most.is_reached(0, 0) || span.is_empty() {
            return Ok(page);
        }
        self.engine.walk(table, span, |key, value| {
            walked += 1;
            match decode(key, value) {
                Ok(item) => page.items.extend(item),
                Err(why) if why.is_of_an_item() => page.unreadable.push(self.left(table, key, why)),
                Err(fault) => return Err(fault),
            }
            page.more = most.is_reached(page.items.len(), walked);
            Ok(if page.more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        self.reads.fetch_add(walked as u64, Ordering::Relaxed);
        Ok(page)
    }

    fn listed<T: Listed>(&self, tenant: &Tenant, span: &place::Span, most: Most) -> Result<Page<T>, Fault> {
        let (table, span) = keys::span(tenant, T::KIND, span);
        self.page(table, &span, most, |key, bytes| {
            let listed = self.codec.decode::<T>(bytes).map(|seen| seen.item.numbered(keys::number_in(key)));
            listed.map(|item| Some(item).filter(T::counts))
        })
    }

    /// Keys and values as they are. They are not read from while others are: two tables are locked only by who writes.
    fn entries(&self, table: Table, span: &Span, limit: usize) -> Result<Vec<RawEntry>, Fault> {
        let mut found = Vec::new();
        if limit == 0 || span.is_empty() {
            return Ok(found);
        }
        self.engine.walk(table, span, |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.reads.fetch_add(found.len() as u64, Ordering::Relaxed);
        Ok(found)
    }

    fn listed_run(&self, key: &[u8]) -> Result<Option<Run>, Fault> {
        match self.read(Table::Runs, key, |bytes| self.codec.decode::<Run>(bytes)) {
            Ok(seen) => Ok(seen.map(|seen| seen.item)),
            Err(why) if why.is_of_an_item() => {
                self.left(Table::Runs, key, why);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// An item that this release cannot read is another's to read: it stops nothing that lies beside it.
    fn left(&self, table: Table, key: &[u8], why: Fault) -> Unreadable {
        let counter = if matches!(why, Fault::Later { .. }) { &self.later } else { &self.corrupt };
        counter.fetch_add(1, Ordering::Relaxed);
        let timer = if table == Table::Timers { keys::timer_of(key) } else { None };
        let key = format!("{} ({})", keys::spelled(table, key), key.escape_ascii());
        tracing::warn!(key, %why, "an item that cannot be read is left where it is");
        Unreadable { key, timer, why }
    }

    /// What is read alone is counted and named as well, where it cannot be.
    fn named(&self, table: Table, key: &[u8], why: Fault) -> Fault {
        if why.is_of_an_item() { self.left(table, key, why).why } else { why }
    }

    /// Where it lies is where it stands: it may be the copy of what a later release wrote elsewhere.
    fn timer_at(&self, key: &[u8], value: &[u8]) -> Result<Timer, Fault> {
        let timer = self.codec.decode_timer(value)?;
        Ok(Timer { key: keys::timer_of(key).unwrap_or(timer.key), ..timer })
    }

    /// Which shard a key lies in; one that is none of ours lies in the first.
    fn shard_of(&self, key: &[u8]) -> u16 {
        keys::timer_of(key).map_or(0, |key| key.obligation.shard(self.shards))
    }

    async fn apply(&self, write: Write) -> Result<Applied, Fault> {
        let applied = self.engine.apply(write).await?;
        if applied.is_made() {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(applied)
    }

    fn decode_standing<T: Item>(&self, standing: Option<Vec<u8>>) -> Result<Option<Seen<T>>, Fault> {
        standing.map(|bytes| self.codec.decode(&bytes)).transpose()
    }

    /// Answers with the timer that stands there afterwards.
    async fn put_timer_guarded(&self, timer: &Timer, guard: engine::Guard) -> Result<Timer, Fault> {
        let made = Made { value: Some(self.codec.encode_timer(timer)?), entries: Vec::new() };
        let change = Change::Guarded(guard, made);
        match self.apply(Write { table: Table::Timers, key: keys::timer(&timer.key), change }).await? {
            Applied::Conflict(Some(standing)) => self.timer_at(&keys::timer(&timer.key), &standing),
            Applied::Done | Applied::Computed(_) | Applied::Conflict(None) => {
                self.alarm.put(timer.key.due);
                if matches!(timer.key.obligation, Obligation::Operation(_)) {
                    self.operations.notify_one();
                }
                Ok(timer.clone())
            }
        }
    }
}

/// Takes a run out of the list of dead letters.
fn no_letter(key: Vec<u8>) -> Entry {
    Entry { table: Table::Letters, key, value: None }
}

/// The version under which the list of what expires knows what is written once.
const IMMUTABLE: Version = Version(0);

/// Where an item lies, and what leads there: all that is written of it.
#[derive(Clone)]
struct Spot {
    tenant: Tenant,
    table: Table,
    key: Vec<u8>,
    codec: Codec,
}

impl Spot {
    fn of<T: Item>(tenant: &Tenant, key: &T::Key, codec: Codec) -> Self {
        let (table, key) = keys::item::<T>(tenant, key);
        Self { tenant: tenant.clone(), table, key, codec }
    }

    /// The item as this guard's write makes it. Where a run is listed never changes: its entry is written once, at its birth.
    fn made<T: Item>(&self, item: &T, guard: Guard, version: Version) -> Result<Made, Fault> {
        let value = Some(self.codec.encode(item, version)?);
        let mut entries = Vec::new();
        if guard == Guard::Absent {
            entries.extend(self.listed(item).map(|key| Entry {
                table: Table::RunsByTime,
                key,
                value: Some(self.key.clone()),
            }));
        }
        entries.extend(self.letter(item).filter(|entry| entry.value.is_some() || guard != Guard::Absent));
        entries.extend(self.expiring(item, version));
        Ok(Made { value, entries })
    }

    fn unmade<T: Item>(&self, item: &T) -> Made {
        let listed = self.listed(item).map(|key| Entry { table: Table::RunsByTime, key, value: None });
        let expiring = self.expiring(item, IMMUTABLE).map(|entry| Entry { value: None, ..entry });
        let letter = self.letter(item).map(|entry| Entry { value: None, ..entry });
        Made { value: None, entries: listed.into_iter().chain(letter).chain(expiring).collect() }
    }

    fn listed<T: Item>(&self, item: &T) -> Option<Vec<u8>> {
        item.index().map(|indexed| keys::run_by_time(&self.tenant, indexed.run))
    }

    /// Whether a run stands in the list of dead letters, or no longer does.
    fn letter<T: Item>(&self, item: &T) -> Option<Entry> {
        let indexed = item.index()?;
        let key = keys::letter(&self.tenant, indexed.run);
        let value = indexed.is_letter().then(|| self.key.clone());
        Some(Entry { table: Table::Letters, key, value })
    }

    /// An entry for each expiry that the item was ever given: one that no longer holds is passed over when its time comes.
    fn expiring<T: Item>(&self, item: &T, version: Version) -> Option<Entry> {
        let at = item.expires_at()?;
        let version = if T::IMMUTABLE { IMMUTABLE } else { version };
        let listed = self.listed(item).unwrap_or_default();
        let value = Expiring { version, table: self.table.number(), key: self.key.clone(), listed }.to_bytes();
        Some(Entry { table: Table::Expiring, key: keys::expiring(at, self.table, &self.key), value: Some(value) })
    }

    /// What an update makes of what stands here.
    fn updated<U: Update>(&self, update: &U, first: Version, standing: Option<&[u8]>) -> Result<Option<Made>, Fault> {
        let seen: Option<Seen<U::Item>> = standing.map(|bytes| self.codec.decode(bytes)).transpose()?;
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        let Some(item) = seen.map(|seen| seen.item).or_else(|| update.begin()) else { return Ok(None) };
        update.apply(&item).map(|item| self.made(&item, guard, guard.next(first))).transpose()
    }

    fn deleted<T: Item>(&self, seen: Version, standing: Option<&[u8]>) -> Result<Option<Made>, Fault> {
        let standing: Option<Seen<T>> = standing.map(|bytes| self.codec.decode(bytes)).transpose()?;
        Ok(standing.filter(|standing| standing.version == seen).map(|standing| self.unmade(&standing.item)))
    }

    fn write(self, change: Change) -> Write {
        Write { table: self.table, key: self.key, change }
    }
}

impl<E: Engine> Store for Embedded<E> {
    fn shards(&self) -> u16 {
        self.shards
    }

    async fn get<T: Item>(&self, tenant: &Tenant, key: T::Key) -> Result<Option<Seen<T>>, Fault> {
        let (table, key) = keys::item::<T>(tenant, &key);
        self.read(table, &key, |bytes| self.codec.decode(bytes)).map_err(|why| self.named(table, &key, why))
    }

    async fn put<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        let first = if T::IMMUTABLE { Version::ONLY } else { self.engine.first_version() };
        let version = if T::IMMUTABLE { Version::ONLY } else { guard.next(first) };
        let spot = Spot::of::<T>(tenant, &key, self.codec);
        let made = spot.made(item, guard, version)?;
        let guard = match guard {
            Guard::Absent => engine::Guard::Nothing,
            Guard::Seen(_) if T::IMMUTABLE => engine::Guard::Something,
            Guard::Seen(seen) => engine::Guard::Stamped(stamp_of::<T>(seen)),
        };
        match self.apply(spot.write(Change::Guarded(guard, made))).await? {
            Applied::Done | Applied::Computed(_) => Ok(Put::Written(version)),
            Applied::Conflict(standing) => self.decode_standing(standing).map(Put::Conflict),
        }
    }

    async fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> Result<Updated<U::Item>, Fault> {
        update::check(update)?;
        let (spot, update) = (Spot::of::<U::Item>(tenant, &key, self.codec), update.clone());
        let (here, first) = (spot.clone(), self.engine.first_version());
        let compute = Box::new(move |standing: Option<&[u8]>| here.updated(&update, first, standing));
        match self.apply(spot.write(Change::Computed(compute))).await? {
            Applied::Computed(Some(made)) => self.codec.decode(&made).map(Updated::Done),
            Applied::Conflict(standing) => self.decode_standing(standing).map(Updated::Refused),
            Applied::Done | Applied::Computed(None) => Ok(Updated::Refused(None)),
        }
    }

    async fn delete<T: Item>(&self, tenant: &Tenant, key: T::Key, seen: Version) -> Result<Deleted<T>, Fault> {
        let spot = Spot::of::<T>(tenant, &key, self.codec);
        let here = spot.clone();
        let compute = Box::new(move |standing: Option<&[u8]>| here.deleted::<T>(seen, standing));
        match self.apply(spot.write(Change::Computed(compute))).await? {
            Applied::Done | Applied::Computed(_) => Ok(Deleted::Done),
            Applied::Conflict(standing) => self.decode_standing(standing).map(Deleted::Conflict),
        }
    }

    async fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> Result<Page<T>, Fault> {
        let span = T::span(&within, past.as_ref());
        span.map_or(Ok(Page::default()), |span| self.listed(tenant, &span, Most::Items(limit)))
    }

    async fn sample<T: Listed>(&self, tenant: &Tenant, within: T::Within, looks: usize) -> Result<Page<T>, Fault> {
        let span = T::span(&within, None);
        span.map_or(Ok(Page::default()), |span| self.listed(tenant, &span, Most::Looks(looks)))
    }

    async fn runs_across(
        &self,
        tenant: &Tenant,
        _which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Option<RunsPage>, Fault> {
        let span = keys::runs_by_time(tenant, &window, before);
        let (mut page, listed) = (RunsPage::default(), self.entries(Table::RunsByTime, &span, limit)?);
        page.next = listed.last().filter(|_| listed.len() == limit).and_then(|(entry, _)| keys::run_listed_in(entry));
        for (_, key) in &listed {
            page.runs.extend(self.listed_run(key)?);
        }
        Ok(Some(page))
    }

    /// By the run's own word: a release that did not keep this list may have left entries of what somebody has seen to, or of what is gone. They are
    /// erased, some at a time. One that cannot be read is a letter until somebody can say that it is none.
    async fn oldest_letter(&self) -> Result<Option<Moment>, Fault> {
        for (entry, run) in self.entries(Table::Letters, &keys::letters(), LETTERS)? {
            match self.read(Table::Runs, &run, |bytes| self.codec.decode::<Run>(bytes)) {
                Ok(Some(seen)) if seen.item.is_dead_letter() => return Ok(Some(seen.item.key.at)),
                Err(why) if why.is_of_an_item() => return Ok(keys::instant_of(&entry)),
                Ok(_no_letter) => self.unlist_letter(entry, run).await?,
                Err(fault) => return Err(fault),
            }
        }
        Ok(None)
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        let bytes = keys::timer(key);
        self.read(Table::Timers, &bytes, |value| self.timer_at(&bytes, value))
    }

    async fn put_timer(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.put_timer_guarded(timer, engine::Guard::NothingLater(timer.stamp.generation)).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.put_timer_guarded(timer, engine::Guard::Nothing).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        let guard = engine::Guard::Stamped(Stamp::Timer(seen));
        let change = Change::Guarded(guard, Made::default());
        Ok(self.apply(Write { table: Table::Timers, key: keys::timer(key), change }).await?.is_made())
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Page<Timer>, Fault> {
        let Some(span) = keys::timers(bucket.minute, after, until).filter(|_| bucket.shard < self.shards) else {
            return Ok(Page::default());
        };
        // A single shard holds them all, and asking which one costs a hash.
        let is_inside = |timer: &Timer| self.shards == 1 || timer.key.obligation.shard(self.shards) == bucket.shard;
        let decode = |key: &[u8], bytes: &[u8]| self.timer_at(key, bytes).map(|timer| Some(timer).filter(is_inside));
        let mut page = self.page(Table::Timers, &span, Most::Items(limit), decode)?;
        let shard = |timer: &TimerKey| timer.obligation.shard(self.shards);
        page.unreadable.retain(|left| left.timer.as_ref().map_or(0, shard) == bucket.shard);
        Ok(page)
    }

    /// One part holds them all: jobs, then runs, then what cannot be read of all else.
    async fn everything(&self, part: Part, behind: Option<String>) -> Result<Everything, Fault> {
        if part.number > 0 {
            return Ok(Everything::default());
        }
        let onward = behind.as_deref().and_then(keys::spelled_in).unwrap_or((Table::Heads, Vec::new()));
        let onward = (onward.0, Some(onward.1).filter(|key| !key.is_empty()));
        let (mut heads, mut runs) = (Vec::new(), Vec::new());
        let walked = match onward.0 {
            Table::Heads => self.walk_some(onward, EVERYTHING_PAGE, |_, value| {
                self.codec.decode(value).map(|Seen { item, .. }| heads.push(item))
            }),
            Table::Runs => self.walk_some(onward, EVERYTHING_PAGE, |_, value| {
                self.codec.decode(value).map(|Seen { item, .. }| runs.push(item))
            }),
            _ => self.unreadable_from(onward),
        }?;
        let next = walked.next.map(|(table, behind)| keys::spelled(table, &behind.unwrap_or_default()));
        Ok(Everything { heads, runs, unreadable: walked.unreadable, next, ..Everything::default() })
    }

    /// Table by table, what opens doors first.
    async fn remains(&self, tenant: &Tenant, behind: Option<String>) -> Result<Remains, Fault> {
        let (mut turn, mut past) = behind.as_deref().and_then(turn_in).unwrap_or_default();
        let (mut page, mut walked) = (Remains::default(), 0);
        while let Some(&table) = keys::WHERE_TENANTS_LIE.get(turn) {
            let mut last = None;
            self.engine.walk(table, &keys::where_a_tenant_lies(table, tenant, past.take()), |key, value| {
                walked += 1;
                if is_of(tenant, table, key, value) {
                    page.lying.push(Remain(format!("{}:{}", table.number(), base32(key))));
                }
                if walked < REMAINS_WALKED && page.lying.len() < REMAINS_PAGE {
                    return Ok(ControlFlow::Continue(()));
                }
                last = Some(key.to_vec());
                Ok(ControlFlow::Break(()))
            })?;
            if let Some(last) = last {
                page.next = Some(format!("{turn}:{}", base32(&last)));
                break;
            }
            turn += 1;
        }
        self.reads.fetch_add(walked, Ordering::Relaxed);
        Ok(page)
    }

    async fn erase(&self, Remain(remain): &Remain) -> Result<(), Fault> {
        let place = turn_in(remain).and_then(|(number, key)| Some((u8::try_from(number).ok()?, key?)));
        let place = place.and_then(|(number, key)| Some((Table::numbered(number)?, key)));
        let Some((table, key)) = place else { return Err(Fault::illegal("the store", "what is erased lies nowhere")) };
        let change = Change::Guarded(engine::Guard::Anything, Made::default());
        self.apply(Write { table, key, change }).await.map(|_applied| ())
    }

    /// By its key alone: it may be one that cannot be read.
    async fn first_bucket(&self, shard: u16, from: i64) -> Result<FirstBucket, Fault> {
        let mut first = FirstBucket::Nowhere;
        self.engine.walk(Table::Timers, &keys::timers_from(from), |key, _| {
            let inside = keys::due_of(key).filter(|_| self.shards == 1 || self.shard_of(key) == shard);
            let Some(due) = inside else { return Ok(ControlFlow::Continue(())) };
            first = FirstBucket::At(pace::minute_of(due));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// One segment holds them all.
    async fn survey(&self, segment: Part, behind: Option<String>) -> Result<Found, Fault> {
        let mut found = Found::default();
        if segment.number > 0 {
            return Ok(found);
        }
        let listed = self.entries(Table::Timers, &keys::timers_behind(behind.as_deref()), SURVEY_PAGE)?;
        for (key, _) in &listed {
            let Some(minute) = keys::due_of(key).map(pace::minute_of) else { continue };
            let first = found.first.entry(self.shard_of(key)).or_insert(minute);
            *first = minute.min(*first);
        }
        found.timers = listed.len() as u64;
        found.next = listed.last().filter(|_| listed.len() == SURVEY_PAGE).map(|(key, _)| base32(key));
        Ok(found)
    }

    async fn discard<T: Item>(&self, tenant: &Tenant, key: T::Key, what: Discard) -> Result<(), Fault> {
        let (spot, codec) = (Spot::of::<T>(tenant, &key, self.codec), self.codec);
        let is_discarded = move |bytes: &[u8]| codec.decode::<T>(bytes).is_err_and(|why| what.admits(&why));
        let compute =
            Box::new(move |standing: Option<&[u8]>| Ok(standing.is_some_and(is_discarded).then(Made::default)));
        self.apply(spot.write(Change::Computed(compute))).await.map(|_applied| ())
    }

    async fn copy_timer(&self, from: &TimerKey, to: &TimerKey) -> Result<(), Fault> {
        let Some(value) = self.engine.get(Table::Timers, &keys::timer(from), |bytes| Ok(bytes.to_vec()))? else {
            return Ok(());
        };
        let change = Change::Guarded(engine::Guard::Nothing, Made { value: Some(value), entries: Vec::new() });
        self.apply(Write { table: Table::Timers, key: keys::timer(to), change }).await?;
        self.alarm.put(to.due);
        Ok(())
    }

    async fn discard_timer(&self, key: &TimerKey, copy: &TimerKey) -> Result<bool, Fault> {
        let copied = self.engine.get(Table::Timers, &keys::timer(copy), |bytes| Ok(bytes.to_vec()))?;
        let codec = self.codec;
        let is_discarded = move |bytes: &[u8]| {
            copied.as_deref() == Some(bytes) && codec.decode_timer(bytes).is_err_and(|why| why.is_of_an_item())
        };
        let compute =
            Box::new(move |standing: Option<&[u8]>| Ok(standing.is_some_and(&is_discarded).then(Made::default)));
        let write = Write { table: Table::Timers, key: keys::timer(key), change: Change::Computed(compute) };
        Ok(self.apply(write).await?.is_made())
    }
}

/// Whether something is a tenant's, where that is not said by the span that is walked.
fn is_of(tenant: &Tenant, table: Table, key: &[u8], value: &[u8]) -> bool {
    match table {
        Table::Timers => Codec::tenant_of_timer(value).as_ref() == Some(tenant),
        Table::Expiring => keys::expires_of(key, tenant),
        Table::Letters => keys::is_letter_of(key, tenant),
        _ => true,
    }
}

/// Which of several tables, and past which key there.
fn turn_in(text: &str) -> Option<(usize, Option<Vec<u8>>)> {
    let (turn, key) = text.split_once(':')?;
    Some((turn.parse().ok()?, Some(from_base32(key)?)))
}

/// With which table all there is goes on behind one. The cursors are asked for one by one.
fn table_behind(table: Table) -> Option<Table> {
    let order =
        [Table::Heads, Table::Runs, Table::Attempts, Table::Bodies, Table::Documents, Table::Items, Table::Timers];
    order.into_iter().skip_while(|each| *each != table).nth(1)
}

/// Items that such a page holds.
const EVERYTHING_PAGE: usize = 1000;
/// What a page of a tenant's remains holds at most, and what is walked past for it.
const REMAINS_PAGE: usize = 500;
const REMAINS_WALKED: u64 = 20_000;
/// The first of them is one, but for a store that a former release has written to.
const LETTERS: usize = 100;
/// Timers that a page of the search holds.
const SURVEY_PAGE: usize = 1000;
/// Deletions of what has expired that wait for one commit: enough to share it, few enough that nobody who writes waits long behind them.
const DELETED_AT_ONCE: usize = 100;

#[cfg(test)]
mod tests {
    use minutehand_domain::id::JobId;
    use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::State;

    use super::*;

    /// Removed: such a key is due at once. The sweep began in 1970, and went through thirty million minutes at each start.
    #[tokio::test]
    async fn what_lies_under_a_key_that_begins_with_no_instant_lies_in_no_bucket() {
        let store = MemoryStore::in_memory();
        let timer = timer_at(1_800_000_000);
        store.put_timer(&timer).await.unwrap();
        for key in [&b"\0"[..], b"", b"a foreign key"] {
            let made = Made { value: Some(b"foreign".to_vec()), entries: Vec::new() };
            let change = Change::Guarded(engine::Guard::Nothing, made);
            store.apply(Write { table: Table::Timers, key: key.to_vec(), change }).await.unwrap();
        }

        let first = store.first_bucket(0, 0).await.unwrap();
        let found = store.survey(Part { number: 0, of: 1 }, None).await.unwrap();

        assert_eq!(first, FirstBucket::At(timer.key.minute()));
        assert_eq!(found.first.get(&0), Some(&timer.key.minute()));
    }

    #[tokio::test]
    async fn the_first_bucket_from_a_minute_on_is_not_before_it() {
        let store = MemoryStore::in_memory();
        let (early, late) = (timer_at(1_800_000_000), timer_at(1_800_006_000));
        for timer in [&early, &late] {
            store.put_timer(timer).await.unwrap();
        }

        for (from, first) in [
            (i64::MIN, FirstBucket::At(early.key.minute())),
            (early.key.minute(), FirstBucket::At(early.key.minute())),
            (early.key.minute() + 1, FirstBucket::At(late.key.minute())),
            (late.key.minute() + 1, FirstBucket::Nowhere),
            (i64::MAX, FirstBucket::Nowhere),
        ] {
            assert_eq!(store.first_bucket(0, from).await, Ok(first), "from {from}");
        }
    }

    /// Removed: the list by instant, for a walk over all there is. A sweep of a million items that expire later read each of them.
    #[tokio::test]
    async fn a_sweep_reads_what_has_expired_whatever_else_there_is() {
        let (store, now) = (MemoryStore::in_memory(), Moment::from_secs(1_800_000_000));
        for number in 0..10_000 {
            let until = if number < 10 { now } else { now + pace::TICK };
            answered(&store, number, until).await;
        }
        let before = store.meter();

        let deleted = store.sweep_expired(now, 1000).await;
        let nothing = store.sweep_expired(now, 1000).await;

        let after = store.meter();
        assert_eq!((deleted, nothing), (Ok(10), Ok(0)));
        assert_eq!((after.reads - before.reads, after.writes - before.writes), (10, 10));
    }

    /// Removed: that the entry goes with its run. Those of runs that nobody ever looked at stayed for ever.
    #[tokio::test]
    async fn a_letter_that_has_expired_is_in_no_list() {
        let (store, at) = (MemoryStore::in_memory(), Moment::from_secs(1_800_000_000));
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), at);
        let run = Run { state: State::TimedOut { at }, ..Run::new(Tenant::deployment(), key, Priority::Normal) };
        assert!(store.put(&run.tenant, key, &run, Guard::Absent).await.unwrap().is_written());
        let listed = || store.entries(Table::Letters, &keys::letters(), 10).unwrap().len();
        assert_eq!(listed(), 1);

        assert_eq!(store.sweep_expired(Moment::END, 10).await, Ok(1));

        assert_eq!(listed(), 0);
    }

    /// As a release leaves them that does not keep the list; and one that a later release wrote. Removed: that what is no letter is taken out; each scrape
    /// read all of it again.
    #[tokio::test]
    async fn what_is_no_letter_any_more_leaves_the_list_and_what_cannot_be_read_stays_in_it() {
        let (store, at) = (MemoryStore::in_memory(), Moment::from_secs(1_800_000_000));
        let timed_out = |number: u8| {
            let key = RunKey::occurrence(JobId::from_bytes([number; 16]), at + pace::TICK * number.into());
            Run { state: State::TimedOut { at }, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
        };
        let cancelled = Run { state: State::Cancelled { at }, ..timed_out(1) };
        for (run, store) in [(&cancelled, &store), (&timed_out(3), &store.seen_through(Codec::Later))] {
            assert!(store.put(&run.tenant, run.key, run, Guard::Absent).await.unwrap().is_written());
        }
        for run in [&cancelled, &timed_out(2)] {
            let key = keys::item::<Run>(&run.tenant, &run.key).1;
            let entry = Entry { table: Table::Letters, key: keys::letter(&run.tenant, run.key), value: Some(key) };
            let made = Made { value: Some(b"another".to_vec()), entries: vec![entry] };
            let change = Change::Guarded(engine::Guard::Anything, made);
            store.apply(Write { table: Table::Items, key: vec![0], change }).await.unwrap();
        }
        let listed = || store.entries(Table::Letters, &keys::letters(), 10).unwrap().len();
        assert_eq!(listed(), 3);

        assert_eq!(store.oldest_letter().await, Ok(Some(timed_out(3).key.at)));

        assert_eq!((listed(), store.meter().later), (1, 0));
        let left = store.get::<Run>(&cancelled.tenant, cancelled.key).await.unwrap().map(|seen| seen.item);
        assert_eq!(left, Some(cancelled), "it is as it was");
    }

    async fn answered(store: &MemoryStore, number: u64, until: Moment) {
        let run = RunKey::manual(JobId::from_bytes([7; 16]), until, number);
        let (name, fingerprint) = (AskedName::of(&number.to_string()), Fingerprint::of("x", "", "").unwrap());
        let asked = Asked { name, fingerprint, run, until: Some(until) };
        let put = store.put(&Tenant::deployment(), name, &asked, Guard::Absent).await.unwrap();
        assert!(put.is_written());
    }

    fn timer_at(seconds: i64) -> Timer {
        let due = Moment::from_secs(seconds);
        let stamp = TimerStamp { generation: 1, written: due };
        Timer {
            key: TimerKey::occurrence(JobId::from_bytes([7; 16]), due),
            tenant: Tenant::deployment(),
            stamp,
            parent: None,
        }
    }
}
