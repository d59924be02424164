//! Items: what a record looks like as attributes. They come from the domain's own serde in its form for people, so that
//! whoever opens the console reads a job or a run; what is absent is left out.
//!
//! Beside a record's own attributes an item has its key (`pk`, `sk`), and where it is guarded its `version` and the
//! `write` that made it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::Moment;
use minutehand_domain::document::Document;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Run, State};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::keys::{self, Key, Table};
use super::{Listing, PORT};
use crate::Fault;
use crate::store::{Seen, Version};

pub(super) type Item = HashMap<String, AttributeValue>;

pub(super) const PARTITION: &str = "pk";
pub(super) const SORT: &str = "sk";
pub(super) const VERSION: &str = "version";
/// Which write made the item: by it a writer knows its own, when an answer was lost and the SDK wrote again.
pub(super) const WRITE: &str = "write";
pub(super) const GENERATION: &str = "generation";
pub(super) const WRITTEN: &str = "written";
/// The indexes' attributes: `hour` and `attention` are partitions, `listed_at` sorts in both.
pub(super) const HOUR: &str = "hour";
pub(super) const ATTENTION: &str = "attention";
pub(super) const LISTED_AT: &str = "listed_at";
/// The status in a word, for whoever reads the console; the state says it whole.
const STATUS: &str = "status";

/// What DynamoDB takes.
const LONGEST_BYTES: usize = 400 * 1024;

/// A record that is kept in an item of its own kind.
pub(super) trait Record: Sized {
    fn attributes(&self, listing: Listing) -> Result<Item, Fault>;
    fn read(item: Item) -> Result<Self, Fault>;
}

/// What tells it from a job is `tombstone`.
#[derive(Serialize, Deserialize)]
struct Tombstone {
    #[serde(rename = "tombstone")]
    dead: bool,
    tenant: Tenant,
    id: JobId,
    epoch: u32,
}

impl Record for Head {
    fn attributes(&self, _listing: Listing) -> Result<Item, Fault> {
        match self {
            Self::Job(job) => spread(job),
            Self::Tombstone { tenant, id, epoch } => {
                spread(&Tombstone { dead: true, tenant: tenant.clone(), id: *id, epoch: *epoch })
            }
        }
    }

    fn read(item: Item) -> Result<Self, Fault> {
        if item.contains_key("tombstone") {
            let Tombstone { tenant, id, epoch, .. } = gather(item)?;
            return Ok(Self::Tombstone { tenant, id, epoch });
        }
        gather::<Job>(item).map(Self::Job)
    }
}

impl Record for Run {
    fn attributes(&self, listing: Listing) -> Result<Item, Fault> {
        let mut item = spread(self)?;
        item.insert(STATUS.to_owned(), text(self.status(Moment::EPOCH)));
        let failed = matches!(self.state, State::Failed { .. } | State::TimedOut { .. });
        if listing == Listing::ByHour {
            item.insert(HOUR.to_owned(), text(keys::hour(&self.tenant, self.key)));
        }
        if failed {
            item.insert(ATTENTION.to_owned(), text(keys::attention(&self.tenant, self.key)));
        }
        if failed || listing == Listing::ByHour {
            item.insert(LISTED_AT.to_owned(), text(keys::listed_at(self.key)));
        }
        Ok(item)
    }

    fn read(item: Item) -> Result<Self, Fault> {
        gather(item)
    }
}

/// A timer with its mark spread out, since that is what its eraser's condition names.
#[derive(Serialize, Deserialize)]
struct TimerItem {
    tenant: Tenant,
    #[serde(flatten)]
    key: TimerKey,
    generation: u64,
    written: Moment,
}

impl Record for Timer {
    fn attributes(&self, _listing: Listing) -> Result<Item, Fault> {
        let TimerStamp { generation, written } = self.stamp;
        spread(&TimerItem { tenant: self.tenant.clone(), key: self.key, generation, written })
    }

