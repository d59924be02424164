//! The naive queues: a list that is searched from end to end each time. It decides which hints may and which must be
//! delivered, and judges the embedded queues in any order of events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::priority::Priority;
use minutehand_io::clock::Clock;
use minutehand_io::queues::embedded::{Delivery, EmbeddedQueues, Receipt, VISIBILITY};
use minutehand_io::queues::{Inbox as _, Queues as _};
use proptest::prelude::*;
use proptest::sample::Index;

use super::sharing::hint;
use crate::conformance::world::{START, named};

const TENANTS: [&str; 4] = ["a", "b", "c", "d"];
/// The share of the embedded queues: a tenant has at most so many times as many in flight as are free.
const SHARE: usize = 8;

/// Something that happens to queues.
#[derive(Clone, Debug)]
pub enum Event {
    /// Of a tenant, on a queue, visible after so many milliseconds.
    Send(usize, usize, u64),
    /// Of one that was sent before and is not done, once more.
    SendAgain(Index, u64),
    /// Time passes.
    Pass(u64),
    Take(usize),
    Done(Index),
    GiveBack(Index, u64),
    Hide(Index, u64),
    Limit(usize, Option<u32>),
    Purge,
}

pub fn any_events(most: usize) -> impl Strategy<Value = Vec<Event>> {
    let later = || prop_oneof![Just(0_u64), 1..100_u64, 1_000..60_000_u64];
    let event = prop_oneof![
        8 => (0..TENANTS.len(), 0..4_usize, later()).prop_map(|(tenant, queue, later)| Event::Send(tenant, queue, later)),
        // One of them floods.
        8 => (0..2_usize, later()).prop_map(|(queue, later)| Event::Send(0, queue, later)),
        4 => (any::<Index>(), later()).prop_map(|(which, later)| Event::SendAgain(which, later)),
        3 => later().prop_map(Event::Pass),
        5 => (1..12_usize).prop_map(Event::Take),
        5 => any::<Index>().prop_map(Event::Done),
        2 => (any::<Index>(), later()).prop_map(|(which, later)| Event::GiveBack(which, later)),
        2 => (any::<Index>(), later()).prop_map(|(which, later)| Event::Hide(which, later)),
        1 => (0..TENANTS.len(), prop::option::of(0..4_u32)).prop_map(|(tenant, limit)| Event::Limit(tenant, limit)),
    ];
    // A purge now and then, so that something grows between.
    let event = prop_oneof![400 => event, 1 => Just(Event::Purge)];
    prop::collection::vec(event, 1..most)
}

/// Applies all events to both, and judges every delivery.
pub async fn judge(concurrency: Option<u32>, events: &[Event]) {
    let clock = HandClock(Arc::new(AtomicI64::new(START.millis())));
    let queues = EmbeddedQueues::new(clock.clone());
    if let Some(concurrency) = concurrency {
        queues.set_concurrency(concurrency);
    }
    let concurrency = concurrency.map_or(usize::MAX, |concurrency| concurrency as usize);
    let mut both = Both { queues, clock, naive: Naive { concurrency, ..Naive::default() } };
    for event in events {
        both.meet(event).await;
    }
}

/// A clock that is set by hand.
#[derive(Clone, Debug)]
struct HandClock(Arc<AtomicI64>);

impl Clock for HandClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, _moment: Moment) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

struct Both {
    queues: EmbeddedQueues<HandClock>,
    clock: HandClock,
    naive: Naive,
}

#[derive(Debug, Default)]
struct Naive {
    concurrency: usize,
    hints: Vec<Known>,
    limits: BTreeMap<usize, u32>,
    sent: u64,
    /// How often a tenant was served on a queue while another one waited there and was admitted.
    passed_over: BTreeMap<(usize, usize, usize), u32>,
}

#[derive(Clone, Debug)]
struct Known {
    tenant: usize,
    queue: usize,
    at: Moment,
    number: u64,
    /// What it says: the number of its first sending.
    says: u64,
    held: Option<(Receipt, Moment)>,
}

