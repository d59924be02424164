//! Queues: what must hold of all of them, however exact they are. An arena gives queues of one kind and says how exact; a kind
//! without tolerance is compared to the millisecond. What is only true of one kind stands beside this.

pub mod embedded;
pub mod naive;
pub mod sharing;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::lane::Lane;
use minutehand_domain::priority::Priority;
use minutehand_domain::timer::{Obligation, TimerKey, TimerStamp};
use minutehand_io::clock::Clock;
use minutehand_io::queues::{Delivery, Inbox, Queues};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::world::{job_id, named, stamp, tenant, timer};

/// Fresh queues, and how exact they are.
pub trait Arena: Sync {
    type Queues: Inbox;
    type Clock: Clock;

    fn queues(&self) -> &Arc<Self::Queues>;

    fn clock(&self) -> &Self::Clock;

    /// How long a delivery stays hidden. At least twice as long as deliveries may be late, but where it is waited out.
    fn visibility(&self) -> Duration;

    /// How much before its time a delayed hint may be delivered.
    fn early(&self) -> Duration;

    /// How much after its time a hint may be delivered.
    fn late(&self) -> Duration;

    /// Whether everything comes at its own time, in order.
    fn is_exact(&self) -> bool {
        self.late().is_zero()
    }
}

/// Names a test for each fact. Each has an arena of its own, which `$make().await` gives, or none where it cannot be had. Facts that wait out a
/// visibility have it of `$soon().await`, where it may be short.
#[macro_export]
macro_rules! queue_facts {
    ($(#[$attribute:meta])* $make:path) => {
        $crate::queue_facts! { $(#[$attribute])* $make, $make }
    };
    ($(#[$attribute:meta])* $make:path, $soon:path) => {
        $crate::queue_facts! { $(#[$attribute])* $soon:
            a_hint_that_is_not_done_is_delivered_again_after_its_visibility,
            a_hidden_hint_stays_hidden_until_then,
            a_hint_that_is_done_is_gone,
        }
        $crate::queue_facts! { $(#[$attribute])* $make:
            a_hint_is_delivered_at_its_time,
            a_hint_sent_for_sooner_overtakes_one_for_later,
            a_waiting_receiver_wakes_when_a_hint_arrives,
            a_hint_is_held_by_one_receiver_at_a_time,
            an_old_receipt_changes_nothing,
            a_hint_can_be_hidden_for_less_than_its_visibility,
            a_hint_that_is_given_back_is_delivered_again,
            a_hint_that_is_given_back_for_later_waits_until_then,
            the_most_urgent_comes_first,
            each_hint_comes_from_the_lane_it_was_sent_on,
            a_hundred_concurrent_sends_lose_no_hint,
            a_hint_of_every_shape_arrives_as_it_was_sent,
            a_receiver_that_gives_up_loses_nothing,
        }
    };
    ($(#[$attribute:meta])* $make:path: $($fact:ident),* $(,)?) => {
        $crate::queue_facts! { @ [$(#[$attribute])*] $make: $($fact)* }
    };
    (@ $attributes:tt $make:path: $($fact:ident)*) => {
        $($crate::queue_facts! { @one $attributes $make: $fact })*
    };
    (@one [$(#[$attribute:meta])*] $make:path: $fact:ident) => {
        $(#[$attribute])*
        async fn $fact() {
            let Some(arena) = $make().await else { return };
            $crate::conformance::queues::$fact(&arena).await;
        }
    };
}

pub async fn a_hint_is_delivered_at_its_time(arena: &impl Arena) {
    let due = in_secs(arena, 4);
    send(arena, 1, due).await;

    assert_eq!(numbers(&some(arena, 1).await), [1]);

    let now = arena.clock().now();
    assert!(due <= now + arena.early(), "{now} is before {due}");
    assert!(now <= due + arena.late(), "{now} is after {due}");
}

pub async fn a_hint_sent_for_sooner_overtakes_one_for_later(arena: &impl Arena) {
    send(arena, 1, in_secs(arena, 600)).await;
    send(arena, 2, in_secs(arena, 3)).await;

    assert_eq!(numbers(&some(arena, 9).await), [2]);
}

/// Tried: without the wake in the embedded `send`, a receiver that began to wait at empty queues waits for ever.
pub async fn a_waiting_receiver_wakes_when_a_hint_arrives(arena: &impl Arena) {
    let sent = in_secs(arena, 2);
    let giving = async {
        arena.clock().sleep_until(sent).await;
        send(arena, 1, sent).await;
    };

    let (delivered, ()) = tokio::join!(some(arena, 9), giving);

    assert_eq!(numbers(&delivered), [1]);
    assert!(arena.clock().now() <= sent + arena.late());
}

pub async fn a_hint_is_held_by_one_receiver_at_a_time(arena: &impl Arena) {
    for number in 1..=6 {
        send(arena, number, arena.clock().now()).await;
    }

    let (one, other) = tokio::join!(exactly(arena, 3), exactly(arena, 3));

    let mut all = [numbers(&one), numbers(&other)].concat();
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4, 5, 6]);
}

pub async fn a_hint_that_is_not_done_is_delivered_again_after_its_visibility(arena: &impl Arena) {
    let asked = arena.clock().now();
    send(arena, 1, asked).await;
    let first = some(arena, 1).await;
    let back = asked + arena.visibility();

    let second = some(arena, 1).await;

    assert_between(arena, back);
    assert_eq!(second[0].hint, first[0].hint);
}

/// Tried: with receipts that name the hint and not the delivery, the late receiver deletes a hint that another works on.
pub async fn an_old_receipt_changes_nothing(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let old = some(arena, 1).await.remove(0).receipt;
    arena.queues().hide(&old, in_secs(arena, 1)).await.unwrap();
    let new = some(arena, 1).await.remove(0).receipt;

    arena.queues().done(&old).await.unwrap();
    arena.queues().hide(&old, in_secs(arena, 600)).await.unwrap();
    arena.queues().give_back(&old, arena.clock().now()).await.unwrap();

    assert_nothing_comes(arena, Duration::from_secs(1)).await;
    arena.queues().give_back(&new, arena.clock().now()).await.unwrap();
    assert_eq!(numbers(&some(arena, 1).await), [1], "neither deleted nor hidden");
}

pub async fn a_hidden_hint_stays_hidden_until_then(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let receipt = some(arena, 1).await.remove(0).receipt;
    let until = arena.clock().now() + arena.visibility() + Duration::from_secs(2);

    arena.queues().hide(&receipt, until).await.unwrap();

    assert_eq!(numbers(&some(arena, 1).await), [1]);
    assert_between(arena, until);
}

/// Tried: without the wake in the embedded `hide`, it reappears only after the whole visibility.
pub async fn a_hint_can_be_hidden_for_less_than_its_visibility(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let receipt = some(arena, 1).await.remove(0).receipt;
    let until = in_secs(arena, 1);
    let hide = async { arena.queues().hide(&receipt, until).await.unwrap() };

    let (again, ()) = tokio::join!(some(arena, 1), hide);

    assert_eq!(numbers(&again), [1]);
    assert_between(arena, until);
}

pub async fn a_hint_that_is_done_is_gone(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let receipt = some(arena, 1).await.remove(0).receipt;

    arena.queues().done(&receipt).await.unwrap();

    assert_nothing_comes(arena, arena.visibility() + arena.late()).await;
    arena.queues().done(&receipt).await.expect("again does nothing");
}

pub async fn a_hint_that_is_given_back_is_delivered_again(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let first = some(arena, 1).await.remove(0);
    let given = arena.clock().now();

    arena.queues().give_back(&first.receipt, given).await.unwrap();

    let second = some(arena, 1).await.remove(0);
    assert_between(arena, given);
    assert_eq!(second.hint, first.hint);
    arena.queues().done(&second.receipt).await.unwrap();
}

pub async fn a_hint_that_is_given_back_for_later_waits_until_then(arena: &impl Arena) {
    send(arena, 1, arena.clock().now()).await;
    let first = some(arena, 1).await.remove(0);
    let later = in_secs(arena, 3);

    arena.queues().give_back(&first.receipt, later).await.unwrap();

    assert_eq!(numbers(&some(arena, 1).await), [1]);
    assert_between(arena, later);
}

/// Of queues that are not exact all come, each as it was sent: which of them are there by the time somebody looks is for them to say.
pub async fn the_most_urgent_comes_first(arena: &impl Arena) {
    for (number, priority) in (1..).zip([Priority::Low, Priority::Normal, Priority::High, Priority::Critical]) {
        arena.queues().send(priority.into(), &hint(number), arena.clock().now()).await.unwrap();
    }

    let mut delivered = exactly(arena, 4).await;
    if !arena.is_exact() {
        delivered.sort_by_key(|delivery| delivery.lane.priority.index());
    }

    assert_eq!(numbers(&delivered), [4, 3, 2, 1]);
    assert_eq!(delivered.iter().map(|delivery| delivery.lane.priority).collect::<Vec<_>>(), Priority::ALL);
}

pub async fn each_hint_comes_from_the_lane_it_was_sent_on(arena: &impl Arena) {
    for (number, lane) in (1..).zip(Lane::ALL) {
        arena.queues().send(lane, &hint(number), arena.clock().now()).await.unwrap();
    }

    let mut delivered = exactly(arena, Lane::ALL.len()).await;
    delivered.sort_by_key(|delivery| numbers(std::slice::from_ref(delivery)));

    let lanes = Lane::ALL.map(|lane| arena.queues().lane_for(lane));
    assert_eq!(delivered.iter().map(|delivery| delivery.lane).collect::<Vec<_>>(), lanes);
}

pub async fn a_hundred_concurrent_sends_lose_no_hint(arena: &impl Arena) {
    let now = arena.clock().now();
    let mut sends = JoinSet::new();
    for number in 0..100 {
        let queues = Arc::clone(arena.queues());
        sends.spawn(async move { queues.send(Priority::High.into(), &hint(number), now).await });
    }
    assert!(sends.join_all().await.iter().all(Result::is_ok));

    let mut come = BTreeSet::new();
    while come.len() < 100 {
        for delivery in some(arena, 100).await {
            come.extend(numbers(std::slice::from_ref(&delivery)));
            arena.queues().done(&delivery.receipt).await.unwrap();
        }
    }

    assert_eq!(come, (0..100).collect());
}

pub async fn a_hint_of_every_shape_arrives_as_it_was_sent(arena: &impl Arena) {
    let shapes = every_shape();
    for shape in &shapes {
        arena.queues().send(Priority::Low.into(), shape, arena.clock().now()).await.unwrap();
    }

    let delivered = exactly(arena, shapes.len()).await;

    for shape in &shapes {
        assert_eq!(delivered.iter().filter(|delivery| delivery.hint == *shape).count(), 1, "{shape:?}");
    }
}

/// Tried: with SQS polls that end with the call that began them, their messages stay hidden for a whole visibility.
pub async fn a_receiver_that_gives_up_loses_nothing(arena: &impl Arena) {
    assert_nothing_comes(arena, Duration::from_millis(500)).await;
    let sent = arena.clock().now();
    send(arena, 1, sent).await;
    arena.clock().sleep_until(sent + Duration::from_secs(1)).await;

    assert_eq!(numbers(&some(arena, 1).await), [1]);

    assert!(arena.clock().now() <= sent + arena.late().max(Duration::from_secs(1)));
}

/// It reappears at `then`: now, and not before.
fn assert_between(arena: &impl Arena, then: Moment) {
    let now = arena.clock().now();
    assert!(then <= now, "{now} is before {then}");
    assert!(now <= then + arena.late(), "{now} is after {then}");
}

async fn assert_nothing_comes(arena: &impl Arena, within: Duration) {
    let come = timeout(within, some(arena, 1)).await;
    assert!(come.is_err(), "{come:?}");
}

async fn send(arena: &impl Arena, number: u8, at: Moment) {
    arena.queues().send(Priority::Normal.into(), &hint(number), at).await.unwrap();
}

type Deliveries<A> = Vec<Delivery<<<A as Arena>::Queues as Queues>::Receipt>>;

/// The next deliveries, up to `max`.
async fn some<A: Arena>(arena: &A, max: usize) -> Deliveries<A> {
    let come = async {
        loop {
            let delivered = arena.queues().receive(max).await.unwrap();
            if !delivered.is_empty() {
                return delivered;
            }
        }
    };
    timeout(Duration::from_secs(60), come).await.expect("a minute is more than any fact takes")
}

async fn exactly<A: Arena>(arena: &A, count: usize) -> Deliveries<A> {
    let mut all = Vec::new();
    while all.len() < count {
        let delivered = some(arena, count - all.len()).await;
        all.extend(delivered);
    }
    all
}

fn in_secs(arena: &impl Arena, seconds: u64) -> Moment {
    arena.clock().now() + Duration::from_secs(seconds)
}

/// Hints that differ by a number.
fn hint(number: u8) -> Hint {
    Hint::of(&timer(number, 60))
}

fn numbers<R>(deliveries: &[Delivery<R>]) -> Vec<u8> {
    deliveries.iter().map(|delivery| delivery.hint.run.job.as_bytes()[0]).collect()
}

fn every_shape() -> Vec<Hint> {
    let manual = RunKey::manual(job_id(2), Moment::END, u64::MAX);
    let timers = [
        TimerKey::occurrence(job_id(1), Moment::EPOCH),
        TimerKey { due: Moment::END, obligation: Obligation::MovedOccurrence(job_id(255), Moment::from_millis(1)) },
        TimerKey::run(manual, Moment::END),
        TimerKey::run(RunKey::occurrence(job_id(0), Moment::END), Moment::EPOCH),
    ];
    let of = |timer: TimerKey| Hint {
        tenant: tenant(),
        run: timer.run_key(),
        timer,
        stamp: stamp(1),
        sent: Some(Moment::from_secs(7)),
    };
    let mut shapes = timers.map(of).to_vec();
    shapes.push(Hint { tenant: named(&"z-9".repeat(21)), ..shapes[0].clone() });
    let written_last = TimerStamp { generation: u64::MAX, written: Moment::END };
    shapes.push(Hint { stamp: written_last, ..of(TimerKey::occurrence(job_id(3), Moment::EPOCH)) });
    shapes
}
