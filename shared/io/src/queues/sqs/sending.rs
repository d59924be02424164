//! Sending: hints to one queue, up to ten in one request.

use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{SendMessageBatchRequestEntry, SendMessageBatchResultEntry};
use minutehand_domain::Moment;

use super::answers::answers;
use super::batcher::BatchRequest;
use super::{PORT, errors, timing};
use crate::Fault;
use crate::clock::Clock;

pub(super) struct Sending<C> {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) clock: Arc<C>,
}

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) body: String,
    /// Names the message's group: SQS lets no tenant with a long backlog delay the others.
    pub(super) tenant: String,
    pub(super) visible_from: Moment,
}

impl<C: Clock> BatchRequest for Sending<C> {
    type Entry = Outgoing;

    fn bytes(entry: &Outgoing) -> usize {
        entry.body.len()
    }

    async fn send(&self, outgoing: &[Outgoing]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let now = self.clock.now();
        let entries: Result<_, _> =
            outgoing.iter().enumerate().map(|(index, outgoing)| outgoing.entry(index, now)).collect();
        let sent = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries?)).send().await;
        let sent = sent.map_err(|error| errors::fault(&error))?;
        let successful = sent.successful().iter().map(SendMessageBatchResultEntry::id);
        Ok(answers(outgoing.len(), successful, sent.failed(), |entry| Err(errors::entry_fault(entry))))
    }
}

impl Outgoing {
    /// The time it waited for its batch is subtracted from its delay.
    fn entry(&self, index: usize, now: Moment) -> Result<SendMessageBatchRequestEntry, Fault> {
        SendMessageBatchRequestEntry::builder()
            .id(index.to_string())
            .message_body(&self.body)
            .message_group_id(&self.tenant)
            .delay_seconds(timing::capped_delay(self.visible_from, now))
            .build()
            .map_err(|error: BuildError| Fault::illegal(PORT, error.to_string()))
    }
}
