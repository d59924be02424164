//! Queues: one queue per priority, on which hints travel. A queue may lose, double, reorder or delay any of them: nothing
//! is decided by what a queue does.

#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "aws")]
pub mod sqs;

use std::fmt;
use std::future::Future;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::priority::Priority;

use crate::Fault;

pub trait Queues: Send + Sync + 'static {
    /// Names one delivery of one hint.
    type Receipt: Clone + fmt::Debug + Send + Sync;

    /// Gives a hint that becomes visible at `at` or a little earlier; at once where `at` is past.
    fn send(&self, priority: Priority, hint: &Hint, at: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Keeps a delivered hint from being delivered again before `until`.
    fn hide(&self, receipt: &Self::Receipt, until: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// From now on at most so many of a tenant's hints are in flight at a time, or again as many as come; what is in flight
    /// stays so. Queues that many processes share know nothing of it: there it does nothing.
    fn limit(&self, _tenant: &Tenant, _concurrent: Option<u32>) {}
}

/// The receiving end of the queues, for a host that takes its hints itself. In Lambda the platform does.
pub trait Inbox: Queues {
    /// Waits until something is visible, and takes up to `max` of it, the most urgent first. May come back with nothing.
    /// A receiver that is dropped while it waits loses nothing for longer than a delivery's visibility.
    fn receive(&self, max: usize) -> impl Future<Output = Result<Vec<Delivery<Self::Receipt>>, Fault>> + Send;

    /// The hint was acted upon, or means nothing any more: it is gone. An old receipt does nothing.
    fn done(&self, receipt: &Self::Receipt) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Nobody acted upon the hint: it is delivered again from `at` on. An old receipt does nothing.
    fn give_back(&self, receipt: &Self::Receipt, at: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Says on how many deliveries its receivers can work at a time, all of them together. Queues that are told keep some
    /// of these hands free for tenants that have none; others deliver whatever is asked for.
    fn hands(&self, _count: u32) {}
}

/// A hint as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<R> {
    pub hint: Hint,
    /// Which queue it came from.
    pub priority: Priority,
    pub receipt: R,
}
