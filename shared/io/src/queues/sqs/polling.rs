//! Receiving: one long poll for each queue, all four at once.
//!
//! A poll is a task of its own and outlives the call that began it: what a dropped request was about to bring would be
//! nobody's for a whole visibility, a critical hint half a minute late. So what a poll brings lies in the mailbox until
//! somebody takes it, at most ten for each queue, and a queue is not polled while something of it lies there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::Message;
use minutehand_domain::priority::Priority;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::mailbox::{Mailbox, Taken};
use super::{QueueUrls, Receipt, message, trouble};
use crate::Fault;
use crate::queues::Delivery;

/// What SQS brings in one answer.
const MESSAGES: usize = 10;
/// What SQS lets a poll wait: the longer, the fewer requests for nothing.
const WAIT: Duration = Duration::from_secs(20);
/// A poll that has no answer by then will have none. The client's own time-outs are made for calls that do not wait.
const ANSWER: Duration = Duration::from_secs(30);

pub(super) struct Polling {
    postman: Arc<Postman>,
    polls: Mutex<[Option<AbortHandle>; Priority::ALL.len()]>,
}

struct Postman {
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
        let postman = Postman { client, queues, visibility, mailbox, arrived: Notify::new() };
        Self { postman: Arc::new(postman), polls: Mutex::default() }
    }

    pub(super) fn with_visibility(&self, visibility: Duration) -> Self {
        Self::new(self.postman.client.clone(), self.postman.queues.clone(), visibility)
    }

    /// Waits until something is there, and takes up to `max` of it.
    pub(super) async fn receive(&self, max: usize) -> Result<Vec<Delivery<Receipt>>, Fault> {
        let max = max.max(1);
        loop {
            // Listening begins before looking, so that what arrives between the two is heard.
            let arrived = self.postman.arrived.notified();
            self.poll(max.min(MESSAGES));
            let taken = self.postman.mailbox().take(max, Instant::now());
            match taken {
                Taken::Some(deliveries) => return Ok(deliveries),
                Taken::Fault(fault) => return Err(fault),
                Taken::Within(patient) => _ = timeout_at(patient, arrived).await,
                Taken::Nothing => arrived.await,
            }
        }
    }

    fn poll(&self, max: usize) {
        for queue in self.postman.mailbox().begin_polls(Instant::now()) {
            let poll = tokio::spawn(Arc::clone(&self.postman).fetch(queue, max));
            self.polls.lock().unwrap_or_else(PoisonError::into_inner)[queue.index()] = Some(poll.abort_handle());
        }
    }
}

/// Nobody will take what they bring.
impl Drop for Polling {
    fn drop(&mut self) {
        let polls = self.polls.get_mut().unwrap_or_else(PoisonError::into_inner);
        polls.iter().flatten().for_each(AbortHandle::abort);
    }
}

impl Postman {
    async fn fetch(self: Arc<Self>, queue: Priority, max: usize) {
        let brought = self.request(queue, max).await;
        self.mailbox().put(queue, brought, Instant::now());
        self.arrived.notify_waiters();
    }

    async fn request(&self, queue: Priority, max: usize) -> Result<Vec<Delivery<Receipt>>, Fault> {
        let request = self.client.receive_message().queue_url(self.queues.url(queue));
        let request = request.max_number_of_messages(whole(max)).wait_time_seconds(whole_seconds(WAIT));
        let request = request.visibility_timeout(whole_seconds(self.visibility));
        let answer = request.customize().config_override(patient()).send().await;
        let messages = answer.map_err(|error| trouble::fault(&error))?.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(|message| read(queue, message)).collect())
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What cannot be read is left where it is: it comes back a few times, and then goes to the dead letters for somebody to
/// look at.
fn read(queue: Priority, sent: Message) -> Option<Delivery<Receipt>> {
    let read = message::read(sent.body().unwrap_or_default());
    let hint =
        read.inspect_err(|fault| tracing::warn!(queue = queue.as_str(), message = sent.message_id(), %fault, "left"));
    Some(Delivery { hint: hint.ok()?, priority: queue, receipt: Receipt::new(queue, sent.receipt_handle?) })
}

fn patient() -> Builder {
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
