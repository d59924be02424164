//! A batcher: entries of the same kind for the same queue are sent in one request of up to ten.
//!
//! A single entry never waits for company: it is sent at once. Entries that arrive while its request is under way are sent
//! together when the request returns, and ten entries do not wait for that. So an idle queue is as quick as SQS, and a busy
//! one costs a tenth.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};

use super::{PORT, message};
use crate::Fault;

/// Entries that SQS takes in one batch.
const ENTRIES: usize = 10;
/// Requests of one kind under way to one queue at a time: at 10 ms each, 16,000 hints a second.
const REQUESTS: usize = 16;
/// No entry waits longer than this for another request to return before a new request starts: a request that is stuck must
/// not delay the others, and a healthy one takes a tenth of this.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// One kind of request to one queue.
pub(super) trait BatchRequest: Send + Sync + 'static {
    type Entry: Send + Sync + 'static;

    /// What an entry adds to the size of a request.
    fn bytes(entry: &Self::Entry) -> usize;

    /// Sends one request: an answer to each entry, in their order, or one fault for all of them.
    fn send(&self, entries: &[Self::Entry]) -> impl Future<Output = Result<Vec<Result<(), Fault>>, Fault>> + Send;
}

pub(super) struct Batcher<R: BatchRequest> {
    shared: Arc<Shared<R>>,
}

struct Shared<R: BatchRequest> {
    request: R,
    pending: Mutex<Pending<R::Entry>>,
    /// An entry has been added.
    arrived: Notify,
}

/// The entries that wait to be sent.
struct Pending<E> {
    waiting: VecDeque<Waiting<E>>,
    /// The sending task runs and will look here again.
    running: bool,
}

struct Waiting<E> {
    entry: E,
    bytes: usize,
    since: Instant,
    answer: oneshot::Sender<Result<(), Fault>>,
}

impl<R: BatchRequest> Batcher<R> {
    pub(super) fn new(request: R) -> Self {
        let pending = Mutex::new(Pending { waiting: VecDeque::new(), running: false });
        Self { shared: Arc::new(Shared { request, pending, arrived: Notify::new() }) }
    }

    /// Sends an entry in some batch and returns its outcome. The request runs in a task of its own: a caller that is dropped
    /// cancels no other caller's entry, and its own entry is discarded if it has not been sent yet.
    pub(super) async fn submit(&self, entry: R::Entry) -> Result<(), Fault> {
        let (answer, answered) = oneshot::channel();
        let bytes = R::bytes(&entry);
        let was_running = self.shared.pending().push(Waiting { entry, bytes, since: Instant::now(), answer });
        if was_running {
            self.shared.arrived.notify_one();
        } else {
            tokio::spawn(Arc::clone(&self.shared).run());
        }
        answered.await.unwrap_or_else(|_gone| Err(Fault::unavailable(PORT, "the request was given up")))
    }
}

impl<R: BatchRequest> Shared<R> {
    /// Sends batches until no entry waits and no request is under way.
    async fn run(self: Arc<Self>) {
        let mut under_way = JoinSet::new();
        loop {
            // Entries that arrive at this very moment join the batch.
            yield_now().await;
            while let Some(batch) = self.pending().batch(under_way.len(), Instant::now()) {
                under_way.spawn(Arc::clone(&self).send_batch(batch));
            }
            if under_way.is_empty() && self.pending().stop_if_empty() {
                return;
            }
            let deadline = self.pending().deadline().filter(|_| under_way.len() < REQUESTS);
            tokio::select! {
                Some(_back) = under_way.join_next() => {}
                () = self.arrived.notified() => {}
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
            }
        }
    }

