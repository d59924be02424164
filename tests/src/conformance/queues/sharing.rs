//! Sharing: the tenants of the embedded queues take turns, leave capacity free for each other, and keep to their limits.

use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::priority::Priority;
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::embedded::{Delivery, Depth, EmbeddedQueues, VISIBILITY};
use minutehand_io::queues::{Inbox as _, Queues as _};
use tokio::time::{advance, timeout};

use super::embedded::{TestClock, queues, queues_and_clock, secs};
use crate::conformance::world::{at, named, stamp};

/// The concurrency of a process.
const CONCURRENCY: u32 = 512;
/// What one tenant alone gets of it: it stops where it has eight times as many in flight as are left.
const ALONE: usize = 456;

/// Tried: with one order for all tenants, by instant, the quiet tenant is behind the whole flood.
pub async fn a_hint_behind_a_flood_of_another_tenant_is_among_the_next_two() {
    let queues = queues();
    for number in 0..100_000 {
        send(&queues, "noisy", number, 0).await;
    }
    send(&queues, "quiet", 1, 10).await;
    assert_eq!(queues.receive(1000).await.len(), 1000);
    advance(secs(10)).await;

    let delivered = queues.receive(2).await;

    assert!(tenants(&delivered).contains(&"quiet"), "{delivered:?}");
}

pub async fn tenants_take_turns_and_each_keeps_its_own_order() {
    let queues = queues();
    for (tenant, number, due) in [("a", 1, 2), ("a", 2, 1), ("a", 3, 1), ("b", 4, 3), ("b", 5, 3), ("c", 6, 4)] {
        send(&queues, tenant, number, due).await;
    }
    advance(secs(60)).await;

    let delivered = queues.receive(9).await;

    assert_eq!(tenants(&delivered), ["a", "b", "c", "a", "b", "a"]);
    assert_eq!(numbers(&delivered), [2, 4, 6, 3, 5, 1]);
}

/// A flood in a less urgent queue takes no turns from a more urgent one, also for the same tenant.
pub async fn turns_are_taken_inside_a_queue() {
    let queues = queues();
    for number in 0..64 {
        send(&queues, "noisy", number, 0).await;
        queues.send(Priority::Low.into(), &hint("quiet", number), at(0)).await.unwrap();
    }

    let delivered = queues.receive(16).await;

    assert_eq!(tenants(&delivered).iter().filter(|tenant| **tenant == "quiet").count(), 1);
}

/// Tried: without the threshold it gets all of it, and a newcomer waits until one of its runs ends.
pub async fn one_tenant_alone_leaves_a_ninth_of_the_capacity_free_for_a_newcomer() {
    let (queues, clock) = queues_and_clock();
    queues.set_concurrency(CONCURRENCY);
    for number in 0..1000 {
        send(&queues, "noisy", number, 0).await;
    }

    assert_eq!(queues.receive(512).await.len(), ALONE);
    assert!(timeout(secs(1), queues.receive(56)).await.is_err());
    for number in 0..1000 {
        send(&queues, "quiet", number, 0).await;
    }
    let delivered = queues.receive(56).await;

    assert_eq!(clock.now(), at(1));
    assert!(tenants(&delivered).iter().all(|tenant| *tenant == "quiet"));
    assert_eq!(delivered.len(), 40, "and it leaves room, too");
}

/// Removed: each takes its share of what is left, down to the last. The fourth found nothing free, however urgent its hint.
pub async fn several_floods_leave_a_hand_for_who_has_nothing_under_way() {
    let (queues, clock) = queues_and_clock();
    queues.set_concurrency(CONCURRENCY);
    for noisy in ["noisy", "noisier", "noisiest"] {
        for number in 0..1000 {
            send(&queues, noisy, number, 0).await;
        }
        assert!(!queues.receive(8).await.is_empty(), "{noisy}");
        while timeout(secs(1), queues.receive(8)).await.is_ok() {}
    }
    for quiet in ["first", "second", "third"] {
        send(&queues, quiet, 0, 0).await;
        send(&queues, quiet, 1, 0).await;
        let delivered = queues.receive(1).await;
        assert_eq!(tenants(&delivered), [quiet], "at {}", clock.now());
    }
}

