//! What was dropped: counted each time, and told of in the log once a minute at most.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_io::metrics::{Measure, TELEMETRY_DROPPED};
use tokio::time::Instant;

use crate::signal::Signal;

/// A collector that is away for a night fills no log.
const TOLD_EACH: Duration = Duration::from_secs(60);

pub(crate) struct Dropped {
    into: Arc<dyn Measure>,
    told: Mutex<Option<Instant>>,
}

impl Dropped {
    pub(crate) fn new(into: Arc<dyn Measure>) -> Self {
        Self { into, told: Mutex::default() }
    }

    pub(crate) fn count(&self, signal: Signal, records: u64) {
        if records > 0 {
            #[expect(clippy::cast_precision_loss, reason = "nobody drops so many at once")]
            self.into.add(&TELEMETRY_DROPPED, &[signal.as_str()], records as f64);
        }
    }

    pub(crate) fn tell(&self, signal: Signal, why: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= TOLD_EACH) {
            *told = Some(Instant::now());
            tracing::warn!(
                signal = signal.as_str(),
                why,
                "telemetry is dropped; minutehand_telemetry_dropped_total counts it"
            );
        }
    }
}

impl fmt::Debug for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dropped")
    }
}
