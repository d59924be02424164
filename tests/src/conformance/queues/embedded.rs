//! The embedded queues: exact order and milliseconds, shares, depths. Time stands still until every task waits
//! (`start_paused`), and is always compared exactly.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::priority::Priority;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::clock::Clock;
use minutehand_io::queues::Queues;
use minutehand_io::queues::embedded::{Depth, EmbeddedQueues, VISIBILITY};
use tokio::time::{Instant, advance, sleep, sleep_until, timeout};

use super::{Arena, hint, numbers, sharing, timer};
use crate::conformance::world::{START, at, job_id, named};

/// Tokio's time, counted from `START`.
#[derive(Clone, Copy, Debug)]
pub struct TestClock {
    origin: Instant,
}

impl TestClock {
    /// A clock that starts at `START` now.
    fn starting() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        START + self.origin.elapsed()
    }

    fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send {
        sleep_until(self.origin + moment.since(START))
    }
}

/// Queues without tolerance.
pub struct Embedded {
    queues: Arc<EmbeddedQueues<TestClock>>,
    clock: TestClock,
}

impl Embedded {
    #[expect(clippy::unused_async, reason = "other arenas are waited for")]
    pub async fn make() -> Option<Self> {
        let (queues, clock) = queues_and_clock();
        Some(Self { queues: Arc::new(queues), clock })
    }
}

impl Arena for Embedded {
    type Queues = EmbeddedQueues<TestClock>;
    type Clock = TestClock;