pub async fn two_floods_converge_to_equal_shares() {
    let queues = queues();
    queues.set_concurrency(CONCURRENCY);
    for number in 0..20_000 {
        send(&queues, "first", number, 0).await;
    }
    let mut held = queues.receive(512).await;
    for number in 0..20_000 {
        send(&queues, "second", number, 0).await;
    }

    // The delivery held for longest ends.
    for _ in 0..4000 {
        held.extend(without_waiting(&queues, 64).await);
        assert!(queues.done(&held.remove(0).receipt));
    }

    let first = tenants(&held).iter().filter(|tenant| **tenant == "first").count();
    assert!(first.abs_diff(held.len() - first) <= 16, "{first} of {}", held.len());
    assert!(held.len() >= 470, "{} of {CONCURRENCY} are in use", held.len());
}

/// Tried: without the wake in `done`, the receiver waits until a delivery expires.
pub async fn a_tenant_held_back_for_want_of_capacity_resumes_when_a_delivery_ends() {
    let (queues, clock) = queues_and_clock();
    queues.set_concurrency(CONCURRENCY);
    for number in 0..500 {
        send(&queues, "noisy", number, 0).await;
    }
    let held = queues.receive(512).await;
    let ending = async {
        tokio::time::sleep(secs(1)).await;
        assert!(queues.done(&held[0].receipt));
    };

    let (delivered, ()) = tokio::join!(queues.receive(9), ending);

    assert_eq!((delivered.len(), clock.now()), (1, at(1)));
}

pub async fn a_concurrency_of_one_delivers_every_hint_in_turn() {
    let queues = queues();
    queues.set_concurrency(1);
    for number in 0..20 {
        send(&queues, "noisy", number, 0).await;
        send(&queues, "quiet", number, 0).await;
    }

    for turn in 0..40 {
        let delivered = queues.receive(1).await;
        assert_eq!(tenants(&delivered), [["noisy", "quiet"][turn % 2]]);
        assert!(queues.done(&delivered[0].receipt));
    }
}

/// A task that panicked has freed its permit and ended no delivery.
pub async fn a_delivery_that_never_ends_does_not_block_its_receiver() {
    let (queues, clock) = queues_and_clock();
    queues.set_concurrency(1);
    for number in 0..3 {
        send(&queues, "acme", number, 0).await;
        assert_eq!(numbers(&queues.receive(1).await), [number]);
    }

    assert_eq!(clock.now(), at(0));
}

/// Tried: without the limit in `admits` all five are delivered.
pub async fn a_limit_holds_a_tenants_hints_back_until_one_of_its_own_is_done() {
    let (queues, clock) = queues_and_clock();
    queues.limit(&named("acme"), Some(2));
    for number in 0..5 {
        send(&queues, "acme", number, 0).await;
        send(&queues, "other", number, 0).await;
    }
    let held = queues.receive(99).await;
    assert_eq!(tenants(&held).iter().filter(|tenant| **tenant == "acme").count(), 2);
    assert_eq!(held.len(), 7);
    assert_eq!(
        [reached(&queues, "acme"), reached(&queues, "other"), reached(&queues, "nobody")],
        [Some(2), None, None]
    );
    let ending = async {
        for acme in held.iter().filter(|held| held.hint.tenant == named("acme")) {
            tokio::time::sleep(secs(1)).await;
            assert!(queues.done(&acme.receipt));
        }
    };
    let receiving = async { [queues.receive(9).await, queues.receive(9).await].map(|delivered| numbers(&delivered)) };

    let (delivered, ()) = tokio::join!(receiving, ending);

    assert_eq!(delivered, [[2], [3]], "one each second");
    assert_eq!(clock.now(), at(2));
    assert_eq!(queues.depths()[0], Depth { ready: 1, delayed: 0, in_flight: 7 });
}

/// Removed: looks are counted apart. What a worker was to be offered waited until a call of its tenant had ended.
pub async fn a_limit_of_calls_holds_no_looks_back() {
    let queues = queues();
    queues.limit(&named("acme"), Some(1));
    for number in 0..2 {
        send(&queues, "acme", number, 0).await;
    }
    for number in 2..4 {
        queues.send(Lane::look(Priority::Normal), &hint("acme", number), at(0)).await.unwrap();
    }

    let held = queues.receive(9).await;

    let mut taken: Vec<_> = numbers(&held).into_iter().zip(held.iter().map(|held| held.lane.is_look)).collect();
    taken.sort_unstable();
    assert_eq!(taken, [(0, false), (2, true), (3, true)]);
    assert_eq!(reached(&queues, "acme"), Some(1));
}

