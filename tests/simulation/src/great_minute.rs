//! A great minute: more timers than one invocation of the sweeper can handle, in a table that takes its time for each call. The
//! real sweeper under the virtual clock, and each of its passes seen by itself.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::Claimant;
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
use minutehand_io::store::place::Partition;
use minutehand_io::store::update::Update;
use minutehand_io::store::{
    Across, Bucket, Cursor, Deleted, Discard, Everything, FirstBucket, Guard, Page, Part, Put, Remain, Remains,
    RunsPage, Seen, Store, Updated, Version,
};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::NoVault;
use minutehand_io::{Fault, Ports};
use minutehand_sweeper::{Group, sweep_shards, tick_in_groups, until};

use crate::engine::Sim;
use crate::fate::Fates;
use crate::history::BEGIN;
use crate::witness::at_once;

const MINUTE: i64 = 60_000;
/// The end of the great minute.
const GREAT: i64 = BEGIN + 10 * MINUTE;
/// The tick at which all of it comes into the horizon.
const ENTERED: i64 = GREAT - 5 * MINUTE;
/// From then on what is hinted is near, or overdue: that is none of the great minute's passes.
const NEAR: i64 = GREAT - MINUTE;
const END: i64 = BEGIN + 15 * MINUTE;
/// Of an invocation's time, in milliseconds, as the deployed sweeper has it.
pub const RESERVE: i64 = minutehand_sweeper::RESERVE.as_secs().cast_signed() * 1_000;

/// What a great minute is played with.
#[derive(Clone, Debug)]
pub struct Setting {
    pub shards: u16,
    pub timers: u32,
    /// Milliseconds of a call to the table or a queue.
    pub call: i64,
    /// Shards whose part of the table hardly answers, and the milliseconds of a call there.
    pub slow: Range<u16>,
    pub slow_call: i64,
    /// Milliseconds of an invocation.
    pub timeout: i64,
    /// How many milliseconds after it began each invocation dies, whatever it knows of its time.
    pub dies_after: Option<i64>,
    /// Invocations that the queue of sweeps wakes at once.
    pub at_once: usize,
    /// Whether the queue of sweeps is away.
    pub takes_no_groups: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Played {
    /// How often each timer was hinted: the number of timers by the number of hints.
    pub hints: BTreeMap<u32, u32>,
    /// How many timers of each shard were hinted.
    pub hinted: BTreeMap<u16, u32>,
    /// Seconds from the tick at which the minute came into the horizon to the last hint.
    pub took: i64,
    /// Each invocation's looks at each shard from that tick on, in the order in which they began.
    pub passes: Vec<Passed>,
    pub invocations: u32,
    pub killed: u32,
}

/// One invocation's pass over one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub invocation: u32,
    pub shard: u16,
    /// Milliseconds since that tick.
    pub began: i64,
    pub hinted: u32,
    /// Whether something of the shard was hinted later, or by this pass.
    pub had_work: bool,
}

impl Default for Setting {
    /// 64 shards, an invocation's five minutes, and nothing wrong.
    fn default() -> Self {
        Self {
            shards: 64,
            timers: 50_000,
            call: 5,
            slow: 0..0,
            slow_call: 0,
            timeout: 300_000,
            dies_after: None,
            at_once: 16,
            takes_no_groups: false,
        }
    }
}

impl Played {
    /// Passes over shards with something left to hint that hinted nothing.
    pub fn without_progress(&self) -> Vec<Passed> {
        self.passes.iter().copied().filter(|pass| pass.had_work && pass.hinted == 0).collect()
    }

    /// Which invocation hinted how much by each pass that hinted something; the first of them is 0.
    pub fn hinted_by_pass(&self) -> Vec<(u32, u32)> {
        let first = self.passes.first().map_or(0, |pass| pass.invocation);
        let passes = self.passes.iter().filter(|pass| pass.hinted > 0);
        passes.map(|pass| (pass.invocation - first, pass.hinted)).collect()
    }

    /// The shard that each invocation began with.
    pub fn firsts(&self) -> Vec<u16> {
        let begins = self.passes.chunk_by(|one, other| one.invocation == other.invocation);
        begins.filter_map(|passes| passes.first()).map(|pass| pass.shard).collect()
    }
}

/// A tick each minute, for a quarter of an hour.
pub fn play(setting: Setting) -> Played {
    let sim = Sim::new(1, BEGIN, Fates::script(Vec::new()));
    let aws = Aws::filled(&sim, setting);
    for minute in 1..15 {
        let aws = aws.clone();
        sim.at(BEGIN + minute * MINUTE, move |_| aws.invoke(None));
    }
    sim.run_until(END);
    aws.played()
}

/// Tables, queues and invocations, as one of the invocations sees them.
#[derive(Clone)]
struct Aws {
    inside: Arc<Inside>,
    /// Its number, from 1.
    invocation: u32,
}

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
    /// In the order in which they began, at the true time.
    passes: Vec<Passed>,
    /// The last of each invocation over each shard.
    last: HashMap<(u32, u16), usize>,
    waiting: VecDeque<String>,
    busy: usize,
    invocations: u32,
    killed: u32,
}

