//! The store: what the table remembers. Item-level and guarded: a write says what it has seen, and a conflict answers
//! with what is there now. The order of writes is not decided here but in `shared/protocol`, once for all stores.
//!
//! Every answer is durable: a write that was acknowledged survives any crash, and every later read sees it.

#[cfg(feature = "aws")]
pub mod dynamo;
#[cfg(feature = "embedded")]
pub mod embedded;

use std::future::Future;
use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::body::{Digest, Json};
use minutehand_domain::document::Document;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Attempt, Run};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use crate::Fault;

pub trait Store: Send + Sync + 'static {
    /// Into how many shards a minute of timers is divided.
    fn shards(&self) -> u16;

    fn head(&self, tenant: &Tenant, job: JobId) -> impl Future<Output = Result<Option<Seen<Head>>, Fault>> + Send;
    fn put_head(&self, head: &Head, guard: Guard) -> impl Future<Output = Result<Put<Head>, Fault>> + Send;
    /// Jobs by id, after `after`; tombstones are left out.
    fn jobs(
        &self,
        tenant: &Tenant,
        after: Option<JobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Job>, Fault>> + Send;

    fn run(&self, tenant: &Tenant, key: RunKey) -> impl Future<Output = Result<Option<Seen<Run>>, Fault>> + Send;
    fn put_run(&self, run: &Run, guard: Guard) -> impl Future<Output = Result<Put<Run>, Fault>> + Send;
    /// A job's runs whose instant lies in `window`, newest first, before (that is: older than) `before`.
    fn runs_of(
        &self,
        tenant: &Tenant,
        job: JobId,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Run>, Fault>> + Send;

    /// The runs of all of a tenant's jobs whose instant lies in `window`, newest first (by instant, then by key), before
    /// `before`. It may lag a moment behind the writes. None where this deployment keeps no such list.
    fn runs_across(
        &self,
        tenant: &Tenant,
        which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> impl Future<Output = Result<Option<Vec<Run>>, Fault>> + Send;

    /// An attempt that no longer stands inside its run. Writing the same one again changes nothing.
    fn put_attempt(
        &self,
        tenant: &Tenant,
        run: RunKey,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<(), Fault>> + Send;
    /// The attempts that stand outside their run, oldest first.
    fn attempts(&self, tenant: &Tenant, run: RunKey) -> impl Future<Output = Result<Vec<Attempt>, Fault>> + Send;

    /// A body kept apart, under the name its content gives it.
    fn put_body(&self, tenant: &Tenant, job: JobId, body: &Json) -> impl Future<Output = Result<(), Fault>> + Send;
    fn body(
        &self,
        tenant: &Tenant,
        job: JobId,
        digest: Digest,
    ) -> impl Future<Output = Result<Option<Json>, Fault>> + Send;

    fn document<T: Document>(
        &self,
        tenant: &Tenant,
        name: &str,
    ) -> impl Future<Output = Result<Option<Seen<T>>, Fault>> + Send;
    fn put_document<T: Document>(
        &self,
        tenant: &Tenant,
        document: &T,
        guard: Guard,
    ) -> impl Future<Output = Result<Put<T>, Fault>> + Send;
    /// A tenant's documents of one kind, by name, after `after`.
    fn documents<T: Document>(
        &self,
        tenant: &Tenant,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<T>, Fault>> + Send;

    fn timer(&self, key: &TimerKey) -> impl Future<Output = Result<Option<Timer>, Fault>> + Send;
    /// Overwrites.
    fn put_timer(&self, timer: &Timer) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Never overwrites: answers with the timer that stands there afterwards.
    fn put_timer_if_absent(&self, timer: &Timer) -> impl Future<Output = Result<Timer, Fault>> + Send;
    /// Erases a timer only as it was seen; says whether it did.
    fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// The timers of one bucket due at `until` or earlier, in order, after `after`.
    fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Timer>, Fault>> + Send;

    fn cursor(&self, shard: u16) -> impl Future<Output = Result<Option<Seen<Cursor>>, Fault>> + Send;
    fn put_cursor(
        &self,
        shard: u16,
        cursor: &Cursor,
        guard: Guard,
    ) -> impl Future<Output = Result<Put<Cursor>, Fault>> + Send;
}

/// Which runs of a tenant a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    All,
    /// At least those that failed or timed out; a store that keeps no list of them may answer with all.
    NeedingAttention,
}

/// What a write has seen of the item it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Absent,
    Seen(Version),
}

/// Which writing of an item this is, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u64);

/// An item and which writing of it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    pub item: T,
    pub version: Version,
}

/// How a guarded write went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "somebody may have been faster"]
pub enum Put<T> {
    Written(Version),
    /// Somebody was faster: this is what is there now.
    Conflict(Option<Seen<T>>),
}

/// One minute of timers of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bucket {
    pub minute: i64,
    pub shard: u16,
}

/// How far the sweeping of a shard has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Up to when hints were given.
    pub hinted_to: Moment,
    /// The oldest bucket not yet left.
    pub oldest: i64,
    /// When the last pass began.
    pub swept_at: Moment,
}

impl Guard {
    /// The version that a write under this guard makes.
    pub fn next(self) -> Version {
        match self {
            Self::Absent => Version(1),
            Self::Seen(Version(seen)) => Version(seen + 1),
        }
    }
}

impl<T> Seen<T> {
    pub fn guard(&self) -> Guard {
        Guard::Seen(self.version)
    }
}

impl<T> Put<T> {
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Written(_))
    }
}
