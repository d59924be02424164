//! A batch: what one invocation is handed at once. All of it is carried out side by side, and what fails is given back by
//! itself: the others are used up.

use std::time::Duration;

use futures_util::future::join_all;
use minutehand_domain::Moment;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::{Delivery, Queues as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::run::claim::Claim;

use crate::{Executed, Receipt, claim_or_tell, dropped, execute_claimed};

/// Before its deadline an invocation stops what it does: room to hand a running call back, to tell of it and to answer.
const TO_LEAVE: Duration = Duration::from_secs(10);
/// When a table is throttled, trying at once would only be throttled again.
const AGAIN_AFTER_A_FAULT: Duration = Duration::from_secs(5);

/// What became of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handled {
    /// It is used up, whatever it came to.
    Done(Executed),
    /// It is given back and delivered again.
    GivenBack(Back),
}

/// Why a delivery is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    Fault(Fault),
    /// It is due only after this invocation's deadline: nobody has claimed it.
    NotYet(Moment),
}

impl Handled {
    pub fn is_given_back(&self) -> bool {
        matches!(self, Self::GivenBack(_))
    }
}

/// Carries out a batch; the answers are in the order of the deliveries. At `deadline` the host ends this process.
pub async fn execute_batch<D: Ports>(ports: &D, deliveries: &[Delivery<Receipt<D>>], deadline: Moment) -> Vec<Handled> {
    let leaving = deadline - TO_LEAVE;
    join_all(deliveries.iter().map(|delivery| handle(ports, delivery, leaving))).await
}

async fn handle<D: Ports>(ports: &D, delivery: &Delivery<Receipt<D>>, leaving: Moment) -> Handled {
    let claimed = match claim_or_tell(ports, delivery, leaving).await {
        Ok(Claim::Mine(claimed)) => claimed,
        Ok(Claim::Dropped(why)) => return Handled::Done(dropped(ports, why)),
        Ok(Claim::NotYet(due)) => return give_back(ports, delivery, due, Back::NotYet(due)).await,
        Err(fault) => {
            let again = ports.clock().now() + AGAIN_AFTER_A_FAULT;
            return give_back(ports, delivery, again, Back::Fault(fault)).await;
        }
    };
    // From here on the queue has been told until when the lease lasts: a fault needs no other time.
    match execute_claimed(ports, &claimed, &delivery.receipt, ports.clock().sleep_until(leaving), leaving).await {
        Ok(done) => Handled::Done(done),
        Err(fault) => Handled::GivenBack(Back::Fault(fault)),
    }
}

/// A delivery that is given back would stay hidden for as long as an invocation may take; so the queue is told when.
async fn give_back<D: Ports>(ports: &D, delivery: &Delivery<Receipt<D>>, again: Moment, why: Back) -> Handled {
    let _the_sweep_stands_behind_it = ports.queues().hide(&delivery.receipt, again).await;
    Handled::GivenBack(why)
}
