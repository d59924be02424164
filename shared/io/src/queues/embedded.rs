//! Queues in memory: four queues of hints, delayed to the millisecond. They are gone with the process, which is allowed: a
//! hint may be lost, and whoever starts looks at once for what is due.

mod packed;
mod queue;
mod state;
mod tenants;

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::priority::Priority;
use tokio::sync::Notify;

pub use self::state::{Depth, Receipt};
use self::state::{Rings, State, Taken};
use super::{Inbox, Queues};
use crate::Fault;
use crate::clock::Clock;

/// For how long a delivered hint is its receiver's, until a claim hides it until its lease's end: long enough to read a
/// job and claim its run, short enough that the hint of a receiver that died comes back while it is still worth something.
pub const VISIBILITY: Duration = Duration::from_secs(30);

pub type Delivery = super::Delivery<Receipt>;

pub struct EmbeddedQueues<C> {
    clock: C,
    state: Mutex<State>,
    /// Something can be delivered sooner than those who wait believe.
    sooner: Notify,
}

impl<C: Clock> EmbeddedQueues<C> {
    pub fn new(clock: C) -> Self {
        Self { clock, state: Mutex::default(), sooner: Notify::new() }
    }

    /// Waits until something is visible, and takes up to `max` of it (at least one): the most urgent first; inside a queue
    /// the tenants in turn, and each one's oldest first. A receiver that is dropped while it waits has taken nothing.
    pub async fn receive(&self, max: usize) -> Vec<Delivery> {
        loop {
            // Listening begins before looking, so that what is sent between the two is heard.
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

    /// The hint was acted upon, or means nothing any more: it is gone. Says whether it was still this delivery's.
    pub fn done(&self, receipt: &Receipt) -> bool {
        let done = self.state().done(*receipt);
        self.was_its(done)
    }

    /// Nobody acted upon the hint: it is delivered again from `at` on. Says whether it was still this delivery's.
    pub fn give_back(&self, receipt: &Receipt, at: Moment) -> bool {
        let given = self.state().give_back(*receipt, at);
        self.was_its(given)
    }

    /// Forgets every hint, also those in flight. Nothing is lost by it but time.
    pub fn purge(&self) {
        self.state().purge();
    }

    /// How much lies in each queue, by priority.
    pub fn depths(&self) -> [Depth; Priority::ALL.len()] {
        let now = self.clock.now();
        Priority::ALL.map(|priority| self.depth(priority, now))
    }

    /// Counts in steps and lets others in between, so that looking at a long queue never stops the deliveries.
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

    fn was_its(&self, rings: Option<Rings>) -> bool {
        rings.is_some_and(|rings| {
            self.ring(rings);
            true
        })
    }

    fn ring(&self, Rings(needed): Rings) {
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

    async fn send(&self, priority: Priority, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let sent = self.state().send(priority, hint, at)?;
        self.ring(sent);
        Ok(())
    }

    /// An old receipt hides nothing, and that is no fault: the hint has been delivered to another, whose claim will be
    /// refused as long as ours holds.
    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        let hidden = self.state().hide(*receipt, until);
        self.ring(hidden);
        Ok(())
    }

    fn limit(&self, tenant: &Tenant, concurrent: Option<u32>) {
        let limited = self.state().limit(tenant, concurrent);
        self.ring(limited);
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

    fn hands(&self, count: u32) {
        let counted = self.state().hands(count);
        self.ring(counted);
    }
}
