//! The embedded store: everything in one process, in memory or in one durable file. What the items are, under which keys
//! they lie and what guards a write is said here, once; [`engine`] says how bytes are kept.

mod alarm;
mod codec;
mod engine;
mod file;
mod keys;
mod memory;

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use minutehand_domain::Moment;
use minutehand_domain::body::{Digest, Json};
use minutehand_domain::document::Document;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Attempt, Run};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::alarm::Alarm;
use self::codec::Stamp;
pub use self::engine::Engine;
use self::engine::{Applied, Entry, Span, Table, Write};
pub use self::file::{File, OpenError};
pub use self::memory::Memory;
use super::{Across, Bucket, Cursor, Guard, Put, Seen, Store};
use crate::Fault;

/// In memory: gone with the process. Answers at once, on any executor.
pub type MemoryStore = Embedded<Memory>;

/// In one file: what was acknowledged survives any crash.
pub type FileStore = Embedded<File>;

pub struct Embedded<E> {
    engine: E,
    shards: u16,
    alarm: Alarm,
    reads: AtomicU64,
    writes: AtomicU64,
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
}

impl<E: Engine> Embedded<E> {
    /// One writer takes all there is, so that dividing a minute would only divide the walk.
    fn new(engine: E) -> Self {
        Self::divided(engine, 1)
    }

    fn divided(engine: E, shards: u16) -> Self {
        Self { engine, shards, alarm: Alarm::default(), reads: AtomicU64::new(0), writes: AtomicU64::new(0) }
    }

    pub fn meter(&self) -> Meter {
        Meter {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            commits: self.engine.commits(),
        }
    }

