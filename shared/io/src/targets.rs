//! Targets: what an attempt calls.

#[cfg(feature = "http")]
pub mod callers;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
mod known_secrets;
mod secrets;

#[cfg(feature = "http")]
pub use callers::Callers;
#[cfg(feature = "http")]
pub use known_secrets::KNOWN_FOR;
pub use secrets::signing_secrets;

use std::future::Future;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::AttemptError;
use minutehand_domain::target::Target;

/// Why a target may not be called, as far as that is known without calling it: the field at fault, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRefusal {
    pub field: &'static str,
    pub detail: String,
}

pub trait Targets: Send + Sync + 'static {
    /// Makes one call within `call.timeout` and returns its outcome. Every failure is an answer, never a fault.
    fn call(&self, call: Call<'_>) -> impl Future<Output = Answer> + Send;
}

#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub target: &'a Target,
    pub tenant: &'a Tenant,
    pub run: RunKey,
    /// From 1.
    pub attempt: u32,
    pub scheduled_at: Moment,
    pub now: Moment,
    pub payload: Option<&'a Json>,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Succeeded { result: Option<Json> },
    Failed { error: AttemptError, retry_after: Option<Duration> },
    TimedOut,
}
