//! A batch: what one invocation is handed at once. All of it is carried out side by side, and what fails is given back by
//! itself: the others are used up.

use std::time::Duration;

use futures_util::future::join_all;
use minutehand_domain::Moment;
use minutehand_io::clock::Clock as _;
use minutehand_io::lanes::{Delivery, Lanes as _};
use minutehand_io::{Doors, Fault};
use minutehand_protocol::claim::{Claim, claim};

use crate::{CarriedOut, Receipt, carry_on};

/// Before its deadline an invocation stops what it does: room to hand a running call back, to tell of it and to answer.
const TO_LEAVE: Duration = Duration::from_secs(10);
/// When a table is throttled, trying at once would only be throttled again.
const AGAIN_AFTER_A_FAULT: Duration = Duration::from_secs(5);

/// What became of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It is used up, whatever it came to.
    Out(CarriedOut),
    /// It is given back and delivered again.
    Back(Back),
}

/// Why a delivery is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    Fault(Fault),
    /// It is due only after this invocation's deadline: nobody has claimed it.
    NotYet(Moment),
}

impl Carried {
    pub fn is_given_back(&self) -> bool {
        matches!(self, Self::Back(_))
    }
}

/// Carries out a batch; the answers are in the order of the deliveries. At `deadline` the host ends this process.
pub async fn carry_out_batch<D: Doors>(
    doors: &D,
    deliveries: &[Delivery<Receipt<D>>],
    deadline: Moment,
) -> Vec<Carried> {
    let leaving = deadline - TO_LEAVE;
    join_all(deliveries.iter().map(|delivery| carry(doors, delivery, leaving))).await
}

async fn carry<D: Doors>(doors: &D, delivery: &Delivery<Receipt<D>>, leaving: Moment) -> Carried {
    let hold = match claim(doors, &delivery.hint, leaving).await {
        Ok(Claim::Mine(hold)) => hold,
        Ok(Claim::Dropped(why)) => return Carried::Out(CarriedOut::Dropped(why)),
        Ok(Claim::NotYet(due)) => return give_back(doors, delivery, due, Back::NotYet(due)).await,
        Err(fault) => {
            let again = doors.clock().now() + AGAIN_AFTER_A_FAULT;
            return give_back(doors, delivery, again, Back::Fault(fault)).await;
        }
    };
    // From here on the lane has been told until when the lease lasts: a fault needs no other time.
    match carry_on(doors, &hold, &delivery.receipt, doors.clock().sleep_until(leaving), leaving).await {
        Ok(done) => Carried::Out(done),
        Err(fault) => Carried::Back(Back::Fault(fault)),
    }
}

/// A delivery that is given back would stay hidden for as long as an invocation may take; so the lane is told when.
async fn give_back<D: Doors>(doors: &D, delivery: &Delivery<Receipt<D>>, again: Moment, why: Back) -> Carried {
    let _the_sweep_stands_behind_it = doors.lanes().hide(&delivery.receipt, again).await;
    Carried::Back(why)
}
