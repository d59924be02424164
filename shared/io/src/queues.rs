//! Queues: a queue for each lane, on which hints travel. A queue may lose, double, reorder or delay any of them: nothing
//! is decided by what a queue does.

#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "aws")]
pub mod sqs;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::Lane;
use minutehand_domain::pool::PoolId;

use crate::Fault;

pub trait Queues: Send + Sync + 'static {
    /// Names one delivery of one hint.
    type Receipt: Clone + fmt::Debug + Send + Sync;

    /// Sends a hint that becomes visible at `at` or a little earlier; at once where `at` is past.
    fn send(&self, lane: Lane, hint: &Hint, at: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Keeps a delivered hint from being delivered again before `until`.
    fn hide(&self, receipt: &Self::Receipt, until: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// On which lane hints travel here that are for `lane`: where each hint has a hand of its own, long calls have no lane of
    /// their own.
    fn lane_for(&self, lane: Lane) -> Lane {
        lane
    }

    /// Tells those who wait for something of this pool that there is something. Queues that many processes share tell nobody: there this
    /// does nothing.
    fn ring(&self, _pool: PoolId) {}

    /// Ends when there may be something of this pool, if anybody says so. What is told between this call and the first poll of its
    /// answer is not missed.
    fn heard(&self, _pool: PoolId) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// How often whoever waits for something of a pool looks of his own accord.
    fn look_again_after(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Limits how many of a tenant's hints are in flight at a time, or lifts the limit. Hints in flight stay in flight.
    /// Queues that many processes share cannot count them: there this does nothing.
    fn limit(&self, _tenant: &Tenant, _concurrent: Option<u32>) {}

    /// The limit of a tenant of whose hints as many are in flight, so that none is delivered.
    fn reached_limit(&self, _tenant: &Tenant) -> Option<u32> {
        None
    }

    /// Whether these queues keep to the limits that they are given: then no place need let a run in.
    fn keeps_limits(&self) -> bool {
        false
    }
}

/// The receiving end of the queues, for a host that receives hints itself. In Lambda the platform receives them.
pub trait Inbox: Queues {
    /// Waits until a hint is visible, and takes up to `max` hints, the most urgent first. May return none. Dropping this
    /// future while it waits withholds no hint for longer than a delivery's visibility.
    fn receive(&self, max: usize) -> impl Future<Output = Result<Vec<Delivery<Self::Receipt>>, Fault>> + Send;

    /// Deletes a hint that was acted upon or has become meaningless. An old receipt does nothing.
    fn done(&self, receipt: &Self::Receipt) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Returns a hint that was not acted upon: it is delivered again from `at` on. An old receipt does nothing.
    fn give_back(&self, receipt: &Self::Receipt, at: Moment) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sees to it that a sleep of the process is noticed, for as long as it is polled. To queues outside of the process nothing happens
    /// while it sleeps.
    fn watch_over_sleep(&self) -> impl Future<Output = Infallible> + Send {
        std::future::pending()
    }

    /// Sets how many deliveries all receivers together can work on at a time. Queues that use the number keep some of this
    /// capacity free for tenants that have nothing in flight; the others deliver whatever is requested.
    fn set_concurrency(&self, _count: u32) {}

    /// Sets how many hints of long calls may be received from now on: those without a hand are left in their queues. Where
    /// long calls have no lane of their own this does nothing.
    fn leave_room_for_long(&self, _room: usize) {}
}

/// A hint as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<R> {
    pub hint: Hint,
    /// Which queue it came from.
    pub lane: Lane,
    pub receipt: R,
}
