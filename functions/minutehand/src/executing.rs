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
        let received = tokio::select! {
            biased;
            () = drain.draining() => break,
            received = hands.receive(ports.queues()) => received,
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
struct Hands {
    all: Arc<Semaphore>,
    for_long: Arc<Semaphore>,
}

/// One of them, and who has taken it.
struct Hand {
    _one: OwnedSemaphorePermit,
    /// Of a call that may be long. In the queues within a process none has a lane of its own.
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

    /// Hints for the hands that are free, and the one that is taken for the first of them.
    async fn receive<Q: Inbox>(&self, queues: &Q) -> Result<Vec<Delivery<Q::Receipt>>, Fault> {
        queues.leave_room_for_long(self.for_long.available_permits());
        queues.receive(TAKE.min(self.all.available_permits() + 1)).await
    }

    fn for_a(&self, length: Length, one: OwnedSemaphorePermit) -> Hand {
        let long = match length {
            Length::Short => None,
            Length::Long => Arc::clone(&self.for_long).try_acquire_owned().ok(),
        };
        Hand { _one: one, long }
    }
}

impl Hand {
    /// A receiver that waits may come for a long call again.
    fn give_back(self, queues: &impl Inbox) {
        if let Some(long) = self.long {
            let for_long = Arc::clone(long.semaphore());
            drop(long);
            queues.leave_room_for_long(for_long.available_permits());
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
    use std::sync::Mutex;

    use minutehand_domain::Moment;
    use minutehand_domain::hint::Hint;
    use minutehand_domain::lane::Lane;
    use minutehand_io::queues::Queues;

    use super::*;

    /// Hears how much room there is, and how many hints are asked for.
    #[derive(Default)]
    struct Heard {
        room: Mutex<Vec<usize>>,
        asked: Mutex<Vec<usize>>,
    }

    impl Queues for Heard {
        type Receipt = ();

        async fn send(&self, _lane: Lane, _hint: &Hint, _at: Moment) -> Result<(), Fault> {
            Ok(())
        }

        async fn hide(&self, (): &(), _until: Moment) -> Result<(), Fault> {
            Ok(())
        }
    }

    impl Inbox for Heard {
        async fn receive(&self, max: usize) -> Result<Vec<Delivery<()>>, Fault> {
            self.asked.lock().unwrap().push(max);
            Ok(Vec::new())
        }

        async fn done(&self, (): &()) -> Result<(), Fault> {
            Ok(())
        }

        async fn give_back(&self, (): &(), _at: Moment) -> Result<(), Fault> {
            Ok(())
        }

        fn leave_room_for_long(&self, room: usize) {
            self.room.lock().unwrap().push(room);
        }
    }

    /// Removed, one after the other: that the queues are told before hints are asked for, so that long ones were received for which there is no hand;
    /// and when a hand comes free, so that a receiver that waited already never came for another.
    #[tokio::test]
    async fn the_queues_hear_for_how_many_long_calls_there_are_hands() {
        let (hands, queues) = (Hands::new(4), Heard::default());
        let first = hands.for_a(Length::Long, hands.free().await);
        let second = hands.for_a(Length::Short, hands.free().await);
        let free = hands.free().await;

        assert_eq!(hands.receive(&queues).await, Ok(Vec::new()));
        second.give_back(&queues);
        first.give_back(&queues);

        drop(free);
        assert_eq!((*queues.room.lock().unwrap()).clone(), [2, 3]);
        assert_eq!((*queues.asked.lock().unwrap()).clone(), [2]);
    }

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
