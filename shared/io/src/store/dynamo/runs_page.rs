//! A page of all a tenant's runs, newest first: merged of the partitions of an index, hour by hour from the newest back.
//! What the index says may be a moment old, so that it is asked for keys only, and the runs are read where they stand.

use std::collections::VecDeque;

use futures_util::future::try_join_all;
use minutehand_domain::run::Run;

use super::items::{Attributes, LISTED_AT, key_in, said};
use super::keys::{self, INDEX_PARTITIONS, Key, Span};
use super::requests::BATCH;
use super::{DynamoStore, PORT};
use crate::Fault;
use crate::store::RunsPage;

/// The least that is read of a partition at a time.
const LEAST: usize = 4;

/// What is left of the list. `hours` gives the spans of one hour at a time.
struct List<'a, H> {
    store: &'a DynamoStore,
    hours: H,
    /// Of the hour that was come to.
    parts: Vec<Part>,
}

/// What is left of one partition.
struct Part {
    /// Read, and not yet taken.
    read: VecDeque<Entry>,
    unread: Option<Span>,
}

struct Entry {
    listed_at: String,
    key: Key,
}

/// However many are wanted, no more than a batch of them is asked for at once. A run that is listed and no longer there is a look, and no more.
pub(super) async fn read(
    store: &DynamoStore,
    hours: impl Iterator<Item = Vec<Span>>,
    limit: usize,
) -> Result<RunsPage, Fault> {
    let (mut list, mut page, mut looks) = (List { store, hours, parts: Vec::new() }, RunsPage::default(), 0);
    while looks < limit {
        let most = BATCH.min(limit - looks);
        let entries = list.take(most).await?;
        if entries.is_empty() {
            break; // DynamoDB refuses to be asked for nothing
        }
        looks += entries.len();
        page.next = entries.last().filter(|_| looks == limit).and_then(|last| keys::run_listed_at(&last.listed_at));
        let is_the_end = entries.len() < most;
        let keys: Vec<Key> = entries.into_iter().map(|entry| entry.key).collect();
        for item in store.get_all(&keys).await? {
            page.runs.extend(store.readable::<Run>(item)?);
        }
        if is_the_end {
            break;
        }
    }
    Ok(page)
}

impl<H: Iterator<Item = Vec<Span>>> List<'_, H> {
    async fn take(&mut self, most: usize) -> Result<Vec<Entry>, Fault> {
        let share = (2 * most / usize::from(INDEX_PARTITIONS)).max(LEAST).min(most);
        let mut entries: Vec<Entry> = Vec::with_capacity(most);
        while entries.len() < most {
            try_join_all(self.parts.iter_mut().map(|part| part.fill(self.store, share))).await?;
            if let Some(entry) = self.take_newest() {
                // What moves from one partition of the index to another meanwhile is in both; asked for twice, DynamoDB refuses the whole page.
                if entries.iter().all(|known| known.key != entry.key) {
                    entries.push(entry);
                }
                continue;
            }
            let Some(spans) = self.hours.next() else { break };
            self.parts = spans.into_iter().map(Part::of).collect();
        }
        Ok(entries)
    }

    /// Every part that has anything left has some of it read.
    fn take_newest(&mut self) -> Option<Entry> {
        let parts = self.parts.iter_mut().filter(|part| !part.read.is_empty());
        parts.max_by(|a, b| a.next().cmp(&b.next()))?.read.pop_front()
    }
}

impl Part {
    fn of(span: Span) -> Self {
        Self { read: VecDeque::new(), unread: Some(span) }
    }

    fn next(&self) -> Option<&str> {
        self.read.front().map(|entry| &*entry.listed_at)
    }

    /// Reads on where nothing is left to take.
    async fn fill(&mut self, store: &DynamoStore, share: usize) -> Result<(), Fault> {
        if !self.read.is_empty() {
            return Ok(());
        }
        let Some(span) = self.unread.take() else { return Ok(()) };
        let items = store.query(&span, share).await?;
        let more = items.len() == share;
        self.read = items.iter().map(entry).collect::<Result<_, _>>()?;
        self.unread = self.read.back().filter(|_| more).map(|last| span.past(last.listed_at.clone()));
        Ok(())
    }
}

fn entry(item: &Attributes) -> Result<Entry, Fault> {
    let found = said(item, LISTED_AT).zip(key_in(item));
    let (listed_at, key) = found.ok_or_else(|| Fault::unreadable(PORT, "an index names no item"))?;
    Ok(Entry { listed_at: listed_at.clone(), key })
}
