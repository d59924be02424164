//! The store on DynamoDB. The modules: [`keys`] says where an item lies, [`items`] what it looks like, [`conditions`] under
//! which guarantee it is written, [`requests`] how the table is asked, [`open_requests`] how many requests are open at a time, [`meter`] what that cost.
//!
//! Every read of the two tables is strong: what a job's creator has written, its first look sees. No method makes more
//! than one write, and none makes a batch of them. Only the list of all a tenant's runs is read through an index, which says
//! where they stand and nothing else: see [`runs_page`].

mod changes;
mod conditions;
#[cfg(test)]
pub(super) mod golden;
mod items;
mod keys;
mod meter;
mod open_requests;
mod remains;
mod requests;
mod runs_page;
mod spread_page;
mod stream;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{RunKey, Tenant, base32};
use minutehand_domain::run::Run;
use minutehand_domain::survey::Found;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};

use self::conditions::{
    Condition, STAMP, WRITING, it_bears_this_stamp, it_stands_as_read, it_stands_as_seen, no_later_timer_stands_there,
    nothing_stands_there, something_stands_there,
};
use self::items::{
    Attributes, SORT, VERSION, WRITE, attributes_of, number, said, seen, text, timer_attributes, timer_of,
};
use self::keys::Span;
pub use self::keys::{Index, Resource, Table};
use self::meter::Meter;
pub use self::meter::{Operation, Spent};
use self::open_requests::OpenRequests;
use self::remains::Walk;
use self::requests::{Changed, Written};
pub use self::stream::{Image, run_in};
use super::item::{Indexed, Item, Listed, Stored as _};
use super::items::{OfKind, of_kind, unknown};
use super::update::{self, Update};
use super::{
    Across, Bucket, Deleted, Discard, Everything, FirstBucket, Guard, Page, Part as TablePart, Put, Remain, Remains,
    RunsPage, Seen, Store, Unreadable, Updated, Version,
};
use crate::Fault;
use crate::chance::{Chance as _, SystemChance};

const PORT: &str = "DynamoDB";

/// Into how many shards a minute is divided, for ever: at a thousand writes a second each, 64,000 timers of one second.
const SHARDS: u16 = 64;

/// Behind what a repair's walk through the timers goes on: no tenant's name, with which a place in the state begins, is like it.
const AT_TIMERS: &str = ":timers:";

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
    open: OpenRequests,
    meter: Meter,
    /// Names this store's writes, together with their count.
    name: String,
    writes: AtomicU64,
    later: AtomicU64,
    corrupt: AtomicU64,
    throttled: AtomicU64,
}

/// What was read of one part of a span.
struct Part<T> {
    /// Under what they sort by.
    items: Vec<(String, T)>,
    unreadable: Vec<Unreadable>,
    /// The last one that was read, where there may be more of them.
    last: Option<String>,
}

impl DynamoStore {
    pub fn new(client: Client, tables: Tables, listing: Listing) -> Self {
        let name = base32(&SystemChance.bytes()[..5]);
        let [writes, later, corrupt, throttled] = [0; 4].map(AtomicU64::new);
        let (open, meter) = (OpenRequests::default(), Meter::default());
        Self { client, tables, listing, open, meter, name, writes, later, corrupt, throttled }
    }

    /// What was asked of each table and index since this store was made, and what that cost by their own word.
    pub fn spent(&self) -> BTreeMap<(Operation, Resource), Spent> {
        self.meter.read()
    }

    /// Times that an item was left where it is because a later release wrote it.
    pub fn later(&self) -> u64 {
        self.later.load(Ordering::Relaxed)
    }

    /// Times that an item was met that is corrupt.
    pub fn corrupt(&self) -> u64 {
        self.corrupt.load(Ordering::Relaxed)
    }

    /// Requests that were refused, tries and all, since the table was asked for more than it gives.
    pub fn throttled(&self) -> u64 {
        self.throttled.load(Ordering::Relaxed)
    }

