//! Timers: put, erased only as they were seen, and found in their bucket in order.

use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::pace;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::store::{Bucket, Store};

use super::world::{at, job_id, named, stamp, tenant, timer, timers_in};

/// Tried: with no condition at the put, the earlier one is what stands there at the end.
pub async fn a_put_timer_overwrites_nothing_of_a_later_generation<S: Store>(store: Arc<S>) {
    let newer = Timer { stamp: stamp(2), ..timer(1, 60) };
    let again = Timer { stamp: TimerStamp { written: at(7), ..stamp(2) }, ..timer(1, 60) };

    assert_eq!(store.put_timer(&timer(1, 60)).await.unwrap(), timer(1, 60), "where nothing stands");
    assert_eq!(store.put_timer(&newer).await.unwrap(), newer, "over an earlier one");
    assert_eq!(store.put_timer(&again).await.unwrap(), again, "over one of its own generation");
    assert_eq!(store.put_timer(&timer(1, 60)).await.unwrap(), again, "what stands there, not what was offered");

    assert_eq!(store.timer(&newer.key).await.unwrap(), Some(again));
}

pub async fn of_64_putters_of_a_timer_the_latest_generation_stands<S: Store>(store: Arc<S>) {
    let of = |generation| Timer { stamp: stamp(generation), ..timer(1, 60) };
    let mut putters = tokio::task::JoinSet::new();
    for generation in 1..=64 {
        let store = Arc::clone(&store);
        putters.spawn(async move {
            let there = store.put_timer(&of(generation)).await.unwrap().stamp.generation;
            assert!(there >= generation, "{generation} was answered with {there}");
        });
    }

    putters.join_all().await;

    assert_eq!(store.timer(&timer(1, 60).key).await.unwrap(), Some(of(64)));
}

pub async fn a_timer_put_if_absent_never_overwrites<S: Store>(store: Arc<S>) {
    let newer = Timer { stamp: stamp(2), ..timer(1, 60) };

    let first = store.put_timer_if_absent(&timer(1, 60)).await.unwrap();
    let second = store.put_timer_if_absent(&newer).await.unwrap();

    assert_eq!(first, timer(1, 60));
    assert_eq!(second, timer(1, 60), "what stands there, not what was offered");
    assert_eq!(store.timer(&newer.key).await.unwrap(), Some(timer(1, 60)));
}

pub async fn a_timer_is_erased_only_as_it_was_seen<S: Store>(store: Arc<S>) {
    let key = timer(1, 60).key;
    store.put_timer(&timer(1, 60)).await.unwrap();
    let rewritten = TimerStamp { written: at(1), ..stamp(1) };

    assert!(!store.erase_timer(&key, stamp(2)).await.unwrap(), "of another generation");
    assert!(!store.erase_timer(&key, rewritten).await.unwrap(), "written at another time");
    assert_eq!(store.timer(&key).await.unwrap(), Some(timer(1, 60)));

    assert!(store.erase_timer(&key, stamp(1)).await.unwrap());
    assert!(!store.erase_timer(&key, stamp(1)).await.unwrap(), "it is gone already");
    assert_eq!(store.timer(&key).await.unwrap(), None);
}

pub async fn of_many_erasers_one_is_told_that_it_did<S: Store>(store: Arc<S>) {
    store.put_timer(&timer(1, 60)).await.unwrap();

    let mut erasers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let store = Arc::clone(&store);
        erasers.spawn(async move { store.erase_timer(&timer(1, 60).key, stamp(1)).await.unwrap() });
    }

    assert_eq!(erasers.join_all().await.into_iter().filter(|erased| *erased).count(), 1);
}

pub async fn a_bucket_holds_its_minute_in_order_and_only_that<S: Store>(store: Arc<S>) {
    let inside = one_jobs_timers();
    for timer in inside.iter().rev().chain(&[timer(1, 59), timer(1, 120)]) {
        store.put_timer(timer).await.unwrap();
    }

    let found = timers_in(&*store, bucket(&*store, &inside[0]), None, at(600), 100).await.unwrap();

    assert_eq!(found, inside);
}

