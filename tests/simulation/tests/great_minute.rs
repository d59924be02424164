//! A great minute: more timers than one invocation of the sweeper can handle, over 64 shards, in a table that takes its time for
//! each call. The real sweeper under the virtual clock; 50,000 timers with every test run, a million by `GREAT_MINUTE=1000000
//! cargo test --release -p minutehand-simulation --test great_minute`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{Claimant, Run};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::survey::Found;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use minutehand_io::chance::Chance;
use minutehand_io::clock::Clock;
use minutehand_io::events::{Event, Events};
use minutehand_io::plans::Plans;
use minutehand_io::queues::Queues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::store::item::{Item, Listed};
use minutehand_io::store::update::Update;
use minutehand_io::store::{
    Across, Bucket, Deleted, Discard, Everything, FirstBucket, Guard, Page, Part, Put, Remain, Remains, Seen, Store,
    Updated, Version,
};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::NoVault;
use minutehand_io::{Fault, Ports};
use minutehand_simulation::engine::Sim;
use minutehand_simulation::fate::Fates;
use minutehand_simulation::witness::at_once;
use minutehand_sweeper::{Group, sweep_shards, tick_in_groups};

const BEGIN: i64 = 1_800_000_000_000;
const MINUTE: i64 = 60_000;
/// The end of the great minute: all of it comes into the horizon with the tick five minutes before.
const GREAT: i64 = BEGIN + 10 * MINUTE;
const SHARDS: u16 = 64;
/// Of an invocation's time, as the deployed sweeper has it.
const RESERVE: i64 = 20_000;

/// What a history is played with.
#[derive(Clone, Copy, Debug)]
struct Setting {
    timers: u32,
    /// Milliseconds of a call to the table or a queue.
    call: i64,
    /// Milliseconds of an invocation.
    timeout: i64,
    /// Invocations that the queue of sweeps wakes at once.
    at_once: usize,
}

/// What came of it.
#[derive(Debug)]
#[expect(dead_code, reason = "all of it is printed")]
struct Played {
    /// How often each timer was hinted: the number of timers by the number of hints.
    hints: BTreeMap<u32, u32>,
    /// Seconds from the tick at which the minute came into the horizon to the last hint.
    took: i64,
    /// The shards that nothing was hinted of in a minute that began before they were done.
    without_progress: BTreeSet<(i64, u16)>,
    invocations: u32,
    killed: u32,
}

#[test]
fn a_great_minute_is_through_in_the_time_that_its_calls_take() {
    let timers = std::env::var("GREAT_MINUTE").ok().and_then(|text| text.parse().ok()).unwrap_or(50_000);

    let played = play(Setting { timers, call: 5, timeout: 300_000, at_once: 16 });

    eprintln!("{timers} timers at 5 ms a call: {played:?}");
    assert_eq!(played.hints, BTreeMap::from([(1, timers)]));
    assert_eq!(played.without_progress, BTreeSet::new());
    // Eight shards at once, 64 timers each: a million in 20 s at two calls each, and the pages.
    assert!(played.took <= 2 + i64::from(timers) * 2 * 5 / 512 / 500, "{} s", played.took);
}

/// A table ten times as slow, and invocations of half a minute: none can finish what it begins.
#[test]
fn a_great_minute_that_no_invocation_can_finish_is_through_in_time_all_the_same() {
    let timers = 50_000;

    let played = play(Setting { timers, call: 50, timeout: 32_000, at_once: 1 });

    eprintln!("{timers} timers at 50 ms a call, invocations of 32 s: {played:?}");
    assert_eq!(played.hints.values().sum::<u32>(), timers);
    assert!(played.hints.keys().all(|hints| (1..=2).contains(hints)), "{:?}", played.hints);
    assert_eq!(played.without_progress, BTreeSet::new());
    assert!(played.took < 120, "{} s", played.took);
    assert_eq!(played.killed, 0, "each stopped in time");
}

fn play(setting: Setting) -> Played {
    let sim = Sim::new(1, BEGIN, Fates::script(Vec::new()));
    let aws = Aws::filled(&sim, setting);
    for minute in 1..15 {
        let aws = aws.clone();
        sim.at(BEGIN + minute * MINUTE, move |_| aws.invoke(None));
    }
    sim.run_until(BEGIN + 15 * MINUTE);
    aws.played()
}

/// Tables, queues and invocations.
#[derive(Clone)]
struct Aws(Arc<Inside>);

struct Inside {
    sim: Sim,
    setting: Setting,
    state: MemoryStore,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    timers: Vec<MemoryStore>,
    seen: Mutex<Witnessed>,
}

#[derive(Default)]
struct Witnessed {
    /// When each timer was hinted.
    hints: HashMap<RunKey, Vec<i64>>,
    waiting: VecDeque<String>,
    busy: usize,
    invocations: u32,
    killed: u32,
}