    fn queues(&self) -> &Arc<EmbeddedQueues<TestClock>> {
        &self.queues
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn visibility(&self) -> Duration {
        VISIBILITY
    }

    fn early(&self) -> Duration {
        Duration::ZERO
    }

    fn late(&self) -> Duration {
        Duration::ZERO
    }
}

pub async fn a_queue_delivers_by_instant_and_then_in_the_order_sent() {
    let queues = queues();
    advance(secs(60)).await;
    for (number, due) in [(1, 20), (2, 10), (3, 20), (4, 10), (5, 0)] {
        queues.send(Priority::Normal.into(), &hint(number), at(due)).await.unwrap();
    }

    assert_eq!(numbers(&queues.receive(3).await), [5, 2, 4]);
    assert_eq!(numbers(&queues.receive(3).await), [1, 3]);
}

pub async fn a_hint_is_delivered_at_its_millisecond_and_never_before() {
    let (queues, clock) = queues_and_clock();
    let due = START + Duration::from_millis(12_345);
    queues.send(Priority::Normal.into(), &hint(1), due).await.unwrap();

    assert!(timeout(Duration::from_millis(12_344), queues.receive(1)).await.is_err(), "a millisecond too early");
    let delivered = queues.receive(1).await;

    assert_eq!(numbers(&delivered), [1]);
    assert_eq!(clock.now(), due);
}

pub async fn a_sooner_hint_wakes_a_receiver_that_waits_for_a_later_one() {
    let (queues, clock) = queues_and_clock();
    queues.send(Priority::Low.into(), &hint(1), at(60)).await.unwrap();
    let send_sooner = async {
        sleep(secs(5)).await;
        queues.send(Priority::Low.into(), &hint(2), at(10)).await.unwrap();
    };

    let (delivered, ()) = tokio::join!(queues.receive(9), send_sooner);

    assert_eq!(numbers(&delivered), [2]);
    assert_eq!(clock.now(), at(10));
}

pub async fn receivers_share_the_hints_in_order() {
    let queues = queues();
    for number in 1..=3 {
        queues.send(Priority::Normal.into(), &hint(number), at(0)).await.unwrap();
    }

    let (one, other) = tokio::join!(queues.receive(2), queues.receive(2));

    assert_eq!((numbers(&one), numbers(&other)), (vec![1, 2], vec![3]));
}

/// Tried: with receipts that name the hint and not the delivery, the late receiver deletes a hint that another works on.
pub async fn an_old_receipt_refuses_to_act() {
    let (queues, clock) = queues_and_clock();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let old = queues.receive(1).await[0].receipt;
    let new = queues.receive(1).await[0].receipt;

    assert!(!queues.done(&old));
    assert!(!queues.give_back(&old, at(0)));
    queues.hide(&old, at(600)).await.unwrap();

    assert_eq!(queues.receive(1).await.len(), 1, "neither deleted nor hidden");
    assert_eq!(clock.now(), START + VISIBILITY * 2);
    assert!(!queues.done(&new), "it is old by now");
}

pub async fn a_hint_is_done_once() {
    let queues = queues();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let receipt = queues.receive(1).await[0].receipt;

    assert!(queues.done(&receipt));

    assert!(!queues.done(&receipt), "once");
    assert!(timeout(VISIBILITY * 10, queues.receive(1)).await.is_err());
    assert_eq!(queues.depths(), [Depth::default(); 4]);
}

pub async fn a_hint_that_is_given_back_keeps_its_turn() {
    let (queues, clock) = queues_and_clock();
    for number in 1..=2 {
        queues.send(Priority::Normal.into(), &hint(number), at(0)).await.unwrap();
    }
    let first = queues.receive(1).await;

    assert!(queues.give_back(&first[0].receipt, at(0)));

    assert_eq!(numbers(&queues.receive(2).await), [1, 2]);
    assert_eq!(clock.now(), at(0));
}

pub async fn a_hint_that_is_given_back_for_later_is_delayed_until_then() {
    let (queues, clock) = queues_and_clock();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let first = queues.receive(1).await;

    assert!(queues.give_back(&first[0].receipt, at(3)));

    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
    assert_eq!(numbers(&queues.receive(1).await), [1]);
    assert_eq!(clock.now(), at(3));
}

/// Tried: with a rotation of nothing but `Critical`, it gets every delivery, and the next fact fails too.
pub async fn under_a_flood_every_queue_keeps_its_share() {
    let queues = queues();
    for number in 0..64 {
        for priority in Priority::ALL {
            queues.send(priority.into(), &hint(number), at(0)).await.unwrap();
        }
    }

    let mut shares = [0; 4];
    for delivery in queues.receive(32).await {
        shares[delivery.lane.priority.index()] += 1;
    }

    assert_eq!(shares, [24, 4, 2, 2]);
}

pub async fn a_hint_far_below_a_flood_is_delivered_within_sixteen() {
    let queues = queues();
    for number in 0..100 {
        queues.send(Priority::Critical.into(), &hint(number), at(0)).await.unwrap();
    }
    queues.send(Priority::Low.into(), &hint(200), at(0)).await.unwrap();

    let delivered = queues.receive(16).await;

    assert!(numbers(&delivered).contains(&200));
}

/// Tried: with numbers that restart, the receipt from before the purge deletes a hint sent after it.
pub async fn a_purge_forgets_everything_and_numbers_go_on() {
    let queues = queues();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let old = queues.receive(1).await[0].receipt;
    for due in [0, 60] {
        queues.send(Priority::Normal.into(), &hint(1), at(due)).await.unwrap();
    }

    queues.purge();

    assert_eq!(queues.depths(), [Depth::default(); 4]);
    queues.send(Priority::Normal.into(), &hint(2), at(0)).await.unwrap();
    let new = queues.receive(9).await;
    assert_eq!(numbers(&new), [2]);
    assert!(!queues.done(&old) && queues.done(&new[0].receipt));
}

pub async fn depths_count_ready_delayed_and_in_flight_hints() {
    let queues = queues();
    for number in 0..20_000_u64 {
        queues.send(Priority::High.into(), &sharing::hint("acme", number), at(number % 2 * 60)).await.unwrap();
    }
    assert_eq!(queues.receive(10).await.len(), 10);

    assert_eq!(queues.depths()[1], Depth { ready: 9_990, delayed: 10_000, in_flight: 10 });
    advance(secs(60)).await;
    assert_eq!(queues.depths()[1], Depth { ready: 19_990, delayed: 0, in_flight: 10 });
}

/// A sweep that found a timer twice, or an overdue look behind a long queue, hints what waits already.
pub async fn a_hint_that_waits_already_is_not_queued_twice() {
    let queues = queues();
    for _ in 0..100 {
        queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
        queues.send(Priority::Normal.into(), &hint(2), at(60)).await.unwrap();
    }

    assert_eq!(queues.depths()[2], Depth { ready: 1, delayed: 1, in_flight: 0 });
    let delivered = queues.receive(9).await;

    assert_eq!(numbers(&delivered), [1]);
    assert!(queues.done(&delivered[0].receipt));
    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
}

/// Each look moves the timer of a run that waits for hands, and hints it again.
///
/// Removed once, by hand: what waits is compared by all that it says. A run that waited for a day had thirty hints, and a hundred thousand of them half a gigabyte.
pub async fn a_run_that_waits_for_hands_has_one_hint_however_often_it_is_looked_at() {
    let queues = queues();
    let Timer { key, stamp, .. } = timer(1, 0);
    for minute in [1, 2, 4, 8] {
        let written = at(60 * minute);
        let moved = Timer { key: key.moved_to(written), stamp: TimerStamp { written, ..stamp }, ..timer(1, 0) };
        let hint_of_it = Hint { sent: Some(at(60 * (minute - 1))), ..Hint::of(&moved) };
        queues.send(Priority::Normal.into(), &hint_of_it, at(0)).await.unwrap();
        queues.send(Priority::Normal.into(), &hint(2), at(0)).await.unwrap();
    }

    assert_eq!(queues.depths()[2], Depth { ready: 2, delayed: 0, in_flight: 0 });
    let delivered = queues.receive(9).await;

    assert_eq!(numbers(&delivered), [1, 2], "each keeps its turn");
    assert_eq!(delivered[0].hint.timer, key.moved_to(at(480)), "it says what is so now");
    assert_eq!(delivered[0].hint.sent, Some(at(0)), "and since when it has waited");
    queues.send(Priority::Normal.into(), &Hint::of(&timer(1, 0)), at(0)).await.unwrap();
    assert_eq!(queues.depths()[2].ready, 1, "what was delivered waits no more");
}

/// Otherwise an overdue look would wait behind a hint that was given back for late.
pub async fn of_two_that_say_the_same_the_sooner_stands() {
    let (queues, clock) = queues_and_clock();
    for due in [3600, 5, 60] {
        queues.send(Priority::Normal.into(), &hint(1), at(due)).await.unwrap();
    }

    let delivered = queues.receive(9).await;

    assert_eq!((numbers(&delivered), clock.now()), (vec![1], at(5)));
    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 0, in_flight: 1 });
}