    async fn send_batch(self: Arc<Self>, batch: Vec<Waiting<R::Entry>>) {
        let (entries, waiting): (Vec<_>, Vec<_>) =
            batch.into_iter().filter(Waiting::is_wanted).map(|waiting| (waiting.entry, waiting.answer)).unzip();
        if entries.is_empty() {
            return;
        }
        let answers = match self.request.send(&entries).await {
            Ok(answers) => answers,
            Err(fault) => vec![Err(fault); entries.len()],
        };
        for (waiting, answer) in waiting.into_iter().zip(answers) {
            let _nobody_waits_any_more = waiting.send(answer);
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending<R::Entry>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Pending<E> {
    /// True if the sending task was running; otherwise it must be spawned.
    fn push(&mut self, waiting: Waiting<E>) -> bool {
        self.waiting.push_back(waiting);
        std::mem::replace(&mut self.running, true)
    }

    /// True if no entry waits, so that the sending task may end.
    fn stop_if_empty(&mut self) -> bool {
        self.running = !self.waiting.is_empty();
        !self.running
    }

    /// Until when the first entry may wait for a request under way.
    fn deadline(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.since + LONGEST_WAIT)
    }

    /// The batch that is sent now, while `under_way` other requests are.
    fn batch(&mut self, under_way: usize, now: Instant) -> Option<Vec<Waiting<E>>> {
        let fitting = self.fitting();
        let full = fitting == ENTRIES || fitting < self.waiting.len();
        let overdue = self.deadline().is_some_and(|deadline| now >= deadline);
        let starts = fitting > 0 && under_way < REQUESTS && (under_way == 0 || full || overdue);
        starts.then(|| self.waiting.drain(..fitting).collect())
    }

    /// How many waiting entries fit into one request: always the first, whose own size the port has checked.
    fn fitting(&self) -> usize {
        let sizes = self.waiting.iter().take(ENTRIES).map(|waiting| waiting.bytes);
        let together = sizes.scan(0, |sum, bytes| {
            *sum += bytes;
            Some(*sum)
        });
        together.enumerate().take_while(|(index, bytes)| *index == 0 || *bytes <= message::BYTES).count()
    }
}

impl<E> Waiting<E> {
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of these sizes that wait since now.
    fn pending(sizes: &[usize], now: Instant) -> Pending<()> {
        let waiting = |bytes: &usize| Waiting { entry: (), bytes: *bytes, since: now, answer: oneshot::channel().0 };
        Pending { waiting: sizes.iter().map(waiting).collect(), running: true }
    }

    #[test]
    fn an_entry_is_sent_alone_when_nothing_is_under_way_and_otherwise_in_batches_of_ten() {
        let now = Instant::now();
        for (waiting, under_way, starts) in [
            (0, 0, None),
            (1, 0, Some(1)),
            (1, 1, None),
            (9, 1, None),
            (10, 1, Some(10)),
            (25, 0, Some(10)),
            (25, REQUESTS - 1, Some(10)),
            (25, REQUESTS, None),
        ] {
            let batch = pending(&vec![400; waiting], now).batch(under_way, now);
            assert_eq!(batch.map(|batch| batch.len()), starts, "{waiting} wait, {under_way} under way");
        }
    }

    /// Tried: without the first entry's deadline, it waits for a request that is stuck.
    #[test]
    fn no_entry_waits_for_a_request_that_is_stuck() {
        let now = Instant::now();

        assert!(pending(&[400], now).batch(1, now + LONGEST_WAIT - Duration::from_millis(1)).is_none());
        assert!(pending(&[400], now).batch(1, now + LONGEST_WAIT).is_some());
        assert!(pending(&[400], now).batch(REQUESTS, now + LONGEST_WAIT).is_none(), "requests are bounded");
    }

    #[test]
    fn a_batch_is_never_larger_than_one_message_may_be() {
        let now = Instant::now();
        for (sizes, starts) in [
            (vec![message::BYTES * 2], 1),
            (vec![message::BYTES, 1], 1),
            (vec![message::BYTES / 2, message::BYTES / 2, 1], 2),
            (vec![message::BYTES / 10; 11], 10),
        ] {
            assert_eq!(pending(&sizes, now).batch(0, now).map(|batch| batch.len()), Some(starts), "{sizes:?}");
        }
    }
}
