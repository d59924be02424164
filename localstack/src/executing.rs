//! Executing: hints are taken from the lanes as fast as there are hands free, each is carried out, and its fate decides
//! whether it is used up or given back.

use std::sync::Arc;
use std::time::Duration;

use minutehand_executor::carry_out;
use minutehand_io::Doors as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::lanes::embedded::Delivery;
use minutehand_io::store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::drain::Drain;
use crate::local::Local;

/// Hints taken at once: one look at the lanes for many hands, and few enough that the urgent ones come first.
const TAKE: usize = 64;
/// When a store or lane fails, trying at once would only fail again.
const PAUSE_AFTER_A_FAULT: Duration = Duration::from_secs(1);

/// Until the process drains and all hands are free again.
pub(crate) async fn executing<S: Store>(doors: Arc<Local<S>>, at_once: u32, drain: Drain) {
    let hands = Arc::new(Semaphore::new(at_once as usize));
    loop {
        let free = Arc::clone(&hands).acquire_owned().await.expect("nobody closes it");
        let deliveries = tokio::select! {
            biased;
            () = drain.draining() => break,
            deliveries = doors.lanes().receive(TAKE.min(hands.available_permits() + 1)) => deliveries,
        };
        let mut free = Some(free);
        for delivery in deliveries {
            let hand = match free.take() {
                Some(hand) => hand,
                None => Arc::clone(&hands).acquire_owned().await.expect("nobody closes it"),
            };
            tokio::spawn(execute(Arc::clone(&doors), delivery, hand, drain.clone()));
        }
    }
    let _all_hands_are_free = hands.acquire_many(at_once).await;
}

async fn execute<S: Store>(doors: Arc<Local<S>>, delivery: Delivery, _hand: OwnedSemaphorePermit, drain: Drain) {
    match carry_out(&*doors, &delivery.hint, &delivery.receipt, drain.leaving()).await {
        Ok(done) => {
            tracing::trace!(run = %delivery.hint.run, ?done, "carried out");
            doors.lanes().done(&delivery.receipt);
        }
        Err(fault) => {
            tracing::warn!(run = %delivery.hint.run, %fault, "given back");
            doors.lanes().give_back(&delivery.receipt, doors.clock().now() + PAUSE_AFTER_A_FAULT);
        }
    }
}
