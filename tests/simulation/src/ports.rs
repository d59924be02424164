//! The ports of a simulated process: every call passes through fate twice, before it acts and before its answer arrives.
//! And they are AWS's ports: requests are throttled, sends fail in parts of batches, writes are tried twice, lists lag.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{AttemptError, Claimant, Run};
use minutehand_domain::secret::{Label, Sealed, SecretValue};
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::survey::Found;
use minutehand_domain::target::HttpTarget;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use minutehand_io::chance::Chance;
use minutehand_io::clock::Clock;
use minutehand_io::events::{Event, Events};
use minutehand_io::plans::Plans;
use minutehand_io::queues::Queues;
use minutehand_io::queues::embedded::EmbeddedQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::store::item::{Item, Listed};
use minutehand_io::store::place::{self, Part, Partition};
use minutehand_io::store::update::Update;
use minutehand_io::store::{
    Across, Bucket, Cursor, Deleted, Discard, Everything, FirstBucket, Guard, Page, Part as TablePart, Put, Remain,
    Remains, RunsPage, Seen, Store, Updated, Version,
};
use minutehand_io::targets::{Answer, Call, Callers, Transport};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_io::vault::{Vault, VaultError};
use minutehand_io::{Fault, Ports};
use minutehand_judge::graph as judge;
use minutehand_sweeper::Group;

use crate::dice::Dice;
use crate::engine::{Process, Sim};
use crate::fate::{Phase, Step};
use crate::graphs::definition::{Calling, answer_json};
use crate::history::BEGIN;
use crate::notified::{self, Notified};
use crate::queues::Receipt;
use crate::secrets;
use crate::setting::Host;
use crate::telling::Telling;
use crate::throttle::{Place, Resource};
use crate::witness::{self, at_once};
use crate::world::{Behaviour, World};

/// A sleeper looks at its clock that often, since the clock may be set: as `SystemClock` does.
const LONGEST_NAP: i64 = 30_000;

/// All ports of one process.
#[derive(Clone, Debug)]
pub struct SimPorts {
    port: Port,
    /// The real ones, over a simulated transport.
    targets: Arc<Callers<Port, Port>>,
    vault: SimVault,
    clock: ProcessClock,
    plans: Arc<Plans>,
    quotas: Arc<Quotas>,
    rules: Arc<Rules>,
}

#[derive(Clone)]
pub struct Port {
    world: World,
    process: Arc<Process>,
    /// What this process cannot reach, for as long as it lives.
    cut_off: Option<Resource>,
    /// The queues inside this process; without them it shares the world's.
    queues: Option<Arc<EmbeddedQueues<ProcessClock>>>,
}

impl SimPorts {
    pub fn new(world: World, process: Arc<Process>) -> Self {
        let (sim, rate) = (world.sim(), world.sim().rates().cut_off);
        let cut_off = sim.dice(|dice| dice.chance(rate).then(|| dice.pick(&Resource::ALL)));
        if let Some(resource) = cut_off {
            sim.count(format!("{} cut off from {resource}", process.name));
        }
        Self::through(Port { world, process, cut_off, queues: None })
    }

    /// The ports of a process that is a whole machine.
    pub(crate) fn of_machine(world: World, process: Arc<Process>, queues: Arc<EmbeddedQueues<ProcessClock>>) -> Self {
        Self::through(Port { world, process, cut_off: None, queues: Some(queues) })
    }

    fn through(port: Port) -> Self {
        let targets = Arc::new(Callers::new(port.clone(), Arc::new(port.clone())));
        let clock = ProcessClock::of(port.world.sim(), &port.process);
        let vault = SimVault { keys: Arc::clone(port.world.vault()), port: port.clone() };
        Self { port, targets, vault, clock, plans: Arc::default(), quotas: Arc::default(), rules: Arc::default() }
    }
}

/// The clock of a process, as wrong as it is.
#[derive(Clone, Debug)]
pub struct ProcessClock {
    sim: Sim,
    process: Arc<Process>,
}

