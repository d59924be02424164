//! Executing: hints are received while permits are free, each is executed, and the outcome decides whether the hint is
//! deleted or given back.

use std::sync::Arc;
use std::time::Duration;

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
    let permits = Arc::new(Semaphore::new(at_once as usize));
    ports.queues().set_concurrency(at_once);
    loop {
        let free = Arc::clone(&permits).acquire_owned().await.expect("nobody closes it");
        let received = tokio::select! {
            biased;
            () = drain.draining() => break,
            received = ports.queues().receive(TAKE.min(permits.available_permits() + 1)) => received,
        };
        let mut free = Some(free);
        for delivery in or_pause(received).await {
            let permit = match free.take() {
                Some(permit) => permit,
                None => Arc::clone(&permits).acquire_owned().await.expect("nobody closes it"),
            };
            tokio::spawn(execute_delivery(Arc::clone(&ports), delivery, permit, drain.clone()));
        }
    }
    let _all_permits = permits.acquire_many(at_once).await;
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
}
