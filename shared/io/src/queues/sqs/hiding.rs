//! Hiding: the visibility of messages of one queue, up to ten in one request.

use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, ChangeMessageVisibilityBatchResultEntry,
};
use minutehand_domain::Moment;

use super::answers::answers;
use super::batcher::BatchRequest;
use super::{PORT, errors, timing};
use crate::Fault;
use crate::clock::Clock;

pub(super) struct Hiding<C> {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) clock: Arc<C>,
}

#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) handle: String,
    pub(super) until: Moment,
}

impl<C: Clock> BatchRequest for Hiding<C> {
    type Entry = Hidden;

    fn bytes(entry: &Hidden) -> usize {
        entry.handle.len()
    }

    async fn send(&self, hidden: &[Hidden]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let now = self.clock.now();
        let entries: Result<_, _> = hidden.iter().enumerate().map(|(index, hidden)| hidden.entry(index, now)).collect();
        let request = self.client.change_message_visibility_batch().queue_url(&self.url).set_entries(Some(entries?));
        let changed = request.send().await.map_err(|error| errors::fault(&error))?;
        let successful = changed.successful().iter().map(ChangeMessageVisibilityBatchResultEntry::id);
        Ok(answers(hidden.len(), successful, changed.failed(), unless_the_receipt_is_old))
    }
}

impl Hidden {
    fn entry(&self, index: usize, now: Moment) -> Result<ChangeMessageVisibilityBatchRequestEntry, Fault> {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(index.to_string())
            .receipt_handle(&self.handle)
            .visibility_timeout(timing::capped_visibility(self.until, now))
            .build()
            .map_err(|error: BuildError| Fault::illegal(PORT, error.to_string()))
    }
}

/// An old receipt is no fault: it must do nothing.
pub(super) fn unless_the_receipt_is_old(entry: &BatchResultErrorEntry) -> Result<(), Fault> {
    if errors::is_of_an_old_receipt(entry) { Ok(()) } else { Err(errors::entry_fault(entry)) }
}
