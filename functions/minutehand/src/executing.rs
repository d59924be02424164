//! Executing: hints are taken from the queues as fast as there are hands free, each is carried out, and its fate decides
//! whether it is used up or given back.

use std::sync::Arc;
use std::time::Duration;

use minutehand_executor::{Receipt, execute};
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::{Delivery, Inbox};
use minutehand_io::{Fault, Ports};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::drain::Drain;

/// Hints taken at once: one look at the queues for many hands, and few enough that the urgent ones come first.
const TAKE: usize = 64;
/// When a store or queue fails, trying at once would only fail again.
const PAUSE_AFTER_A_FAULT: Duration = Duration::from_secs(1);

/// Until the process drains and all hands are free again.
pub(crate) async fn executing<D>(ports: Arc<D>, at_once: u32, drain: Drain)
where
    D: Ports,
    D::Queues: Inbox,
{
    let hands = Arc::new(Semaphore::new(at_once as usize));
    ports.queues().hands(at_once);
    loop {
        let free = Arc::clone(&hands).acquire_owned().await.expect("nobody closes it");
        let received = tokio::select! {
            biased;
            () = drain.draining() => break,
            received = ports.queues().receive(TAKE.min(hands.available_permits() + 1)) => received,
        };
        let mut free = Some(free);
        for delivery in or_pause(received).await {
            let hand = match free.take() {
                Some(hand) => hand,
                None => Arc::clone(&hands).acquire_owned().await.expect("nobody closes it"),
            };
            tokio::spawn(execute_delivery(Arc::clone(&ports), delivery, hand, drain.clone()));
        }
    }
    let _all_hands_are_free = hands.acquire_many(at_once).await;
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

async fn execute_delivery<D>(ports: Arc<D>, delivery: Delivery<Receipt<D>>, _hand: OwnedSemaphorePermit, drain: Drain)
where
    D: Ports,
    D::Queues: Inbox,
{
    let run = delivery.hint.run;
    let settled = match execute(&*ports, &delivery.hint, &delivery.receipt, drain.leaving()).await {
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
}
