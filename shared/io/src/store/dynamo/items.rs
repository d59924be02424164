//! Items: what an item looks like as attributes. They come from its shape in the form for people, so that the
//! console shows a job or a run; what is absent is left out.
//!
//! Beside its shape's attributes an item has its key (`pk`, `sk`), where it is guarded its `version` and the `write` that
//! made it, where its shape is not the first its number (`shape`), and where it expires when (`expires_at`).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::Timer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::keys::{self, Key, Table};
use super::{Listing, PORT};
use crate::Fault;
use crate::store::item::{Form, Indexed, Item, Reader, Stored as _, Writer};
use crate::store::{Seen, Version};

pub(super) type Attributes = HashMap<String, AttributeValue>;

pub(super) const PARTITION: &str = "pk";
pub(super) const SORT: &str = "sk";
pub(super) const VERSION: &str = "version";
/// Which write made the item: by it a writer knows its own, when an answer was lost and the SDK wrote again.
pub(super) const WRITE: &str = "write";
pub(super) const GENERATION: &str = "generation";
pub(super) const WRITTEN: &str = "written";
/// The indexes' attributes: `hour`, `attention` and `letter` are partitions, `listed_at` sorts in each.
pub(super) const HOUR: &str = "hour";
pub(super) const ATTENTION: &str = "attention";
pub(super) const LETTER: &str = "letter";
pub(super) const LISTED_AT: &str = "listed_at";
const FIRST_SHAPE: u8 = 1;

/// What DynamoDB takes.
const LONGEST_BYTES: usize = 400 * 1024;

/// The number of its shape; absent it is the first.
pub(super) const SHAPE: &str = "shape";
/// From when on DynamoDB may delete it, in seconds since 1970: the table's TTL.
pub(super) const EXPIRES_AT: &str = "expires_at";

/// By which whose an item is can be told: a timer says it, all else by where it lies.
pub(super) const OWNED: [&str; 3] = [PARTITION, SORT, "tenant"];

pub(super) fn is_of(item: &Attributes, table: Table, tenant: &Tenant) -> bool {
    match table {
        Table::State => said(item, PARTITION).is_some_and(|partition| keys::is_of(partition, tenant)),
        Table::Timers => said(item, "tenant").is_some_and(|said| said == tenant.as_str()),
    }
}

/// An item's own attributes, and those by which it is listed, shaped and deleted.
pub(super) fn attributes_of<T: Item>(tenant: &Tenant, item: &T, listing: Listing) -> Result<Attributes, Fault> {
    let mut attributes = item.write(Spread)?;
    for name in T::SETS {
        make_a_set(&mut attributes, name);
    }
    if let Some(indexed) = item.index() {
        list(&mut attributes, tenant, indexed, listing);
    }
    if let Some(at) = item.given_up_at() {
        attributes.insert(EXPIRES_AT.to_owned(), expiry(at));
    }
    Ok(attributes)
}

pub(super) fn timer_attributes(timer: &Timer) -> Result<Attributes, Fault> {
    timer.write(Spread)
}

fn list(attributes: &mut Attributes, tenant: &Tenant, indexed: Indexed, listing: Listing) {
    let Indexed { run, attention } = indexed;
    if listing == Listing::ByHour {
        attributes.insert(HOUR.to_owned(), text(keys::hour(tenant, run)));
    }
    if let Some(attention) = attention {
        attributes.insert(ATTENTION.to_owned(), text(keys::attention(tenant, run, attention)));
    }
    if indexed.is_letter() {
        attributes.insert(LETTER.to_owned(), text(keys::letter(run)));
    }
    if attention.is_some() || listing == Listing::ByHour {
        attributes.insert(LISTED_AT.to_owned(), text(keys::listed_at(run)));
    }
}

