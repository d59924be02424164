//! Queues in memory: four queues of hints, delayed to the millisecond. They are gone with the process, which is allowed: a
//! hint may be lost, and every start sweeps what is due at once.

mod bells;
mod doubles;
mod packed;
mod queue;
mod sleep;
mod state;
mod tenants;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::{Lane, Length};
use minutehand_domain::pool::PoolId;
use minutehand_domain::priority::Priority;
use tokio::sync::Notify;

use self::bells::Bells;
use self::sleep::PULSE;
pub use self::state::{Depth, Receipt};
use self::state::{State, Taken, Wakes};
use super::{Inbox, Queues};
use crate::Fault;
use crate::clock::Clock;

/// How long a delivered hint stays hidden before a claim hides it until its lease's end: long enough to read a job and
/// claim its run, short enough that the hint of a receiver that died reappears while it is still useful.
pub const VISIBILITY: Duration = Duration::from_secs(30);

/// Who waits for something of a pool is told of it, and looks once in a while all the same.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

pub type Delivery = super::Delivery<Receipt>;

pub struct EmbeddedQueues<C> {
    clock: C,
    state: Mutex<State>,
    /// A hint can be delivered sooner than the waiting receivers expect.
    sooner: Notify,
    bells: Bells,
}

impl<C: Clock> EmbeddedQueues<C> {
    pub fn new(clock: C) -> Self {
        Self { clock, state: Mutex::default(), sooner: Notify::new(), bells: Bells::default() }
    }

    /// Waits until a hint is visible, and takes up to `max` hints (at least one): the most urgent first; inside a queue the
    /// tenants take turns, and each tenant's oldest comes first. A receiver that is dropped while it waits has taken nothing.
    pub async fn receive(&self, max: usize) -> Vec<Delivery> {
        loop {
            // The notification is registered before the look, so that a hint sent between the two is not missed.
            let sooner = self.sooner.notified();
            let taken = self.state().take(max.max(1), self.clock.now());
            match taken {
                Taken::Some(deliveries) => return deliveries,
                Taken::NothingBefore(moment) => self.wait(sooner, moment).await,
                Taken::Nothing => sooner.await,
            }
        }
    }

    async fn wait(&self, sooner: impl Future<Output = ()>, moment: Moment) {
        let (sooner, visible) = (pin!(sooner), pin!(self.clock.sleep_until(moment)));
        tokio::select! {
            biased;
            () = sooner => {}
            () = visible => {}
        }
    }

    /// Looks at the clock while hints wait, so that whoever takes one after a sleep knows of it. An idle process is not woken.
    pub async fn watch_over_sleep(&self) -> Infallible {
        loop {
            let sooner = self.sooner.notified(); // before the look, as a receiver does
            let now = self.clock.now();
            if self.state().pulse(now) { self.clock.sleep_until(now + PULSE).await } else { sooner.await }
        }
    }

    /// Deletes a hint that was acted upon or has become meaningless. True if the receipt was of its newest delivery.
    pub fn done(&self, receipt: &Receipt) -> bool {
        let done = self.state().done(*receipt);
        self.was_newest(done)
    }

    /// Returns a hint that was not acted upon: it is delivered again from `at` on. True if the receipt was of its newest
    /// delivery.
    pub fn give_back(&self, receipt: &Receipt, at: Moment) -> bool {
        let given = self.state().give_back(*receipt, at);
        self.was_newest(given)
    }

    /// Forgets every hint, also those in flight. This costs time and loses nothing.
    pub fn purge(&self) {
        self.state().purge();
    }

    /// The depth of each queue, by priority.
    pub fn depths(&self) -> [Depth; Priority::ALL.len()] {
        let now = self.clock.now();
        Priority::ALL.map(|priority| self.depth(priority, now))
    }

    /// Since when the hint of each queue that has waited longest is visible, by priority.
    pub fn oldest(&self) -> [Option<Moment>; Priority::ALL.len()] {
        let now = self.clock.now();
        Priority::ALL.map(|priority| self.state().oldest(priority, now))
    }

    /// Counts in steps and releases the lock between them, so that counting a long queue never stops deliveries.
    fn depth(&self, priority: Priority, now: Moment) -> Depth {
        let (mut ready, mut from) = (0, None);
        loop {
            let (counted, next) = self.state().count_ready(priority, from, now);
            (ready, from) = (ready + counted, next);
            if from.is_none() {
                return self.state().depth(priority, ready);
            }
        }
    }

    fn was_newest(&self, wakes: Option<Wakes>) -> bool {
        wakes.is_some_and(|wakes| {
            self.wake_receivers(wakes);
            true
        })
    }

    fn wake_receivers(&self, Wakes(needed): Wakes) {
        if needed {
            self.sooner.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clock> Queues for EmbeddedQueues<C> {
    type Receipt = Receipt;

    async fn send(&self, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let sent = self.state().send(lane, hint, at, self.clock.now())?;
        self.wake_receivers(sent);
        Ok(())
    }

    /// An old receipt hides nothing, and that is no fault: the hint has been delivered to another receiver, whose claim is
    /// refused while this receiver's lease lasts.
    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        let hidden = self.state().hide(*receipt, until);
        self.wake_receivers(hidden);
        Ok(())
    }

    fn lane_for(&self, lane: Lane) -> Lane {
        Lane { length: Length::Short, ..lane }
    }

    fn ring(&self, pool: PoolId) {
        self.bells.ring(pool);
    }

    fn heard(&self, pool: PoolId) -> impl Future<Output = ()> + Send {
        self.bells.heard(pool)
    }

    /// Everything offered here is told of; but a pool may be full of what was offered before the process began.
    fn look_again_after(&self) -> Duration {
        LOOK_AGAIN
    }

    /// What is in flight here is all that is.
    fn keeps_limits(&self) -> bool {
        true
    }

    fn reached_limit(&self, tenant: &Tenant) -> Option<u32> {
        self.state().reached_limit(tenant)
    }

    fn limit(&self, tenant: &Tenant, concurrent: Option<u32>) {
        let limited = self.state().limit(tenant, concurrent);
        self.wake_receivers(limited);
    }
}

impl<C: Clock> Inbox for EmbeddedQueues<C> {
    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, Fault> {
        Ok(self.receive(max).await)
    }

    async fn done(&self, receipt: &Receipt) -> Result<(), Fault> {
        self.done(receipt);
        Ok(())
    }

    async fn give_back(&self, receipt: &Receipt, at: Moment) -> Result<(), Fault> {
        self.give_back(receipt, at);
        Ok(())
    }

    fn watch_over_sleep(&self) -> impl Future<Output = Infallible> + Send {
        self.watch_over_sleep()
    }

    fn set_concurrency(&self, count: u32) {
        let changed = self.state().set_concurrency(count);
        self.wake_receivers(changed);
    }
}
