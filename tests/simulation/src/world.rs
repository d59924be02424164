//! The world of one history: the table, the queues and the targets, and what the judge will be told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::Claimant;
use minutehand_domain::timer::Timer;
use minutehand_io::events::Event;
use minutehand_io::metrics::Measure;
use minutehand_io::metrics::measured::measure;
use minutehand_io::store::embedded::{Codec, MemoryStore};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_judge::{Call, Head, Version};

use crate::engine::{Process, Sim};
use crate::graphs;
use crate::hosting::Invocations;
use crate::machine::Machine;
use crate::notified::Notified;
use crate::ports::SimPorts;
use crate::queues::Queues;
use crate::setting::Setting;
use crate::throttle::Place;
use crate::ttl::Ttl;
use crate::witness::at_once;

/// Clocks of processes are apart by at most this from the true one.
pub const SKEW: i64 = 2_000;

#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    sim: Sim,
    setting: Setting,
    store: Arc<MemoryStore>,
    /// The same items as a later release reads and writes them.
    later_store: Arc<MemoryStore>,
    later: Mutex<Later>,
    queues: Mutex<Queues>,
    invocations: Mutex<[Invocations; Lane::ALL.len()]>,
    machine: Mutex<Option<Machine>>,
    /// What one process has sealed the others open.
    vault: Arc<KeyFile>,
    /// Partitions of jobs that cannot be reached, and when.
    away: Mutex<Vec<(JobId, Range<i64>)>>,
    /// Where what happens is measured, if somebody asked for that.
    measured: OnceLock<Sinks>,
    seen: Mutex<Seen>,
    ttl: Mutex<Ttl>,
}

/// Where each process measures into, by its name.
pub struct Sinks(pub Box<dyn Fn(&'static str) -> Arc<dyn Measure> + Send + Sync>);

/// Which processes are of the later of two releases.
#[derive(Clone, Debug, Default)]
enum Later {
    #[default]
    None,
    These(BTreeSet<&'static str>),
    All,
}

/// What the judge will be told.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub jobs: BTreeMap<JobId, Told>,
    pub calls: Vec<Call>,
    /// Of each claim: when it was decided, and until when its holder has the run by the true clock.
    pub claims: BTreeMap<(RunKey, u32), (i64, i64)>,
    /// Of each run that is made up for: when it was put off for the first time.
    pub put_off: BTreeMap<RunKey, i64>,
    pub widest_sweep: i64,
    /// Each hint that was given: when, and for which run.
    pub hints: Vec<(i64, RunKey)>,
    /// What became of graphs.
    pub graphs: graphs::telling::Seen,
    /// What somebody was told by a rule.
    pub notified: Vec<Notified>,
    /// What each run has cost.
    pub spent: BTreeMap<RunKey, Spent>,
    /// When each run was first written as over.
    pub ended: BTreeMap<RunKey, i64>,
    /// Who was told of ends, and asked before calls.
    pub tellings: crate::telling::Seen,
}

/// What one run has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub hints: u32,
    pub lost_hints: u32,
    pub writes: u32,
}

/// A job as the witness knows it: its number for the judge, how its target behaves, how it stood.
#[derive(Clone, Debug)]
pub struct Told {
    pub number: u32,
    pub tenant: Tenant,
    pub behaviour: Behaviour,
    pub heads: Vec<Head>,
    pub versions: Vec<Version>,
    pub counting: Option<Counting>,
}

/// From when on the fires of a job are counted, and which is the last of them.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    pub from: i64,
    pub last: Option<Moment>,
}

/// How the target of a job behaves.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    pub takes: i64,
    pub fails: f64,
}

impl Behaviour {
    pub fn never_fails(&self, timeout: i64) -> bool {
        self.fails <= 0.0 && self.takes <= timeout
    }
}

impl World {
    pub fn new(sim: &Sim, setting: Setting) -> Self {
        let store = Arc::new(MemoryStore::with_shards(setting.shards));
        let later_store = Arc::new(store.seen_through(Codec::Later));
        Self(Arc::new(Inner {
            sim: sim.clone(),
            setting,
            store,
            later_store,
            later: Mutex::default(),
            queues: Mutex::default(),
            invocations: Mutex::default(),
            machine: Mutex::default(),
            vault: Arc::new(KeyFile::in_memory()),
            away: Mutex::default(),
            measured: OnceLock::new(),
            seen: Mutex::default(),
            ttl: Mutex::default(),
        }))
    }

    pub fn setting(&self) -> &Setting {
        &self.0.setting
    }

    pub fn sim(&self) -> &Sim {
        &self.0.sim
    }

    pub(crate) fn vault(&self) -> &Arc<KeyFile> {
        &self.0.vault
    }

    /// As this release writes it.
    pub(crate) fn store_of_today(&self) -> &Arc<MemoryStore> {
        &self.0.store
    }

    /// All there is, whichever release wrote it.
    pub fn whole_store(&self) -> &Arc<MemoryStore> {
        &self.0.later_store
    }

    /// Whatever is written through it nobody can read.
    pub fn damaging_store(&self) -> MemoryStore {
        self.0.store.seen_through(Codec::Damaging)
    }

    /// What a process of its release can read, and how it writes.
    pub fn store_of(&self, process: &Process) -> &Arc<MemoryStore> {
        let is_later = match &*self.0.later.lock().unwrap_or_else(PoisonError::into_inner) {
            Later::None => false,
            Later::These(names) => names.contains(process.name),
            Later::All => true,
        };
        if is_later { &self.0.later_store } else { &self.0.store }
    }