pub async fn a_bucket_is_read_up_to_a_moment<S: Store>(store: Arc<S>) {
    let inside = one_jobs_timers();
    for timer in &inside {
        store.put_timer(timer).await.unwrap();
    }
    let until = async |moment| timers_in(&*store, bucket(&*store, &inside[0]), None, moment, 100).await.unwrap();

    assert_eq!(until(at(60)).await, inside[..3], "what is due then is inside");
    assert_eq!(until(at(60).just_before()).await, []);
    assert_eq!(until(at(119)).await, inside);
    assert_eq!(until(Moment::EPOCH).await, []);
}

pub async fn a_bucket_comes_in_pages_after_the_last_timer_seen<S: Store>(store: Arc<S>) {
    let inside = one_jobs_timers();
    for timer in &inside {
        store.put_timer(timer).await.unwrap();
    }

    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.timers(bucket(&*store, &inside[0]), after, at(600), 2).await.unwrap();
        assert!(page.items.len() <= 2);
        after = page.items.last().map(|last| last.key);
        found.extend(page.items);
        if !page.more {
            break;
        }
    }

    assert_eq!(found, inside);
}

pub async fn a_bucket_outside_of_time_is_empty<S: Store>(store: Arc<S>) {
    let last = Timer { key: TimerKey::occurrence(job_id(1), Moment::END), ..timer(1, 60) };
    store.put_timer(&last).await.unwrap();
    let found = async |minute| {
        let bucket = Bucket { minute, ..bucket(&*store, &last) };
        timers_in(&*store, bucket, None, Moment::END, 10).await.unwrap()
    };

    assert_eq!(found(last.key.minute()).await, std::slice::from_ref(&last));
    for minute in [i64::MIN, -1, last.key.minute() + 1, i64::MAX] {
        assert_eq!(found(minute).await, [], "{minute}");
    }
}

pub async fn a_timer_knows_its_tenant<S: Store>(store: Arc<S>) {
    let theirs = Timer { tenant: named("other"), ..timer(2, 61) };
    store.put_timer(&timer(1, 60)).await.unwrap();
    store.put_timer(&theirs).await.unwrap();

    assert_eq!(store.timer(&timer(1, 60).key).await.unwrap().map(|timer| timer.tenant), Some(tenant()));
    assert_eq!(store.timer(&theirs.key).await.unwrap().map(|timer| timer.tenant), Some(named("other")));
}

pub async fn every_timer_lies_in_one_shard_of_its_minute<S: Store>(store: Arc<S>) {
    let all: Vec<_> = (0..100).map(|number| timer(number, 60)).collect();
    for timer in &all {
        store.put_timer(timer).await.unwrap();
    }

    let mut found = Vec::new();
    for shard in 0..store.shards() {
        let bucket = Bucket { shard, ..bucket(&*store, &all[0]) };
        let inside = timers_in(&*store, bucket, None, at(600), 1000).await.unwrap();
        assert!(inside.iter().all(|timer| timer.key.obligation.shard(store.shards()) == shard), "shard {shard}");
        found.extend(inside);
    }
    found.sort_by_key(|timer| timer.key);

    assert_eq!(found, all);
    let beyond = Bucket { shard: store.shards(), ..bucket(&*store, &all[0]) };
    assert_eq!(timers_in(&*store, beyond, None, at(600), 1000).await.unwrap(), []);
}

/// In order; all of one job, so that they lie in one shard however many there are.
fn one_jobs_timers() -> Vec<Timer> {
    let link = |seconds| TimerKey::occurrence(job_id(1), at(seconds));
    let run = |seconds, discriminator| TimerKey::run(RunKey::manual(job_id(1), at(5), discriminator), at(seconds));
    let keys = [
        link(60),
        link(30).moved_to(at(60)),
        run(60, 1),
        link(61),
        link(20).moved_to(at(61)),
        link(40).moved_to(at(61)),
        run(61, 1),
        run(61, 2),
        link(119),
    ];
    keys.map(|key| Timer { key, ..timer(1, 60) }).to_vec()
}

fn bucket<S: Store>(store: &S, timer: &Timer) -> Bucket {
    Bucket { minute: pace::minute_of(timer.key.due), shard: timer.key.obligation.shard(store.shards()) }
}
