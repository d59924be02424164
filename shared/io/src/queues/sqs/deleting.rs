//! Deleting: messages of one queue, up to ten with one request.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, DeleteMessageBatchResultEntry};

use super::answers::answers;
use super::courier::Route;
use super::hiding::unless_the_receipt_is_old;
use super::{PORT, trouble};
use crate::Fault;

pub(super) struct Deleting {
    pub(super) client: Client,
    pub(super) url: String,
}

impl Route for Deleting {
    /// A receipt handle.
    type Parcel = String;

    fn bytes(handle: &String) -> usize {
        handle.len()
    }

    async fn carry(&self, handles: &[String]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let entries: Result<_, _> = handles.iter().enumerate().map(|(place, handle)| entry(place, handle)).collect();
        let request = self.client.delete_message_batch().queue_url(&self.url).set_entries(Some(entries?));
        let deleted = request.send().await.map_err(|error| trouble::fault(&error))?;
        let successful = deleted.successful().iter().map(DeleteMessageBatchResultEntry::id);
        Ok(answers(handles.len(), successful, deleted.failed(), unless_the_receipt_is_old))
    }
}

fn entry(place: usize, handle: &str) -> Result<DeleteMessageBatchRequestEntry, Fault> {
    DeleteMessageBatchRequestEntry::builder()
        .id(place.to_string())
        .receipt_handle(handle)
        .build()
        .map_err(|error: BuildError| Fault::illegal(PORT, error.to_string()))
}
