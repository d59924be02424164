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
/// The longest wait that SQS allows a poll: the longer, the fewer empty answers.
const WAIT: Duration = Duration::from_secs(20);
/// For how long a queue is left alone whose poll has failed. Each new poll would have less urgent deliveries wait for it: of a queue that fails at once
/// they would wait until they are stale.
pub(super) const REST: Duration = Duration::from_secs(1);
/// Where hands for long calls are scarce: a poll at an empty queue keeps those from queues that have hints.
const WAIT_FOR_SCARCE_HANDS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Mailbox {
    slots: [Slot; Lane::ALL.len()],
    fault: Option<Fault>,
    /// How long a delivery stays hidden from others, from when it was received.
    visibility: Duration,
    /// How many hints of long calls there are hands for: others are left in their queues. A hint that is received again and again and never taken
    /// becomes a dead letter.
    long_room: usize,
    /// From which queue on those of long calls are polled, the next time.
    first: usize,
}

/// A poll to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Poll {
    pub queue: Lane,
    /// So many hints at most.
    pub most: usize,
    /// For how long it waits at an empty queue.
    pub waits: Duration,
}

#[derive(Debug, Default)]
struct Slot {
    held: VecDeque<Held>,
    /// When the poll under way began, and how many hints it may bring.
    polled: Option<(Instant, usize)>,
    /// Until when it is left alone, as its last poll failed.
    rests: Option<Instant>,
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
        Self { slots: array::from_fn(|_| Slot::default()), fault: None, visibility, long_room: usize::MAX, first: 0 }
    }

    pub(super) fn leave_room_for_long(&mut self, room: usize) {
        self.long_room = room;
    }

    /// The polls to begin now, of up to `max` hints each: of the queues without deliveries here and without a poll under way, whose hints there is
    /// room for. They count as begun.
    pub(super) fn begin_polls(&mut self, max: usize, now: Instant) -> Vec<Poll> {
        self.drop_stale(now);
        let (long, short): (Vec<_>, Vec<_>) = Lane::ALL
            .into_iter()
            .filter(|lane| self.slots[lane.index()].is_idle(now))
            .partition(|queue| is_long(*queue));
        let short = short.into_iter().map(|queue| Poll { queue, most: max, waits: WAIT });
        let polls: Vec<_> = short.chain(self.polls_of_long(long, max)).collect();
        for poll in &polls {
            self.slots[poll.queue.index()].polled = Some((now, poll.most));
        }
        polls
    }

    /// What is here, and what polls under way may bring, has its room already.
    fn polls_of_long(&mut self, mut queues: Vec<Lane>, max: usize) -> Vec<Poll> {
        let expected =
            Lane::ALL.into_iter().filter(|queue| is_long(*queue)).map(|lane| self.slots[lane.index()].expects()).sum();
        let room = self.long_room.saturating_sub(expected);
        let polled = queues.len().min(room);
        if polled == 0 {
            return Vec::new();
        }
        let waits = if room < 2 * max.saturating_mul(queues.len()) { WAIT_FOR_SCARCE_HANDS } else { WAIT };
        let lanes = Lane::ALL.len();
        queues.sort_unstable_by_key(|queue| (queue.index() + lanes - self.first) % lanes);
        queues.truncate(polled);
        self.first = queues.last().map_or(0, |last| (last.index() + 1) % lanes);
        let poll = |queue| Poll { queue, most: max.min(room / polled), waits };
        queues.into_iter().map(poll).collect()
    }

    /// Takes in what a queue's poll received.
    pub(super) fn put(&mut self, queue: Lane, outcome: Result<Vec<Delivery<Receipt>>, Fault>, now: Instant) {
        let slot = &mut self.slots[queue.index()];
        (slot.polled, slot.rests) = (None, outcome.is_err().then_some(now + REST));
        match outcome {
            Ok(deliveries) => slot.held.extend(deliveries.into_iter().map(|delivery| Held { delivery, received: now })),
            Err(fault) => {
                tracing::warn!(?queue, %fault, "a queue cannot be polled");
                self.fault = Some(fault);
            }
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
            if is_long(queue) {
                self.long_room -= 1;
            }
        }
        Taken::Some(taken)
    }

    fn has_hand_for(&self, queue: Lane) -> bool {
        !is_long(queue) || self.long_room > 0
    }

    fn most_urgent(&self) -> Option<Lane> {
        Lane::ALL.into_iter().find(|queue| !self.slots[queue.index()].held.is_empty() && self.has_hand_for(*queue))
    }

    /// Until when to wait for polls of more urgent queues than this one.
    fn wait_until(&self, queue: Lane) -> Option<Instant> {
        self.slots[..queue.index()].iter().filter_map(|slot| slot.polled).max().map(|(began, _)| began + GRACE)
    }

    /// The queue whose first delivery has been here so long that it goes before more urgent ones: a message that is received
    /// again and again and never taken would end among the dead letters.
    fn longest_held(&self, now: Instant) -> Option<Lane> {
        let is_old = |queue: &Lane| self.slots[queue.index()].first_is_older(self.visibility / 4, now);
        let held_long = |queue: &Lane| self.has_hand_for(*queue) && is_old(queue);
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

fn is_long(queue: Lane) -> bool {
    queue.length == Length::Long
}

impl Slot {
    fn is_idle(&self, now: Instant) -> bool {
        self.held.is_empty() && self.polled.is_none() && self.rests.is_none_or(|until| now >= until)
    }

    /// How many deliveries are here, or may come by the poll under way.
    fn expects(&self) -> usize {
        self.held.len() + self.polled.map_or(0, |(_, most)| most)
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

    fn polls(mailbox: &mut Mailbox, now: Instant) -> Vec<Lane> {
        let mut queues: Vec<_> = mailbox.begin_polls(10, now).into_iter().map(|poll| poll.queue).collect();
        queues.sort_unstable_by_key(|queue| queue.index());
        queues
    }

    /// A mailbox whose queues are all polled since now, and the instant at which their polls have waited long enough.
    fn polled() -> (Mailbox, Instant) {
        let (mut mailbox, now) = (Mailbox::new(VISIBILITY), Instant::now());
        assert_eq!(polls(&mut mailbox, now), Lane::ALL);
        (mailbox, now + GRACE)
    }

    #[test]
    fn a_queue_is_polled_again_only_when_its_poll_is_over_and_its_deliveries_are_taken() {
        let (mut mailbox, now) = polled();
        assert_eq!(polls(&mut mailbox, now), []);

        mailbox.put(HIGH, Ok(vec![delivery(HIGH, 1)]), now);
        mailbox.put(LOW, Ok(Vec::new()), now);

        assert_eq!(polls(&mut mailbox, now), [LOW]);
        assert_eq!(numbers(mailbox.take(1, now)), [1]);
        assert_eq!(polls(&mut mailbox, now), [HIGH]);
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

    /// Tried: without the rest it is polled again at once, and each poll has just begun.
    #[test]
    fn a_queue_whose_polls_fail_at_once_keeps_nothing_from_less_urgent_ones() {
        let (mut mailbox, now) = polled();
        mailbox.put(LOW, Ok(vec![delivery(LOW, 1)]), now);
        let fault = || Fault::unavailable("SQS", "there is no such queue");
        for step in 0..20 {
            let then = now + step * GRACE / 10;
            mailbox.put(CRITICAL, Err(fault()), then);
            assert_eq!(polls(&mut mailbox, then), []);
        }

        assert_eq!(numbers(mailbox.take(9, now + 2 * GRACE)), [1]);
        assert_eq!(polls(&mut mailbox, now + 2 * GRACE + REST), [CRITICAL, LOW]);
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
        assert_eq!(polls(&mut mailbox, now + VISIBILITY / 2), [HIGH]);
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
        for queue in Lane::ALL.into_iter().filter(|queue| is_long(*queue)) {
            mailbox.put(queue, Ok(Vec::new()), now);
        }
        let later = now + VISIBILITY / 2;
        assert_eq!(polls(&mut mailbox, later), [LOW], "what lay here comes again from its queue");

        mailbox.leave_room_for_long(1);
        let polls = mailbox.begin_polls(10, later);
        assert_eq!(polls.iter().map(|poll| (poll.queue.length, poll.most)).collect::<Vec<_>>(), [(Length::Long, 1)]);
    }

    /// Four queues of long calls and room for one hint: each has its turn, and nothing comes that is not taken.
    ///
    /// Removed (each is polled): three of four came for nothing each time, and at the fifth time became dead letters. Removed (`first`): what is not
    /// critical waited for as long as there were critical ones.
    #[test]
    fn queues_of_long_calls_are_polled_in_turn_where_there_is_not_room_for_each() {
        let (mut mailbox, now) = (Mailbox::new(VISIBILITY), Instant::now());
        mailbox.leave_room_for_long(1);
        let mut begun = Vec::new();
        for _ in 0..4 {
            let polls: Vec<_> = mailbox.begin_polls(10, now).into_iter().filter(|poll| is_long(poll.queue)).collect();
            let [Poll { queue, most: 1, waits: WAIT_FOR_SCARCE_HANDS }] = polls[..] else { panic!("{polls:?}") };
            assert_eq!(mailbox.begin_polls(10, now), [], "its hint has the room");
            mailbox.put(queue, Ok(Vec::new()), now);
            begun.push(queue);
        }
        begun.sort_unstable_by_key(|queue| queue.index());
        assert_eq!(begun, Lane::ALL.into_iter().filter(|queue| is_long(*queue)).collect::<Vec<_>>());

        mailbox.leave_room_for_long(9);
        let most: Vec<_> = mailbox.begin_polls(10, now).into_iter().map(|poll| poll.most).collect();
        assert_eq!(most, [2; 4], "no more than there is room for");

        let (mut mailbox, now) = (Mailbox::new(VISIBILITY), Instant::now());
        mailbox.leave_room_for_long(80);
        assert!(
            mailbox.begin_polls(10, now).iter().all(|poll| (poll.most, poll.waits) == (10, WAIT)),
            "there are many"
        );
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