impl ProcessClock {
    pub(crate) fn of(sim: &Sim, process: &Arc<Process>) -> Self {
        Self { sim: sim.clone(), process: Arc::clone(process) }
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Moment {
        self.process.now(&self.sim)
    }

    fn steady(&self) -> Duration {
        Moment::from_millis(self.process.steady(&self.sim)).since(Moment::EPOCH)
    }

    async fn sleep_until(&self, moment: Moment) {
        while self.now() < moment {
            let at = self.process.true_time(&self.sim, moment);
            let nap = if self.sim.clocks_may_be_set() { self.sim.now() + LONGEST_NAP } else { i64::MAX };
            self.sim.sleep_until(at.min(nap)).await;
        }
    }
}

impl SimPorts {
    /// Hands a group of shards to another sweeper.
    pub async fn hand_out(&self, group: Group) -> Result<(), Fault> {
        let hand_out = async {
            self.port.world.hand_out(group);
            Ok(())
        };
        self.port.pass("hand_out", QUEUES, hand_out).await
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Port of {:?}", self.process)
    }
}

impl Ports for SimPorts {
    type Store = Port;
    type Queues = Port;
    type Targets = Callers<Port, Port>;
    type Vault = SimVault;
    type Events = Port;
    type Clock = ProcessClock;
    type Chance = Port;

    fn store(&self) -> &Port {
        &self.port
    }
    fn queues(&self) -> &Port {
        &self.port
    }
    fn targets(&self) -> &Callers<Port, Port> {
        &self.targets
    }
    fn vault(&self) -> &SimVault {
        &self.vault
    }

    fn events(&self) -> &Port {
        &self.port
    }
    fn clock(&self) -> &ProcessClock {
        &self.clock
    }
    fn chance(&self) -> &Port {
        &self.port
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
    fn me(&self) -> Claimant {
        self.port.world.claimant(&self.port.process)
    }
}

impl Port {
    fn store(&self) -> &Arc<MemoryStore> {
        self.world.store_of(&self.process)
    }

    /// One call: fate, the act itself, fate again. A fault before means it did not happen, one after that it did.
    async fn pass<T>(
        &self,
        port: &'static str,
        place: Place,
        act: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        self.step(port, Phase::Before).await?;
        self.let_through(port, place).await?;
        let answer = act.await?;
        self.step(port, Phase::After).await?;
        Ok(answer)
    }

    /// A request that is throttled fails before it acts, after the tries that a client of AWS makes by itself.
    async fn let_through(&self, port: &'static str, place: Place) -> Result<(), Fault> {
        let cut_off = self.cut_off == Some(place.resource);
        if !cut_off && !self.world.throttles(place) {
            return Ok(());
        }
        let sim = self.world.sim();
        sim.count(format!("{} {} {port}", if cut_off { "unreachable" } else { "throttled" }, place.resource));
        self.trace(|| format!("Throttled {port}"));
        let tries = sim.dice(|dice| dice.within(20..1500));
        sim.sleep_until(sim.now() + tries).await;
        Err(Fault::unavailable(port, "throttled"))
    }

    /// A request about one job goes where that job lies.
    fn state(&self, job: JobId) -> Place {
        let shard = Some(self.shard_of(&Obligation::Occurrence(job)));
        Place { resource: Resource::State, shard, job: Some(job) }
    }

    fn timers_of(&self, obligation: &Obligation) -> Place {
        at_shard(self.shard_of(obligation))
    }

    fn shard_of(&self, obligation: &Obligation) -> u16 {
        obligation.shard(self.world.setting().shards)
    }

    /// Sometimes a guarded write acts and its answer is lost, and the table's own client tries it again. The port knows
    /// its writing when it meets it; but another may have written since.
    async fn tried_twice<T>(
        &self,
        put: Put<T>,
        read_again: impl Future<Output = Result<Option<Seen<T>>, Fault>>,
    ) -> Result<Put<T>, Fault> {
        let Put::Written(version) = put else { return Ok(put) };
        if !self.tries_twice().await {
            return Ok(Put::Written(version));
        }
        match read_again.await? {
            Some(seen) if seen.version == version => Ok(Put::Written(version)),
            there => {
                self.world.sim().count("own write overtaken before its second try");
                Ok(Put::Conflict(there))
            }
        }
    }

    /// Every answer to a write was lost. The port looks once whether its writing stands there; that look may fail, too. One
    /// machine's store has no answers on their way, and does not look.
    async fn known_by_a_look<T>(
        &self,
        fault: Fault,
        written: Option<Version>,
        place: Place,
        look: impl Future<Output = Result<Option<Seen<T>>, Fault>>,
    ) -> Result<Put<T>, Fault> {
        let Some(version) = written.filter(|_| self.world.setting().host != Host::Machine) else { return Err(fault) };
        match self.pass("look", place, look).await {
            Ok(Some(seen)) if seen.version == version => {
                self.world.sim().count("own write known by a look");
                Ok(Put::Written(version))
            }
            Ok(_) | Err(_) => Err(fault),
        }
    }