    /// One part of a span, item by item.
    async fn read_span<T: Item>(&self, span: &Span, most: usize) -> Result<Part<T>, Fault> {
        self.read_each(span, most, |item| seen::<T>(item).map(|seen| seen.item)).await
    }

    async fn read_each<T>(
        &self,
        span: &Span,
        most: usize,
        read: impl Fn(Attributes) -> Result<T, Fault>,
    ) -> Result<Part<T>, Fault> {
        let found = self.query(span, most).await?;
        let last = found.last().filter(|_| found.len() == most).and_then(|item| said(item, SORT).cloned());
        let mut part = Part { items: Vec::new(), unreadable: Vec::new(), last };
        for item in found {
            let sort = said(&item, SORT).cloned().unwrap_or_default();
            match read(item) {
                Ok(item) => part.items.push((sort, item)),
                Err(why) if why.is_of_an_item() => part.unreadable.push(self.left(&span.partition, &sort, why)),
                Err(fault) => return Err(fault),
            }
        }
        Ok(part)
    }

    /// Up to `limit` that can be read and count: what does not fills no page.
    async fn read_on<T>(
        &self,
        mut span: Span,
        limit: usize,
        read: impl Fn(Attributes) -> Result<T, Fault>,
        counts: impl Fn(&T) -> bool,
    ) -> Result<Page<T>, Fault> {
        let mut page = Page::default();
        while page.items.len() < limit {
            let part = self.read_each(&span, limit - page.items.len(), &read).await?;
            page.items.extend(part.items.into_iter().map(|(_, item)| item).filter(&counts));
            page.unreadable.extend(part.unreadable);
            let Some(last) = part.last else { return Ok(page) };
            span = span.past(last);
        }
        page.more = limit > 0;
        Ok(page)
    }