impl Aws {
    fn filled(sim: &Sim, setting: Setting) -> Self {
        let timers = (0..SHARDS).map(|_| MemoryStore::in_memory()).collect();
        let (state, seen) = (MemoryStore::in_memory(), Mutex::default());
        let aws = Self(Arc::new(Inside {
            sim: sim.clone(),
            setting,
            state,
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            timers,
            seen,
        }));
        (0..setting.timers).for_each(|number| aws.put_job(number));
        aws
    }

    fn put_job(&self, number: u32) {
        let (tenant, begin) = (tenant(), Moment::from_millis(BEGIN - MINUTE));
        let mut id = [7; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let (id, at) = (JobId::from_bytes(id), Moment::from_millis(GREAT - i64::from(number % 60_000)));
        let schedule = Schedule::new(&Plan { at: Some(at), ..Plan::default() }, begin).expect("it fires");
        let head = Head::Job(Job::new(tenant.clone(), id, schedule, Definition::default(), 0, begin));
        let put = at_once(self.0.state.put(&tenant, id, &head, Guard::Absent));
        assert!(put.is_ok_and(|put| put.is_written()));
        let (key, stamp) = (TimerKey::occurrence(id, at), TimerStamp { generation: 1, written: begin });
        at_once(self.timers_of(&key).put_timer(&Timer { key, tenant, stamp, parent: None })).expect("memory");
    }

    fn timers_of(&self, key: &TimerKey) -> &MemoryStore {
        &self.0.timers[usize::from(key.obligation.shard(SHARDS))]
    }

    fn seen(&self) -> MutexGuard<'_, Witnessed> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tick, or a message of the queue of sweeps.
    fn invoke(&self, message: Option<String>) {
        let (sim, process) = (self.0.sim.clone(), self.0.sim.process("sweeper", 0));
        let until = Moment::from_millis(sim.now() + self.0.setting.timeout - RESERVE);
        let (ports, woken) = (self.clone(), message.is_some());
        self.seen().invocations += 1;
        self.seen().busy += usize::from(woken);
        sim.spawn(&process, async move {
            let hand_out = |group| ports.hand_out(group);
            let swept = match message {
                None => tick_in_groups(&ports, SHARDS, until, hand_out).await,
                Some(message) => {
                    let group = Group::parse(message.as_bytes(), SHARDS).expect("a group as it was handed out");
                    sweep_shards(&ports, group.shards().collect(), until, hand_out).await
                }
            };
            swept.expect("nothing fails here");
            ports.ended(woken);
        });
        let aws = self.clone();
        sim.at(sim.now() + self.0.setting.timeout, move |sim| {
            if sim.is_at_work(&process) {
                aws.seen().killed += 1;
                sim.kill(&process);
                aws.ended(woken);
            }
        });
    }

    fn ended(&self, woken: bool) {
        self.seen().busy -= usize::from(woken);
        self.wake();
    }

    async fn hand_out(&self, group: Group) -> Result<(), Fault> {
        self.call().await;
        self.seen().waiting.push_back(group.to_message());
        let aws = self.clone();
        self.0.sim.at(self.0.sim.now(), move |_| aws.wake());
        Ok(())
    }

    fn wake(&self) {
        while self.seen().busy < self.0.setting.at_once {
            let Some(message) = self.seen().waiting.pop_front() else { return };
            self.invoke(Some(message));
        }
    }

    async fn call(&self) {
        self.0.sim.sleep_until(self.0.sim.now() + self.0.setting.call).await;
    }

    fn played(&self) -> Played {
        let seen = self.seen();
        let (mut hints, mut by_shard) = (BTreeMap::new(), vec![Vec::new(); usize::from(SHARDS)]);
        for (key, at) in &seen.hints {
            *hints.entry(u32::try_from(at.len()).unwrap_or(u32::MAX)).or_default() += 1;
            by_shard[usize::from(Obligation::Run(*key).shard(SHARDS))].extend_from_slice(at);
        }
        let entered = GREAT - 5 * MINUTE;
        let last = seen.hints.values().flatten().max().copied().unwrap_or(i64::MAX);
        let mut without_progress = BTreeSet::new();
        for (shard, at) in by_shard.iter().enumerate() {
            let done = at.iter().max().copied().unwrap_or(i64::MAX);
            for minute in (entered..done.min(BEGIN + 15 * MINUTE)).step_by(60_000) {
                if !at.iter().any(|at| (minute..minute + MINUTE).contains(at)) {
                    without_progress.insert(((minute - entered) / MINUTE, u16::try_from(shard).unwrap_or(u16::MAX)));
                }
            }
        }
        let Witnessed { invocations, killed, .. } = &*seen;
        Played { hints, took: (last - entered) / 1000, without_progress, invocations: *invocations, killed: *killed }
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme").expect("a word")
}

impl Store for Aws {
    fn shards(&self) -> u16 {
        SHARDS
    }

    async fn get<T: Item>(&self, tenant: &Tenant, key: T::Key) -> Result<Option<Seen<T>>, Fault> {
        self.call().await;
        self.0.state.get::<T>(tenant, key).await
    }

    async fn put<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        self.call().await;
        self.0.state.put(tenant, key, item, guard).await
    }

    async fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> Result<Updated<U::Item>, Fault> {
        self.call().await;
        self.0.state.update(tenant, key, update).await
    }

    async fn delete<T: Item>(&self, tenant: &Tenant, key: T::Key, seen: Version) -> Result<Deleted<T>, Fault> {
        self.call().await;
        self.0.state.delete::<T>(tenant, key, seen).await
    }

    async fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> Result<Page<T>, Fault> {
        self.call().await;
        self.0.state.list::<T>(tenant, within, past, limit).await
    }

    async fn runs_across(
        &self,
        _tenant: &Tenant,
        _which: Across,
        _window: Range<Moment>,
        _before: Option<RunKey>,
        _limit: usize,
    ) -> Result<Option<Vec<Run>>, Fault> {
        Ok(None)
    }

    async fn oldest_letter(&self) -> Result<Option<Moment>, Fault> {
        Ok(None)
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.call().await;
        self.timers_of(key).timer(key).await
    }

    async fn put_timer(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.call().await;
        self.timers_of(&timer.key).put_timer(timer).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.call().await;
        self.timers_of(&timer.key).put_timer_if_absent(timer).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        self.call().await;
        self.timers_of(key).erase_timer(key, seen).await
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Page<Timer>, Fault> {
        self.call().await;
        let store = &self.0.timers[usize::from(bucket.shard)];
        store.timers(Bucket { shard: 0, ..bucket }, after, until, limit).await
    }

    async fn everything(&self, _part: Part, _behind: Option<String>) -> Result<Everything, Fault> {
        Ok(Everything::default())
    }

    async fn remains(&self, _tenant: &Tenant, _behind: Option<String>) -> Result<Remains, Fault> {
        Ok(Remains::default())
    }

    async fn erase(&self, _remain: &Remain) -> Result<(), Fault> {
        Ok(())
    }

    async fn first_bucket(&self, _shard: u16, _from: i64) -> Result<FirstBucket, Fault> {
        Ok(FirstBucket::Nowhere)
    }

    async fn survey(&self, _segment: Part, _behind: Option<String>) -> Result<Found, Fault> {
        Ok(Found::default())
    }

    async fn discard<T: Item>(&self, _tenant: &Tenant, _key: T::Key, _what: Discard) -> Result<(), Fault> {
        Ok(())
    }

    async fn copy_timer(&self, _from: &TimerKey, _to: &TimerKey) -> Result<(), Fault> {
        Ok(())
    }

    async fn discard_timer(&self, _key: &TimerKey, _copy: &TimerKey) -> Result<bool, Fault> {
        Ok(false)
    }
}

/// Whatever is hinted is noted, and lost.
impl Queues for Aws {
    type Receipt = ();

    async fn send(&self, _lane: Lane, hint: &Hint, _at: Moment) -> Result<(), Fault> {
        self.call().await;
        let now = self.0.sim.now();
        if now < GREAT - MINUTE {
            self.seen().hints.entry(hint.run).or_default().push(now);
        }
        Ok(())
    }

    async fn hide(&self, _receipt: &(), _until: Moment) -> Result<(), Fault> {
        Ok(())
    }
}

impl Clock for Aws {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.sim.now())
    }