    /// A request that was given up and tried again may still arrive: it puts the timer once more, over whatever stands
    /// there by then that is of no later generation. No guarded write can be repeated like this.
    fn echoes(&self, timer: &Timer) {
        let (sim, rates) = (self.world.sim(), self.world.sim().rates());
        if sim.dice(|dice| dice.chance(rates.echo)) {
            let at = sim.now() + sim.dice(|dice| dice.magnitude(1.0, 4.8));
            let (store, timer, world) = (Arc::clone(self.store()), timer.clone(), self.world.clone());
            sim.at(at, move |sim| {
                sim.count("timer put again by an echo");
                let _put = at_once(store.put_timer(&timer));
                world.note_timer(&timer);
            });
        }
    }

    /// True where the client of the table tries a write again, a moment after it acted.
    async fn tries_twice(&self) -> bool {
        let (sim, rates) = (self.world.sim(), self.world.sim().rates());
        if !sim.dice(|dice| dice.chance(rates.try_twice)) {
            return false;
        }
        sim.count("write tried twice");
        let pause = sim.dice(|dice| dice.magnitude(1.0, 4.0));
        sim.sleep_until(sim.now() + pause).await;
        true
    }

    async fn step(&self, port: &'static str, phase: Phase) -> Result<(), Fault> {
        let step = Step { process: self.process.name, port, phase };
        if self.world.sim().step(&self.process, step).await {
            return Err(Fault::unavailable(port, format!("{phase:?}")));
        }
        Ok(())
    }

    fn trace(&self, line: impl FnOnce() -> String) {
        self.world.sim().trace(&self.process, line);
    }

    /// What is judged of a write: the jobs that were in force, and who held a lease.
    fn witness<T: Item>(&self, call: &'static str, key: &T::Key, item: &T, put: &Put<T>) {
        let (item, written): (&dyn Any, _) = (item, put.is_written());
        if let Some(head) = item.downcast_ref::<Head>() {
            self.trace(|| format!("{call} {:?} written {written}", head.job().map(|job| (job.status, &job.since))));
            if written {
                self.witness_head(head);
                self.witness_version(head);
            }
        } else if let Some(run) = item.downcast_ref::<Run>() {
            self.trace(|| format!("{call} {:?} {:?} fence {} written {written}", run.key, run.state, run.fence));
            if written {
                self.witness_lease(run);
                self.spend_a_write(run.key);
                if run.is_finished() {
                    let now = self.world.sim().now();
                    self.world.seen().ended.entry(run.key).or_insert(now);
                }
                self.witness_run_of_a_graph(run);
            }
        } else {
            self.trace(|| format!("{call} {key:?} written {written}"));
        }
    }

    fn witness_cursor(&self, cursor: &Cursor) {
        // A sweep that does not know where its shard begins looks back an hour, also to before the beginning.
        let span = self.world.sim().now() / 60_000 - cursor.oldest.max(BEGIN / 60_000);
        let mut seen = self.world.seen();
        seen.widest_sweep = seen.widest_sweep.max(span);
    }

    /// A list of jobs may lag behind the writes: none that changed a moment ago stands in it, and others fill its page.
    fn let_lag<T: Listed>(&self, page: &mut Page<T>, limit: usize) {
        let Some(page) = (page as &mut dyn Any).downcast_mut::<Page<Head>>() else { return };
        let all = page.items.len();
        let lag = 1000 * self.world.sim().dice(|dice| dice.within(0..60));
        let (now, seen) = (self.world.sim().now(), self.world.seen());
        let written = |job: JobId| seen.jobs.get(&job).and_then(|told| told.versions.last()).map_or(0, |last| last.at);
        page.items.retain(|head| head.job().is_none_or(|job| written(job.id) + lag < now));
        drop(seen);
        if page.items.len() < all {
            self.world.sim().count("list of jobs lagged");
        }
        page.more = page.items.len() >= limit;
        page.items.truncate(limit);
    }

    fn place_of(&self, place: &place::Place) -> Place {
        self.place_in(place.partition, place.sort.first())
    }

    fn place_in(&self, partition: Partition, first: Option<&Part>) -> Place {
        match (partition, first) {
            (Partition::Jobs, Some(Part::Job(job))) => self.state(*job),
            (Partition::History(job), _) => self.state(job),
            (Partition::Shard(shard), _) => at_shard(shard),
            (Partition::Jobs | Partition::Kind, _) => EVERYWHERE,
        }
    }

