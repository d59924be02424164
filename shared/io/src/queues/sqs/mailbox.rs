//! What polls have brought and nobody has taken yet, and which polls are under way. Time is an argument.

use std::array;
use std::collections::VecDeque;
use std::time::Duration;

use minutehand_domain::priority::Priority;
use tokio::time::Instant;

use super::Receipt;
use crate::Fault;
use crate::queues::Delivery;

/// A queue that holds something answers a poll within this. What is less urgent waits so long for a poll of the more urgent
/// that has only just begun; one that has waited at an empty queue for longer delays nothing.
const GRACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Mailbox {
    slots: [Slot; Priority::ALL.len()],
    fault: Option<Fault>,
    /// For how long a delivery is ours, from when it was received.
    visibility: Duration,
}

#[derive(Debug, Default)]
struct Slot {
    held: VecDeque<Held>,
    /// Since when a poll is under way.
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
    /// Something more urgent may be about to arrive.
    Within(Instant),
    Nothing,
}

impl Mailbox {
    pub(super) fn new(visibility: Duration) -> Self {
        Self { slots: array::from_fn(|_| Slot::default()), fault: None, visibility }
    }

    /// Says which queues are to be polled: nothing of theirs lies here, and no poll of theirs is under way. It counts as
    /// begun.
    pub(super) fn begin_polls(&mut self, now: Instant) -> Vec<Priority> {
        self.forget_what_is_stale(now);
        let idle = |priority: &Priority| self.slots[priority.index()].is_idle();
        let queues: Vec<_> = Priority::ALL.into_iter().filter(idle).collect();
        for queue in &queues {
            self.slots[queue.index()].polled = Some(now);
        }
        queues
    }