    async fn sleep_until(&self, moment: Moment) {
        self.0.sim.sleep_until(moment.millis()).await;
    }
}

impl Targets for Aws {
    async fn call(&self, _call: Call<'_>) -> Answer {
        Answer::TimedOut
    }
}

impl Events for Aws {
    fn emit(&self, _event: &Event<'_>) {}
}

impl Chance for Aws {
    fn bytes(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl Ports for Aws {
    type Store = Self;
    type Queues = Self;
    type Targets = Self;
    type Events = Self;
    type Clock = Self;
    type Chance = Self;
    type Vault = NoVault;

    fn store(&self) -> &Self {
        self
    }
    fn queues(&self) -> &Self {
        self
    }
    fn targets(&self) -> &Self {
        self
    }
    fn events(&self) -> &Self {
        self
    }
    fn clock(&self) -> &Self {
        self
    }
    fn chance(&self) -> &Self {
        self
    }
    fn vault(&self) -> &NoVault {
        &NoVault
    }
    fn me(&self) -> Claimant {
        Claimant { worker: Worker(1), exclusive_store: false }
    }
    fn plans(&self) -> &Plans {
        &self.0.plans
    }

    fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    fn rules(&self) -> &Rules {
        &self.0.rules
    }
}

impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aws")
    }
}