/// A list of words becomes a set of them. DynamoDB knows no empty set.
fn make_a_set(attributes: &mut Attributes, name: &str) {
    let Some(AttributeValue::L(words)) = attributes.remove(name) else { return };
    let words: Vec<_> = words.into_iter().filter_map(|word| word.as_s().ok().cloned()).collect();
    if !words.is_empty() {
        attributes.insert(name.to_owned(), AttributeValue::Ss(words));
    }
}

/// Not before it: DynamoDB counts in seconds.
pub(super) fn expiry(at: Moment) -> AttributeValue {
    AttributeValue::N((at.millis() + 999).div_euclid(1000).to_string())
}

pub(super) fn seen<T: Item>(item: Attributes) -> Result<Seen<T>, Fault> {
    let version = if T::IMMUTABLE { Some(Version::ONLY) } else { numbered(&item, VERSION).map(Version) };
    let version = version.ok_or_else(|| Fault::unreadable(PORT, "an item has no version"))?;
    Ok(Seen { item: T::read(shape_of(&item), Gathered(item))?, version })
}

/// Where it lies is where it stands: it may be the copy of what a later release wrote elsewhere.
pub(super) fn timer_of(item: Attributes) -> Result<Timer, Fault> {
    let place = said(&item, SORT).and_then(|sort| keys::timer_of(sort));
    let timer = Timer::read(shape_of(&item), Gathered(item))?;
    Ok(Timer { key: place.unwrap_or(timer.key), ..timer })
}

/// What it is, wherever it lies.
pub(super) fn without_place(item: Attributes) -> Attributes {
    item.into_iter().filter(|(name, _)| name != PARTITION && name != SORT).collect()
}

/// One that is none of ours is a later one.
fn shape_of(item: &Attributes) -> u8 {
    if !item.contains_key(SHAPE) {
        return FIRST_SHAPE;
    }
    numbered(item, SHAPE).and_then(|number| number.try_into().ok()).unwrap_or(u8::MAX)
}

fn numbered(item: &Attributes, name: &str) -> Option<u64> {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok())
}

/// Attributes being written.
struct Spread;

impl Writer for Spread {
    type Written = Attributes;

    fn form(&self) -> Form {
        Form::Attributes
    }

    fn shape<S: Serialize>(self, shape_number: u8, shape: &S) -> Result<Attributes, Fault> {
        let item: Attributes = to_item(shape).map_err(|error| Fault::unreadable(PORT, error.to_string()))?;
        let mut item = without_nothing(item);
        if shape_number != FIRST_SHAPE {
            item.insert(SHAPE.to_owned(), number(shape_number.into()));
        }
        Ok(item)
    }
}

/// Attributes being read. Those that a shape does not know are not its business: a release adds some, and takes none away.
struct Gathered(Attributes);

impl Reader for Gathered {
    fn form(&self) -> Form {
        Form::Attributes
    }

    fn has(&self, attribute: &str) -> bool {
        self.0.contains_key(attribute)
    }

    fn shape<S: DeserializeOwned>(self) -> Result<S, Fault> {
        from_item(self.0).map_err(|error| Fault::unreadable(PORT, error.to_string()))
    }
}

/// Lays a record under its key, if DynamoDB would take it.
pub(super) fn under(key: &Key, mut item: Attributes) -> Result<Attributes, Fault> {
    item.insert(PARTITION.to_owned(), text(&key.partition));
    item.insert(SORT.to_owned(), text(&key.sort));
    let bytes = size_of(&item);
    if bytes > LONGEST_BYTES {
        return Err(Fault::illegal(PORT, format!("an item of {bytes} bytes is longer than {LONGEST_BYTES}")));
    }
    Ok(item)
}

/// Where an item of the state lies, by its own word; an index's item says it too.
pub(super) fn key_in(item: &Attributes) -> Option<Key> {
    let (partition, sort) = (said(item, PARTITION)?.clone(), said(item, SORT)?.clone());
    Some(Key { table: Table::State, partition, sort })
}

pub(super) fn said<'a>(item: &'a Attributes, name: &str) -> Option<&'a String> {
    item.get(name).and_then(|value| value.as_s().ok())
}

