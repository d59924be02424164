//! Deleting: messages of one queue, up to ten in one request.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, DeleteMessageBatchResultEntry};

use super::answers::answers;
use super::batcher::BatchRequest;
use super::hiding::unless_the_receipt_is_old;
use super::{PORT, errors};
use crate::Fault;

pub(super) struct Deleting {
    pub(super) client: Client,
    pub(super) url: String,
}

impl BatchRequest for Deleting {
    /// A receipt handle.
    type Entry = String;

    fn bytes(handle: &String) -> usize {
        handle.len()
    }

    async fn send(&self, handles: &[String]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let entries: Result<_, _> = handles.iter().enumerate().map(|(index, handle)| entry(index, handle)).collect();
        let request = self.client.delete_message_batch().queue_url(&self.url).set_entries(Some(entries?));
        let deleted = request.send().await.map_err(|error| errors::fault(&error))?;
        let successful = deleted.successful().iter().map(DeleteMessageBatchResultEntry::id);
        Ok(answers(handles.len(), successful, deleted.failed(), unless_the_receipt_is_old))
    }
}

fn entry(index: usize, handle: &str) -> Result<DeleteMessageBatchRequestEntry, Fault> {
    DeleteMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .receipt_handle(handle)
        .build()
        .map_err(|error: BuildError| Fault::illegal(PORT, error.to_string()))
}
