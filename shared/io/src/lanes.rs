//! Lanes: one queue per priority, on which hints travel. A lane may lose, double, reorder or delay any of them: nothing
//! is decided by what a lane does.

#[cfg(feature = "embedded")]
pub mod embedded;

use std::fmt;
use std::future::Future;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::priority::Priority;

use crate::Fault;

pub trait Lanes: Send + Sync + 'static {
    /// Names one delivery of one hint.
    type Receipt: Clone + fmt::Debug + Send + Sync;

    /// Gives a hint that becomes visible at `at` or a little earlier; at once where `at` is past.
    fn send(&self, priority: Priority, hint: &Hint, at: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Keeps a delivered hint from being delivered again before `until`.
    fn hide(&self, receipt: &Self::Receipt, until: Moment) -> impl Future<Output = Result<(), Fault>> + Send;
}
