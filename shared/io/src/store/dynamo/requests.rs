//! Requests: what is asked of a table, and how its answers are read. Whatever a table says, what it cost is noted.

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use super::conditions::Condition;
use super::items::{self, Item, PARTITION, SORT, text, under};
use super::keys::{Key, Order, Span, Table};
use super::meter::Operation;
use super::{DOOR, DynamoStore};
use crate::Fault;

/// How a write went that had a condition.
pub(super) enum Written {
    Done,
    /// The condition did not hold: this is what stands there.
    Refused(Option<Item>),
}

impl DynamoStore {
    fn table(&self, table: Table) -> &str {
        match table {
            Table::State => &self.tables.state,
            Table::Timers => &self.tables.timers,
        }
    }

    fn note(&self, operation: Operation, table: Table, consumed: Option<&ConsumedCapacity>) {
        let units = consumed.and_then(ConsumedCapacity::capacity_units).unwrap_or_default();
        self.meter.note(operation, table, units);
    }

    /// A condition that does not hold costs what the write would have, and its answer does not say so.
    fn note_refused(&self, operation: Operation, table: Table, standing: Option<&Item>) {
        let kilobytes = standing.map_or(1, |item| items::size_of(item).div_ceil(1024).max(1));
        self.meter.note(operation, table, f64::from(u16::try_from(kilobytes).unwrap_or(u16::MAX)));
    }

    pub(super) async fn get(&self, key: &Key) -> Result<Option<Item>, Fault> {
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
            .map_err(|error| fault(&error))?;
        self.note(Operation::GetItem, key.table, answer.consumed_capacity());
        Ok(answer.item)
    }

    pub(super) async fn put(&self, key: &Key, item: Item, condition: Option<Condition>) -> Result<Written, Fault> {
        let mut put = self
            .client
            .put_item()
            .table_name(self.table(key.table))
            .set_item(Some(under(key, item)?))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        if let Some(Condition { expression, names, values }) = condition {
            put = put
                .condition_expression(expression)
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            put = names.iter().fold(put, |put, (name, attribute)| put.expression_attribute_names(*name, *attribute));
            put = values.into_iter().fold(put, |put, (name, value)| put.expression_attribute_values(name, value));
        }
        match put.send().await {
            Ok(answer) => {
                self.note(Operation::PutItem, key.table, answer.consumed_capacity());
                Ok(Written::Done)
            }
            Err(SdkError::ServiceError(error)) if error.err().is_conditional_check_failed_exception() => {
                let PutItemError::ConditionalCheckFailedException(failed) = error.into_err() else { unreachable!() };
                self.note_refused(Operation::PutItem, key.table, failed.item());
                Ok(Written::Refused(failed.item))
            }
            Err(error) => Err(fault(&error)),
        }
    }

    /// Says whether it was there to be erased.
    pub(super) async fn erase(&self, key: &Key, condition: Condition) -> Result<bool, Fault> {
        let Condition { expression, names, values } = condition;
        let mut delete = self
            .client
            .delete_item()
            .table_name(self.table(key.table))
            .key(PARTITION, text(&key.partition))
            .key(SORT, text(&key.sort))
            .condition_expression(expression)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        delete =
            names.iter().fold(delete, |delete, (name, attribute)| delete.expression_attribute_names(*name, *attribute));
        delete =
            values.into_iter().fold(delete, |delete, (name, value)| delete.expression_attribute_values(name, value));
        match delete.send().await {
            Ok(answer) => {
                self.note(Operation::DeleteItem, key.table, answer.consumed_capacity());
                Ok(true)
            }
            Err(SdkError::ServiceError(error))
                if matches!(error.err(), DeleteItemError::ConditionalCheckFailedException(_)) =>
            {
                self.note_refused(Operation::DeleteItem, key.table, None);
                Ok(false)
            }
            Err(error) => Err(fault(&error)),
        }
    }

    /// Up to `limit` items of a span. A page that DynamoDB cuts short (at a megabyte) is gone on with.
    pub(super) async fn query(&self, span: &Span, limit: usize) -> Result<Vec<Item>, Fault> {
        let (mut found, mut from) = (Vec::new(), None);
        // The end that is known already may be among them.
        let wanted = limit.saturating_add(usize::from(span.but.is_some()));
        if limit == 0 || span.is_empty() {
            return Ok(found);
        }
        loop {
            let left = i32::try_from(wanted - found.len()).ok();
            let answer = self
                .client
                .query()
                .table_name(self.table(span.table))
                .key_condition_expression("#partition = :partition AND #sort BETWEEN :from AND :to")
                .expression_attribute_names("#partition", PARTITION)
                .expression_attribute_names("#sort", SORT)
                .expression_attribute_values(":partition", text(&span.partition))
                .expression_attribute_values(":from", text(&span.from))
                .expression_attribute_values(":to", text(&span.to))
                .scan_index_forward(span.order == Order::Forward)
                .consistent_read(true)
                .set_limit(left)
                .set_exclusive_start_key(from)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|error| fault(&error))?;
            self.note(Operation::Query, span.table, answer.consumed_capacity());
            found.extend(answer.items.unwrap_or_default());
            from = answer.last_evaluated_key;
            if from.is_none() || found.len() >= wanted {
                break;
            }
        }
        if let Some(but) = &span.but {
            found.retain(|item| item.get(SORT) != Some(&text(but)));
        }
        found.truncate(limit);
        Ok(found)
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
        Some("ValidationException" | "SerializationException") => Fault::illegal(DOOR, why),
        _ => Fault::unavailable(DOOR, why),
    }
}
