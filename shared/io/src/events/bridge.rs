//! Events on an EventBridge bus, for listeners outside: jobs created or changed, and runs that ended. Claims are left out: a
//! million events cost a dollar.
//!
//! Emitting never waits and never fails. Events lie in a bounded buffer until the host flushes it: a function before its
//! invocation ends, a process each second. Every event also goes to the log.

mod buffer;
mod notice;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::error::DisplayErrorContext;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, PutEventsResultEntry};

use self::buffer::Buffer;
use self::notice::Notice;
use super::{Event, Events, Log};

/// The source by which the rules of a bus select these events.
pub const SOURCE: &str = "minutehand";

/// The adapter that publishes events on a bus.
#[derive(Debug)]
pub struct Bus {
    /// None where events go only to the log.
    publisher: Option<Publisher>,
    buffer: Mutex<Buffer>,
    lost: AtomicU64,
    /// One flush at a time, so that a finished flush means that all events emitted before it were sent.
    flushing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Publisher {
    client: Client,
    bus: String,
}

impl Bus {
    /// Publishes on the bus of this name; without a name, only to the log.
    pub fn new(client: Client, bus: Option<String>) -> Self {
        Self {
            publisher: bus.map(|bus| Publisher { client, bus }),
            buffer: Mutex::default(),
            lost: AtomicU64::new(0),
            flushing: tokio::sync::Mutex::default(),
        }
    }

    /// Sends the buffered events. An event that the bus does not take is tried once more, then lost and counted. Where the
    /// bus does not answer, the rest stays for the next flush. A flush that is dropped loses what it had in hand: the ten events it was
    /// sending, and those that were refused before. They are counted, too.
    pub async fn flush(&self) {
        let Some(publisher) = &self.publisher else { return };
        let _one_at_a_time = self.flushing.lock().await;
        self.report_overflow();
        let (mut refused, mut in_hand) = (Vec::new(), InHand { events: 0, lost: &self.lost });
        while let Some(batch) = self.batch() {
            let sent = batch.len();
            in_hand.events += sent;
            match publisher.send(batch).await {
                Ok(failed) => {
                    in_hand.events -= sent - failed.len();
                    refused.extend(failed);
                }
                Err(batch) => {
                    in_hand.events -= sent - self.send_again(publisher, batch).await;
                    break;
                }
            }
        }
        for batch in buffer::batches(refused) {
            let sent = batch.len();
            in_hand.events -= sent - self.send_again(publisher, batch).await;
        }
    }

    /// How many events never reached the bus: they did not fit into the buffer, or the bus refused them twice.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed) + self.buffer().overflow()
    }

    /// Says how many are lost.
    async fn send_again(&self, publisher: &Publisher, batch: Vec<Notice>) -> usize {
        let failed = publisher.send(batch).await.unwrap_or_else(|batch| batch);
        for notice in &failed {
            tracing::warn!(kind = %notice.kind, detail = %notice.detail, "the bus did not take an event: it is lost");
        }
        failed.len()
    }

    fn report_overflow(&self) {
        let overflow = self.buffer().take_overflow();
        if overflow > 0 {
            tracing::warn!(events = overflow, "more events than the buffer holds: the rest is lost");
            self.lost.fetch_add(overflow, Ordering::Relaxed);
        }
    }

    fn batch(&self) -> Option<Vec<Notice>> {
        self.buffer().take_batch()
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events that a flush has taken out of the buffer, and that no bus has: when it is over, or is dropped, they are lost.
struct InHand<'a> {
    events: usize,
    lost: &'a AtomicU64,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        self.lost.fetch_add(self.events as u64, Ordering::Relaxed);
    }
}

impl Events for Bus {
    fn emit(&self, event: &Event<'_>) {
        Log.emit(event);
        if self.publisher.is_some()
            && let Some(notice) = Notice::of(event)
        {
            self.buffer().put(notice);
        }
    }
}

impl Publisher {
    /// Sends one request, with the SDK's own retries. Returns the events that the bus did not take, or all of them as an
    /// error where there was no answer.
    async fn send(&self, batch: Vec<Notice>) -> Result<Vec<Notice>, Vec<Notice>> {
        let entries = batch.iter().map(|notice| self.entry(notice)).collect();
        match self.client.put_events().set_entries(Some(entries)).send().await {
            Ok(answer) => Ok(not_taken(batch, answer.entries())),
            Err(error) => {
                tracing::warn!(error = %DisplayErrorContext(&error), "the bus is away");
                Err(batch)
            }
        }
    }

    fn entry(&self, notice: &Notice) -> PutEventsRequestEntry {
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.bus)
            .source(SOURCE)
            .detail_type(&notice.kind)
            .detail(&notice.detail)
            .time(DateTime::from_millis(notice.at.millis()))
            .build()
    }
}

/// The answer names no entries: its results are in the order of the request.
fn not_taken(batch: Vec<Notice>, answers: &[PutEventsResultEntry]) -> Vec<Notice> {
    let taken = |index: usize| answers.get(index).is_some_and(|answer| answer.error_code().is_none());
    batch.into_iter().enumerate().filter(|(index, _)| !taken(*index)).map(|(_, notice)| notice).collect()
}
