//! What a function measures: one line of its log for each invocation, in the embedded metric format. Nothing where no namespace is set.

use std::io::{self, Write as _};
use std::sync::Arc;

use minutehand_domain::priority::Priority;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::metrics::document::Document;
use minutehand_io::metrics::{Measure, Unmeasured};

use crate::settings::{Environment, SettingError};

/// The measurements of a function between two lines.
#[derive(Clone, Debug)]
pub struct Measuring(Option<Arc<Document>>);

impl Measuring {
    /// Of the function of this name.
    pub fn of(function: &'static str, environment: &Environment) -> Result<Self, SettingError> {
        let namespace = environment.optional::<String>("MINUTEHAND_METRICS", "a namespace of CloudWatch")?;
        Ok(Self(namespace.map(|namespace| Arc::new(Document::new(namespace, function)))))
    }

    pub fn sink(&self) -> Arc<dyn Measure> {
        match &self.0 {
            Some(document) => document.clone(),
            None => Arc::new(Unmeasured),
        }
    }

    /// Writes the line of an invocation that ends now: of a queue of this priority, if it is one.
    pub fn tell(&self, priority: Option<Priority>) {
        let Some(line) = self.0.as_ref().and_then(|document| document.take(priority, SystemClock.now())) else {
            return;
        };
        if let Err(why) = writeln!(io::stdout(), "{line}") {
            tracing::warn!(%why, "what was measured cannot be written");
        }
    }
}
