//! Queues on SQS: a standard queue for each lane. Requests that come together are sent as one batch. A request that AWS
//! would refuse is refused here first, because the emulators accept it.
//!
//! In Lambda the platform receives: a host there needs [`message::read`], [`QueueUrls::lane_of`] and [`Receipt::new`].
//! A process receives through [`Inbox`].

mod answers;
mod batcher;
mod deleting;
mod errors;
mod hiding;
mod mailbox;
pub mod message;
mod polling;
mod queue_urls;
mod sending;
mod timing;

use std::array;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::lane::Lane;

use self::batcher::Batcher;
use self::deleting::Deleting;
use self::hiding::{Hidden, Hiding};
use self::polling::Polling;
pub use self::queue_urls::QueueUrls;
use self::sending::{Outgoing, Sending};
use super::{Delivery, Inbox, Queues};
use crate::Fault;
use crate::clock::Clock;

/// Hints become visible this much before their time: SQS delays by whole seconds and delivers a little later than that, and
/// the executor holds a hint until its millisecond.
pub const EARLY: Duration = Duration::from_secs(1);

/// How long a delivered hint stays hidden. Set with each poll, because the queue's own visibility is chosen for Lambda,
/// which must not receive a message again before its time-out: as long as an hour.
pub const VISIBILITY: Duration = Duration::from_secs(30);

/// The port's name in a fault.
const PORT: &str = "the queues";

/// Names one delivery of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    lane: Lane,
    handle: String,
}

pub struct SqsQueues<C: Clock> {
    clock: Arc<C>,
    early: Duration,
    queues: [Queue<C>; Lane::ALL.len()],
    polling: Polling,
}

/// The batchers of one queue, one for each kind of request.
struct Queue<C: Clock> {
    sending: Batcher<Sending<C>>,
    hiding: Batcher<Hiding<C>>,
    deleting: Batcher<Deleting>,
}

impl Receipt {
    pub fn new(lane: Lane, handle: impl Into<String>) -> Self {
        Self { lane, handle: handle.into() }
    }
}

impl<C: Clock> SqsQueues<C> {
    /// The port over these SQS queues, with hints visible `early` before their time.
    pub fn new(client: Client, queues: QueueUrls, clock: C, early: Duration) -> Self {
        let clock = Arc::new(clock);
        let to = |index: usize| Queue::new(&client, queues.url(Lane::ALL[index]), &clock);
        Self { queues: array::from_fn(to), polling: Polling::new(client, queues, VISIBILITY), clock, early }
    }

    /// With another visibility of received hints, in whole seconds.
    #[must_use]
    pub fn with_visibility(self, visibility: Duration) -> Self {
        Self { polling: self.polling.with_visibility(visibility), ..self }
    }

    fn queue(&self, lane: Lane) -> &Queue<C> {
        &self.queues[lane.index()]
    }

    /// Sets a message's visibility so that it ends at `until`.
    async fn set_visibility(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        timing::visibility(until, self.clock.now())?;
        self.queue(receipt.lane).hiding.submit(Hidden { handle: receipt.handle.clone(), until }).await
    }
}

impl<C: Clock> Queue<C> {
    fn new(client: &Client, url: &str, clock: &Arc<C>) -> Self {
        let (client, url) = (client.clone(), url.to_owned());
        Self {
            sending: Batcher::new(Sending { client: client.clone(), url: url.clone(), clock: Arc::clone(clock) }),
            hiding: Batcher::new(Hiding { client: client.clone(), url: url.clone(), clock: Arc::clone(clock) }),
            deleting: Batcher::new(Deleting { client, url }),
        }
    }
}

impl<C: Clock> Queues for SqsQueues<C> {
    type Receipt = Receipt;

    async fn send(&self, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let body = message::write(hint)?;
        let visible_from = at - self.early;
        timing::delay(visible_from, self.clock.now())?;
        let tenant = hint.tenant.as_str().to_owned();
        self.queue(lane).sending.submit(Outgoing { body, tenant, visible_from }).await
    }

    /// An old receipt hides nothing, and that is no fault: the hint has been delivered to another receiver, whose claim is
    /// refused while this receiver's lease lasts.
    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        self.set_visibility(receipt, until).await
    }
}

impl<C: Clock> Inbox for SqsQueues<C> {
    async fn receive(&self, max: usize) -> Result<Vec<Delivery<Receipt>>, Fault> {
        self.polling.receive(max).await
    }

    fn leave_room_for_long(&self, room: usize) {
        self.polling.leave_room_for_long(room);
    }

    async fn done(&self, receipt: &Receipt) -> Result<(), Fault> {
        self.queue(receipt.lane).deleting.submit(receipt.handle.clone()).await
    }

    async fn give_back(&self, receipt: &Receipt, at: Moment) -> Result<(), Fault> {
        self.set_visibility(receipt, at).await
    }
}