impl Both {
    async fn meet(&mut self, event: &Event) {
        let now = self.clock.now();
        let after = |millis: u64| now + Duration::from_millis(millis);
        match event {
            Event::Send(tenant, queue, later) => {
                let says = self.naive.sent + 1;
                self.send(*tenant, *queue, says, after(*later)).await;
            }
            Event::SendAgain(which, later) => {
                if let Some(Known { tenant, queue, says, .. }) = self.naive.known(*which) {
                    self.send(tenant, queue, says, after(*later)).await;
                }
            }
            Event::Pass(millis) => self.clock.0.store(after(*millis).millis(), Ordering::Relaxed),
            Event::Take(max) => {
                self.naive.expire(now);
                let taken = self.take(*max).await;
                self.naive.judge(&taken, *max, now);
            }
            Event::Done(which) => {
                if let Some((place, receipt)) = self.naive.held(*which) {
                    assert!(self.queues.done(&receipt));
                    self.naive.hints.remove(place);
                }
            }
            Event::GiveBack(which, later) => {
                if let Some((place, receipt)) = self.naive.held(*which) {
                    assert!(self.queues.give_back(&receipt, after(*later)));
                    self.naive.hints[place].reappear(after(*later));
                    self.naive.drop_doubles();
                }
            }
            Event::Hide(which, later) => {
                if let Some((place, receipt)) = self.naive.held(*which) {
                    self.queues.hide(&receipt, after(*later)).await.unwrap();
                    self.naive.hints[place].held = Some((receipt, after(*later)));
                }
            }
            Event::Limit(tenant, limit) => {
                self.queues.limit(&named(TENANTS[*tenant]), *limit);
                self.naive.limit(*tenant, *limit);
            }
            Event::Purge => {
                self.queues.purge();
                self.naive.hints.clear();
                self.naive.passed_over.clear();
            }
        }
    }

    async fn send(&mut self, tenant: usize, queue: usize, says: u64, at: Moment) {
        self.naive.send(tenant, queue, says, at);
        self.queues.send(Priority::ALL[queue].into(), &hint(TENANTS[tenant], says), at).await.unwrap();
    }

    async fn take(&self, max: usize) -> Vec<Delivery> {
        tokio::select! {
            biased;
            delivered = self.queues.receive(max) => delivered,
            () = std::future::ready(()) => Vec::new(),
        }
    }
}

impl Naive {
    fn send(&mut self, tenant: usize, queue: usize, says: u64, at: Moment) {
        self.sent += 1;
        self.hints.push(Known { tenant, queue, at, number: self.sent, says, held: None });
        self.drop_doubles();
    }

    /// Of those that say the same and wait, the one stands whose turn comes first.
    fn drop_doubles(&mut self) {
        let all = self.hints.clone();
        let before = |other: &Known, one: &Known| (other.at, other.number) < (one.at, one.number);
        let doubles = |other: &Known, one: &Known| other.is_of(one.tenant, one.queue, one.says) && before(other, one);
        self.hints.retain(|one| one.held.is_some() || !all.iter().any(|other| doubles(other, one)));
    }

    fn known(&self, which: Index) -> Option<Known> {
        (!self.hints.is_empty()).then(|| which.get(&self.hints).clone())
    }

    fn limit(&mut self, tenant: usize, limit: Option<u32>) {
        match limit {
            Some(limit) => self.limits.insert(tenant, limit),
            None => self.limits.remove(&tenant),
        };
    }

    fn held(&self, which: Index) -> Option<(usize, Receipt)> {
        let held: Vec<_> =
            self.hints.iter().enumerate().filter_map(|(place, hint)| Some((place, hint.held?.0))).collect();
        (!held.is_empty()).then(|| *which.get(&held))
    }

    fn expire(&mut self, now: Moment) {
        for hint in &mut self.hints {
            if let Some((_, until)) = hint.held.filter(|(_, until)| *until <= now) {
                hint.reappear(until);
            }
        }
        self.drop_doubles();
    }

