//! The store: what the table remembers. Item-level and guarded: a write says what it has seen, and a conflict answers
//! with what is there now. The order of writes is not decided here but in `shared/protocol`, once for all stores.
//!
//! Every answer is durable: a write that was acknowledged survives any crash, and every later read sees it.

#[cfg(feature = "aws")]
pub mod dynamo;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(all(test, feature = "embedded"))]
mod golden;
pub mod item;
mod items;
pub mod place;
pub mod update;

use std::future::Future;
use std::ops::Range;

use minutehand_domain::Moment;
pub use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::Run;
use minutehand_domain::survey::Found;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};

use self::item::{Item, Listed};
pub use self::items::{
    Beneath, CloseDigest, CloseEdge, DefinitionPiece, EndsOf, ExtendLease, Filed, KeptBody, KeptRules, Line, LogFrom,
    OfferKey, Release, RunBody, RunsOf, SlotItem, Take, TellOf,
};
use self::update::Update;
use crate::Fault;
use crate::chance::Chance;

pub trait Store: Send + Sync + 'static {
    /// Into how many shards a minute of timers is divided.
    fn shards(&self) -> u16;

    /// An item, and which writing of it this is. What has expired ([`Item::expires_at`]) is answered like all else until it is
    /// gone, by this and every other method: the embedded store sweeps it within minutes, DynamoDB within days.
    fn get<T: Item>(&self, tenant: &Tenant, key: T::Key)
    -> impl Future<Output = Result<Option<Seen<T>>, Fault>> + Send;
    fn put<T: Item>(
        &self,
        tenant: &Tenant,
        key: T::Key,
        item: &T,
        guard: Guard,
    ) -> impl Future<Output = Result<Put<T>, Fault>> + Send;
    /// Changes an item where it lies, without having read it. What an update may say is said at [`Update`]: all else is a
    /// [`Fault::Illegal`], in every store.
    fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> impl Future<Output = Result<Updated<U::Item>, Fault>> + Send;
    /// Deletes an item only as it was seen.
    fn delete<T: Item>(
        &self,
        tenant: &Tenant,
        key: T::Key,
        seen: Version,
    ) -> impl Future<Output = Result<Deleted<T>, Fault>> + Send;
    /// Items in the order of their list, past the last one seen.
    fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> impl Future<Output = Result<Page<T>, Fault>> + Send;
    /// What of some of them can be read and counts, of about so many that are looked at, in no order: for who asks how many there are, and
    /// pays for no more.
    fn sample<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        looks: usize,
    ) -> impl Future<Output = Result<Page<T>, Fault>> + Send;

    /// The runs of all of a tenant's jobs whose instant lies in `window`, newest first (by instant, then by key), before
    /// `before`: of so many that are listed there those that can be read. It may lag a moment behind the writes. None where this deployment
    /// keeps no such list.
    fn runs_across(
        &self,
        tenant: &Tenant,
        which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> impl Future<Output = Result<Option<RunsPage>, Fault>> + Send;

    /// The instant of the oldest of everybody's dead letters. It may lag a moment behind the writes.
    fn oldest_letter(&self) -> impl Future<Output = Result<Option<Moment>, Fault>> + Send;

    /// A timer is what it says, and stands where it lies: one that was copied says another key.
    fn timer(&self, key: &TimerKey) -> impl Future<Output = Result<Option<Timer>, Fault>> + Send;
    /// Overwrites nothing of a later generation: answers with the timer that stands there afterwards.
    fn put_timer(&self, timer: &Timer) -> impl Future<Output = Result<Timer, Fault>> + Send;
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
    ) -> impl Future<Output = Result<Page<Timer>, Fault>> + Send;

    /// A page of one part of all jobs and runs, whosever they are, in no order, behind the one before. For whoever must look at
    /// all there is.
    fn everything(&self, part: Part, behind: Option<String>) -> impl Future<Output = Result<Everything, Fault>> + Send;

    /// A page of whatever lies under a tenant, in no order, behind the one before; whether it can be read or not. What leads to an item from an
    /// index lies there too, where the store keeps that by itself.
    fn remains(&self, tenant: &Tenant, behind: Option<String>) -> impl Future<Output = Result<Remains, Fault>> + Send;
    /// Erases one of them, as whatever it is by now.
    fn erase(&self, remain: &Remain) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The first bucket of a shard, from this minute on, that holds anything, where that is known without reading all timers.
    fn first_bucket(&self, shard: u16, from: i64) -> impl Future<Output = Result<FirstBucket, Fault>> + Send;
    /// A page of one segment of all timers, in no order, behind the one before.
    fn survey(&self, segment: Part, behind: Option<String>) -> impl Future<Output = Result<Found, Fault>> + Send;

    /// Erases an item that cannot be read, where that may be discarded.
    fn discard<T: Item>(
        &self,
        tenant: &Tenant,
        key: T::Key,
        what: Discard,
    ) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Puts a timer that cannot be read under another key too, as it is, where nothing stands.
    fn copy_timer(&self, from: &TimerKey, to: &TimerKey) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Erases a timer that this release cannot read, where a copy of it stands under the other key as it is; says whether it did.
    fn discard_timer(&self, key: &TimerKey, copy: &TimerKey) -> impl Future<Output = Result<bool, Fault>> + Send;
}