    fn read(item: Item) -> Result<Self, Fault> {
        let TimerItem { tenant, key, generation, written } = gather(item)?;
        Ok(Self { key, tenant, stamp: TimerStamp { generation, written } })
    }
}

/// What is written once, and the cursors, are their own attributes.
macro_rules! plain_record {
    ($($type:ty),*) => {$(
        impl Record for $type {
            fn attributes(&self, _listing: Listing) -> Result<Item, Fault> {
                spread(self)
            }

            fn read(item: Item) -> Result<Self, Fault> {
                gather(item)
            }
        }
    )*};
}

plain_record!(crate::store::Cursor, minutehand_domain::run::Attempt, KeptBody);

/// A body kept apart.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptBody {
    pub(super) json: minutehand_domain::body::Json,
}

/// A document, in one attribute of its own: whatever it calls its fields, none of them is the item's key or version.
#[derive(Serialize, Deserialize)]
pub(super) struct Filed<T> {
    pub(super) document: T,
}

impl<T: Document> Record for Filed<T> {
    fn attributes(&self, _listing: Listing) -> Result<Item, Fault> {
        spread(self)
    }

    fn read(item: Item) -> Result<Self, Fault> {
        gather(item)
    }
}

impl<T> Seen<Filed<T>> {
    pub(super) fn document(self) -> Seen<T> {
        Seen { item: self.item.document, version: self.version }
    }
}

pub(super) fn versioned<T: Record>(item: Item) -> Result<Seen<T>, Fault> {
    let version = match item.get(VERSION) {
        Some(AttributeValue::N(number)) => number.parse().ok(),
        _ => None,
    };
    let version = version.ok_or_else(|| Fault::unreadable(PORT, "an item has no version"))?;
    Ok(Seen { item: T::read(item)?, version: Version(version) })
}

/// Lays a record under its key, if DynamoDB would take it.
pub(super) fn under(key: &Key, mut item: Item) -> Result<Item, Fault> {
    item.insert(PARTITION.to_owned(), text(&key.partition));
    item.insert(SORT.to_owned(), text(&key.sort));
    let bytes = size_of(&item);
    if bytes > LONGEST_BYTES {
        return Err(Fault::illegal(PORT, format!("an item of {bytes} bytes is longer than {LONGEST_BYTES}")));
    }
    Ok(item)
}

/// Where an item of the state lies, by its own word; an index's item says it too.
pub(super) fn key_in(item: &Item) -> Option<Key> {
    let (partition, sort) = (said(item, PARTITION)?.clone(), said(item, SORT)?.clone());
    Some(Key { table: Table::State, partition, sort })
}

pub(super) fn said<'a>(item: &'a Item, name: &str) -> Option<&'a String> {
    item.get(name).and_then(|value| value.as_s().ok())
}

pub(super) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// As DynamoDB counts it: names and values, and a little for what holds others.
pub(super) fn size_of(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of_value(value)).sum()
}

fn size_of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + size_of_value(value)).sum::<usize>(),
        AttributeValue::M(item) => 3 + item.len() + size_of(item),
        _one_byte_or_not_ours => 1,
    }
}

fn spread<T: Serialize>(record: &T) -> Result<Item, Fault> {
    let item: Item = to_item(record).map_err(|error| Fault::unreadable(PORT, error.to_string()))?;
    Ok(without_nothing(item))
}

fn gather<T: DeserializeOwned>(item: Item) -> Result<T, Fault> {
    from_item(item).map_err(|error| Fault::unreadable(PORT, error.to_string()))
}

/// An item without its empty attributes: each would cost its name, and say nothing.
fn without_nothing(item: Item) -> Item {
    let kept = item.into_iter().filter(|(_, value)| !matches!(value, AttributeValue::Null(_)));
    kept.map(|(name, value)| (name, without_nothing_inside(value))).collect()
}

fn without_nothing_inside(value: AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::M(item) => AttributeValue::M(without_nothing(item)),
        AttributeValue::L(values) => AttributeValue::L(values.into_iter().map(without_nothing_inside).collect()),
        other => other,
    }
}
