//! Executing: hints are received while permits are free, each is executed, and the outcome decides whether the hint is
//! deleted or given back.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::lane::Length;
use minutehand_executor::{Executed, Receipt, execute};
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::{Delivery, Inbox};
use minutehand_io::{Fault, Ports};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::drain::Drain;

/// Hints received at once: one look at the queues for many permits, and few enough that urgent hints come first.
const TAKE: usize = 64;
/// A store or queue that failed would only fail again at once.
const PAUSE_AFTER_A_FAULT: Duration = Duration::from_secs(1);

/// Executes hints until the process drains and every execution has ended.
pub(crate) async fn executing<D>(ports: Arc<D>, at_once: u32, drain: Drain)
where
    D: Ports,
    D::Queues: Inbox,
{
    let watched = Arc::clone(&ports);
    tokio::select! {
        never = watched.queues().watch_over_sleep() => match never {},
        () = receiving(ports, at_once, drain.clone()) => drain.all_have_ended(),
    }
}

async fn receiving<D>(ports: Arc<D>, at_once: u32, drain: Drain)
where
    D: Ports,
    D::Queues: Inbox,
{
    let hands = Hands::new(at_once);
    ports.queues().set_concurrency(at_once);
    loop {
        let free = hands.free().await;
        ports.queues().leave_room_for_long(hands.for_long.available_permits());
        let received = tokio::select! {
            biased;
            () = drain.draining() => break,
            received = ports.queues().receive(TAKE.min(hands.all.available_permits() + 1)) => received,
        };
        let mut free = Some(free);
        for delivery in or_pause(received).await {
            let permit = match free.take() {
                Some(permit) => permit,
                None => hands.free().await,
            };
            let hand = hands.for_a(delivery.lane.length, permit);
            tokio::spawn(execute_delivery(Arc::clone(&ports), delivery, hand, drain.clone()));
        }
    }
    let _all_permits = hands.all.acquire_many(at_once).await;
}

/// What there is to work with: so many at once, and of these not all for calls that may take a quarter of an hour.
#[derive(Clone)]
struct Hands {
    all: Arc<Semaphore>,
    for_long: Arc<Semaphore>,
}

/// One of them, and who has taken it.
struct Hand {
    hands: Hands,
    _one: OwnedSemaphorePermit,
    /// None of a short call; nor of a long one for which there was no room, and which queues within this process deliver all the same.
    long: Option<OwnedSemaphorePermit>,
}

impl Hands {
    fn new(at_once: u32) -> Self {
        let (all, for_long) = (at_once as usize, (at_once as usize * 3 / 4).max(1));
        Self { all: Arc::new(Semaphore::new(all)), for_long: Arc::new(Semaphore::new(for_long)) }
    }

    async fn free(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.all).acquire_owned().await.expect("nobody closes it")
    }

    fn for_a(&self, length: Length, one: OwnedSemaphorePermit) -> Hand {
        let long = match length {
            Length::Short => None,
            Length::Long => Arc::clone(&self.for_long).try_acquire_owned().ok(),
        };
        Hand { hands: self.clone(), _one: one, long }
    }
}

impl Hand {
    /// Whoever waits for something to do may come for a long call again.
    fn give_back(self, queues: &impl Inbox) {
        if let Some(long) = self.long {
            drop(long);
            queues.leave_room_for_long(self.hands.for_long.available_permits());
        }
    }
}

async fn or_pause<R>(received: Result<Vec<Delivery<R>>, Fault>) -> Vec<Delivery<R>> {
    match received {
        Ok(deliveries) => deliveries,
        Err(fault) => {
            tracing::warn!(%fault, "the queues gave nothing");
            tokio::time::sleep(PAUSE_AFTER_A_FAULT).await;
            Vec::new()
        }
    }
}

async fn execute_delivery<D>(ports: Arc<D>, delivery: Delivery<Receipt<D>>, hand: Hand, drain: Drain)
where
    D: Ports,
    D::Queues: Inbox,
{
    let run = delivery.hint.run;
    let settled = match execute(&*ports, &delivery, drain.leaving()).await {
        Ok(Executed::ComeAgain(then)) => ports.queues().give_back(&delivery.receipt, then).await,
        Ok(done) => {
            tracing::trace!(%run, ?done, "carried out");
            ports.queues().done(&delivery.receipt).await
        }
        Err(fault) => {
            tracing::warn!(%run, %fault, "given back");
            ports.queues().give_back(&delivery.receipt, ports.clock().now() + PAUSE_AFTER_A_FAULT).await
        }
    };
    if let Err(fault) = settled {
        tracing::warn!(%run, %fault, "its hint comes again, and means nothing by then");
    }
    hand.give_back(ports.queues());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removed: `* 3 / 4`. Calls that hang had all hands.
    #[tokio::test]
    async fn calls_that_may_be_long_leave_hands_for_others() {
        for (at_once, for_long) in [(1, 1), (2, 1), (8, 6), (512, 384)] {
            let hands = Hands::new(at_once);
            let mut taken = Vec::new();
            while hands.for_long.available_permits() > 0 {
                taken.push(hands.for_a(Length::Long, hands.free().await));
            }
            assert_eq!((taken.len(), hands.all.available_permits()), (for_long, at_once as usize - for_long));
            assert!(taken.iter().all(|hand| hand.long.is_some()));
        }
    }
}
