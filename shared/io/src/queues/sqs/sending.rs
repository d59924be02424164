//! Sending: hints to one queue, up to ten with one request.

use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{SendMessageBatchRequestEntry, SendMessageBatchResultEntry};
use minutehand_domain::Moment;

use super::answers::answers;
use super::courier::Route;
use super::{PORT, timing, trouble};
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

impl<C: Clock> Route for Sending<C> {
    type Parcel = Outgoing;

    fn bytes(parcel: &Outgoing) -> usize {
        parcel.body.len()
    }

    async fn carry(&self, parcels: &[Outgoing]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let now = self.clock.now();
        let entries: Result<_, _> =
            parcels.iter().enumerate().map(|(place, parcel)| parcel.entry(place, now)).collect();
        let sent = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries?)).send().await;
        let sent = sent.map_err(|error| trouble::fault(&error))?;
        let successful = sent.successful().iter().map(SendMessageBatchResultEntry::id);
        Ok(answers(parcels.len(), successful, sent.failed(), |entry| Err(trouble::entry_fault(entry))))
    }
}

impl Outgoing {
    /// What it waited to travel with others is taken off its delay.
    fn entry(&self, place: usize, now: Moment) -> Result<SendMessageBatchRequestEntry, Fault> {
        SendMessageBatchRequestEntry::builder()
            .id(place.to_string())
            .message_body(&self.body)
            .message_group_id(&self.tenant)
            .delay_seconds(timing::capped_delay(self.visible_from, now))
            .build()
            .map_err(|error: BuildError| Fault::illegal(PORT, error.to_string()))
    }
}
