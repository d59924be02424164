//! Partitions: how often each of them is written to and read. A partition of DynamoDB takes 1,000 writes of a kilobyte a second, so that
//! the hottest one says how fast a burst can be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemInput;
use aws_sdk_dynamodb::operation::get_item::GetItemInput;
use aws_sdk_dynamodb::operation::put_item::PutItemInput;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::types::AttributeValue;

/// Requests to one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub writes: u32,
    pub reads: u32,
}

/// A table and a partition of it.
pub type Partition = (String, String);

/// Counts what the clients ask of each partition that share it.
#[derive(Clone, Debug, Default)]
pub struct Partitions(Arc<Mutex<BTreeMap<Partition, Load>>>);

impl Partitions {
    /// What was asked since this was asked for last.
    pub fn take(&self) -> BTreeMap<Partition, Load> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, table: Option<&str>, key: Option<&AttributeValue>, load: Load) {
        let (Some(table), Some(Ok(key))) = (table, key.map(AttributeValue::as_s)) else { return };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = all.entry((table.to_owned(), key.clone())).or_default();
        *there = Load { writes: there.writes + load.writes, reads: there.reads + load.reads };
    }
}

impl Intercept for Partitions {
    fn name(&self) -> &'static str {
        "Partitions"
    }

    fn read_before_execution(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        const WRITE: Load = Load { writes: 1, reads: 0 };
        const READ: Load = Load { writes: 0, reads: 1 };
        let input = context.input();
        if let Some(put) = input.downcast_ref::<PutItemInput>() {
            self.note(put.table_name(), put.item().and_then(|item| item.get("pk")), WRITE);
        } else if let Some(update) = input.downcast_ref::<UpdateItemInput>() {
            self.note(update.table_name(), update.key().and_then(|key| key.get("pk")), WRITE);
        } else if let Some(delete) = input.downcast_ref::<DeleteItemInput>() {
            self.note(delete.table_name(), delete.key().and_then(|key| key.get("pk")), WRITE);
        } else if let Some(get) = input.downcast_ref::<GetItemInput>() {
            self.note(get.table_name(), get.key().and_then(|key| key.get("pk")), READ);
        } else if let Some(query) = input.downcast_ref::<QueryInput>() {
            let values = query.expression_attribute_values();
            self.note(query.table_name(), values.and_then(|values| values.get(":partition")), READ);
        }
        Ok(())
    }
}