    /// From now on processes of these names are of a later release than the others.
    pub fn begin_to_roll_out(&self, names: impl IntoIterator<Item = &'static str>) {
        let later = Later::These(names.into_iter().collect());
        *self.0.later.lock().unwrap_or_else(PoisonError::into_inner) = later;
    }

    /// From now on all processes are of the later release.
    pub fn roll_out(&self) {
        *self.0.later.lock().unwrap_or_else(PoisonError::into_inner) = Later::All;
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ttl(&self) -> MutexGuard<'_, Ttl> {
        self.0.ttl.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has expired is gone: what one machine deletes, with all that lies beneath it, and what the table's TTL takes by itself.
    pub fn expire(&self, now: Moment) {
        at_once(self.whole_store().sweep_expired(now, usize::MAX)).expect("memory");
        self.expire_by_the_clock(now);
    }

    /// The same of the table's TTL alone.
    pub fn expire_by_the_clock(&self, now: Moment) {
        self.ttl().expire(now, self.whole_store());
    }

    pub fn ports(&self, process: &Arc<Process>) -> SimPorts {
        SimPorts::new(self.clone(), process.clone())
    }

    /// A new process of this name with its ports.
    pub fn process(&self, name: &'static str) -> (Arc<Process>, SimPorts) {
        let process = self.0.sim.process(name, self.0.setting.skew);
        let ports = self.ports(&process);
        (process, ports)
    }

    /// Whether a request is refused because too many go where it goes.
    pub fn throttles(&self, place: Place) -> bool {
        let now = self.0.sim.now();
        if self.away().iter().any(|(job, span)| place.job == Some(*job) && span.contains(&now)) {
            return true;
        }
        let on = self.0.setting.throttles.iter().filter(|throttle| throttle.is_on(place, now));
        on.map(|throttle| throttle.share).any(|share| self.0.sim.dice(|dice| dice.chance(share)))
    }

    /// The partition of a job cannot be reached in that time.
    pub fn take_away(&self, job: JobId, span: Range<i64>) {
        self.away().push((job, span));
    }

    fn away(&self) -> MutexGuard<'_, Vec<(JobId, Range<i64>)>> {
        self.0.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens from now on is measured as a host measures it.
    pub fn measure_into(&self, sinks: Sinks) {
        assert!(self.0.measured.set(sinks).is_ok(), "it is measured already");
    }

    pub fn measure(&self, process: &Process, event: &Event<'_>) {
        if let Some(Sinks(sink_of)) = self.0.measured.get() {
            let into = sink_of(process.name);
            measure(event, &mut |metric, words, value| into.add(metric, words, value));
        }
    }

    /// Whether calls of a job's target fail from now on.
    pub fn let_fail(&self, job: JobId, fails: bool) {
        if let Some(told) = self.seen().jobs.get_mut(&job) {
            told.behaviour.fails = f64::from(u8::from(fails));
        }
    }

    /// Tells how the target of a job behaves, before the job exists.
    pub fn introduce(&self, tenant: &Tenant, job: JobId, number: u32, behaviour: Behaviour) {
        let told =
            Told { number, tenant: tenant.clone(), behaviour, heads: Vec::new(), versions: Vec::new(), counting: None };
        self.seen().jobs.insert(job, told);
    }

    /// A timer was put, in a history of graphs.
    pub fn note_timer(&self, timer: &Timer) {
        let mut seen = self.seen();
        if !seen.graphs.jobs.is_empty() {
            seen.graphs.timers.insert(timer.key, self.0.sim.now());
        }
    }

    /// Something was spent on a run.
    pub fn spend(&self, run: RunKey, note: impl FnOnce(&mut Spent)) {
        note(self.seen().spent.entry(run).or_default());
    }

    pub fn claimant(&self, process: &Process) -> Claimant {
        Claimant { worker: Worker(process.number), exclusive_store: self.0.setting.exclusive_store }
    }

    pub(crate) fn machine(&self) -> Option<Machine> {
        self.0.machine.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_machine(&self, machine: Machine) {
        *self.0.machine.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine);
    }

    pub(crate) fn invocations(&self, queue: Lane) -> Invocations {
        self.change_invocations(queue, |invocations| *invocations)
    }

    pub(crate) fn change_invocations<T>(&self, queue: Lane, change: impl FnOnce(&mut Invocations) -> T) -> T {
        change(&mut self.0.invocations.lock().unwrap_or_else(PoisonError::into_inner)[queue.index()])
    }

    pub(crate) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World of {:?}", self.0.sim)
    }
}

impl Process {
    /// What this process thinks the time is.
    pub fn now(&self, sim: &Sim) -> Moment {
        Moment::from_millis(sim.now() + self.wrong(sim))
    }

    /// How wrong its clock is now.
    pub fn wrong(&self, sim: &Sim) -> i64 {
        self.skew + sim.clock_is_ahead(self)
    }

    /// When its clock showed this moment the last time.
    pub fn noted_at(&self, sim: &Sim, moment: Moment) -> i64 {
        sim.clock_showed(self, moment.millis() - self.skew)
    }

    /// When this moment of its clock is, or was.
    pub fn true_time(&self, sim: &Sim, moment: Moment) -> i64 {
        moment.millis() - self.wrong(sim)
    }
}