impl Aws {
    fn filled(sim: &Sim, setting: Setting) -> Self {
        let timers = (0..setting.shards).map(|_| MemoryStore::in_memory()).collect();
        let (state, seen) = (MemoryStore::in_memory(), Mutex::default());
        let inside = Arc::new(Inside {
            sim: sim.clone(),
            setting,
            state,
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            timers,
            seen,
        });
        let aws = Self { inside, invocation: 0 };
        (0..aws.setting().timers).for_each(|number| aws.put_job(number));
        aws
    }

    fn setting(&self) -> &Setting {
        &self.inside.setting
    }

    fn sim(&self) -> &Sim {
        &self.inside.sim
    }

    fn put_job(&self, number: u32) {
        let (tenant, begin) = (tenant(), Moment::from_millis(BEGIN - MINUTE));
        let mut id = [7; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let (id, at) = (JobId::from_bytes(id), Moment::from_millis(GREAT - i64::from(number % 60_000)));
        let schedule = Schedule::new(&Plan { at: Some(at), ..Plan::default() }, begin).expect("it fires");
        let head = Head::Job(Job::new(tenant.clone(), id, schedule, Definition::default(), 0, begin));
        let put = at_once(self.inside.state.put(&tenant, id, &head, Guard::Absent));
        assert!(put.is_ok_and(|put| put.is_written()));
        let (key, stamp) = (TimerKey::occurrence(id, at), TimerStamp { generation: 1, written: begin });
        at_once(self.timers_of(&key).put_timer(&Timer { key, tenant, stamp, parent: None })).expect("memory");
    }

    fn shard_of(&self, key: &TimerKey) -> u16 {
        key.obligation.shard(self.setting().shards)
    }

    fn shard_of_run(&self, key: RunKey) -> u16 {
        Obligation::Run(key).shard(self.setting().shards)
    }

    fn timers_of(&self, key: &TimerKey) -> &MemoryStore {
        &self.inside.timers[usize::from(self.shard_of(key))]
    }

    fn seen(&self) -> MutexGuard<'_, Witnessed> {
        self.inside.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tick, or a message of the queue of sweeps.
    fn invoke(&self, message: Option<String>) {
        let (sim, process) = (self.sim().clone(), self.sim().process("sweeper", 0));
        let until = until(Moment::from_millis(sim.now() + self.setting().timeout));
        let woken = message.is_some();
        let ports = self.of_a_new_invocation();
        self.seen().busy += usize::from(woken);
        sim.spawn(&process, async move {
            let (hand_out, shards) = (|group| ports.hand_out(group), ports.setting().shards);
            let swept = match message {
                None => tick_in_groups(&ports, shards, until, hand_out).await,
                Some(message) => {
                    let group = Group::parse(message.as_bytes(), shards).expect("a group as it was handed out");
                    sweep_shards(&ports, group.shards().collect(), until, hand_out).await
                }
            };
            swept.expect("nothing fails here");
            ports.ended(woken);
        });
        let (aws, setting) = (self.clone(), self.setting());
        sim.at(sim.now() + setting.dies_after.unwrap_or(setting.timeout), move |sim| {
            if sim.is_at_work(&process) {
                aws.seen().killed += 1;
                sim.kill(&process);
                aws.ended(woken);
            }
        });
    }

    fn of_a_new_invocation(&self) -> Self {
        let mut seen = self.seen();
        seen.invocations += 1;
        Self { inside: Arc::clone(&self.inside), invocation: seen.invocations }
    }

    fn ended(&self, woken: bool) {
        self.seen().busy -= usize::from(woken);
        self.wake();
    }

    async fn hand_out(&self, group: Group) -> Result<(), Fault> {
        self.call().await;
        if self.setting().takes_no_groups {
            return Err(Fault::unavailable("the sweeps", "their queue is away"));
        }
        self.seen().waiting.push_back(group.to_message());
        let aws = self.clone();
        self.sim().at(self.sim().now(), move |_| aws.wake());
        Ok(())
    }

    fn wake(&self) {
        while self.seen().busy < self.setting().at_once {
            let Some(message) = self.seen().waiting.pop_front() else { return };
            self.invoke(Some(message));
        }
    }

    async fn call(&self) {
        self.takes(self.setting().call).await;
    }

    /// A call to the part of the table where a shard's timers lie.
    async fn call_at(&self, shard: u16) {
        let Setting { slow, slow_call, call, .. } = self.setting();
        self.takes(if slow.contains(&shard) { *slow_call } else { *call }).await;
    }

    /// A cursor lies beside the timers of its shard.
    async fn call_to(&self, partition: Partition) {
        match partition {
            Partition::Shard(shard) => self.call_at(shard).await,
            _ => self.call().await,
        }
    }

    async fn takes(&self, millis: i64) {
        self.sim().sleep_until(self.sim().now() + millis).await;
    }

    /// A pass begins where it reads how far its shard has come.
    fn note_pass(&self, shard: u16) {
        let (invocation, began) = (self.invocation, self.sim().now());
        let mut seen = self.seen();
        let number = seen.passes.len();
        seen.passes.push(Passed { invocation, shard, began, hinted: 0, had_work: false });
        seen.last.insert((invocation, shard), number);
    }

    fn note_hint(&self, run: RunKey) {
        let (now, shard) = (self.sim().now(), self.shard_of_run(run));
        if now >= NEAR {
            return;
        }
        let mut seen = self.seen();
        seen.hints.entry(run).or_default().push(now);
        let pass = *seen.last.get(&(self.invocation, shard)).expect("a shard is hinted of by a pass over it");
        seen.passes[pass].hinted += 1;
    }

    fn played(&self) -> Played {
        let seen = self.seen();
        let (mut hints, mut hinted, mut done) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (key, at) in &seen.hints {
            let (shard, last) = (self.shard_of_run(*key), at.iter().max().copied().unwrap_or(i64::MAX));
            *hints.entry(u32::try_from(at.len()).unwrap_or(u32::MAX)).or_default() += 1;
            *hinted.entry(shard).or_default() += 1;
            let done = done.entry(shard).or_insert(last);
            *done = last.max(*done);
        }
        let took = (done.values().max().copied().unwrap_or(i64::MAX) - ENTERED) / 1000;
        let in_time = seen.passes.iter().filter(|pass| (ENTERED..NEAR).contains(&pass.began));
        let passes = in_time.map(|pass| {
            let had_work = done.get(&pass.shard).is_some_and(|done| pass.began < *done);
            Passed { began: pass.began - ENTERED, had_work, ..*pass }
        });
        let (passes, Witnessed { invocations, killed, .. }) = (passes.collect(), &*seen);
        Played { hints, hinted, took, passes, invocations: *invocations, killed: *killed }
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme").expect("a word")
}

impl Store for Aws {
    fn shards(&self) -> u16 {
        self.setting().shards
    }

    async fn get<T: Item>(&self, tenant: &Tenant, key: T::Key) -> Result<Option<Seen<T>>, Fault> {
        let partition = T::place(&key).partition;
        if let (Partition::Shard(shard), Cursor::KIND) = (partition, T::KIND) {
            self.note_pass(shard);
        }
        self.call_to(partition).await;
        self.inside.state.get::<T>(tenant, key).await
    }

    async fn put<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        self.call_to(T::place(&key).partition).await;
        self.inside.state.put(tenant, key, item, guard).await
    }

    async fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> Result<Updated<U::Item>, Fault> {
        self.call().await;
        self.inside.state.update(tenant, key, update).await
    }

    async fn delete<T: Item>(&self, tenant: &Tenant, key: T::Key, seen: Version) -> Result<Deleted<T>, Fault> {
        self.call().await;
        self.inside.state.delete::<T>(tenant, key, seen).await
    }

    async fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> Result<Page<T>, Fault> {
        self.call().await;
        self.inside.state.list::<T>(tenant, within, past, limit).await
    }

    async fn sample<T: Listed>(&self, tenant: &Tenant, within: T::Within, looks: usize) -> Result<Page<T>, Fault> {
        self.list::<T>(tenant, within, None, looks).await
    }

    async fn runs_across(
        &self,
        _tenant: &Tenant,
        _which: Across,
        _window: Range<Moment>,
        _before: Option<RunKey>,
        _limit: usize,
    ) -> Result<Option<RunsPage>, Fault> {
        Ok(None)
    }

    async fn oldest_letter(&self) -> Result<Option<Moment>, Fault> {
        Ok(None)
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.call_at(self.shard_of(key)).await;
        self.timers_of(key).timer(key).await
    }

    async fn put_timer(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.call_at(self.shard_of(&timer.key)).await;
        self.timers_of(&timer.key).put_timer(timer).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        self.call_at(self.shard_of(&timer.key)).await;
        self.timers_of(&timer.key).put_timer_if_absent(timer).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        self.call_at(self.shard_of(key)).await;
        self.timers_of(key).erase_timer(key, seen).await
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Page<Timer>, Fault> {
        self.call_at(bucket.shard).await;
        let store = &self.inside.timers[usize::from(bucket.shard)];
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
        self.note_hint(hint.run);
        Ok(())
    }

    async fn hide(&self, _receipt: &(), _until: Moment) -> Result<(), Fault> {
        Ok(())
    }
}

impl Clock for Aws {
    fn now(&self) -> Moment {
        Moment::from_millis(self.sim().now())
    }

    async fn sleep_until(&self, moment: Moment) {
        self.sim().sleep_until(moment.millis()).await;
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
        &self.inside.plans
    }

    fn quotas(&self) -> &Quotas {
        &self.inside.quotas
    }

    fn rules(&self) -> &Rules {
        &self.inside.rules
    }
}

impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aws")
    }
}
