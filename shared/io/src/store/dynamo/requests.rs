//! Requests: what is asked of a table, and how its answers are read. Whatever a table says, what it cost is noted. Each request waits for
//! its turn: `_open` is held for that one, and dropped before the next.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    ConsumedCapacity, KeysAndAttributes, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};
use tokio::time::sleep;

use super::changes::Change;
use super::conditions::Condition;
use super::items::{self, ATTENTION, Attributes, HOUR, LETTER, LISTED_AT, PARTITION, SORT, text, under};
use super::keys::{Index, Key, Resource, Span, Table};
use super::meter::Operation;
use super::{DynamoStore, PORT};
use crate::Fault;
use crate::store::Part;
use crate::store::place::Order;

/// Whole items that a page of a scan holds: what must be done about each may take hundreds of requests, and whoever asks has some
/// seconds.
const WHOLE_ITEMS: i32 = 100;

/// How many keys DynamoDB takes in one batch.
pub(super) const BATCH: usize = 100;
/// Before each time that the keys are asked for again which the table left for later. What it leaves even then, it is too
/// busy for.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(20), Duration::from_millis(40), Duration::from_millis(80), Duration::from_millis(160)];

/// Between the two halves of a key: no half contains it.
const BETWEEN_KEYS: char = ' ';

/// How a write went that had a condition.
pub(super) enum Written {
    Done,
    /// The condition did not hold: this is what stands there.
    Refused(Option<Attributes>),
}

/// How a change went.
pub(super) enum Changed {
    /// This stands there now.
    Done(Attributes),
    /// The condition did not hold: this is what stands there.
    Refused(Option<Attributes>),
}

impl DynamoStore {
    fn table(&self, table: Table) -> &str {
        match table {
            Table::State => &self.tables.state,
            Table::Timers => &self.tables.timers,
        }
    }

    fn note(&self, operation: Operation, resource: Resource, consumed: Option<&ConsumedCapacity>) {
        let units = consumed.and_then(ConsumedCapacity::capacity_units).unwrap_or_default();
        self.meter.note(operation, resource, units);
    }

    /// A condition that does not hold costs what the write would have, and its answer does not say so.
    fn note_refused(&self, operation: Operation, table: Table, standing: Option<&Attributes>) {
        let kilobytes = standing.map_or(1, |item| items::size_of(item).div_ceil(1024).max(1));
        self.meter.note(operation, Resource::Table(table), f64::from(u16::try_from(kilobytes).unwrap_or(u16::MAX)));
    }