    fn witness_head(&self, head: &Head) {
        let now = self.world.sim().now();
        if let Head::Job(job) = head {
            let counting = self.world.seen().jobs.get(&job.id).map(|told| witness::counting(told, job));
            let Some(counting) = counting else { return };
            let head = witness::head(&self.world, job, counting.from, now);
            let mut seen = self.world.seen();
            let Some(told) = seen.jobs.get_mut(&job.id) else { return };
            told.counting = Some(counting);
            // A payload or an epoch is no change of what is in force.
            let same = |last: &minutehand_judge::Head| {
                (last.status, &last.schedule, last.catch_up) == (head.status, &head.schedule, head.catch_up)
            };
            if !told.heads.last().is_some_and(same) {
                told.heads.push(head);
            }
        }
    }

    fn witness_version(&self, head: &Head) {
        let at = self.world.sim().now();
        if let Head::Job(job) = head
            && let Some(told) = self.world.seen().jobs.get_mut(&job.id)
        {
            told.versions.push(minutehand_judge::Version { at, stands: witness::stands(job) });
        }
    }

    fn spend_a_write(&self, run: RunKey) {
        self.world.spend(run, |spent| spent.writes += 1);
    }

    fn witness_lease(&self, run: &Run) {
        if run.is_put_off() {
            let now = self.world.sim().now();
            self.world.seen().put_off.entry(run.key).or_insert(now);
        }
        if let Some(lease) = run.lease() {
            // When it was decided: its write may have been long on its way.
            let sim = self.world.sim();
            let decided = run.attempts.last().map_or(0, |attempt| self.process.noted_at(sim, attempt.started_at));
            let claim = (decided, self.process.true_time(sim, lease.until));
            self.world.seen().claims.entry((run.key, run.fence)).or_insert(claim);
        }
    }
}

/// What is done with an item.
#[derive(Clone, Copy)]
enum Verb {
    Get,
    Put,
    Update,
    Delete,
    List,
}

/// What a call is named, where a script stops a process at it.
fn call_of<T: Item>(verb: Verb) -> &'static str {
    match (verb, T::KIND) {
        (Verb::Get, kind) => kind,
        (Verb::Put, "head") => "put_head",
        (Verb::Put, "run") => "put_run",
        (Verb::Put, "attempt") => "put_attempt",
        (Verb::Put, "day") => "put_day",
        (Verb::Put, "end") => "put_end",
        (Verb::Put, "body") => "put_body",
        (Verb::Put, "cursor") => "put_cursor",
        (Verb::Put, "waiter") => "put_waiter",
        (Verb::Put, "pace") => "put_pace",
        (Verb::Put, "operation") => "put_operation",
        (Verb::Put, "calendar") => "put_calendar",
        (Verb::Put, "rules") => "put_rules",
        (Verb::Put, "use") => "put_use",
        (Verb::Put, "key") => "put_key",
        (Verb::Put, "erasing") => "put_erasing",
        (Verb::Put, _) => "put_document",
        (Verb::Update, _) => "update",
        (Verb::Delete, "key") => "delete_key",
        (Verb::Delete, _) => "delete",
        (Verb::List, "head") => "jobs",
        (Verb::List, "run") => "runs_of",
        (Verb::List, "attempt") => "attempts",
        (Verb::List, "key") => "list_key",
        (Verb::List, _) => "documents",
    }
}

const QUEUES: Place = Place { resource: Resource::Queues, shard: None, job: None };
const EVERYWHERE: Place = Place { resource: Resource::State, shard: None, job: None };

fn at_shard(shard: u16) -> Place {
    Place { resource: Resource::Timers, shard: Some(shard), job: None }
}

/// The vault of the deployment, as far away as everything else.
#[derive(Clone, Debug)]
pub struct SimVault {
    keys: Arc<KeyFile>,
    port: Port,
}

impl Vault for SimVault {
    async fn seal(&self, label: Label<'_>, value: &SecretValue) -> Result<Sealed, VaultError> {
        self.port.step("seal", Phase::Before).await?;
        self.keys.seal(label, value).await
    }

    async fn open(&self, label: Label<'_>, sealed: &Sealed) -> Result<SecretValue, VaultError> {
        self.port.step("open", Phase::Before).await?;
        self.keys.open(label, sealed).await
    }
}

impl Store for Port {
    fn shards(&self) -> u16 {
        self.store().shards()
    }

    async fn get<T: Item>(&self, tenant: &Tenant, key: T::Key) -> Result<Option<Seen<T>>, Fault> {
        let place = self.place_of(&T::place(&key));
        self.trace(|| format!("get {} {key:?}", T::KIND));
        let seen = self.pass(call_of::<T>(Verb::Get), place, self.store().get::<T>(tenant, key)).await?;
        if let Some(cursor) = seen.as_ref().and_then(|seen| (&seen.item as &dyn Any).downcast_ref::<Cursor>()) {
            self.witness_cursor(cursor);
        }
        Ok(seen)
    }

