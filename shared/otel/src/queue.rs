//! The queue: what waits to be exported, at most so many. Whoever puts something in never waits; what there is no room for is dropped.

use std::sync::Arc;
use std::time::Duration;

use minutehand_io::spans::{Span, Spans};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, timeout_at};

use crate::dropped::Dropped;
use crate::signal::Signal;

/// Spans that wait. Of a run with one attempt there are two, each of several hundred bytes: a few MB, and at a thousand runs a second two seconds.
pub(crate) const ROOM: usize = 4096;
/// Spans that are sent together, as OpenTelemetry's own SDKs have it: 250 KB.
pub(crate) const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const COMPANY: Duration = Duration::from_secs(1);

/// Where things are put in.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    sender: Sender<T>,
    dropped: Arc<Dropped>,
}

/// Where they come out, and what has come out and is not a whole batch yet.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    receiver: Receiver<T>,
    batch: Vec<T>,
    /// Until when that waits for more, wherever whoever asks for it is in the meantime.
    until: Instant,
    dropped: Arc<Dropped>,
}

pub(crate) fn queue<T>(dropped: &Arc<Dropped>) -> (Queue<T>, Waiting<T>) {
    let (sender, receiver) = mpsc::channel(ROOM);
    let queue = Queue { sender, dropped: Arc::clone(dropped) };
    (queue, Waiting { receiver, batch: Vec::new(), until: Instant::now(), dropped: Arc::clone(dropped) })
}

impl<T> Queue<T> {
    pub(crate) fn put(&self, thing: T) {
        let Err(error) = self.sender.try_send(thing) else { return };
        self.dropped.count(Signal::Traces, 1);
        if let TrySendError::Full(_) = error {
            self.dropped.tell(Signal::Traces, "the collector takes less than there is, or nothing");
        }
    }
}

impl Spans for Queue<Span> {
    fn ended(&self, span: Span) {
        self.put(span);
    }
}

impl<T> Waiting<T> {
    /// Waits until there is a batch: a whole one, or what has come within a second of the first. May be given up at any time, and asked anew.
    pub(crate) async fn batch(&mut self) -> Vec<T> {
        if self.batch.is_empty() {
            if self.receiver.recv_many(&mut self.batch, BATCH).await == 0 {
                return std::future::pending().await; // nobody puts anything in any more
            }
            self.until = Instant::now() + COMPANY;
        }
        while self.batch.len() < BATCH {
            let room = BATCH - self.batch.len();
            match timeout_at(self.until, self.receiver.recv_many(&mut self.batch, room)).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => break,
            }
        }
        std::mem::take(&mut self.batch)
    }

    /// A batch of what is there now, empty where nothing is.
    pub(crate) fn batch_now(&mut self) -> Vec<T> {
        while self.batch.len() < BATCH {
            let Ok(thing) = self.receiver.try_recv() else { break };
            self.batch.push(thing);
        }
        std::mem::take(&mut self.batch)
    }
}

/// Whatever still waits when nobody takes it out any more is dropped too.
impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        self.receiver.close();
        let left = self.batch.len() + self.receiver.len();
        self.dropped.count(Signal::Traces, left as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Counted;

    /// Removed, one after the other: the bound (a channel without one: nothing is dropped, and 10,000 wait); the count of what found no room.
    #[tokio::test]
    async fn what_a_full_queue_has_no_room_for_is_dropped_and_counted() {
        let counted = Arc::new(Counted::default());
        let (queue, mut waiting) = queue(&Arc::new(Dropped::new(counted.clone())));

        for number in 0..10_000 {
            queue.put(number);
        }

        assert_eq!(counted.of(Signal::Traces), 10_000 - ROOM as u64);
        let first = waiting.batch_now();
        assert_eq!(first, (0..BATCH).collect::<Vec<_>>(), "the oldest are kept, in their order");
        let mut taken = first.len();
        for _ in 0..ROOM {
            taken += waiting.batch_now().len();
        }
        assert_eq!(taken, ROOM);
    }

    /// Removed: the bound of a batch.
    #[tokio::test(start_paused = true)]
    async fn a_batch_is_whole_or_a_second_old() {
        let (queue, mut waiting) = queue(&Arc::new(Dropped::new(Arc::new(Counted::default()))));
        queue.put(0);
        let alone = tokio::time::timeout(Duration::ZERO, waiting.batch()).await;
        assert!(alone.is_err(), "one waits for others");
        let begin = Instant::now();

        for number in 1..BATCH + 3 {
            queue.put(number);
        }
        assert_eq!((waiting.batch().await.len(), begin.elapsed()), (BATCH, Duration::ZERO));
        assert_eq!((waiting.batch().await.len(), begin.elapsed()), (3, COMPANY));
    }

    /// Removed: the first of a batch waits anew each time that it is asked for. With metrics that are read five times a second it waited for ever.
    #[tokio::test(start_paused = true)]
    async fn a_batch_that_is_given_up_loses_nothing_and_waits_no_longer() {
        let (queue, mut waiting) = queue(&Arc::new(Dropped::new(Arc::new(Counted::default()))));
        queue.put(1);
        let begin = Instant::now();
        for _ in 0..3 {
            let given_up = tokio::time::timeout(COMPANY / 4, waiting.batch()).await;
            assert!(given_up.is_err());
        }

        queue.put(2);

        assert_eq!((waiting.batch().await, begin.elapsed()), (vec![1, 2], COMPANY));
    }

    /// Removed: what is left is not counted.
    #[tokio::test]
    async fn what_nobody_takes_out_any_more_is_counted() {
        let counted = Arc::new(Counted::default());
        let (queue, waiting) = queue(&Arc::new(Dropped::new(counted.clone())));
        for number in 0..5 {
            queue.put(number);
        }

        drop(waiting);
        queue.put(6);

        assert_eq!(counted.of(Signal::Traces), 6);
    }
}
