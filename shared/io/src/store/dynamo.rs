//! The store on DynamoDB. The rooms: [`keys`] says where an item lies, [`items`] what it looks like, [`conditions`] under
//! which guarantee it is written, [`requests`] how the table is asked, [`meter`] what that cost.
//!
//! Every read of the two tables is strong: what a job's creator has written, its first look sees. No method makes more
//! than one write, and none makes a batch of them. Only the list of all a tenant's runs is read through an index, which says
//! where they stand and nothing else: see [`runs_page`].

mod conditions;
mod items;
mod jobs_page;
mod keys;
mod meter;
mod requests;
mod runs_page;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use minutehand_domain::Moment;
use minutehand_domain::body::{Digest, Json};
use minutehand_domain::document::Document;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant, base32};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Attempt, Run};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};

use self::conditions::{it_bears_this_stamp, nothing_stands_there};
use self::items::{Filed, KeptBody, Record, VERSION, WRITE, number, text, versioned};
pub use self::keys::{Index, Place, Table};
use self::keys::{Key, Span};
use self::meter::Meter;
pub use self::meter::{Operation, Spent};
use self::requests::Written;
use super::{Across, Bucket, Cursor, Guard, Put, Seen, Store};
use crate::Fault;
use crate::chance::{Chance as _, SystemChance};

const PORT: &str = "DynamoDB";

/// Into how many shards a minute is divided, for ever: at a thousand writes a second each, 64,000 timers of one second.
const SHARDS: u16 = 64;

/// What the tables are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub state: String,
    pub timers: String,
}

/// Whether runs are put into the index by tenant and hour: a write unit more for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    ByHour,
    Off,
}

#[derive(Debug)]
pub struct DynamoStore {
    client: Client,
    tables: Tables,
    listing: Listing,
    meter: Meter,
    /// Names this store's writes, together with their count.
    name: String,
    writes: AtomicU64,
}

impl DynamoStore {
    pub fn new(client: Client, tables: Tables, listing: Listing) -> Self {
        let name = base32(&SystemChance.bytes()[..5]);
        Self { client, tables, listing, meter: Meter::default(), name, writes: AtomicU64::new(0) }
    }

    /// What was asked of each table and index since this store was made, and what that cost by their own word.
    pub fn spent(&self) -> BTreeMap<(Operation, Place), Spent> {
        self.meter.read()
    }

    async fn find<T: Record>(&self, key: Key) -> Result<Option<T>, Fault> {
        self.get(&key).await?.map(T::read).transpose()
    }

    async fn find_versioned<T: Record>(&self, key: Key) -> Result<Option<Seen<T>>, Fault> {
        self.get(&key).await?.map(versioned).transpose()
    }

    async fn page<T: Record>(&self, span: &Span, limit: usize) -> Result<Vec<T>, Fault> {
        self.query(span, limit).await?.into_iter().map(T::read).collect()
    }

    /// Writes the next version of a record, if the guard has seen the one that stands there.
    ///
    /// When an answer is lost the SDK writes again, and meets what it wrote itself: that is no conflict.
    async fn put_guarded<T: Record>(&self, key: Key, record: &T, guard: Guard) -> Result<Put<T>, Fault> {
        let (version, write) = (guard.next(), text(self.next_write()));
        let mut item = record.attributes(self.listing)?;
        item.insert(VERSION.to_owned(), number(version.0));
        item.insert(WRITE.to_owned(), write.clone());
        match self.put(&key, item, Some(conditions::of(guard))).await? {
            Written::Done => Ok(Put::Written(version)),
            // Without this, `a_write_whose_answer_was_lost_is_known_again` finds a conflict with itself.
            Written::Refused(Some(standing)) if standing.get(WRITE) == Some(&write) => Ok(Put::Written(version)),
            Written::Refused(standing) => Ok(Put::Conflict(standing.map(versioned).transpose()?)),
        }
    }

    /// Writes what can only ever be written as it is; where it stands already, nothing changes.
    async fn put_once<T: Record>(&self, key: Key, record: &T) -> Result<(), Fault> {
        let item = record.attributes(self.listing)?;
        self.put(&key, item, Some(nothing_stands_there())).await.map(|_written_or_there| ())
    }

    fn next_write(&self) -> String {
        format!("{}-{}", self.name, self.writes.fetch_add(1, Ordering::Relaxed))
    }
}

impl Store for DynamoStore {
    fn shards(&self) -> u16 {
        SHARDS
    }

    async fn head(&self, tenant: &Tenant, job: JobId) -> Result<Option<Seen<Head>>, Fault> {
        self.find_versioned(keys::head(tenant, job)).await
    }