pub(super) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// As DynamoDB counts it: names and values, and a little for what holds others.
pub(super) fn size_of(item: &Attributes) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of_value(value)).sum()
}

fn size_of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::Ss(words) => words.iter().map(String::len).sum(),
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + size_of_value(value)).sum::<usize>(),
        AttributeValue::M(item) => 3 + item.len() + size_of(item),
        _one_byte_or_not_ours => 1,
    }
}

/// An item without its empty attributes: each would cost its name, and say nothing.
fn without_nothing(item: Attributes) -> Attributes {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use minutehand_domain::body::{Body, Json};
    use minutehand_domain::id::{JobId, RunKey};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::logbook::Checkpoint;
    use minutehand_domain::run::{Branches, Graph, Run, State, TaskRun};
    use minutehand_domain::workflow::WorkflowId;

    use super::*;
    use crate::store::{Beneath, KeptBody, RunBody};

    /// What is read with others, as a task's run with its workflow's, is gone before them. Removed: all go by their own instant, which is the same; an
    /// archived task said neither which it was nor of what.
    #[test]
    fn the_run_of_a_workflow_goes_after_those_of_its_tasks() {
        let now = Moment::from_secs(1_800_000_000);
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), now);
        let graph = |each| Graph {
            workflow: WorkflowId::from_bytes([2; 16]),
            version: 1,
            each,
            given: Body::Empty,
            parts: 1,
            expires_at: now,
            slot: None,
        };
        let run = |depth, graph| Run {
            state: State::Cancelled { at: now },
            task: (depth > 0).then(|| TaskRun::new(key, depth, false)),
            graph,
            ..Run::new(Tenant::deployment(), key, Priority::Normal)
        };
        let each = Some(Branches { node: 0, count: 1 });
        let inside_out = [
            run(1, None),
            run(8, Some(graph(None))),
            run(1, Some(graph(None))),
            run(1, Some(graph(each))),
            run(0, Some(graph(None))),
        ];

        let gone = inside_out.map(|run| {
            let written = attributes_of(&run.tenant, &run, Listing::ByHour).unwrap();
            written[EXPIRES_AT].as_n().unwrap().parse::<i64>().unwrap()
        });

        assert!(gone.is_sorted() && gone.windows(2).all(|two| two[1] - two[0] >= 12 * 3600), "{gone:?}");
    }

    /// Nobody deletes it with its run here. Removed: the instant by which the table's TTL goes. A run's logs stayed for ever.
    #[test]
    fn what_lies_beneath_a_run_says_when_it_may_go_and_a_reader_is_not_told() {
        let (now, job) = (Moment::from_secs(1_800_000_000), JobId::from_bytes([1; 16]));
        let run = Run::new(Tenant::deployment(), RunKey::occurrence(job, now), Priority::Normal);
        let checkpoint = Checkpoint { run: run.key, fence: 1, at: now, value: Json::null() };
        let alone = attributes_of(&run.tenant, &checkpoint, Listing::ByHour).unwrap();

        let beneath = Beneath::of(&run, checkpoint, now);
        let mut written = attributes_of(&run.tenant, &beneath, Listing::ByHour).unwrap();
        let body = RunBody { json: Json::null(), until: run.needs_until(now) };
        let body = attributes_of(&run.tenant, &body, Listing::ByHour).unwrap();

        let in_four_months = expiry(now + Duration::from_secs(120 * 86_400));
        let payload = Beneath::until(KeptBody { json: Json::null() }, now);
        let payload = attributes_of(&run.tenant, &payload, Listing::ByHour).unwrap();
        assert_eq!(payload.get(EXPIRES_AT), Some(&expiry(now)), "of a job that was deleted");
        assert_eq!(seen::<KeptBody>(payload).unwrap().item.json, Json::null());
        assert_eq!(body.get(EXPIRES_AT), Some(&in_four_months));
        assert_eq!(written.remove(EXPIRES_AT), Some(in_four_months));
        assert_eq!(written, alone);
    }
}
