//! The ports of a world: a store in memory, queues that only write down what they are given, a clock to set, chance to seed.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{Tenant, Worker};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::Claimant;
use minutehand_domain::trace::Sampling;
use minutehand_io::chance::{Chance, SystemChance};
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::metrics::measured::Measured;
use minutehand_io::metrics::{Measure, Metric};
use minutehand_io::plans::Plans;
use minutehand_io::queues::Queues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_io::{Fault, Ports};

use crate::random::Random;

pub(crate) const ME: Claimant = Claimant { worker: Worker(1), exclusive_store: true };

pub(crate) struct TestPorts {
    store: MemoryStore,
    vault: KeyFile,
    pub queues: TestQueues,
    pub clock: TestClock,
    pub chance: TestChance,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    events: Measured<Log>,
    pub measured: Arc<Sums>,
    /// Which part of the traces this process keeps.
    pub sampling: Mutex<Sampling>,
}

/// What was counted, by the metric's name and its words.
#[derive(Default)]
pub(crate) struct Sums(Mutex<BTreeMap<String, f64>>);

pub(crate) struct TestClock(AtomicI64);

/// What was sent, in order; and how many at a time each tenant was allowed last.
#[derive(Default)]
pub(crate) struct TestQueues {
    sent: Mutex<Vec<(Moment, Hint)>>,
    limits: Mutex<Vec<(Tenant, Option<u32>)>>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// The system's, until it is given a seed.
#[derive(Default)]
pub(crate) struct TestChance {
    sown: Mutex<Option<Random>>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// Nobody calls anything here: how an attempt ends is said by whoever carries it out.
pub(crate) struct NoTargets;

impl TestPorts {
    pub(crate) fn new(start: Moment) -> Arc<Self> {
        let measured = Arc::new(Sums::default());
        Arc::new(Self {
            store: MemoryStore::in_memory(),
            vault: KeyFile::in_memory(),
            queues: TestQueues::default(),
            clock: TestClock(AtomicI64::new(start.millis())),
            chance: TestChance::default(),
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            events: Measured::new(Log, measured.clone()),
            measured,
            sampling: Mutex::default(),
        })
    }
}

impl Sums {
    /// By a metric's name without `minutehand_` and `_total`, and the words of its labels.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what a test counts is a small number")]
    pub(crate) fn of(&self, name: &str) -> u64 {
        locked(&self.0).get(name).copied().unwrap_or_default() as u64
    }
}

impl Measure for Sums {
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
        let name = metric.name.trim_start_matches("minutehand_").trim_end_matches("_total");
        let name = [&[name], words].concat().join(" ");
        *locked(&self.0).entry(name).or_default() += value;
    }
}

impl TestClock {
    pub(crate) fn pass(&self, span: Duration) {
        self.set(self.now() + span);
    }

    pub(crate) fn set(&self, now: Moment) {
        self.0.store(now.millis(), Ordering::Relaxed);
    }
}

impl TestQueues {
    /// What is visible by now, in the order it was sent.
    pub(crate) fn take(&self, now: Moment) -> Vec<Hint> {
        let (due, later) = locked(&self.sent).drain(..).partition(|(at, _)| *at <= now);
        *locked(&self.sent) = later;
        due.into_iter().map(|(_, hint)| hint).collect()
    }

    /// What happens while the next hint is on its way.
    pub(crate) fn with_the_next_hint(&self, act: impl FnOnce() + Send + 'static) {
        *locked(&self.meanwhile) = Some(Box::new(act));
    }

    pub(crate) fn limits(&self) -> Vec<(Tenant, Option<u32>)> {
        locked(&self.limits).clone()
    }
}

impl TestChance {
    pub(crate) fn fresh(&self) -> u64 {
        self.number()
    }

    /// From here on the same as after every other sowing of this seed.
    pub(crate) fn sow(&self, seed: u64) {
        *locked(&self.sown) = Some(Random::of(seed));
    }

    /// What somebody else does just before the next act goes on record: after it was decided on, and before it is done.
    pub(crate) fn before_the_next_act(&self, act: impl FnOnce() + Send + 'static) {
        *locked(&self.meanwhile) = Some(Box::new(act));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ports for TestPorts {
    type Store = MemoryStore;
    type Queues = TestQueues;
    type Targets = NoTargets;
    type Vault = KeyFile;
    type Events = Measured<Log>;
    type Clock = TestClock;
    type Chance = TestChance;

    fn store(&self) -> &MemoryStore {
        &self.store
    }

    fn queues(&self) -> &TestQueues {
        &self.queues
    }

    fn targets(&self) -> &NoTargets {
        &NoTargets
    }

    fn vault(&self) -> &KeyFile {
        &self.vault
    }

    fn events(&self) -> &Measured<Log> {
        &self.events
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn chance(&self) -> &TestChance {
        &self.chance
    }

    fn plans(&self) -> &Plans {
        &self.plans
    }

    fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn sampling(&self) -> Sampling {
        *locked(&self.sampling)
    }

    fn me(&self) -> Claimant {
        ME
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send {
        async move {
            self.0.fetch_max(moment.millis(), Ordering::Relaxed);
        }
    }
}

impl Queues for TestQueues {
    type Receipt = ();

    async fn send(&self, _lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let meanwhile = locked(&self.meanwhile).take();
        if let Some(act) = meanwhile {
            act();
        }
        locked(&self.sent).push((at, hint.clone()));
        Ok(())
    }

    async fn hide(&self, _receipt: &(), _until: Moment) -> Result<(), Fault> {
        Ok(())
    }

    fn limit(&self, tenant: &Tenant, concurrent: Option<u32>) {
        locked(&self.limits).push((tenant.clone(), concurrent));
    }

    /// As if so many were always under way.
    fn reached_limit(&self, tenant: &Tenant) -> Option<u32> {
        locked(&self.limits).iter().rfind(|(limited, _)| limited == tenant).and_then(|(_, limit)| *limit)
    }
}

impl Chance for TestChance {
    fn bytes(&self) -> [u8; 16] {
        match locked(&self.sown).as_mut() {
            Some(random) => (u128::from(random.number()) << 64 | u128::from(random.number())).to_be_bytes(),
            None => SystemChance.bytes(),
        }
    }

    fn number(&self) -> u64 {
        let meanwhile = locked(&self.meanwhile).take();
        if let Some(act) = meanwhile {
            act();
        }
        let bytes = self.bytes();
        let (first, _rest) = bytes.split_first_chunk().expect("more than eight bytes");
        u64::from_be_bytes(*first)
    }
}

impl Targets for NoTargets {
    fn call(&self, _call: Call<'_>) -> impl Future<Output = Answer> + Send {
        async { Answer::Succeeded { result: None } }
    }
}