/// Whoever holds it may be done with what it says, and what it says may have become true again since.
pub async fn a_hint_in_flight_is_queued_again_and_given_back_it_is_one_again() {
    let (queues, clock) = queues_and_clock();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let first = queues.receive(1).await;
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    let second = queues.receive(1).await;
    queues.send(Priority::Normal.into(), &hint(1), at(9)).await.unwrap();

    assert!(queues.give_back(&first[0].receipt, at(5)) && queues.give_back(&second[0].receipt, at(7)));

    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
    assert_eq!((numbers(&queues.receive(9).await), clock.now()), (vec![1], at(5)));
}

/// Which timer a hint may erase depends on its stamp; another tenant's and another queue's are others altogether.
pub async fn hints_of_another_tenant_at_another_time_or_of_another_queue_are_no_doubles() {
    let queues = queues();
    let one = hint(1);
    let of_another = Hint { tenant: named("another"), ..one.clone() };
    let put_anew = Hint { stamp: TimerStamp { generation: one.stamp.generation + 1, ..one.stamp }, ..one.clone() };
    for (hint, due) in [(&one, 0), (&of_another, 0), (&put_anew, 1)] {
        queues.send(Priority::Normal.into(), hint, at(due)).await.unwrap();
    }
    queues.send(Priority::High.into(), &one, at(0)).await.unwrap();
    advance(secs(1)).await;

    assert_eq!(queues.receive(9).await.len(), 4);
}

/// What is known of what waited goes with it, also after a flood and a purge.
pub async fn a_hint_may_be_sent_again_once_it_does_not_wait() {
    let queues = queues();
    for flood in 0..3 {
        for number in 0..10_000 {
            queues.send(Priority::Normal.into(), &sharing::hint("acme", number), at(0)).await.unwrap();
        }
        let delivered = queues.receive(20_000).await;
        assert_eq!(delivered.len(), 10_000, "flood {flood}");
        assert!(delivered.iter().all(|delivery| queues.done(&delivery.receipt)));
    }
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();
    queues.purge();
    queues.send(Priority::Normal.into(), &hint(1), at(0)).await.unwrap();

    assert_eq!(numbers(&queues.receive(9).await), [1]);
    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 0, in_flight: 1 });
}

/// What waits for hands is delivered however long it waits, and what comes after an hour without any: only time that nobody saw pass is a sleep.
pub async fn hints_of_before_a_sleep_are_left_to_the_sweep_and_no_others_are() {
    let queues = Arc::new(queues());
    let watched = Arc::clone(&queues);
    tokio::spawn(async move { match watched.watch_over_sleep().await {} });
    let send = async |number, timer_due, due| {
        let hint = Hint::of(&timer(number, timer_due));
        queues.send(Priority::Normal.into(), &hint, at(due)).await.unwrap();
    };
    sleep(secs(3600)).await;
    send(1, 0, 0).await;
    sleep(secs(600)).await;
    send(2, 600, 0).await;
    let take = async || {
        let delivered = queues.receive(9).await;
        assert!(delivered.iter().all(|delivery| queues.done(&delivery.receipt)));
        numbers(&delivered)
    };
    assert_eq!(take().await, [1, 2], "what waited for hands");
    send(2, 7800, 0).await; // a look has moved its timer on: the next look is not soon
    for (number, due) in [(3, 4270), (4, 4310), (5, 4500)] {
        send(number, due, due).await;
    }
    let nudge = Hint::of(&Timer { key: TimerKey::run(RunKey::manual(job_id(7), at(0), 1), at(4200)), ..timer(7, 0) });
    queues.send(Priority::Normal.into(), &nudge, at(4200)).await.unwrap();
    sleep(secs(10)).await; // 4210

    advance(secs(125)).await;

    send(6, 4270, 4270).await;
    assert_eq!(take().await, [2, 7, 6, 4], "an occurrence that is overdue, and was hinted before, is not among them");
    assert_eq!(take().await, [5]);
    assert_eq!(queues.depths()[2], Depth::default());
}

pub async fn a_receiver_that_gives_up_has_taken_nothing() {
    let queues = queues();
    queues.send(Priority::Normal.into(), &hint(1), at(10)).await.unwrap();

    assert!(timeout(secs(9), queues.receive(1)).await.is_err());

    assert_eq!(queues.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
}

pub(super) fn queues() -> EmbeddedQueues<TestClock> {
    queues_and_clock().0
}

pub(super) fn queues_and_clock() -> (EmbeddedQueues<TestClock>, TestClock) {
    let clock = TestClock::starting();
    (EmbeddedQueues::new(clock), clock)
}

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