    /// When the earliest of all timers is due.
    pub fn first_timer(&self) -> Result<Option<Moment>, Fault> {
        let first = self.page(Table::Timers, &keys::all_timers(), 1, |bytes| codec::timer(bytes).map(Some))?;
        Ok(first.first().map(|timer| timer.key.due))
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

    /// Up to `limit` items of a span; what decodes to nothing is left out.
    fn page<T>(
        &self,
        table: Table,
        span: &Span,
        limit: usize,
        decode: impl Fn(&[u8]) -> Result<Option<T>, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let (mut page, mut walked) = (Vec::new(), 0);
        if limit == 0 || span.is_empty() {
            return Ok(page);
        }
        self.engine.walk(table, span, |bytes| {
            walked += 1;
            page.extend(decode(bytes)?);
            Ok(if page.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.reads.fetch_add(walked, Ordering::Relaxed);
        Ok(page)
    }

    async fn apply(&self, write: Write) -> Result<Applied, Fault> {
        let applied = self.engine.apply(write).await?;
        if applied == Applied::Done {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(applied)
    }

    /// Writes the next version of an item, if the guard has seen the one that stands there.
    async fn put<T>(&self, table: Table, key: Vec<u8>, item: &T, guard: Guard) -> Result<Put<T>, Fault>
    where
        T: Serialize + DeserializeOwned + Sync,
    {
        self.put_with_entry(table, key, item, guard, None).await
    }

    async fn put_with_entry<T>(
        &self,
        table: Table,
        key: Vec<u8>,
        item: &T,
        guard: Guard,
        entry: Option<Entry>,
    ) -> Result<Put<T>, Fault>
    where
        T: Serialize + DeserializeOwned + Sync,
    {
        let version = guard.next();
        let value = codec::encode(Stamp::Version(version), item)?;
        let guard = match guard {
            Guard::Absent => engine::Guard::Nothing,
            Guard::Seen(seen) => engine::Guard::Stamped(Stamp::Version(seen)),
        };
        match self.apply(Write { table, key, guard, value: Some(value), entry }).await? {
            Applied::Done => Ok(Put::Written(version)),
            Applied::Conflict(standing) => Ok(Put::Conflict(standing.as_deref().map(codec::versioned).transpose()?)),
        }
    }

    /// Writes what can only ever be written as it is; where it stands already, nothing changes.
    async fn put_once<T: Serialize + Sync>(&self, table: Table, key: Vec<u8>, item: &T) -> Result<(), Fault> {
        let value = Some(codec::encode(Stamp::None, item)?);
        self.apply(Write { table, key, guard: engine::Guard::Nothing, value, entry: None }).await?;
        Ok(())
    }

    async fn put_timer_guarded(&self, timer: &Timer, guard: engine::Guard) -> Result<Applied, Fault> {
        let value = Some(codec::encode(Stamp::Timer(timer.stamp), timer)?);
        let write = Write { table: Table::Timers, key: keys::timer(&timer.key), guard, value, entry: None };
        let applied = self.apply(write).await?;
        if applied == Applied::Done {
            self.alarm.put(timer.key.due);
        }
        Ok(applied)
    }
}

impl<E: Engine> Store for Embedded<E> {
    fn shards(&self) -> u16 {
        self.shards
    }

    async fn head(&self, tenant: &Tenant, job: JobId) -> Result<Option<Seen<Head>>, Fault> {
        self.read(Table::Heads, &keys::head(tenant, job), codec::versioned)
    }

    async fn put_head(&self, head: &Head, guard: Guard) -> Result<Put<Head>, Fault> {
        self.put(Table::Heads, keys::head(head.tenant(), head.id()), head, guard).await
    }

    async fn jobs(&self, tenant: &Tenant, after: Option<JobId>, limit: usize) -> Result<Vec<Job>, Fault> {
        let job_of = |bytes: &[u8]| codec::versioned::<Head>(bytes).map(|seen| seen.item.into_job());
        self.page(Table::Heads, &keys::heads(tenant, after), limit, job_of)
    }

    async fn run(&self, tenant: &Tenant, key: RunKey) -> Result<Option<Seen<Run>>, Fault> {
        self.read(Table::Runs, &keys::run(tenant, key), codec::versioned)
    }

    async fn put_run(&self, run: &Run, guard: Guard) -> Result<Put<Run>, Fault> {
        // Once, at its birth: where a run is listed never changes.
        let entry = (guard == Guard::Absent).then(|| Entry {
            table: Table::RunsByTime,
            key: keys::run_by_time(&run.tenant, run.key),
            value: keys::run(&run.tenant, run.key),
        });
        self.put_with_entry(Table::Runs, keys::run(&run.tenant, run.key), run, guard, entry).await
    }

    async fn runs_of(
        &self,
        tenant: &Tenant,
        job: JobId,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Vec<Run>, Fault> {
        let run_of = |bytes: &[u8]| codec::versioned(bytes).map(|seen| Some(seen.item));
        self.page(Table::Runs, &keys::runs(tenant, job, &window, before), limit, run_of)
    }

    async fn runs_across(
        &self,
        tenant: &Tenant,
        _which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Option<Vec<Run>>, Fault> {
        let span = keys::runs_by_time(tenant, &window, before);
        let listed = self.page(Table::RunsByTime, &span, limit, |key| Ok(Some(key.to_vec())))?;
        let mut runs = Vec::with_capacity(listed.len());
        for key in listed {
            runs.extend(self.read(Table::Runs, &key, codec::versioned)?.map(|seen| seen.item));
        }
        Ok(Some(runs))
    }

    async fn put_attempt(&self, tenant: &Tenant, run: RunKey, attempt: &Attempt) -> Result<(), Fault> {
        self.put_once(Table::Attempts, keys::attempt(tenant, run, attempt.number), attempt).await
    }

    async fn attempts(&self, tenant: &Tenant, run: RunKey) -> Result<Vec<Attempt>, Fault> {
        self.page(Table::Attempts, &keys::attempts(tenant, run), usize::MAX, |bytes| codec::plain(bytes).map(Some))
    }

    async fn put_body(&self, tenant: &Tenant, job: JobId, body: &Json) -> Result<(), Fault> {
        self.put_once(Table::Bodies, keys::body(tenant, job, body.digest()), body).await
    }

    async fn body(&self, tenant: &Tenant, job: JobId, digest: Digest) -> Result<Option<Json>, Fault> {
        self.read(Table::Bodies, &keys::body(tenant, job, digest), codec::plain)
    }

    async fn document<T: Document>(&self, tenant: &Tenant, name: &str) -> Result<Option<Seen<T>>, Fault> {
        self.read(Table::Documents, &keys::document(tenant, T::KIND, name), codec::versioned)
    }

    async fn put_document<T: Document>(&self, tenant: &Tenant, document: &T, guard: Guard) -> Result<Put<T>, Fault> {
        self.put(Table::Documents, keys::document(tenant, T::KIND, &document.name()), document, guard).await
    }

    async fn documents<T: Document>(
        &self,
        tenant: &Tenant,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<T>, Fault> {
        let document_of = |bytes: &[u8]| codec::versioned(bytes).map(|seen| Some(seen.item));
        self.page(Table::Documents, &keys::documents(tenant, T::KIND, after), limit, document_of)
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.read(Table::Timers, &keys::timer(key), codec::timer)
    }

    async fn put_timer(&self, timer: &Timer) -> Result<(), Fault> {
        self.put_timer_guarded(timer, engine::Guard::Anything).await?;
        Ok(())
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        match self.put_timer_guarded(timer, engine::Guard::Nothing).await? {
            Applied::Conflict(Some(standing)) => codec::timer(&standing),
            Applied::Done | Applied::Conflict(None) => Ok(timer.clone()),
        }
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        let guard = engine::Guard::Stamped(Stamp::Timer(seen));
        let erase = Write { table: Table::Timers, key: keys::timer(key), guard, value: None, entry: None };
        Ok(self.apply(erase).await? == Applied::Done)
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Vec<Timer>, Fault> {
        let Some(span) = keys::timers(bucket.minute, after, until).filter(|_| bucket.shard < self.shards) else {
            return Ok(Vec::new());
        };
        // A single shard holds them all, and asking which one costs a hash.
        let is_inside = |timer: &Timer| self.shards == 1 || timer.key.obligation.shard(self.shards) == bucket.shard;
        self.page(Table::Timers, &span, limit, |bytes| codec::timer(bytes).map(|timer| Some(timer).filter(is_inside)))
    }

    async fn cursor(&self, shard: u16) -> Result<Option<Seen<Cursor>>, Fault> {
        self.read(Table::Cursors, &keys::cursor(shard), codec::versioned)
    }

    async fn put_cursor(&self, shard: u16, cursor: &Cursor, guard: Guard) -> Result<Put<Cursor>, Fault> {
        self.put(Table::Cursors, keys::cursor(shard), cursor, guard).await
    }
}