/// Given back or expired, a hint is no longer in flight; the expired one is the oldest of its tenant, and comes again.
pub async fn a_given_back_or_expired_hint_frees_its_share_of_a_limit() {
    let (queues, clock) = queues_and_clock();
    queues.limit(&named("acme"), Some(1));
    for number in 0..2 {
        send(&queues, "acme", number, 0).await;
    }

    let first = queues.receive(9).await;
    assert!(queues.give_back(&first[0].receipt, at(5)));
    let second = queues.receive(9).await;
    let third = queues.receive(9).await;

    assert_eq!([numbers(&first), numbers(&second), numbers(&third)], [[0], [1], [0]]);
    assert_eq!(clock.now(), at(0) + VISIBILITY);
}

pub async fn a_raised_or_lifted_limit_resumes_its_tenant() {
    let (queues, clock) = queues_and_clock();
    queues.limit(&named("acme"), Some(0));
    for number in 0..9 {
        send(&queues, "acme", number, 0).await;
    }
    let changing = async {
        for limit in [Some(1), Some(3), None] {
            tokio::time::sleep(secs(1)).await;
            queues.limit(&named("acme"), limit);
        }
    };
    let receiving = async {
        let mut came = Vec::new();
        for _ in 0..3 {
            came.push((queues.receive(99).await.len(), clock.now()));
        }
        came
    };

    let (came, ()) = tokio::join!(receiving, changing);

    assert_eq!(came, [(1, at(1)), (2, at(2)), (6, at(3))]);
}

pub async fn a_lowered_limit_lets_hints_in_flight_end() {
    let queues = queues();
    for number in 0..9 {
        send(&queues, "acme", number, 0).await;
    }
    let held = queues.receive(4).await;
    queues.limit(&named("acme"), Some(2));

    for (done, comes) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        assert!(queues.done(&held[done].receipt), "it was not taken away");
        assert_eq!(without_waiting(&queues, 9).await.len(), comes, "after {done}");
    }
}

pub async fn a_purge_forgets_hints_in_flight_and_keeps_limits() {
    let queues = queues();
    queues.set_concurrency(CONCURRENCY);
    queues.limit(&named("acme"), Some(2));
    for number in 0..9 {
        send(&queues, "acme", number, 0).await;
        send(&queues, "other", number, 0).await;
    }
    assert_eq!(queues.receive(99).await.len(), 11);

    queues.purge();

    assert_eq!(queues.depths(), [Depth::default(); 4]);
    for number in 0..9 {
        send(&queues, "acme", number, 0).await;
    }
    assert_eq!(queues.receive(99).await.len(), 2);
}

/// More hints than are counted in one step, most of them of tenants without a visible hint.
pub async fn depths_count_all_tenants() {
    let queues = queues();
    for number in 0..5_000 {
        send(&queues, &format!("t{number}"), number, if number % 5 == 0 { 0 } else { 60 }).await;
        send(&queues, "many", number, number % 2 * 60).await;
    }

    assert_eq!(queues.depths()[0], Depth { ready: 3_500, delayed: 6_500, in_flight: 0 });
    assert_eq!(queues.oldest(), [Some(at(0)), None, None, None], "what is visible later is no older for that");
    assert_eq!(queues.receive(100).await.len(), 100);
    assert_eq!(queues.depths()[0], Depth { ready: 3_400, delayed: 6_500, in_flight: 100 });
}

/// The deliveries that are available without waiting.
async fn without_waiting(queues: &EmbeddedQueues<TestClock>, max: usize) -> Vec<Delivery> {
    tokio::select! {
        biased;
        delivered = queues.receive(max) => delivered,
        () = std::future::ready(()) => Vec::new(),
    }
}

async fn send(queues: &EmbeddedQueues<TestClock>, tenant: &str, number: u64, due: u64) {
    queues.send(Priority::Critical.into(), &hint(tenant, number), at(due)).await.unwrap();
}

fn reached(queues: &EmbeddedQueues<TestClock>, tenant: &str) -> Option<u32> {
    queues.reached_limit(&named(tenant))
}

/// Hints that differ by tenant and number.
pub(super) fn hint(tenant: &str, number: u64) -> Hint {
    let timer = TimerKey::run(RunKey::manual(JobId::from_bytes([1; 16]), at(0), number), at(0));
    let tenant = Tenant::new(tenant).expect("a test names its tenants well");
    Hint { tenant, run: timer.run_key(), timer, stamp: stamp(1), sent: None }
}

fn tenants(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.hint.tenant.as_str()).collect()
}

fn numbers(deliveries: &[Delivery]) -> Vec<u64> {
    deliveries.iter().map(|delivery| delivery.hint.run.discriminator).collect()
}
