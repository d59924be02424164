//! The mailbox: deliveries that polls have received and no receiver has taken yet, and the polls under way. Time is an
//! argument.

use std::array;
use std::collections::VecDeque;
use std::time::Duration;

use minutehand_domain::lane::{Lane, Length};
use tokio::time::Instant;

use super::Receipt;
use crate::Fault;
use crate::queues::Delivery;

/// A queue that holds a message answers a poll within this. Less urgent deliveries wait this long for a poll of a more
/// urgent queue that has just begun; a poll that has waited at an empty queue for longer delays nothing.
const GRACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Mailbox {
    slots: [Slot; Lane::ALL.len()],
    fault: Option<Fault>,
    /// How long a delivery stays hidden from others, from when it was received.
    visibility: Duration,
    /// How many hints of long calls there are hands for: others are left in their queues.
    long_room: usize,
}

#[derive(Debug, Default)]
struct Slot {
    held: VecDeque<Held>,
    /// When the poll under way began.
    polled: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    delivery: Delivery<Receipt>,
    received: Instant,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Some(Vec<Delivery<Receipt>>),
    Fault(Fault),
    /// A more urgent delivery may be about to arrive.
    WaitUntil(Instant),
    Nothing,
}

impl Mailbox {
    pub(super) fn new(visibility: Duration) -> Self {
        Self { slots: array::from_fn(|_| Slot::default()), fault: None, visibility, long_room: usize::MAX }
    }

    pub(super) fn leave_room_for_long(&mut self, room: usize) {
        self.long_room = room;
    }

    /// How many of a queue's hints there is room for.
    pub(super) fn room(&self, queue: Lane) -> usize {
        match queue.length {
            Length::Short => usize::MAX,
            Length::Long => self.long_room,
        }
    }

    /// The queues to poll now: those without deliveries here and without a poll under way, whose hints there is room for. Their polls count as
    /// begun.
    pub(super) fn begin_polls(&mut self, now: Instant) -> Vec<Lane> {
        self.drop_stale(now);
        let may_be_polled = |lane: &Lane| self.slots[lane.index()].is_idle() && self.room(*lane) > 0;
        let queues: Vec<_> = Lane::ALL.into_iter().filter(may_be_polled).collect();
        for queue in &queues {
            self.slots[queue.index()].polled = Some(now);
        }
        queues
    }

