//! Receiving: one long poll for each queue, all at once.
//!
//! A poll is a task of its own and outlives the call that began it: messages of a dropped request would stay hidden for a
//! whole visibility, a critical hint half a minute late. So the messages of a poll stay in the mailbox until a receiver
//! takes them, at most ten for each queue, and a queue is not polled while the mailbox holds messages of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::Message;
use minutehand_domain::lane::Lane;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::mailbox::{Mailbox, Poll, REST, Taken};
use super::{QueueUrls, Receipt, errors, message};
use crate::Fault;
use crate::queues::Delivery;

/// Messages that SQS returns in one answer.
const MESSAGES: usize = 10;
/// A poll without an answer by then is given up. The client's own time-outs are chosen for calls that do not wait.
const ANSWER: Duration = Duration::from_secs(30);

pub(super) struct Polling {
    poller: Arc<Poller>,
    polls: Mutex<[Option<AbortHandle>; Lane::ALL.len()]>,
}

struct Poller {
    client: Client,
    queues: QueueUrls,
    visibility: Duration,
    mailbox: Mutex<Mailbox>,
    /// A poll is over.
    arrived: Notify,
}

impl Polling {
    pub(super) fn new(client: Client, queues: QueueUrls, visibility: Duration) -> Self {
        let mailbox = Mutex::new(Mailbox::new(visibility));
        let poller = Poller { client, queues, visibility, mailbox, arrived: Notify::new() };
        Self { poller: Arc::new(poller), polls: Mutex::default() }
    }

    pub(super) fn with_visibility(&self, visibility: Duration) -> Self {
        Self::new(self.poller.client.clone(), self.poller.queues.clone(), visibility)
    }

    /// Waits until a delivery is there, and takes up to `max`.
    pub(super) async fn receive(&self, max: usize) -> Result<Vec<Delivery<Receipt>>, Fault> {
        let max = max.max(1);
        loop {
            // The notification is registered before the look, so that an arrival between the two is not missed.
            let arrived = self.poller.arrived.notified();
            self.poll(max.min(MESSAGES));
            let taken = self.poller.mailbox().take(max, Instant::now());
            match taken {
                Taken::Some(deliveries) => return Ok(deliveries),
                Taken::Fault(fault) => return Err(fault),
                Taken::WaitUntil(moment) => _ = timeout_at(moment, arrived).await,
                // A queue that rests is polled again then.
                Taken::Nothing => _ = timeout(REST, arrived).await,
            }
        }
    }

    /// A receiver that waits looks again: the queues that there is room for now are polled.
    pub(super) fn leave_room_for_long(&self, room: usize) {
        self.poller.mailbox().leave_room_for_long(room);
        self.poller.arrived.notify_waiters();
    }

    fn poll(&self, max: usize) {
        let mut mailbox = self.poller.mailbox();
        for poll in mailbox.begin_polls(max, Instant::now()) {
            let queue = poll.queue;
            let poll = tokio::spawn(Arc::clone(&self.poller).fetch(poll));
            self.polls.lock().unwrap_or_else(PoisonError::into_inner)[queue.index()] = Some(poll.abort_handle());
        }
    }
}

/// Ends the polls: no receiver will take their messages.
impl Drop for Polling {
    fn drop(&mut self) {
        let polls = self.polls.get_mut().unwrap_or_else(PoisonError::into_inner);
        polls.iter().flatten().for_each(AbortHandle::abort);
    }
}

impl Poller {
    async fn fetch(self: Arc<Self>, poll: Poll) {
        let received = self.request(poll).await;
        self.mailbox().put(poll.queue, received, Instant::now());
        self.arrived.notify_waiters();
    }

    async fn request(&self, Poll { queue, most, waits }: Poll) -> Result<Vec<Delivery<Receipt>>, Fault> {
        let request = self.client.receive_message().queue_url(self.queues.url(queue));
        let request = request.max_number_of_messages(whole(most)).wait_time_seconds(whole_seconds(waits));
        let request = request.visibility_timeout(whole_seconds(self.visibility));
        let answer = request.customize().config_override(with_long_poll_timeouts()).send().await;
        let messages = answer.map_err(|error| errors::fault(&error))?.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(|message| read(queue, message)).collect())
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message that cannot be read is left in the queue: it is delivered a few more times and then goes to the dead letters
/// for an operator to look at.
fn read(queue: Lane, sent: Message) -> Option<Delivery<Receipt>> {
    let read = message::read(sent.body().unwrap_or_default());
    let hint =
        read.inspect_err(|fault| tracing::warn!(queue = queue.as_str(), message = sent.message_id(), %fault, "left"));
    Some(Delivery { hint: hint.ok()?, lane: queue, receipt: Receipt::new(queue, sent.receipt_handle?) })
}

fn with_long_poll_timeouts() -> Builder {
    let timeouts =
        TimeoutConfig::builder().read_timeout(ANSWER).operation_attempt_timeout(ANSWER).disable_operation_timeout();
    Builder::new().timeout_config(timeouts.build())
}

fn whole(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn whole_seconds(span: Duration) -> i32 {
    i32::try_from(span.as_secs()).unwrap_or(i32::MAX)
}
