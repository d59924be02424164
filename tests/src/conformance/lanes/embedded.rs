//! The embedded lanes: exact order and milliseconds, shares, depths. Time stands still until everybody waits
//! (`start_paused`), and is only ever compared exactly.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::priority::Priority;
use minutehand_io::clock::Clock;
use minutehand_io::lanes::Lanes;
use minutehand_io::lanes::embedded::{Depth, EmbeddedLanes, VISIBILITY};
use tokio::time::{Instant, advance, sleep_until, timeout};

use super::{Arena, hint, numbers};
use crate::conformance::world::{START, at};

/// Tokio's time, counted from `START`.
#[derive(Clone, Copy, Debug)]
pub struct TestClock {
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

/// Lanes without tolerance.
pub struct Embedded {
    lanes: Arc<EmbeddedLanes<TestClock>>,
    clock: TestClock,
}

impl Embedded {
    #[expect(clippy::unused_async, reason = "other arenas are waited for")]
    pub async fn make() -> Option<Self> {
        let (lanes, clock) = lanes_and_clock();
        Some(Self { lanes: Arc::new(lanes), clock })
    }
}

impl Arena for Embedded {
    type Lanes = EmbeddedLanes<TestClock>;
    type Clock = TestClock;

    fn lanes(&self) -> &Arc<EmbeddedLanes<TestClock>> {
        &self.lanes
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

pub async fn receivers_share_what_is_there_in_its_order() {
    let lanes = lanes();
    for number in 1..=3 {
        lanes.send(Priority::Normal, &hint(number), at(0)).await.unwrap();
    }

    let (one, other) = tokio::join!(lanes.receive(2), lanes.receive(2));

    assert_eq!((numbers(&one), numbers(&other)), (vec![1, 2], vec![3]));
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

pub async fn what_is_done_is_done_once() {
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

pub async fn what_is_given_back_for_later_is_delayed_until_then() {
    let (lanes, clock) = lanes_and_clock();
    lanes.send(Priority::Normal, &hint(1), at(0)).await.unwrap();
    let first = lanes.receive(1).await;

    assert!(lanes.give_back(&first[0].receipt, at(3)));

    assert_eq!(lanes.depths()[2], Depth { ready: 0, delayed: 1, in_flight: 0 });
    assert_eq!(numbers(&lanes.receive(1).await), [1]);
    assert_eq!(clock.now(), at(3));
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

pub(super) fn lanes() -> EmbeddedLanes<TestClock> {
    lanes_and_clock().0
}

pub(super) fn lanes_and_clock() -> (EmbeddedLanes<TestClock>, TestClock) {
    let clock = TestClock::starting();
    (EmbeddedLanes::new(clock), clock)
}

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