    async fn put<T: Item>(&self, tenant: &Tenant, key: T::Key, item: &T, guard: Guard) -> Result<Put<T>, Fault> {
        let (call, place) = (call_of::<T>(Verb::Put), self.place_of(&T::place(&key)));
        self.step(call, Phase::Before).await?;
        self.let_through(call, place).await?;
        let put = self.store().put(tenant, key.clone(), item, guard).await?;
        self.witness(call, &key, item, &put);
        if put.is_written() {
            self.world.ttl().note(tenant, &key, item);
        }
        if T::IMMUTABLE {
            return self.step(call, Phase::After).await.map(|()| put);
        }
        let written = if let Put::Written(version) = put { Some(version) } else { None };
        let put = self.tried_twice(put, self.store().get::<T>(tenant, key.clone())).await?;
        match self.step(call, Phase::After).await {
            Ok(()) => Ok(put),
            Err(fault) => self.known_by_a_look(fault, written, place, self.store().get::<T>(tenant, key)).await,
        }
    }

    /// A second try meets what the first one made, and knows it.
    async fn update<U: Update>(
        &self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> Result<Updated<U::Item>, Fault> {
        let place = self.place_of(&U::Item::place(&key));
        let update = async {
            let updated = self.store().update(tenant, key.clone(), update).await?;
            if let Updated::Done(seen) = &updated {
                self.world.ttl().note(tenant, &key, &seen.item);
            }
            self.trace(|| format!("update {} {key:?} done {}", U::Item::KIND, matches!(updated, Updated::Done(_))));
            self.tries_twice().await;
            Ok(updated)
        };
        self.pass(call_of::<U::Item>(Verb::Update), place, update).await
    }

    /// A second try finds nothing, and takes another for the one who deleted it.
    async fn delete<T: Item>(&self, tenant: &Tenant, key: T::Key, seen: Version) -> Result<Deleted<T>, Fault> {
        let place = self.place_of(&T::place(&key));
        let delete = async {
            let deleted = self.store().delete::<T>(tenant, key.clone(), seen).await?;
            if matches!(deleted, Deleted::Done) && self.tries_twice().await {
                return self.store().delete::<T>(tenant, key, seen).await;
            }
            Ok(deleted)
        };
        self.pass(call_of::<T>(Verb::Delete), place, delete).await
    }

    async fn list<T: Listed>(
        &self,
        tenant: &Tenant,
        within: T::Within,
        past: Option<T::Key>,
        limit: usize,
    ) -> Result<Page<T>, Fault> {
        let place = T::span(&within, past.as_ref()).map_or(EVERYWHERE, |span| self.place_in(span.partition, None));
        let list = async {
            let lags = T::KIND == Head::KIND;
            let mut page = self.store().list::<T>(tenant, within, past, if lags { usize::MAX } else { limit }).await?;
            self.let_lag(&mut page, limit);
            Ok(page)
        };
        self.pass(call_of::<T>(Verb::List), place, list).await
    }

    async fn sample<T: Listed>(&self, tenant: &Tenant, within: T::Within, looks: usize) -> Result<Page<T>, Fault> {
        self.pass(call_of::<T>(Verb::List), EVERYWHERE, self.store().sample::<T>(tenant, within, looks)).await
    }

    async fn runs_across(
        &self,
        tenant: &Tenant,
        which: Across,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Option<RunsPage>, Fault> {
        let listing = self.store().runs_across(tenant, which, window, before, limit);
        self.pass("runs_across", EVERYWHERE, listing).await
    }

    async fn oldest_letter(&self) -> Result<Option<Moment>, Fault> {
        self.pass("oldest_letter", EVERYWHERE, self.store().oldest_letter()).await
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.pass("timer", self.timers_of(&key.obligation), self.store().timer(key)).await
    }

    async fn put_timer(&self, timer: &Timer) -> Result<Timer, Fault> {
        let put = async {
            let mut there = self.store().put_timer(timer).await?;
            self.trace(|| format!("put_timer {timer:?} put {}", there == *timer));
            self.world.note_timer(timer);
            if there == *timer {
                self.spend_a_write(timer.key.run_key());
            }
            if there.stamp.generation > timer.stamp.generation {
                self.world.sim().count("timer of a later generation kept");
            }
            if self.tries_twice().await {
                there = self.store().put_timer(timer).await?;
            }
            self.echoes(timer);
            Ok(there)
        };
        self.pass("put_timer", self.timers_of(&timer.key.obligation), put).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        let put = async {
            let there = self.store().put_timer_if_absent(timer).await?;
            self.trace(|| format!("put_timer_if_absent {timer:?} put {}", there == *timer));
            self.world.note_timer(timer);
            if there == *timer {
                self.spend_a_write(timer.key.run_key());
                if self.tries_twice().await {
                    return self.store().put_timer_if_absent(timer).await;
                }
            }
            Ok(there)
        };
        self.pass("put_timer_if_absent", self.timers_of(&timer.key.obligation), put).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: TimerStamp) -> Result<bool, Fault> {
        let erase = async {
            let erased = self.store().erase_timer(key, seen).await?;
            self.trace(|| format!("erase_timer {key:?} erased {erased}"));
            if erased {
                self.spend_a_write(key.run_key());
                if self.tries_twice().await {
                    return self.store().erase_timer(key, seen).await;
                }
            }
            Ok(erased)
        };
        self.pass("erase_timer", self.timers_of(&key.obligation), erase).await
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Page<Timer>, Fault> {
        let timers = async {
            let page = self.store().timers(bucket, after, until, limit.min(self.world.setting().page)).await?;
            if page.more && page.items.len() < limit {
                self.world.sim().count("page of timers cut short");
            }
            Ok(page)
        };
        self.pass("timers", at_shard(bucket.shard), timers).await
    }

    async fn everything(&self, part: TablePart, behind: Option<String>) -> Result<Everything, Fault> {
        self.pass("everything", EVERYWHERE, self.store().everything(part, behind)).await
    }

    async fn remains(&self, tenant: &Tenant, behind: Option<String>) -> Result<Remains, Fault> {
        self.pass("remains", EVERYWHERE, self.store().remains(tenant, behind)).await
    }

    async fn erase(&self, remain: &Remain) -> Result<(), Fault> {
        self.pass("erase", EVERYWHERE, self.store().erase(remain)).await
    }

    /// One machine knows the first of its keys; AWS would have to read them all.
    async fn first_bucket(&self, shard: u16, from: i64) -> Result<FirstBucket, Fault> {
        match self.world.setting().host {
            Host::Process | Host::Machine => {
                self.pass("first_bucket", at_shard(shard), self.store().first_bucket(shard, from)).await
            }
            Host::Lambda(_) => Ok(FirstBucket::Unknown),
        }
    }

    async fn survey(&self, segment: TablePart, behind: Option<String>) -> Result<Found, Fault> {
        let survey = async {
            let found = self.store().survey(segment, behind).await?;
            self.world.sim().count("page of all timers searched");
            Ok(found)
        };
        self.pass("search", at_shard(0), survey).await
    }

    async fn discard<T: Item>(&self, tenant: &Tenant, key: T::Key, what: Discard) -> Result<(), Fault> {
        let place = self.place_of(&T::place(&key));
        self.pass("discard", place, self.store().discard::<T>(tenant, key, what)).await
    }

    async fn copy_timer(&self, from: &TimerKey, to: &TimerKey) -> Result<(), Fault> {
        self.pass("copy_timer", self.timers_of(&to.obligation), self.store().copy_timer(from, to)).await
    }

    async fn discard_timer(&self, key: &TimerKey, copy: &TimerKey) -> Result<bool, Fault> {
        self.pass("discard_timer", self.timers_of(&key.obligation), self.store().discard_timer(key, copy)).await
    }
}

impl Queues for Port {
    type Receipt = Receipt;

    async fn send(&self, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let send = async {
            if self.world.breaks(self.process.number) {
                return Err(Fault::unavailable("send", "others of its batch went through"));
            }
            self.trace(|| format!("send {:?} for {at} behind {:?}", hint.run, hint.timer));
            if let Some(queues) = &self.queues {
                self.world.witness_hint(hint);
                return queues.send(lane, hint, at).await;
            }
            self.world.send(lane, hint, self.process.true_time(self.world.sim(), at));
            Ok(())
        };
        self.pass("send", QUEUES, send).await
    }

    fn lane_for(&self, lane: Lane) -> Lane {
        self.world.lane_for(lane)
    }

    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        let hide = async {
            if let (Some(queues), Receipt::Embedded(receipt)) = (&self.queues, receipt) {
                return queues.hide(receipt, until).await;
            }
            self.world.hide(*receipt, self.process.true_time(self.world.sim(), until));
            Ok(())
        };
        self.pass("hide", QUEUES, hide).await
    }
}

impl Transport for Port {
    async fn call(&self, target: &HttpTarget, call: Call<'_>, _secrets: &SigningSecrets) -> Answer {
        if let Some(telling) = Telling::of(&target.url) {
            return self.tell(telling, call).await;
        }
        if let Some(calling) = Calling::of(&target.url) {
            return self.call_of_a_graph(calling, call).await;
        }
        if let Some(refusing) = notified::refusing(&target.url) {
            return self.call_of_a_rule(refusing, &call).await;
        }
        secrets::assert_given(target, &call);
        let (behaviour, _ends_when_dropped) = self.witness_call(&call);
        self.world.seen().tellings.called(call.run, call.attempt, self.world.sim().now());
        self.trace(|| format!("call {:?} attempt {}", call.run, call.attempt));
        let allowed = i64::try_from(call.timeout.as_millis()).unwrap_or(i64::MAX);
        self.world.sim().sleep_until(self.world.sim().now() + behaviour.takes.min(allowed)).await;
        // A zombie: its call is over, and it sleeps before it can say so.
        let _a_call_has_no_fault = self.step("call", Phase::After).await;
        if behaviour.takes > allowed {
            return Answer::TimedOut;
        }
        if self.world.sim().dice(|dice| dice.chance(behaviour.fails)) {
            let error = AttemptError::new("http_500", "the target answered 500");
            return Answer::Failed { error, retry_after: None };
        }
        Answer::Succeeded { result: None }
    }
}

/// Notes the end of a call, also where its process dies or hands it back.
struct CallEnds {
    world: World,
    call: usize,
}

impl Drop for CallEnds {
    fn drop(&mut self) {
        let now = self.world.sim().now();
        self.world.seen().calls[self.call].ended_at = Some(now);
    }
}

impl Port {
    /// Whoever is told notes it, also where the answer does not arrive.
    async fn call_of_a_rule(&self, refusing: i64, call: &Call<'_>) -> Answer {
        self.trace(|| format!("told {:?} attempt {}", call.run, call.attempt));
        let sim = self.world.sim();
        let noted = Notified::of(call, sim.now());
        self.world.seen().notified.push(noted);
        sim.sleep_until(sim.now() + 200).await;
        let _a_call_has_no_fault = self.step("call", Phase::After).await;
        notified::answer(sim.dice(|dice| dice.within(0..100)) < refusing)
    }

    fn witness_call(&self, call: &Call<'_>) -> (Behaviour, CallEnds) {
        let (at, own_clock) = (self.world.sim().now(), self.process.now(self.world.sim()).millis());
        let mut seen = self.world.seen();
        let told = seen.jobs.get(&call.run.job).expect("every job is introduced before it is created");
        assert_eq!(*call.tenant, told.tenant, "a job is called for its own tenant");
        let (job, behaviour) = (told.number, told.behaviour);
        let (claimed_at, lease_until) = seen.claims.get(&(call.run, call.attempt)).copied().unwrap_or((at, at));
        let put_off_at = seen.put_off.get(&call.run).copied();
        seen.calls.push(minutehand_judge::Call {
            at,
            claimed_at,
            put_off_at,
            own_clock,
            job,
            instant: call.run.at.millis(),
            number: call.run.discriminator,
            fence: call.attempt,
            lease_until,
            ended_at: None,
        });
        (behaviour, CallEnds { world: self.world.clone(), call: seen.calls.len() - 1 })
    }
}

/// Who is told of ends, and asked before calls.
impl Port {
    async fn tell(&self, telling: Telling, call: Call<'_>) -> Answer {
        let sim = self.world.sim();
        let allowed = i64::try_from(call.timeout.as_millis()).unwrap_or(i64::MAX);
        let takes = telling.takes.min(allowed);
        let at = sim.now();
        sim.sleep_until(at + takes).await;
        let roll = sim.dice(|dice| dice.within(0..100));
        let answer = telling.answer(roll, telling.takes > allowed);
        self.trace(|| format!("tell {:?} attempt {}: {answer:?}", call.run, call.attempt));
        self.world.seen().tellings.told(telling, &call, (at, sim.now()), roll);
        // A zombie: its call is over, and it sleeps before it can say so.
        let _a_call_has_no_fault = self.step("tell", Phase::After).await;
        answer
    }
}

/// What graphs call.
impl Port {
    fn witness_run_of_a_graph(&self, run: &Run) {
        let at = self.world.sim().now();
        let mut seen = self.world.seen();
        if run.task.is_some() || run.graph.is_some() || seen.graphs.jobs.contains(&run.key.job) {
            seen.graphs.writes.push((at, run.clone()));
        }
    }

    async fn call_of_a_graph(&self, calling: Calling, call: Call<'_>) -> Answer {
        let (nth, ends) = self.witness_call_of_a_graph(calling, &call);
        self.trace(|| format!("call {:?} attempt {} of {calling:?}", call.run, call.attempt));
        let sim = self.world.sim();
        let allowed = i64::try_from(call.timeout.as_millis()).unwrap_or(i64::MAX);
        sim.sleep_until(sim.now() + calling.takes.min(allowed)).await;
        let answer = if calling.takes > allowed {
            judge::Answer::TimedOut
        } else if sim.dice(|dice| dice.within(0..100)) < calling.fails {
            judge::Answer::Failed
        } else {
            sim.dice(|dice| judge::Answer::Succeeded(drawn_answer(dice)))
        };
        self.world.seen().graphs.calls[nth].answer = Some(answer.clone());
        // A zombie: its call is over, and it sleeps before it can say so.
        let _a_call_has_no_fault = self.step("call", Phase::After).await;
        drop(ends);
        match answer {
            judge::Answer::TimedOut => Answer::TimedOut,
            judge::Answer::Failed => {
                let error = AttemptError::new("http_500", "the target answered 500");
                Answer::Failed { error, retry_after: None }
            }
            judge::Answer::Succeeded(answered) => Answer::Succeeded { result: Some(answer_json(&answered)) },
        }
    }

    fn witness_call_of_a_graph(&self, calling: Calling, call: &Call<'_>) -> (usize, GraphCallEnds) {
        let at = self.world.sim().now();
        let mut seen = self.world.seen();
        let (_, lease_until) = seen.claims.get(&(call.run, call.attempt)).copied().unwrap_or((at, at));
        let nth = seen.graphs.calls.len();
        seen.graphs.calls.push(judge::Call {
            run: call.run.to_string(),
            fence: call.attempt,
            flow: calling.flow,
            step: calling.step,
            at,
            lease_until,
            ended_at: None,
            given: call.payload.map(|json| json.as_str().to_owned()).unwrap_or_default(),
            answer: None,
        });
        (nth, GraphCallEnds { world: self.world.clone(), call: nth })
    }
}

/// Notes the end of a call of a graph's.
struct GraphCallEnds {
    world: World,
    call: usize,
}

impl Drop for GraphCallEnds {
    fn drop(&mut self) {
        let now = self.world.sim().now();
        self.world.seen().graphs.calls[self.call].ended_at = Some(now);
    }
}

fn drawn_answer(dice: &mut Dice) -> judge::Answered {
    let items = dice.pick(&[0, 1, 2, 3, 5]);
    judge::Answered { n: dice.within(0..10), list: (0..items).map(|_| dice.within(0..10)).collect() }
}

impl Events for Port {
    fn emit(&self, event: &Event<'_>) {
        self.world.measure(&self.process, event);
        match event {
            Event::Job { what, .. } => self.world.sim().count(format!("job {what}")),
            Event::Run { run, from, now, .. } => self.world.sim().count(format!("run {from} -> {}", run.status(*now))),
            Event::EffectPrevented { .. } => self.world.sim().count("effect prevented"),
            Event::SlaMissed { .. } => self.world.sim().count("sla missed"),
            Event::Stalled { .. } => self.world.sim().count("run stalled"),
            Event::Prevented { by } => self.world.sim().count(format!("prevented by {}", by.as_str())),
            Event::AwaitsWorker { .. } => self.world.sim().count("run awaits a worker"),
            Event::Unattended { silent, .. } => {
                self.world.sim().count("run unattended");
                if *silent > Duration::from_secs(180) {
                    self.world.sim().count("run unattended for minutes");
                }
            }
            Event::GivenBack => self.world.sim().count("hint given back"),
            Event::SweepFailed => self.world.sim().count("sweep failed"),
            Event::Unreadable { .. } => self.world.sim().count("unreadable item met"),
            Event::Reached { since, now, .. } => {
                let is_late = now.since(*since) > Duration::from_secs(5);
                self.world.sim().count(if is_late { "run reached late" } else { "run reached" });
            }
            Event::Called { .. }
            | Event::Answered { .. }
            | Event::Sweeping { .. }
            | Event::Archived { .. }
            | Event::Refused { .. } => {}
        }
    }
}

impl Chance for Port {
    fn bytes(&self) -> [u8; 16] {
        let (a, b) = self.world.sim().dice(|dice| (dice.number(), dice.number()));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_be_bytes());
        bytes[8..].copy_from_slice(&b.to_be_bytes());
        bytes
    }
}
