//! Lanes: order, delay, visibility, urgency. Time stands still until everybody waits (`start_paused`), and is only ever
//! compared exactly.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::priority::Priority;
use minutehand_io::clock::Clock;
use minutehand_io::lanes::Lanes;
use minutehand_io::lanes::embedded::{Delivery, Depth, EmbeddedLanes, VISIBILITY};
use tokio::time::{Instant, advance, sleep_until, timeout};

use super::world::{START, at, timer};

/// Tokio's time, counted from `START`.
#[derive(Clone, Copy, Debug)]
struct TestClock {
    origin: Instant,
}

impl TestClock {
    /// It is `START` now.
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

pub async fn a_lane_delivers_by_instant_and_then_in_the_order_sent() {
    let lanes = lanes();
    advance(secs(60)).await;
    for (number, due) in [(1, 20), (2, 10), (3, 20), (4, 10), (5, 0)] {
        lanes.send(Priority::Normal, &hint(number), at(due)).await.unwrap();
    }

    assert_eq!(numbers(&lanes.receive(3).await), [5, 2, 4]);
    assert_eq!(numbers(&lanes.receive(3).await), [1, 3]);
}

pub async fn a_hint_is_delivered_at_its_millisecond_and_never_before() {
    let (lanes, clock) = lanes_and_clock();
    let due = START + Duration::from_millis(12_345);
    lanes.send(Priority::Normal, &hint(1), due).await.unwrap();

    assert!(timeout(Duration::from_millis(12_344), lanes.receive(1)).await.is_err(), "a millisecond too early");
    let delivered = lanes.receive(1).await;

    assert_eq!(numbers(&delivered), [1]);
    assert_eq!(clock.now(), due);
}

pub async fn a_hint_sent_for_sooner_wakes_who_waits_for_later() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Low, &hint(1), at(60)).await.unwrap();
    let send_sooner = async {
        tokio::time::sleep(secs(5)).await;
        lanes.send(Priority::Low, &hint(2), at(10)).await.unwrap();
    };

    let (delivered, ()) = tokio::join!(lanes.receive(9), send_sooner);

    assert_eq!(numbers(&delivered), [2]);
    assert_eq!(clock.now(), at(10));
}

/// Tried: without the ring in `send`, a receiver that began to wait while there was nothing waits for ever.
pub async fn whoever_waits_while_there_is_nothing_wakes_when_there_is() {
    let lanes = lanes();
    let send = async {
        tokio::time::sleep(secs(5)).await;
        lanes.send(Priority::High, &hint(1), at(0)).await.unwrap();
    };

    let (delivered, ()) = tokio::join!(timeout(secs(600), lanes.receive(9)), send);

    assert_eq!(numbers(&delivered.expect("it was sent after 5 s")), [1]);
}

pub async fn a_hint_is_held_by_one_receiver_at_a_time() {
    let lanes = lanes();
    for number in 1..=3 {
        lanes.send(Priority::Normal, &hint(number), at(0)).await.unwrap();
    }

    let (one, other) = tokio::join!(lanes.receive(2), lanes.receive(2));

    assert_eq!((numbers(&one), numbers(&other)), (vec![1, 2], vec![3]));
}

pub async fn what_is_not_done_is_delivered_again_after_its_visibility() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let first = lanes.receive(1).await;

    let second = lanes.receive(1).await;

    assert_eq!(clock.now(), START + VISIBILITY);
    assert_eq!(second[0].hint, first[0].hint);
    assert_ne!(second[0].receipt, first[0].receipt);
}

/// Tried: with receipts that name the hint and not the delivery, the late receiver deletes what another one works on.
pub async fn an_old_receipt_refuses_to_act() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let old = lanes.receive(1).await[0].receipt;
    let new = lanes.receive(1).await[0].receipt;

    assert!(!lanes.done(&old));
    assert!(!lanes.give_back(&old, at(0)));
    lanes.hide(&old, at(600)).await.unwrap();

    assert_eq!(lanes.receive(1).await.len(), 1, "neither deleted nor hidden");
    assert_eq!(clock.now(), START + VISIBILITY * 2);
    assert!(!lanes.done(&new), "it is old by now");
}

pub async fn a_hidden_hint_stays_hidden_until_then() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let receipt = lanes.receive(1).await[0].receipt;

    lanes.hide(&receipt, at(90)).await.unwrap();
    let again = lanes.receive(1).await;

    assert_eq!(clock.now(), at(90));
    assert!(lanes.done(&again[0].receipt));
}

/// Tried: without the ring in `hide`, it comes back only after the whole visibility.
pub async fn a_hint_can_be_hidden_for_less_than_its_visibility() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let receipt = lanes.receive(1).await[0].receipt;
    let hide = async {
        tokio::time::sleep(secs(1)).await;
        lanes.hide(&receipt, at(2)).await.unwrap();
    };

    let (again, ()) = tokio::join!(lanes.receive(1), hide);

    assert_eq!((numbers(&again), clock.now()), (vec![1], at(2)));
}