    async fn put_head(&self, head: &Head, guard: Guard) -> Result<Put<Head>, Fault> {
        self.put_guarded(keys::head(head.tenant(), head.id()), head, guard).await
    }

    async fn jobs(&self, tenant: &Tenant, after: Option<JobId>, limit: usize) -> Result<Vec<Job>, Fault> {
        jobs_page::read(self, tenant, after, limit).await
    }

    async fn run(&self, tenant: &Tenant, key: RunKey) -> Result<Option<Seen<Run>>, Fault> {
        self.find_versioned(keys::run(tenant, key)).await
    }

    async fn put_run(&self, run: &Run, guard: Guard) -> Result<Put<Run>, Fault> {
        self.put_guarded(keys::run(&run.tenant, run.key), run, guard).await
    }

    async fn runs_of(
        &self,
        tenant: &Tenant,
        job: JobId,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Vec<Run>, Fault> {
        self.page(&keys::runs(tenant, job, &window, before), limit).await
    }

    async fn runs_across(
        &self,
        tenant: &Tenant,
        which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Option<Vec<Run>>, Fault> {
        if which == Across::All && self.listing == Listing::Off {
            return Ok(None);
        }
        runs_page::read(self, keys::listed(tenant, which, &window, before), limit).await.map(Some)
    }

    async fn put_attempt(&self, tenant: &Tenant, run: RunKey, attempt: &Attempt) -> Result<(), Fault> {
        self.put_once(keys::attempt(tenant, run, attempt.number), attempt).await
    }

    async fn attempts(&self, tenant: &Tenant, run: RunKey) -> Result<Vec<Attempt>, Fault> {
        self.page(&keys::attempts(tenant, run), usize::MAX).await
    }

    async fn put_body(&self, tenant: &Tenant, job: JobId, body: &Json) -> Result<(), Fault> {
        self.put_once(keys::body(tenant, job, body.digest()), &KeptBody { json: body.clone() }).await
    }

    async fn body(&self, tenant: &Tenant, job: JobId, digest: Digest) -> Result<Option<Json>, Fault> {
        let kept = self.find::<KeptBody>(keys::body(tenant, job, digest)).await?;
        Ok(kept.map(|kept| kept.json))
    }

    async fn document<T: Document>(&self, tenant: &Tenant, name: &str) -> Result<Option<Seen<T>>, Fault> {
        let filed = self.find_versioned(keys::document(tenant, T::KIND, name)).await?;
        Ok(filed.map(Seen::<Filed<T>>::document))
    }

    async fn put_document<T: Document>(&self, tenant: &Tenant, document: &T, guard: Guard) -> Result<Put<T>, Fault> {
        let (key, filed) = (keys::document(tenant, T::KIND, &document.name()), Filed { document: document.clone() });
        Ok(match self.put_guarded(key, &filed, guard).await? {
            Put::Written(version) => Put::Written(version),
            Put::Conflict(standing) => Put::Conflict(standing.map(Seen::document)),
        })
    }

    async fn documents<T: Document>(
        &self,
        tenant: &Tenant,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<T>, Fault> {
        let filed: Vec<Filed<T>> = self.page(&keys::documents(tenant, T::KIND, after), limit).await?;
        Ok(filed.into_iter().map(|filed| filed.document).collect())
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.find(keys::timer(key, SHARDS)).await
    }

    async fn put_timer(&self, timer: &Timer) -> Result<(), Fault> {
        let item = timer.attributes(self.listing)?;
        self.put(&keys::timer(&timer.key, SHARDS), item, None).await.map(|_written| ())
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        let item = timer.attributes(self.listing)?;
        match self.put(&keys::timer(&timer.key, SHARDS), item, Some(nothing_stands_there())).await? {
            Written::Refused(Some(standing)) => Timer::read(standing),
            Written::Done | Written::Refused(None) => Ok(timer.clone()),
        }
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        self.erase(&keys::timer(key, SHARDS), it_bears_this_stamp(seen)).await
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Vec<Timer>, Fault> {
        let Some(span) = keys::timers(bucket, SHARDS, after, until) else { return Ok(Vec::new()) };
        self.page(&span, limit).await
    }

    async fn cursor(&self, shard: u16) -> Result<Option<Seen<Cursor>>, Fault> {
        self.find_versioned(keys::cursor(shard)).await
    }

    async fn put_cursor(&self, shard: u16, cursor: &Cursor, guard: Guard) -> Result<Put<Cursor>, Fault> {
        self.put_guarded(keys::cursor(shard), cursor, guard).await
    }
}