/// What may be discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// What nobody can read.
    Corrupt,
    /// And what a later release wrote.
    Unreadable,
}

/// Where a shard begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstBucket {
    At(i64),
    /// The shard holds nothing.
    Nowhere,
    /// Only a search through all timers could tell: [`Store::survey`].
    Unknown,
}

/// One of the parts that a table can be read in side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub number: usize,
    pub of: usize,
}

/// Some of everybody's jobs and runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Everything {
    pub heads: Vec<Head>,
    pub runs: Vec<Run>,
    /// What lies among them, and behind them among the timers, that this release cannot read.
    pub unreadable: Vec<Unreadable>,
    /// Dead letters that stand in no list of them, as a release wrote them that knew none: they are written as they are once more.
    pub unlisted: Vec<(Tenant, RunKey)>,
    /// Behind what the next page begins; none at the end of the part.
    pub next: Option<String>,
}

/// Some of what lies under a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    pub lying: Vec<Remain>,
    /// Behind what the next page begins; none at the end.
    pub next: Option<String>,
}

/// Where something lies, as the store says it to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remain(pub(crate) String);

/// Some of a list of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunsPage {
    pub runs: Vec<Run>,
    /// Before what the next page begins; none at the end.
    pub next: Option<RunKey>,
}

/// As those of one job are listed.
impl From<Page<Run>> for RunsPage {
    fn from(page: Page<Run>) -> Self {
        let next = page.items.last().filter(|_| page.more).map(|last| last.key);
        Self { runs: page.items, next }
    }
}

/// Which runs of a tenant a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    All,
    /// At least those that failed or timed out; a store that keeps no list of them may answer with all.
    Failed,
    /// At least those of them that nobody has tried again or dismissed.
    NeedingAttention,
}

/// What a write has seen of the item it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Absent,
    Seen(Version),
}

/// Which writing of an item this is. Each is the one before and one more; the first of a new life is at a number that no
/// former life of the item bore, so that who saw one life can neither replace nor delete the next, and no entry of a former
/// life's expiry knows it. What is written once is always at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Some of a list, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// What lies between them that this release cannot read. It is left where it is, and fills no page.
    pub unreadable: Vec<Unreadable>,
    /// There may be more behind the last. A page of timers may hold fewer than were asked for; one of a list is short only at its end.
    pub more: bool,
}

/// An item that cannot be read, by the key that it lies under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// As the store's own tools take it, and behind that as people may read it.
    pub key: String,
    /// Where it is a timer whose key can be read.
    pub timer: Option<TimerKey>,
    /// Whether it is corrupt, or a later release's.
    pub why: Fault,
}

/// How an update went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it may have been refused"]
pub enum Updated<T> {
    Done(Seen<T>),
    /// What stands there does not admit it.
    Refused(Option<Seen<T>>),
}

/// How a delete went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "somebody may have been faster"]
pub enum Deleted<T> {
    Done,
    /// Somebody was faster: this is what is there now. Where an answer was lost it may have been this one.
    Conflict(Option<Seen<T>>),
}

impl Discard {
    pub fn admits(self, why: &Fault) -> bool {
        match why {
            Fault::Unreadable { .. } => true,
            Fault::Later { .. } => self == Self::Unreadable,
            Fault::Unavailable { .. } | Fault::Illegal { .. } => false,
        }
    }
}

impl Version {
    /// Of what is written once.
    pub const ONLY: Self = Self(1);

    /// The first of a new life. It is drawn: nobody is left who could say which versions the former lives had.
    fn drawn(chance: &impl Chance) -> Self {
        // Half of the numbers are kept free for the writings that come after it; none is at 0.
        Self(chance.number() >> 1 | 1)
    }

    /// The writing after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Guard {
    /// The version that a write under this guard makes, if a new life begins at `first`.
    fn next(self, first: Version) -> Version {
        match self {
            Self::Absent => first,
            Self::Seen(seen) => seen.next(),
        }
    }
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), unreadable: Vec::new(), more: false }
    }
}

impl<T> Page<T> {
    /// Nothing lies there, not even what cannot be read.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.unreadable.is_empty()
    }

    /// All that lies there, for a decision that none of it may be missing from.
    pub fn whole(self) -> Result<Vec<T>, Fault> {
        self.unreadable.into_iter().next().map_or(Ok(self.items), |first| Err(first.why))
    }

    /// All of it that anybody will ever read. What a later release wrote may say anything, so that it is waited for.
    pub fn but_for_corrupt(self) -> Result<Vec<T>, Fault> {
        let later = self.unreadable.into_iter().find(|left| !Discard::Corrupt.admits(&left.why));
        later.map_or(Ok(self.items), |left| Err(left.why))
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