    fn readable<T: Item>(&self, item: Attributes) -> Result<Option<T>, Fault> {
        let (partition, sort) = place_of(&item);
        match seen::<T>(item) {
            Ok(seen) => Ok(Some(seen.item)),
            Err(why) if why.is_of_an_item() => {
                self.left(&partition, &sort, why);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// An item that this release cannot read stops nothing that lies beside it.
    fn left(&self, partition: &str, sort: &str, why: Fault) -> Unreadable {
        let counter = if matches!(why, Fault::Later { .. }) { &self.later } else { &self.corrupt };
        counter.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(partition, sort, %why, "an item that cannot be read is left where it is");
        Unreadable { key: format!("{partition} {sort}"), timer: keys::timer_of(sort), why }
    }

    /// Of the timers, and of what lies beside them. The cursors are asked for one by one.
    async fn unreadable_timers(&self, part: TablePart, place: &str) -> Result<Everything, Fault> {
        let behind = Some(place.to_owned()).filter(|place| !place.is_empty());
        let (items, next) = self.scan(Table::Timers, part, behind, None).await?;
        let mut page = Everything { next: next.map(|next| format!("{AT_TIMERS}{next}")), ..Everything::default() };
        for item in items {
            let (partition, sort) = place_of(&item);
            let read = match keys::kind_beside_timers(&partition) {
                _ if keys::bucket_of(&partition).is_some() => timer_of(item).map(drop),
                Some(kind) if kind != Cursor::KIND => read_as(kind, item),
                Some(_) | None => Ok(()),
            };
            match read {
                Err(why) if why.is_of_an_item() => page.unreadable.push(self.left(&partition, &sort, why)),
                read => read?,
            }
        }
        Ok(page)
    }

    /// Writes what can only ever be written as it is: it bears no version.
    async fn put_once<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        let attributes = attributes_of(tenant, item, self.listing)?;
        let condition = if guard == Guard::Absent { nothing_stands_there() } else { something_stands_there() };
        match self.put_attributes(&keys::item::<T>(tenant, &key), attributes, condition).await? {
            Written::Done => Ok(Put::Written(Version::ONLY)),
            Written::Refused(standing) => Ok(Put::Conflict(standing.map(seen).transpose()?)),
        }
    }

    /// Answers with the timer that stands there afterwards.
    async fn put_timer_under(&self, timer: &Timer, condition: Condition) -> Result<Timer, Fault> {
        let (key, item) = (keys::timer(&timer.key, SHARDS), timer_attributes(timer)?);
        match self.put_attributes(&key, item, condition).await? {
            Written::Refused(Some(standing)) => timer_of(standing),
            Written::Done | Written::Refused(None) => Ok(timer.clone()),
        }
    }

    fn next_write(&self) -> String {
        format!("{}-{}", self.name, self.writes.fetch_add(1, Ordering::Relaxed))
    }
}

/// Under which keys it lies.
fn place_of(item: &Attributes) -> (String, String) {
    let at = |name| said(item, name).cloned().unwrap_or_default();
    (at(items::PARTITION), at(SORT))
}

/// Whether it can be read as an item of this kind.
fn read_as(kind: &str, item: Attributes) -> Result<(), Fault> {
    of_kind(kind, Reading(item)).unwrap_or_else(|| Err(unknown(kind)))
}

struct Reading(Attributes);

impl OfKind for Reading {
    type Done = Result<(), Fault>;

    fn of<T: Item>(self) -> Result<(), Fault> {
        seen::<T>(self.0).map(drop)
    }
}

impl Store for DynamoStore {
    fn shards(&self) -> u16 {
        SHARDS
    }

    async fn get<T: Item>(&self, tenant: &Tenant, key: T::Key) -> Result<Option<Seen<T>>, Fault> {
        let key = keys::item::<T>(tenant, &key);
        let seen = self.get_attributes(&key).await?.map(seen).transpose();
        seen.map_err(|why| if why.is_of_an_item() { self.left(&key.partition, &key.sort, why).why } else { why })
    }

    /// When an answer is lost the SDK writes again, and meets what it wrote itself: that is no conflict.
    async fn put<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        if T::IMMUTABLE {
            return self.put_once(tenant, key, item, guard).await;
        }
        let (version, write) = (guard.next(Version::drawn(&SystemChance)), text(self.next_write()));
        let mut attributes = attributes_of(tenant, item, self.listing)?;
        attributes.insert(VERSION.to_owned(), number(version.0));
        attributes.insert(WRITE.to_owned(), write.clone());
        let key = keys::item::<T>(tenant, &key);
        match self.put_attributes(&key, attributes, conditions::of(guard)).await {
            Ok(Written::Done) => Ok(Put::Written(version)),
            // Without this, `a_write_whose_answer_was_lost_is_known_again` finds a conflict with itself.
            Ok(Written::Refused(Some(standing))) if standing.get(WRITE) == Some(&write) => Ok(Put::Written(version)),
            Ok(Written::Refused(standing)) => Ok(Put::Conflict(standing.map(seen).transpose()?)),
            // Each answer was lost. Without this look, an executor takes its own lease for another's until it is over.
            Err(fault @ Fault::Unavailable { .. }) => match self.get_attributes(&key).await {
                Ok(Some(standing)) if standing.get(WRITE) == Some(&write) => Ok(Put::Written(version)),
                Ok(_) | Err(_) => Err(fault),
            },
            Err(fault) => Err(fault),
        }
    }

    async fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> Result<Updated<U::Item>, Fault> {
        update::check(update)?;
        let write = text(self.next_write());
        let begin = update.begin().map(|item| attributes_of(tenant, &item, self.listing)).transpose()?;
        let change = changes::change(
            update.expression(),
            begin,
            U::Item::NEWEST,
            (Version::drawn(&SystemChance), write.clone()),
        );
        match self.change(&keys::item::<U::Item>(tenant, &key), change).await? {
            Changed::Done(made) => seen(made).map(Updated::Done),
            // Without this, `an_update_whose_answer_was_lost_is_known_again` is refused by what it made itself.
            Changed::Refused(Some(standing)) if standing.get(WRITE) == Some(&write) => {
                seen(standing).map(Updated::Done)
            }
            Changed::Refused(standing) => Ok(Updated::Refused(standing.map(seen).transpose()?)),
        }
    }

    async fn delete<T: Item>(&self, tenant: &Tenant, key: T::Key, version: Version) -> Result<Deleted<T>, Fault> {
        let condition = if T::IMMUTABLE { something_stands_there() } else { it_stands_as_seen(version) };
        match self.erase_if(&keys::item::<T>(tenant, &key), condition).await? {
            Written::Done => Ok(Deleted::Done),
            Written::Refused(standing) => Ok(Deleted::Conflict(standing.map(seen).transpose()?)),
        }
    }

    async fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> Result<Page<T>, Fault> {
        let Some(span) = T::span(&within, past.as_ref()) else { return Ok(Page::default()) };
        let mut spans = keys::spans(tenant, T::KIND, &span);
        match (spans.pop(), spans.is_empty()) {
            (Some(span), true) => {
                let read = |item: Attributes| {
                    let number = said(&item, SORT).map_or(0, |sort| keys::number_in(sort));
                    seen::<T>(item).map(|seen| seen.item.numbered(number))
                };
                self.read_on(span, limit, read, T::counts).await
            }
            (last, _) => {
                spans.extend(last);
                spread_page::read(self, spans, limit).await
            }
        }
    }

    async fn sample<T: Listed>(&self, tenant: &Tenant, within: T::Within, looks: usize) -> Result<Page<T>, Fault> {
        let Some(span) = T::span(&within, None) else { return Ok(Page::default()) };
        let (mut page, mut left, mut open) = (Page::default(), looks, keys::spans(tenant, T::KIND, &span));
        // Where some hold more than others, those are read on.
        while left >= open.len() && !open.is_empty() {
            let share = left / open.len();
            let parts = try_join_all(open.iter().map(|span| self.read_span::<T>(span, share))).await?;
            let mut more = Vec::new();
            for (part, span) in parts.into_iter().zip(open) {
                left -= part.items.len() + part.unreadable.len();
                more.extend(part.last.map(|last| span.past(last)));
                let items = part.items.into_iter().map(|(sort, item)| item.numbered(keys::number_in(&sort)));
                page.items.extend(items.filter(T::counts));
                page.unreadable.extend(part.unreadable);
            }
            open = more;
        }
        page.more = !open.is_empty();
        Ok(page)
    }

    async fn runs_across(
        &self,
        tenant: &Tenant,
        which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Option<RunsPage>, Fault> {
        if which == Across::All && self.listing == Listing::Off {
            return Ok(None);
        }
        runs_page::read(self, keys::listed(tenant, which, &window, before), limit).await.map(Some)
    }

    /// Of each partition the first: which of them is the oldest is said by none.
    async fn oldest_letter(&self) -> Result<Option<Moment>, Fault> {
        let firsts = try_join_all(keys::letters().map(async |span| self.query(&span, 1).await)).await?;
        let sorts = firsts.iter().flatten().filter_map(|item| said(item, SORT));
        Ok(sorts.filter_map(|sort| keys::instant_of_run(sort)).min())
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.get_attributes(&keys::timer(key, SHARDS)).await?.map(timer_of).transpose()
    }

    async fn put_timer(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.put_timer_under(timer, no_later_timer_stands_there(timer.stamp.generation)).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.put_timer_under(timer, nothing_stands_there()).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        let erased = self.erase_if(&keys::timer(key, SHARDS), it_bears_this_stamp(seen)).await?;
        Ok(matches!(erased, Written::Done))
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Page<Timer>, Fault> {
        let Some(span) = keys::timers(bucket, SHARDS, after, until) else { return Ok(Page::default()) };
        self.read_on(span, limit, timer_of, |_| true).await
    }

    /// Of the state first, and then what of the timers cannot be read.
    async fn everything(&self, part: TablePart, behind: Option<String>) -> Result<Everything, Fault> {
        if let Some(place) = behind.as_deref().and_then(|behind| behind.strip_prefix(AT_TIMERS)) {
            return self.unreadable_timers(part, place).await;
        }
        let (items, next) = self.scan(Table::State, part, behind, None).await?;
        let mut page = Everything { next: next.or_else(|| Some(AT_TIMERS.to_owned())), ..Everything::default() };
        for item in items {
            let ((partition, sort), is_listed) = (place_of(&item), item.contains_key(items::LETTER));
            let read = match keys::kind_of(&partition, &sort) {
                Some(Head::KIND) => seen(item).map(|seen| page.heads.push(seen.item)),
                Some(Run::KIND) => seen::<Run>(item).map(|Seen { item: run, .. }| {
                    let is_letter = run.index().is_some_and(Indexed::is_letter);
                    page.unlisted.extend((is_letter && !is_listed).then(|| (run.tenant.clone(), run.key)));
                    page.runs.push(run);
                }),
                kind => read_as(kind.unwrap_or_default(), item),
            };
            match read {
                Err(why) if why.is_of_an_item() => page.unreadable.push(self.left(&partition, &sort, why)),
                read => read?,
            }
        }
        Ok(page)
    }

    async fn remains(&self, tenant: &Tenant, behind: Option<String>) -> Result<Remains, Fault> {
        match Walk::from(behind) {
            Walk::Jobs { partition, past } => self.jobs_that_remain(tenant, partition, past).await,
            Walk::Whole { table, behind } => self.all_that_remains(tenant, table, behind).await,
        }
    }

    async fn erase(&self, Remain(remain): &Remain) -> Result<(), Fault> {
        let key = keys::table_in(remain).and_then(|(table, key)| requests::key_at(table, key));
        let key = key.ok_or_else(|| Fault::illegal(PORT, "what is erased lies nowhere"))?;
        self.erase_if(&key, something_stands_there()).await.map(|_written| ())
    }

    /// No key says which buckets there are.
    async fn first_bucket(&self, _shard: u16, _from: i64) -> Result<FirstBucket, Fault> {
        Ok(FirstBucket::Unknown)
    }

    async fn survey(&self, segment: TablePart, behind: Option<String>) -> Result<Found, Fault> {
        let (items, next) = self.scan(Table::Timers, segment, behind, Some(&[items::PARTITION])).await?;
        let mut found = Found { next, ..Found::default() };
        let partitions = items.iter().filter_map(|item| said(item, items::PARTITION));
        for Bucket { minute, shard } in partitions.filter_map(|partition| keys::bucket_of(partition)) {
            let first = found.first.entry(shard).or_insert(minute);
            *first = minute.min(*first);
            found.timers += 1;
        }
        Ok(found)
    }

    async fn discard<T: Item>(&self, tenant: &Tenant, key: T::Key, what: Discard) -> Result<(), Fault> {
        let key = keys::item::<T>(tenant, &key);
        let Some(item) = self.get_attributes(&key).await? else { return Ok(()) };
        let condition = it_stands_as_read(&item, &WRITING);
        match seen::<T>(item) {
            Err(why) if what.admits(&why) => self.erase_if(&key, condition).await.map(|_written| ()),
            _ => Ok(()),
        }
    }

    async fn copy_timer(&self, from: &TimerKey, to: &TimerKey) -> Result<(), Fault> {
        let Some(item) = self.get_attributes(&keys::timer(from, SHARDS)).await? else { return Ok(()) };
        self.put_attributes(&keys::timer(to, SHARDS), item, nothing_stands_there()).await.map(|_written| ())
    }

    async fn discard_timer(&self, key: &TimerKey, copy: &TimerKey) -> Result<bool, Fault> {
        let (key, copy) = (keys::timer(key, SHARDS), keys::timer(copy, SHARDS));
        let Some(item) = self.get_attributes(&key).await? else { return Ok(false) };
        let Some(copied) = self.get_attributes(&copy).await? else { return Ok(false) };
        let condition = it_stands_as_read(&item, &STAMP);
        if items::without_place(item.clone()) != items::without_place(copied) {
            return Ok(false);
        }
        match timer_of(item) {
            Err(why) if why.is_of_an_item() => Ok(matches!(self.erase_if(&key, condition).await?, Written::Done)),
            _ => Ok(false),
        }
    }
}
