//! What a function measures: one line of its log for each invocation, in the embedded metric format, nothing where no namespace is set. And, with spans,
//! to a collector, where there is one.

use std::io::{self, Write as _};
use std::sync::Arc;

use minutehand_domain::priority::Priority;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::metrics::document::Document;
use minutehand_io::metrics::{Measure, Unmeasured};
use minutehand_io::spans::Spans;
use minutehand_otel::{Flusher, Identity};

use crate::settings::{Environment, SettingError};

/// The measurements of a function between two lines, and what is to be exported.
#[derive(Clone, Debug)]
pub struct Measuring {
    document: Option<Arc<Document>>,
    exporting: Option<Arc<Flusher>>,
}

impl Measuring {
    /// Of the function of this name.
    pub fn of(function: &'static str, environment: &Environment) -> Result<Self, SettingError> {
        let namespace = environment.optional::<String>("MINUTEHAND_METRICS", "a namespace of CloudWatch")?;
        let document = namespace.map(|namespace| Arc::new(Document::new(namespace, function)));
        let exporting = exporting(function, environment, sink_of(document.as_ref()));
        Ok(Self { document, exporting })
    }

    pub fn sink(&self) -> Arc<dyn Measure> {
        self.exporting.as_ref().map_or_else(|| sink_of(self.document.as_ref()), |flusher| flusher.sink())
    }

    /// Where spans are put in, where somebody keeps them.
    pub fn spans(&self) -> Option<Arc<dyn Spans>> {
        self.exporting.as_ref().map(|flusher| flusher.spans())
    }

    /// Exports what the invocation made, and writes its line: of a queue of this priority, if it is one. In this order, so that the line says what was
    /// not exported.
    pub async fn tell(&self, priority: Option<Priority>) {
        if let Some(flusher) = &self.exporting {
            flusher.flush().await;
        }
        let Some(line) = self.document.as_ref().and_then(|document| document.take(priority, SystemClock.now())) else {
            return;
        };
        if let Err(why) = writeln!(io::stdout(), "{line}") {
            tracing::warn!(%why, "what was measured cannot be written");
        }
    }
}

fn sink_of(document: Option<&Arc<Document>>) -> Arc<dyn Measure> {
    match document {
        Some(document) => document.clone(),
        None => Arc::new(Unmeasured),
    }
}

/// A function that cannot export does its work all the same.
fn exporting(function: &str, environment: &Environment, beside: Arc<dyn Measure>) -> Option<Arc<Flusher>> {
    let settings = environment.otlp().unwrap_or_else(|why| {
        tracing::warn!(%why, "nothing is exported");
        None
    })?;
    let service = format!("minutehand-{function}");
    let identity = Identity { service, instance: SystemChance.number(), now: || SystemClock.now() };
    let flusher = Flusher::new(&settings, identity, beside);
    flusher.inspect_err(|why| tracing::warn!(%why, "nothing is exported")).ok().map(Arc::new)
}