pub async fn what_is_done_is_gone() {
    let lanes = lanes();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let receipt = lanes.receive(1).await[0].receipt;

    assert!(lanes.done(&receipt));

    assert!(!lanes.done(&receipt), "once");
    assert!(timeout(VISIBILITY * 10, lanes.receive(1)).await.is_err());
    assert_eq!(lanes.depths(), [Depth::default(); 4]);
}

pub async fn what_is_given_back_is_delivered_again_in_its_turn() {
    let (lanes, clock) = lanes_and_clock();
    for number in 1..=2 {
        lanes.send(Priority::Normal, &hint(number), at(0)).await.unwrap();
    }
    let first = lanes.receive(1).await;

    assert!(lanes.give_back(&first[0].receipt, at(0)));

    assert_eq!(numbers(&lanes.receive(2).await), [1, 2]);
    assert_eq!(clock.now(), at(0));
}

pub async fn what_is_given_back_for_later_waits_until_then() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let first = lanes.receive(1).await;

    assert!(lanes.give_back(&first[0].receipt, at(3)));

    assert_eq!(lanes.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
    assert_eq!(numbers(&lanes.receive(1).await), [1]);
    assert_eq!(clock.now(), at(3));
}

pub async fn the_most_urgent_comes_first() {
    let lanes = lanes();
    for (number, priority) in (1..).zip([Priority::Low, Priority::Normal, Priority::High, Priority::Critical]) {
        lanes.send(priority, &hint(number), at(0)).await.unwrap();
    }

    let delivered = lanes.receive(9).await;

    assert_eq!(numbers(&delivered), [4, 3, 2, 1]);
    assert_eq!(delivered.iter().map(|delivery| delivery.priority).collect::<Vec<_>>(), Priority::ALL);
}

/// Tried: with a rotation of nothing but `Critical`, it has all of it, and the next fact fails too.
pub async fn under_a_flood_every_lane_keeps_its_share() {
    let lanes = lanes();
    for number in 0..64 {
        for priority in Priority::ALL {
            lanes.send(priority, &hint(number), at(0)).await.unwrap();
        }
    }

    let mut shares = [0; 4];
    for delivery in lanes.receive(32).await {
        shares[delivery.priority.index()] += 1;
    }

    assert_eq!(shares, [24, 4, 2, 2]);
}

pub async fn a_hint_far_below_a_flood_is_delivered_within_sixteen() {
    let lanes = lanes();
    for number in 0..100 {
        lanes.send(Priority::Critical, &hint(number), at(0)).await.unwrap();
    }
    lanes.send(Priority::Low, &hint(200), at(0)).await.unwrap();

    let delivered = lanes.receive(16).await;

    assert!(numbers(&delivered).contains(&200));
}

/// Tried: with numbers that begin again, the receipt from before the purge deletes what was sent after it.
pub async fn a_purge_forgets_everything_and_numbers_go_on() {
    let lanes = lanes();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let old = lanes.receive(1).await[0].receipt;
    for due in [0, 60] {
        lanes.send(Priority::Normal, &hint(1), at(due)).await.unwrap();
    }

    lanes.purge();

    assert_eq!(lanes.depths(), [Depth::default(); 4]);
    lanes.send(Priority::Normal, &hint(2), at(0)).await.unwrap();
    let new = lanes.receive(9).await;
    assert_eq!(numbers(&new), [2]);
    assert!(!lanes.done(&old) && lanes.done(&new[0].receipt));
}

pub async fn depths_tell_what_is_ready_delayed_and_in_flight() {
    let lanes = lanes();
    for number in 0..20_000_u64 {
        lanes.send(Priority::High, &hint(1), at(number % 2 * 60)).await.unwrap();
    }
    assert_eq!(lanes.receive(10).await.len(), 10);

    assert_eq!(lanes.depths()[1], Depth { ready: 9_990, delayed: 10_000, in_flight: 10 });
    advance(secs(60)).await;
    assert_eq!(lanes.depths()[1], Depth { ready: 19_990, delayed: 0, in_flight: 10 });
}

pub async fn a_receiver_that_gives_up_has_taken_nothing() {
    let lanes = lanes();
    lanes.send(Priority::Normal, &hint(1), at(10)).await.unwrap();

    assert!(timeout(secs(9), lanes.receive(1)).await.is_err());

    assert_eq!(lanes.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
}

fn lanes() -> EmbeddedLanes<TestClock> {
    lanes_and_clock().0
}

fn lanes_and_clock() -> (EmbeddedLanes<TestClock>, TestClock) {
    let clock = TestClock::starting();
    (EmbeddedLanes::new(clock), clock)
}

/// Hints that differ by a number.
fn hint(number: u8) -> Hint {
    Hint::of(&timer(number, 60))
}

fn numbers(deliveries: &[Delivery]) -> Vec<u8> {
    deliveries.iter().map(|delivery| delivery.hint.run.job.as_bytes()[0]).collect()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
