//! Events on an EventBridge bus, for whoever listens outside: jobs created or changed, and runs that ended. Not each claim:
//! a million events cost a dollar.
//!
//! Telling never waits and never fails. What is told lies in a bounded buffer until the host flushes it: a function before
//! its invocation ends, a process each second. Every event also goes to the log.

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

/// What the bus's rules know our events by.
pub const SOURCE: &str = "minutehand";

/// Where events are told.
#[derive(Debug)]
pub struct Bus {
    /// None: there is only the log.
    line: Option<Line>,
    buffer: Mutex<Buffer>,
    lost: AtomicU64,
    /// One flush at a time, so that whoever has waited for one knows that all told before it was sent.
    flushing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Line {
    client: Client,
    bus: String,
}

impl Bus {
    /// Tells the bus of this name; without a name, nobody but the log.
    pub fn new(client: Client, bus: Option<String>) -> Self {
        Self {
            line: bus.map(|bus| Line { client, bus }),
            buffer: Mutex::default(),
            lost: AtomicU64::new(0),
            flushing: tokio::sync::Mutex::default(),
        }
    }

    /// Sends what was told. What the bus does not take is tried once more, then lost and counted. Where the bus is away
    /// altogether, the rest stays for the next flush. A flush that is dropped loses at most the ten it was sending.
    pub async fn flush(&self) {
        let Some(line) = &self.line else { return };
        let _one_at_a_time = self.flushing.lock().await;
        self.tell_of_overflow();
        let mut refused = Vec::new();
        while let Some(batch) = self.batch() {
            match line.send(batch).await {
                Ok(failed) => refused.extend(failed),
                Err(batch) => {
                    self.again(line, batch).await;
                    break;
                }
            }
        }
        for batch in buffer::batches(refused) {
            self.again(line, batch).await;
        }
    }

    /// How many events never reached the bus: they did not fit into the buffer, or it did not take them twice.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed) + self.buffer().overflow()
    }

    async fn again(&self, line: &Line, batch: Vec<Notice>) {
        let failed = line.send(batch).await.unwrap_or_else(|batch| batch);
        for notice in &failed {
            tracing::warn!(kind = %notice.kind, detail = %notice.detail, "the bus did not take an event: it is lost");
        }
        self.lost.fetch_add(failed.len() as u64, Ordering::Relaxed);
    }

    fn tell_of_overflow(&self) {
        let overflow = self.buffer().take_overflow();
        if overflow > 0 {
            tracing::warn!(events = overflow, "more was told than the buffer holds: it is lost");
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

impl Events for Bus {
    fn emit(&self, event: &Event<'_>) {
        Log.emit(event);
        if self.line.is_some()
            && let Some(notice) = Notice::of(event)
        {
            self.buffer().put(notice);
        }
    }
}

impl Line {
    /// One request, after which the SDK has tried as often as it tries: what the bus did not take of it, or all of it where
    /// there was no answer.
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

/// The answer names no entry; it has one of its own in the same place for each.
fn not_taken(batch: Vec<Notice>, answers: &[PutEventsResultEntry]) -> Vec<Notice> {
    let taken = |place: usize| answers.get(place).is_some_and(|answer| answer.error_code().is_none());
    batch.into_iter().enumerate().filter(|(place, _)| !taken(*place)).map(|(_, notice)| notice).collect()
}