    pub(super) async fn get_attributes(&self, key: &Key) -> Result<Option<Attributes>, Fault> {
        let _open = self.open.one_more().await;
        let answer = self
            .client
            .get_item()
            .table_name(self.table(key.table))
            .key(PARTITION, text(&key.partition))
            .key(SORT, text(&key.sort))
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.fault(&error))?;
        self.note(Operation::GetItem, Resource::Table(key.table), answer.consumed_capacity());
        Ok(answer.item)
    }

    /// Up to [`BATCH`] items of the state, in the order of their keys; what is not there is left out.
    pub(super) async fn get_all(&self, keys: &[Key]) -> Result<Vec<Attributes>, Fault> {
        let (mut found, mut left) = (HashMap::with_capacity(keys.len()), keys.iter().map(attributes_of).collect());
        let mut pauses = PAUSES.iter();
        loop {
            let (items, left_over) = self.get_some(left).await?;
            found.extend(items.into_iter().filter_map(|item| Some((items::key_in(&item)?, item))));
            if left_over.is_empty() {
                return Ok(keys.iter().filter_map(|key| found.remove(key)).collect());
            }
            let again =
                pauses.next().ok_or_else(|| Fault::unavailable(PORT, "keys are left for later again and again"))?;
            sleep(*again).await;
            left = left_over;
        }
    }

    /// The items that the table gives of these, and the keys that it leaves for later.
    async fn get_some(&self, keys: Vec<Attributes>) -> Result<(Vec<Attributes>, Vec<Attributes>), Fault> {
        let _open = self.open.one_more().await;
        let (resource, name) = (Resource::Table(Table::State), self.table(Table::State));
        let asked = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
        let answer = self
            .client
            .batch_get_item()
            .request_items(name, asked.map_err(|why| Fault::illegal(PORT, why.to_string()))?)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.fault(&error))?;
        self.note(Operation::BatchGetItem, resource, answer.consumed_capacity().first());
        let items = answer.responses.and_then(|mut by_table| by_table.remove(name)).unwrap_or_default();
        let left = answer.unprocessed_keys.and_then(|mut by_table| by_table.remove(name));
        Ok((items, left.map(|left| left.keys).unwrap_or_default()))
    }

    pub(super) async fn put_attributes(
        &self,
        key: &Key,
        item: Attributes,
        condition: Condition,
    ) -> Result<Written, Fault> {
        let _open = self.open.one_more().await;
        let Condition { expression, names, values } = condition;
        let mut put = self
            .client
            .put_item()
            .table_name(self.table(key.table))
            .set_item(Some(under(key, item)?))
            .condition_expression(expression)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        put = names.iter().fold(put, |put, (name, attribute)| put.expression_attribute_names(*name, *attribute));
        put = values.into_iter().fold(put, |put, (name, value)| put.expression_attribute_values(name, value));
        match put.send().await {
            Ok(answer) => {
                self.note(Operation::PutItem, Resource::Table(key.table), answer.consumed_capacity());
                Ok(Written::Done)
            }
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    self.note_refused(Operation::PutItem, key.table, failed.item());
                    Ok(Written::Refused(failed.item.clone()))
                }
                _ => Err(self.fault(&error)),
            },
        }
    }

    /// Makes a change where the item lies, and answers with what came of it.
    pub(super) async fn change(&self, key: &Key, change: Change) -> Result<Changed, Fault> {
        let _open = self.open.one_more().await;
        let update = self
            .client
            .update_item()
            .table_name(self.table(key.table))
            .key(PARTITION, text(&key.partition))
            .key(SORT, text(&key.sort))
            .condition_expression(change.condition)
            .update_expression(change.actions)
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        match update.send().await {
            Ok(answer) => {
                self.note(Operation::UpdateItem, Resource::Table(key.table), answer.consumed_capacity());
                Ok(Changed::Done(answer.attributes.unwrap_or_default()))
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    self.note_refused(Operation::UpdateItem, key.table, failed.item());
                    Ok(Changed::Refused(failed.item.clone()))
                }
                _ => Err(self.fault(&error)),
            },
        }
    }

    /// Erases an item under a condition.
    pub(super) async fn erase_if(&self, key: &Key, condition: Condition) -> Result<Written, Fault> {
        let _open = self.open.one_more().await;
        let Condition { expression, names, values } = condition;
        let mut delete = self
            .client
            .delete_item()
            .table_name(self.table(key.table))
            .key(PARTITION, text(&key.partition))
            .key(SORT, text(&key.sort))
            .condition_expression(expression)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        delete =
            names.iter().fold(delete, |delete, (name, attribute)| delete.expression_attribute_names(*name, *attribute));
        delete =
            values.into_iter().fold(delete, |delete, (name, value)| delete.expression_attribute_values(name, value));
        match delete.send().await {
            Ok(answer) => {
                self.note(Operation::DeleteItem, Resource::Table(key.table), answer.consumed_capacity());
                Ok(Written::Done)
            }
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(failed)) => {
                    self.note_refused(Operation::DeleteItem, key.table, failed.item());
                    Ok(Written::Refused(failed.item.clone()))
                }
                _ => Err(self.fault(&error)),
            },
        }
    }

    /// A page of a table's part, in no order, and behind what the next page begins: a megabyte of timers, or of one attribute of each item, or a
    /// few whole items of the state. It is read strongly, as everything that something is decided by.
    pub(super) async fn scan(
        &self,
        table: Table,
        part: Part,
        behind: Option<String>,
        only: Option<&[&str]>,
    ) -> Result<(Vec<Attributes>, Option<String>), Fault> {
        let _open = self.open.one_more().await;
        let numbered = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        let from = behind.as_deref().and_then(|key| key_at(table, key));
        let answer = self
            .client
            .scan()
            .table_name(self.table(table))
            .segment(numbered(part.number))
            .total_segments(numbered(part.of))
            .set_limit((only.is_none() && table == Table::State).then_some(WHOLE_ITEMS))
            .set_projection_expression(
                only.map(|names| names.iter().map(|name| format!("#{name}")).collect::<Vec<_>>().join(", ")),
            )
            .set_expression_attribute_names(
                only.map(|names| names.iter().map(|name| (format!("#{name}"), (*name).to_owned())).collect()),
            )
            .consistent_read(true)
            .set_exclusive_start_key(from.as_ref().map(attributes_of))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.fault(&error))?;
        self.note(Operation::Scan, Resource::Table(table), answer.consumed_capacity());
        let next = answer.last_evaluated_key.as_ref().and_then(place_of);
        Ok((answer.items.unwrap_or_default(), next))
    }

    /// Up to `limit` items of a span. A page that DynamoDB cuts short (at a megabyte) is gone on with.
    pub(super) async fn query(&self, span: &Span, limit: usize) -> Result<Vec<Attributes>, Fault> {
        let (mut found, mut from) = (Vec::new(), None);
        // The end that is known already may be among them.
        let wanted = limit.saturating_add(usize::from(span.but.is_some()));
        if limit == 0 || span.is_empty() {
            return Ok(found);
        }
        let [partition, sort] = key_of(span.resource);
        loop {
            let left = i32::try_from(wanted - found.len()).ok();
            let _open = self.open.one_more().await;
            let answer = self
                .client
                .query()
                .table_name(self.table(span.resource.table()))
                .set_index_name(index_name(span.resource))
                .key_condition_expression("#partition = :partition AND #sort BETWEEN :from AND :to")
                .expression_attribute_names("#partition", partition)
                .expression_attribute_names("#sort", sort)
                .expression_attribute_values(":partition", text(&span.partition))
                .expression_attribute_values(":from", text(&span.from))
                .expression_attribute_values(":to", text(&span.to))
                .scan_index_forward(span.order == Order::Forward)
                // No index can be read strongly.
                .consistent_read(matches!(span.resource, Resource::Table(_)))
                .set_limit(left)
                .set_exclusive_start_key(from)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|error| self.fault(&error))?;
            self.note(Operation::Query, span.resource, answer.consumed_capacity());
            found.extend(answer.items.unwrap_or_default());
            from = answer.last_evaluated_key;
            if from.is_none() || found.len() >= wanted {
                break;
            }
        }
        if let Some(but) = &span.but {
            found.retain(|item| item.get(sort) != Some(&text(but)));
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// Where an item lies in its table, in one word.
pub(super) fn place_of(item: &Attributes) -> Option<String> {
    let (partition, sort) = (items::said(item, PARTITION)?, items::said(item, SORT)?);
    Some(format!("{partition}{BETWEEN_KEYS}{sort}"))
}

pub(super) fn key_at(table: Table, place: &str) -> Option<Key> {
    let (partition, sort) = place.split_once(BETWEEN_KEYS)?;
    Some(Key { table, partition: partition.to_owned(), sort: sort.to_owned() })
}

fn index_name(resource: Resource) -> Option<String> {
    match resource {
        Resource::Table(_) => None,
        Resource::Index(index) => Some(index.name().to_owned()),
    }
}

/// Which attributes are the partition and the sort key.
const fn key_of(resource: Resource) -> [&'static str; 2] {
    match resource {
        Resource::Table(_) => [PARTITION, SORT],
        Resource::Index(Index::RunsByHour) => [HOUR, LISTED_AT],
        Resource::Index(Index::Attention) => [ATTENTION, LISTED_AT],
        Resource::Index(Index::Letters) => [LETTER, LISTED_AT],
    }
}

fn attributes_of(key: &Key) -> Attributes {
    Attributes::from([(PARTITION.to_owned(), text(&key.partition)), (SORT.to_owned(), text(&key.sort))])
}

/// What DynamoDB says where a table or a partition is asked for more than it gives.
const THROTTLED: [&str; 3] = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"];

impl DynamoStore {
    fn fault<E>(&self, error: &SdkError<E>) -> Fault
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        if error.code().is_some_and(|code| THROTTLED.contains(&code)) {
            self.throttled.fetch_add(1, Ordering::Relaxed);
        }
        fault(error)
    }
}

/// What AWS says no to for good is our own fault; all else may work the next time: a throttle, a conflict with somebody's
/// transaction, a table that is not there yet, a network that is away.
fn fault<E>(error: &SdkError<E>) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let code = error.code().map(ToOwned::to_owned);
    let why = DisplayErrorContext(error).to_string();
    match code.as_deref() {
        Some("ValidationException" | "SerializationException") => Fault::illegal(PORT, why),
        _ => Fault::unavailable(PORT, why),
    }
}