    /// Takes in what a queue's poll received.
    pub(super) fn put(&mut self, queue: Lane, outcome: Result<Vec<Delivery<Receipt>>, Fault>, now: Instant) {
        let slot = &mut self.slots[queue.index()];
        slot.polled = None;
        match outcome {
            Ok(deliveries) => slot.held.extend(deliveries.into_iter().map(|delivery| Held { delivery, received: now })),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// A fault of one queue is returned when no other queue has a delivery.
    pub(super) fn take(&mut self, max: usize, now: Instant) -> Taken {
        self.drop_stale(now);
        let Some(queue) = self.most_urgent() else {
            return self.fault.take().map_or(Taken::Nothing, Taken::Fault);
        };
        if let Some(until) = self.wait_until(queue).filter(|until| now < *until) {
            return Taken::WaitUntil(until);
        }
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(queue) = self.longest_held(now).or_else(|| self.most_urgent())
        {
            taken.extend(self.slots[queue.index()].held.pop_front().map(|held| held.delivery));
            if queue.length == Length::Long {
                self.long_room -= 1;
            }
        }
        Taken::Some(taken)
    }

    fn most_urgent(&self) -> Option<Lane> {
        Lane::ALL.into_iter().find(|queue| !self.slots[queue.index()].held.is_empty() && self.room(*queue) > 0)
    }

    /// Until when to wait for polls of more urgent queues than this one.
    fn wait_until(&self, queue: Lane) -> Option<Instant> {
        self.slots[..queue.index()].iter().filter_map(|slot| slot.polled).max().map(|polled| polled + GRACE)
    }

    /// The queue whose first delivery has been here so long that it goes before more urgent ones: a message that is received
    /// again and again and never taken would end among the dead letters.
    fn longest_held(&self, now: Instant) -> Option<Lane> {
        let is_old = |queue: &Lane| self.slots[queue.index()].first_is_older(self.visibility / 4, now);
        let held_long = |queue: &Lane| self.room(*queue) > 0 && is_old(queue);
        Lane::ALL.into_iter().rev().find(held_long)
    }

    /// Drops deliveries that have been here for half of their visibility: a receiver needs the other half. The queue delivers
    /// them again.
    fn drop_stale(&mut self, now: Instant) {
        for slot in &mut self.slots {
            while slot.first_is_older(self.visibility / 2, now) {
                slot.held.pop_front();
            }
        }
    }
}

impl Slot {
    fn is_idle(&self) -> bool {
        self.held.is_empty() && self.polled.is_none()
    }

    fn first_is_older(&self, age: Duration, now: Instant) -> bool {
        self.held.front().is_some_and(|first| now >= first.received + age)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::hint::Hint;
    use minutehand_domain::id::{JobId, Tenant};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};

    use super::*;

    const CRITICAL: Lane = Lane::short(Priority::Critical);
    const HIGH: Lane = Lane::short(Priority::High);
    const NORMAL: Lane = Lane::short(Priority::Normal);
    const LOW: Lane = Lane::short(Priority::Low);

    const VISIBILITY: Duration = Duration::from_secs(32);

    fn delivery(queue: Lane, number: u8) -> Delivery<Receipt> {
        let key = TimerKey::occurrence(JobId::from_bytes([number; 16]), Moment::EPOCH);
        let stamp = TimerStamp { generation: 1, written: Moment::EPOCH };
        let hint = Hint::of(&Timer { key, tenant: Tenant::new("acme").unwrap(), stamp, parent: None });
        Delivery { hint, lane: queue, receipt: Receipt::new(queue, "handle") }
    }

    fn numbers(taken: Taken) -> Vec<u8> {
        let Taken::Some(deliveries) = taken else { panic!("{taken:?}") };
        deliveries.iter().map(|delivery| delivery.hint.run.job.as_bytes()[0]).collect()
    }

    /// A mailbox whose queues are all polled since now, and the instant at which their polls have waited long enough.
    fn polled() -> (Mailbox, Instant) {
        let (mut mailbox, now) = (Mailbox::new(VISIBILITY), Instant::now());
        assert_eq!(mailbox.begin_polls(now), Lane::ALL);
        (mailbox, now + GRACE)
    }

    #[test]
    fn a_queue_is_polled_again_only_when_its_poll_is_over_and_its_deliveries_are_taken() {
        let (mut mailbox, now) = polled();
        assert_eq!(mailbox.begin_polls(now), []);

        mailbox.put(HIGH, Ok(vec![delivery(HIGH, 1)]), now);
        mailbox.put(LOW, Ok(Vec::new()), now);

        assert_eq!(mailbox.begin_polls(now), [LOW]);
        assert_eq!(numbers(mailbox.take(1, now)), [1]);
        assert_eq!(mailbox.begin_polls(now), [HIGH]);
    }

    #[test]
    fn the_most_urgent_is_taken_first_and_no_more_than_requested() {
        let (mut mailbox, now) = polled();
        for (queue, number) in [(LOW, 1), (CRITICAL, 2), (NORMAL, 3)] {
            mailbox.put(queue, Ok(vec![delivery(queue, number), delivery(queue, number + 10)]), now);
        }

        assert_eq!(numbers(mailbox.take(3, now)), [2, 12, 3]);
        assert_eq!(numbers(mailbox.take(9, now)), [13, 1, 11]);
        assert_eq!(mailbox.take(9, now), Taken::Nothing);
    }

    /// Tried: without the wait, the low delivery is taken because its answer was a millisecond faster.
    #[test]
    fn a_less_urgent_delivery_waits_for_a_poll_that_has_just_begun() {
        let (mut mailbox, later) = polled();
        let early = later - GRACE / 2;
        mailbox.put(LOW, Ok(vec![delivery(LOW, 1)]), early);

        assert_eq!(mailbox.take(9, early), Taken::WaitUntil(later));
        mailbox.put(CRITICAL, Ok(vec![delivery(CRITICAL, 2)]), early);

        assert_eq!(numbers(mailbox.take(1, early)), [2], "nothing is more urgent");
        assert_eq!(numbers(mailbox.take(9, later)), [1]);
    }

    /// Tried: without `longest_held`, a flood of more urgent deliveries keeps it here until it is stale, each time.
    #[test]
    fn a_delivery_held_for_long_goes_before_more_urgent_ones() {
        let (mut mailbox, now) = polled();
        mailbox.put(LOW, Ok(vec![delivery(LOW, 1)]), now);
        let later = now + VISIBILITY / 4;
        mailbox.put(CRITICAL, Ok(vec![delivery(CRITICAL, 2)]), later);

        assert_eq!(numbers(mailbox.take(9, later)), [1, 2]);
    }

    /// Tried: without `drop_stale`, a delivery is taken after the queue has delivered it to another receiver.
    #[test]
    fn a_stale_delivery_is_dropped_and_comes_again() {
        let (mut mailbox, now) = polled();
        mailbox.put(HIGH, Ok(vec![delivery(HIGH, 1)]), now);

        assert_eq!(mailbox.take(9, now + VISIBILITY / 2), Taken::Nothing);
        assert_eq!(mailbox.begin_polls(now + VISIBILITY / 2), [HIGH]);
    }

    /// Removed: the room. All hands of a process had calls that hang for a quarter of an hour, and nobody came for what is short.
    #[test]
    fn hints_of_long_calls_without_a_hand_are_left_in_their_queues() {
        const LONG: Lane = Lane { length: Length::Long, ..CRITICAL };
        let (mut mailbox, now) = polled();
        mailbox.leave_room_for_long(1);
        mailbox.put(LONG, Ok(vec![delivery(LONG, 1), delivery(LONG, 2)]), now);
        mailbox.put(LOW, Ok(vec![delivery(LOW, 3)]), now);

        assert_eq!(numbers(mailbox.take(9, now)), [1, 3]);
        assert_eq!(mailbox.take(9, now), Taken::Nothing);
        mailbox.put(LONG, Ok(Vec::new()), now);
        let later = now + VISIBILITY / 2;
        assert_eq!(mailbox.begin_polls(later), [LOW], "what lay here comes again from its queue");

        mailbox.leave_room_for_long(1);
        assert_eq!(mailbox.begin_polls(later), [LONG]);
    }

    #[test]
    fn a_fault_is_returned_once_and_after_the_deliveries() {
        let (mut mailbox, now) = polled();
        let fault = Fault::unavailable("a queue", "away");
        mailbox.put(HIGH, Err(fault.clone()), now);
        mailbox.put(LOW, Ok(vec![delivery(LOW, 1)]), now);

        assert_eq!(numbers(mailbox.take(9, now)), [1]);
        assert_eq!(mailbox.take(9, now), Taken::Fault(fault));
        assert_eq!(mailbox.take(9, now), Taken::Nothing);
    }
}
