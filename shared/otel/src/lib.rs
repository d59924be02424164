//! Spans and metrics to an OpenTelemetry collector, over OTLP.
//!
//! Nobody waits for the collector. Spans go into a bounded queue ([`queue`]), a batch goes out within its deadline ([`batch`]), and what there is no
//! room or no time for is dropped and counted ([`dropped`]). A process that stays has a task for it, the [`Exporter`]; a function has a [`Flusher`],
//! which sends what an invocation made before that is frozen. Where and as whom: [`Settings`].

#[cfg(not(feature = "export"))]
mod absent;
#[cfg(feature = "export")]
mod batch;
#[cfg(feature = "export")]
mod collector;
#[cfg(feature = "export")]
mod delta;
#[cfg(feature = "export")]
mod dropped;
#[cfg(feature = "export")]
mod exporter;
#[cfg(feature = "export")]
mod families;
#[cfg(feature = "export")]
mod flusher;
#[cfg(feature = "export")]
mod leaving;
#[cfg(feature = "export")]
mod points;
#[cfg(feature = "export")]
mod queue;
#[cfg(feature = "export")]
mod resource;
mod settings;
#[cfg(feature = "export")]
mod signal;
#[cfg(feature = "export")]
mod spans;

use minutehand_domain::Moment;
use thiserror::Error;

#[cfg(not(feature = "export"))]
pub use self::absent::{Exporter, Exporting, Flusher};
#[cfg(feature = "export")]
pub use self::exporter::{Exporter, Exporting, Reading};
#[cfg(feature = "export")]
pub use self::flusher::Flusher;
pub use self::settings::{DEFAULT_ENDPOINT, SettingError, Settings};

/// Why nothing can be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    #[error("this binary was built without OTLP: `cargo build --release --features otel` builds one with it")]
    Unbuilt,
    #[error("cannot export to a collector over https: {0}")]
    Trust(std::io::Error),
}

/// Who exports: what tells one process from another, and its clock.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The service, unless the settings name it.
    pub service: String,
    /// By chance, so that of two processes no two are one; what is tried again is spread by it too.
    pub instance: u64,
    pub now: fn() -> Moment,
}