    /// Each delivery was allowed, the oldest of its tenant's, and passed nobody over twice; and when they end, nobody else
    /// may be delivered.
    fn judge(&mut self, taken: &[Delivery], max: usize, now: Moment) {
        for (count, delivery) in taken.iter().enumerate() {
            self.forgive_who_may_not(max - count, now);
            self.judge_one(delivery, max - count, now);
        }
        if taken.len() < max {
            self.forgive_who_may_not(max - taken.len(), now);
            let forgotten = self.visible(now).find(|hint| self.may_begin(hint.tenant, max - taken.len()));
            assert!(forgotten.is_none(), "{forgotten:?} may be delivered, and is not");
        }
    }

    fn judge_one(&mut self, delivery: &Delivery, max: usize, now: Moment) {
        let tenant = TENANTS.iter().position(|name| named(name) == delivery.hint.tenant).expect("one of them");
        let (queue, says) = (delivery.lane.priority.index(), delivery.hint.run.discriminator);
        let waits = |hint: &Known| hint.is_of(tenant, queue, says);
        let place = self.hints.iter().position(waits).expect("it was sent, waits, and is nobody's");
        let hint = self.hints[place].clone();
        assert_eq!(self.hints.iter().filter(|hint| waits(hint)).count(), 1, "{hint:?} waits twice");
        assert!(self.may_begin(hint.tenant, max), "{hint:?} may not be delivered");
        let own = self.visible(now).filter(|other| (other.tenant, other.queue) == (hint.tenant, hint.queue));
        assert_eq!(own.map(|own| (own.at, own.number)).min(), Some((hint.at, hint.number)), "it is not the oldest");
        self.pass_over(&hint, max, now);
        self.hints[place].held = Some((delivery.receipt, now + VISIBILITY));
    }

    fn pass_over(&mut self, served: &Known, max: usize, now: Moment) {
        let waits = |other: &&Known| other.queue == served.queue && other.tenant != served.tenant;
        let mut waiting: Vec<_> = self.visible(now).filter(waits).map(|other| other.tenant).collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|tenant| self.may_begin(*tenant, max));
        self.passed_over.retain(|(queue, tenant, _), _| (*queue, *tenant) != (served.queue, served.tenant));
        for tenant in waiting {
            let times = self.passed_over.entry((served.queue, tenant, served.tenant)).or_default();
            *times += 1;
            assert!(*times <= 1, "{} was served twice while {} waited", TENANTS[served.tenant], TENANTS[tenant]);
        }
    }

    /// A tenant that is not admitted is not passed over, and queues behind the others when it is admitted again.
    fn forgive_who_may_not(&mut self, max: usize, now: Moment) {
        let waiting: Vec<_> = self.visible(now).map(|hint| (hint.queue, hint.tenant)).collect();
        let mut passed_over = std::mem::take(&mut self.passed_over);
        passed_over
            .retain(|(queue, tenant, _), _| waiting.contains(&(*queue, *tenant)) && self.may_begin(*tenant, max));
        self.passed_over = passed_over;
    }

    fn may_begin(&self, tenant: usize, max: usize) -> bool {
        let held = self.hints.iter().filter(|hint| hint.held.is_some());
        let own = held.clone().filter(|hint| hint.tenant == tenant).count();
        let free = self.concurrency.saturating_sub(held.count()).max(max);
        let is_left = own == 0 || free > self.kept();
        is_left
            && own < free.saturating_mul(SHARE)
            && self.limits.get(&tenant).is_none_or(|limit| own < *limit as usize)
    }

    /// Of the last of these only who has nothing in flight takes.
    fn kept(&self) -> usize {
        match self.concurrency {
            0..16 | usize::MAX => 0,
            16..64 => 1,
            more => more / 32,
        }
    }

    fn visible(&self, now: Moment) -> impl Iterator<Item = &Known> {
        self.hints.iter().filter(move |hint| hint.held.is_none() && hint.at <= now)
    }
}

impl Known {
    /// Whether it says this, and waits.
    fn is_of(&self, tenant: usize, queue: usize, says: u64) -> bool {
        self.held.is_none() && (self.tenant, self.queue, self.says) == (tenant, queue, says)
    }

    fn reappear(&mut self, at: Moment) {
        self.held = None;
        self.at = self.at.max(at);
    }
}