    /// A queue's poll is over.
    pub(super) fn put(&mut self, queue: Priority, brought: Result<Vec<Delivery<Receipt>>, Fault>, now: Instant) {
        let slot = &mut self.slots[queue.index()];
        slot.polled = None;
        match brought {
            Ok(deliveries) => slot.held.extend(deliveries.into_iter().map(|delivery| Held { delivery, received: now })),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// A fault of one queue is told when nothing has come on another.
    pub(super) fn take(&mut self, max: usize, now: Instant) -> Taken {
        self.forget_what_is_stale(now);
        let Some(queue) = self.most_urgent() else {
            return self.fault.take().map_or(Taken::Nothing, Taken::Fault);
        };
        if let Some(patient) = self.patient_until(queue).filter(|patient| now < *patient) {
            return Taken::Within(patient);
        }
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(queue) = self.weariest(now).or_else(|| self.most_urgent())
        {
            taken.extend(self.slots[queue.index()].held.pop_front().map(|held| held.delivery));
        }
        Taken::Some(taken)
    }

    fn most_urgent(&self) -> Option<Priority> {
        Priority::ALL.into_iter().find(|queue| !self.slots[queue.index()].held.is_empty())
    }

    /// Until when to wait for polls of what is more urgent than this queue.
    fn patient_until(&self, queue: Priority) -> Option<Instant> {
        self.slots[..queue.index()].iter().filter_map(|slot| slot.polled).max().map(|polled| polled + GRACE)
    }

    /// The queue whose first has lain here so long that it goes before what is more urgent: one that was received again and
    /// again and never taken would end among the dead letters.
    fn weariest(&self, now: Instant) -> Option<Priority> {
        let weary = |queue: &Priority| self.slots[queue.index()].first_is_older(self.visibility / 4, now);
        Priority::ALL.into_iter().rev().find(weary)
    }

    /// What has lain here for half of its visibility is left to come back: its receiver needs the rest of it.
    fn forget_what_is_stale(&mut self, now: Instant) {
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
    use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};

    use super::*;

    const VISIBILITY: Duration = Duration::from_secs(32);

    fn delivery(queue: Priority, number: u8) -> Delivery<Receipt> {
        let key = TimerKey::occurrence(JobId::from_bytes([number; 16]), Moment::EPOCH);
        let stamp = TimerStamp { generation: 1, written: Moment::EPOCH };
        let hint = Hint::of(&Timer { key, tenant: Tenant::new("acme").unwrap(), stamp });
        Delivery { hint, priority: queue, receipt: Receipt::new(queue, "handle") }
    }

    fn numbers(taken: Taken) -> Vec<u8> {
        let Taken::Some(deliveries) = taken else { panic!("{taken:?}") };
        deliveries.iter().map(|delivery| delivery.hint.run.job.as_bytes()[0]).collect()
    }

    /// A mailbox whose queues have all been polled since now, and the instant at which their polls have waited long enough.
    fn polled() -> (Mailbox, Instant) {
        let (mut mailbox, now) = (Mailbox::new(VISIBILITY), Instant::now());
        assert_eq!(mailbox.begin_polls(now), Priority::ALL);
        (mailbox, now + GRACE)
    }

    #[test]
    fn a_queue_is_polled_again_only_when_its_poll_is_over_and_all_it_brought_is_taken() {
        let (mut mailbox, now) = polled();
        assert_eq!(mailbox.begin_polls(now), []);

        mailbox.put(Priority::High, Ok(vec![delivery(Priority::High, 1)]), now);
        mailbox.put(Priority::Low, Ok(Vec::new()), now);

        assert_eq!(mailbox.begin_polls(now), [Priority::Low]);
        assert_eq!(numbers(mailbox.take(1, now)), [1]);
        assert_eq!(mailbox.begin_polls(now), [Priority::High]);
    }

    #[test]
    fn the_most_urgent_is_taken_first_and_no_more_than_asked_for() {
        let (mut mailbox, now) = polled();
        for (queue, number) in [(Priority::Low, 1), (Priority::Critical, 2), (Priority::Normal, 3)] {
            mailbox.put(queue, Ok(vec![delivery(queue, number), delivery(queue, number + 10)]), now);
        }

        assert_eq!(numbers(mailbox.take(3, now)), [2, 12, 3]);
        assert_eq!(numbers(mailbox.take(9, now)), [13, 1, 11]);
        assert_eq!(mailbox.take(9, now), Taken::Nothing);
    }

    /// Tried: without the wait, what is low is taken because its answer was a millisecond faster.
    #[test]
    fn what_is_less_urgent_waits_for_a_poll_that_has_only_just_begun() {
        let (mut mailbox, later) = polled();
        let early = later - GRACE / 2;
        mailbox.put(Priority::Low, Ok(vec![delivery(Priority::Low, 1)]), early);

        assert_eq!(mailbox.take(9, early), Taken::Within(later));
        mailbox.put(Priority::Critical, Ok(vec![delivery(Priority::Critical, 2)]), early);

        assert_eq!(numbers(mailbox.take(1, early)), [2], "nothing is more urgent");
        assert_eq!(numbers(mailbox.take(9, later)), [1]);
    }

    /// Tried: without the weariest first, a flood of what is more urgent keeps it here until it is stale, each time.
    #[test]
    fn what_has_lain_here_for_long_goes_before_what_is_more_urgent() {
        let (mut mailbox, now) = polled();
        mailbox.put(Priority::Low, Ok(vec![delivery(Priority::Low, 1)]), now);
        let later = now + VISIBILITY / 4;
        mailbox.put(Priority::Critical, Ok(vec![delivery(Priority::Critical, 2)]), later);

        assert_eq!(numbers(mailbox.take(9, later)), [1, 2]);
    }

    /// Tried: without forgetting, a delivery is handed out when the queue has given it to another.
    #[test]
    fn what_nobody_takes_is_left_to_come_back() {
        let (mut mailbox, now) = polled();
        mailbox.put(Priority::High, Ok(vec![delivery(Priority::High, 1)]), now);

        assert_eq!(mailbox.take(9, now + VISIBILITY / 2), Taken::Nothing);
        assert_eq!(mailbox.begin_polls(now + VISIBILITY / 2), [Priority::High]);
    }

    #[test]
    fn a_fault_is_told_once_and_not_before_what_has_come() {
        let (mut mailbox, now) = polled();
        let fault = Fault::unavailable("a queue", "away");
        mailbox.put(Priority::High, Err(fault.clone()), now);
        mailbox.put(Priority::Low, Ok(vec![delivery(Priority::Low, 1)]), now);

        assert_eq!(numbers(mailbox.take(9, now)), [1]);
        assert_eq!(mailbox.take(9, now), Taken::Fault(fault));
        assert_eq!(mailbox.take(9, now), Taken::Nothing);
    }
}
