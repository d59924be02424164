//! The stage: one job, and one exact interleaving of those who work on it. Who does what when is said by the test, and a
//! script says where a process sleeps, fails or dies; nothing is left to chance, and all clocks are right.
//!
//! Times are seconds since the curtain rose.

mod damage;
mod elsewhere;
mod erasures;
mod following;
pub mod graphs;
mod letters;
mod notified;
mod operations;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::calendar::{AsSeen, CalendarName, Goes, Rules, Shared};
use minutehand_domain::callback::{Callback, CallbackPlace, End};
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::head::Head;
use minutehand_domain::health::Extent;
use minutehand_domain::health::day::Day;
use minutehand_domain::hint::Hint;
use minutehand_domain::hook::{BeforeHook, Hooks, OnError};
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::{AskedName, Fingerprint};
use minutehand_domain::job::{Change, Definition, Job};
use minutehand_domain::lane::Lane;
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::overlap::Overlap;
use minutehand_domain::pool::{Offer, PoolId};
use minutehand_domain::priority::Priority;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::retention::Retention;
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use minutehand_domain::run::Run;
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::slot::{Bounds, Concurrency, Rate, Slot, SlotKey, SlotName};
use minutehand_domain::target::{Header, HttpTarget, Method, Target, Timeouts, WorkerTarget, WorkflowTarget};
use minutehand_domain::timer::{Obligation, Timer, TimerKey};
use minutehand_domain::workflow::WorkflowId;
use minutehand_executor::batch::{Handled, execute_batch};
use minutehand_executor::{Executed, execute};
use minutehand_io::clock::Clock as _;
use minutehand_io::metrics::Measure;
use minutehand_io::queues::Delivery as Delivered;
use minutehand_io::store::{
    Bucket, Cursor, Deleted, Guard, KeptBody, Line as OfferLine, RunBody, RunsOf, Seen, Store as _,
};
use minutehand_io::{Fault, Ports as _};
use minutehand_judge::{Violation, callbacks};
use minutehand_protocol::bodies::shown_of;
use minutehand_protocol::calendar::change::{Gone, Put as PutCalendar, delete as delete_calendar, put as put_calendar};
use minutehand_protocol::chain::followed::Followed;
use minutehand_protocol::chain::links::promise_gap;
use minutehand_protocol::day::day_of;
use minutehand_protocol::job::change::{Changed, change};
use minutehand_protocol::job::create::{Created, NewJob, create};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::run::cancel::{Cancelled, cancel};
use minutehand_protocol::run::on_demand::{self, Answered, run_now};
use minutehand_protocol::sweep::repair::{Position, Repair, Repaired, repair};
use minutehand_protocol::sweep::{Pass, forget_hints};
use minutehand_protocol::timers::promise::promise_task;
use minutehand_sweeper::{sweep_shards, tick, tick_in_groups};

pub use self::following::behind;
use crate::engine::Sim;
use crate::fate::{Fate, Fates, Line, Phase, Rates};
use crate::history::{BEGIN, Verdict};
use crate::ports::SimPorts;
use crate::queues::Receipt;
use crate::setting::Setting;
use crate::telling::Telling;
use crate::witness::{Driven, account, at_once};
use crate::world::{Behaviour, Sinks, World};

/// The moment that many seconds after the beginning.
pub fn moment(second: i64) -> Moment {
    Moment::from_millis(BEGIN + second * 1000)
}

fn second(millis: i64) -> i64 {
    (millis - BEGIN).div_euclid(1000)
}

/// What the one job of a stage is; a test states only its difference.
#[derive(Clone, Debug)]
pub struct Wish {
    pub plan: Plan,
    /// How long a call takes, in seconds.
    pub takes: i64,
    pub fails: bool,
    pub retries: u16,
    pub retry_after: u64,
    pub timeout: u64,
    /// Whether it may run again.
    pub delivery: Delivery,
    /// Its payload is kept apart, and read by each run.
    pub large_payload: bool,
    pub catch_up: CatchUp,
    /// A worker of the stage's pool carries it out.
    pub by_a_worker: bool,
    /// It carries out a workflow.
    pub workflow: Option<WorkflowId>,
    /// What its runs share with those of other jobs.
    pub bounds: Bounds,
    /// What becomes of a run that comes while others are under way.
    pub overlap: Overlap,
    pub priority: Priority,
    /// How many seconds after it was due a run is to have ended.
    pub sla: Option<u64>,
    /// Who is told of which of its ends.
    pub told: Option<(Telling, Vec<End>)>,
    /// Who is told of each of its ends beside that.
    pub after: Option<Telling>,
    /// Who is asked before its calls, and what becomes of an attempt where that says nothing of use.
    pub asks: Option<(Telling, OnError)>,
    /// Whose calls have a header that says what the secret of the stage says.
    pub secret: Option<Called>,
    /// What its health is made of.
    pub health: Extent,
    /// For how many days its runs are kept.
    pub kept: Option<u16>,
}

/// Who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Target,
    /// Who is asked before.
    Hook,
}

/// Where the workers of a stage look.
const POOL: &str = "staged";

impl Wish {
    /// By this plan.
    pub fn of(plan: Plan) -> Self {
        let catch_up = CatchUp::default();
        let (bounds, priority, by_a_worker) = (Bounds::default(), Priority::default(), false);
        Self {
            plan,
            takes: 1,
            fails: false,
            retries: 0,
            retry_after: 5,
            timeout: 60,
            delivery: Delivery::default(),
            large_payload: false,
            catch_up,
            by_a_worker,
            workflow: None,
            bounds,
            overlap: Overlap::default(),
            priority,
            sla: None,
            told: None,
            after: None,
            asks: None,
            secret: None,
            health: Extent::Newest,
            kept: None,
        }
    }

    /// Fires once, at that second.
    pub fn once(at: i64) -> Self {
        Self::of(once(at))
    }

    /// Fires every so many seconds, counted from that second.
    pub fn every(seconds: u64, from: i64) -> Self {
        Self::of(every(seconds, from))
    }

    /// Runs only when somebody asks.
    pub fn on_demand() -> Self {
        Self::of(Plan { on_demand: true, ..Plan::default() })
    }

    /// Its runs share so many places with those of others that say so.
    #[must_use]
    pub fn at_once(mut self, key: &str, limit: u32) -> Self {
        self.bounds.concurrency = Some(Concurrency { key: key.parse().expect("a key"), limit });
        self
    }

    /// Its attempts share so many beginnings a minute with those of others that say so.
    #[must_use]
    pub fn a_minute(mut self, key: &str, per_minute: u32) -> Self {
        self.bounds.rate = Some(Rate { key: key.parse().expect("a key"), per_minute });
        self
    }

    fn definition(&self) -> Definition {
        let retry = RetryPolicy {
            max_retries: self.retries,
            backoff: Backoff::Fixed,
            initial_delay: Duration::from_secs(self.retry_after),
            jitter: Jitter::None,
            ..RetryPolicy::default()
        };
        let (timeout, delivery) = (Duration::from_secs(self.timeout), self.delivery);
        let terms = Terms { timeout, retry, delivery, ..Terms::default() };
        let http = HttpTarget {
            url: "https://staged.example/".into(),
            method: Method::Post,
            headers: self.headers(Called::Target),
            timeouts: Timeouts::default(),
        };
        let name = |name: &str| name.parse().expect("a name");
        let worker = WorkerTarget { pool: name(POOL), handler: name("handler") };
        let target = match self.workflow {
            Some(id) => Target::Workflow(WorkflowTarget { id, version: None }),
            None if self.by_a_worker => Target::Worker(worker),
            None => Target::Http(http),
        };
        let (catch_up, bounds, overlap, priority) = (self.catch_up, self.bounds.clone(), self.overlap, self.priority);
        let sla = self.sla.map(Duration::from_secs);
        let (callback, hooks) = (self.callback(), self.hooks());
        let before = hooks.before.as_ref().map(|before| before.timeout).unwrap_or_default();
        let terms = Terms { before, ..terms };
        let (health, retention) = (self.health, self.kept.and_then(Retention::of_days));
        Definition {
            target,
            terms,
            catch_up,
            bounds,
            overlap,
            priority,
            sla,
            callback,
            hooks,
            health,
            retention,
            ..Definition::default()
        }
    }

    fn callback(&self) -> Option<Callback> {
        let (telling, on) = self.told.as_ref()?;
        let on = on.iter().copied().collect();
        Some(Callback { place: CallbackPlace::Callback, target: telling.target(), on })
    }

    fn hooks(&self) -> Hooks {
        let after = self.after.map(|telling| {
            let (place, on) = (CallbackPlace::After, End::ALL.into());
            Callback { place, target: telling.target(), on }
        });
        let before = self.asks.map(|(telling, on_error)| {
            let timeout = Duration::from_secs(30);
            let target = HttpTarget { headers: self.headers(Called::Hook), ..telling.target() };
            BeforeHook { target, timeout, on_error }
        });
        Hooks { before, after }
    }

    fn headers(&self, of: Called) -> BTreeMap<String, Header> {
        let names = (self.secret == Some(of)).then(|| ("x-key".to_owned(), Header::Secret(secrets::name())));
        names.into_iter().collect()
    }
}

pub fn once(at: i64) -> Plan {
    Plan { at: Some(moment(at)), ..Plan::default() }
}

pub fn every(seconds: u64, from: i64) -> Plan {
    Plan { every_seconds: Some(seconds), start_at: Some(moment(from)), ..Plan::default() }
}

/// The first time that a process of this name comes there; `Line { nth: 2, ..line }` is the second.
fn line(process: &'static str, port: &'static str, phase: Phase, fate: Fate) -> Line {
    Line { process, port, phase, nth: 1, fate }
}

pub fn dies_before(process: &'static str, port: &'static str) -> Line {
    line(process, port, Phase::Before, Fate::Crash)
}

pub fn dies_after(process: &'static str, port: &'static str) -> Line {
    line(process, port, Phase::After, Fate::Crash)
}

pub fn sleeps_before(process: &'static str, port: &'static str, seconds: u64) -> Line {
    line(process, port, Phase::Before, Fate::Stall(Duration::from_secs(seconds)))
}

pub fn sleeps_after(process: &'static str, port: &'static str, seconds: u64) -> Line {
    line(process, port, Phase::After, Fate::Stall(Duration::from_secs(seconds)))
}

pub fn fails_before(process: &'static str, port: &'static str) -> Line {
    line(process, port, Phase::Before, Fate::Fault)
}

/// It acts, and the answer is lost.
pub fn fails_after(process: &'static str, port: &'static str) -> Line {
    line(process, port, Phase::After, Fate::Fault)
}

fn large_payload() -> Json {
    Json::of(&"x".repeat(600).into())
}

/// What a process answers, once it has.
#[derive(Clone)]
pub struct Answer<T>(Arc<Mutex<Option<Result<T, Fault>>>>);

impl<T: Clone + fmt::Debug> Answer<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    /// None while it is under way, and for ever if it died.
    pub fn so_far(&self) -> Option<Result<T, Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn given(&self) -> T {
        self.so_far().expect("it has answered").expect("it met no fault")
    }
}

/// One world with one job.
#[derive(Clone, Debug)]
pub struct Stage {
    sim: Sim,
    world: World,
    tenant: Tenant,
    id: JobId,
    /// As the judge knows the job.
    number: u32,
    wish: Wish,
    driven: Arc<Mutex<Driven>>,
    /// What clerks have asked for.
    acts: Arc<Mutex<Vec<minutehand_judge::letters::Act>>>,
}

impl Stage {
    pub fn new(wish: Wish, script: impl IntoIterator<Item = Line>) -> Self {
        Self::on(Setting::plain(), wish, script)
    }

    pub fn on(setting: Setting, wish: Wish, script: impl IntoIterator<Item = Line>) -> Self {
        let sim = Sim::new(1, BEGIN, Fates::script(script.into_iter().collect()));
        let world = World::new(&sim, setting);
        Self::of(sim, world, 1, wish)
    }

    /// One in which everything goes wrong that can, from the one second to the other.
    pub fn rough(seed: u64, wish: Wish, rough: Range<i64>) -> Self {
        Self::rough_as(Rates::ROUGH, seed, wish, rough)
    }

    /// One in which so much goes wrong.
    pub fn rough_as(rates: Rates, seed: u64, wish: Wish, rough: Range<i64>) -> Self {
        let sim = Sim::new(seed, BEGIN, Fates::Chance(Rates::CALM));
        for (at, rates) in [(rough.start, rates), (rough.end, Rates::CALM)] {
            sim.at(moment(at).millis(), move |sim| sim.set_fates(Fates::Chance(rates)));
        }
        let world = World::new(&sim, Setting::plain());
        Self::of(sim, world, 1, wish)
    }

    /// Another job in the same world.
    #[must_use]
    pub fn beside(&self, wish: Wish) -> Self {
        Self::of(self.sim.clone(), self.world.clone(), self.number + 1, wish)
    }

    /// Another job in the same world, of another tenant.
    #[must_use]
    pub fn beside_of(&self, tenant: &str, wish: Wish) -> Self {
        let tenant = Tenant::new(tenant).expect("a word");
        Self::owned(self.sim.clone(), self.world.clone(), tenant, self.number + 1, wish)
    }

    fn of(sim: Sim, world: World, number: u32, wish: Wish) -> Self {
        Self::owned(sim, world, Tenant::new("staged").expect("a word"), number, wish)
    }

    fn owned(sim: Sim, world: World, tenant: Tenant, number: u32, wish: Wish) -> Self {
        let key = if number == 1 { "the job".to_owned() } else { format!("job {number}") };
        let id = JobId::from_key(&tenant, &key);
        let behaviour = Behaviour { takes: wish.takes * 1000, fails: if wish.fails { 1.0 } else { 0.0 } };
        world.introduce(&tenant, id, number, behaviour);
        Self { sim, world, tenant, id, number, wish, driven: Arc::default(), acts: Arc::default() }
    }

    /// What happens here from now on is measured as a host measures it.
    pub fn measure_into(&self, measured: Arc<dyn Measure>) {
        self.measure_by(move |_| Arc::clone(&measured));
    }

    /// The same as functions measure it: each process into what its name has.
    pub fn measure_by(&self, sink_of: impl Fn(&'static str) -> Arc<dyn Measure> + Send + Sync + 'static) {
        self.world.measure_into(Sinks(Box::new(sink_of)));
    }

    /// From that second on calls of the job's target fail, or do so no more.
    pub fn let_fail(&self, at: i64, fails: bool) {
        let (world, id) = (self.world.clone(), self.id);
        self.sim.at(moment(at).millis(), move |_| world.let_fail(id, fails));
    }

    /// The workflow that its job carries out.
    pub fn workflow(&self) -> Option<WorkflowId> {
        self.wish.workflow
    }

    pub fn play_to(&self, second: i64) {
        self.sim.run_until(moment(second).millis());
    }

    fn know(&self, note: impl FnOnce(&mut Driven)) {
        note(&mut self.driven.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A process that begins at that second and answers when it is done.
    fn act<T, F>(&self, at: i64, name: &'static str, act: impl FnOnce(SimPorts) -> F + Send + 'static) -> Answer<T>
    where
        T: Clone + fmt::Debug + Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let (answer, world) = (Answer::new(), self.world.clone());
        let told = answer.clone();
        self.sim.at(moment(at).millis(), move |sim| {
            let (process, ports) = world.process(name);
            let acting = act(ports);
            sim.spawn(&process, async move {
                let outcome = acting.await;
                *told.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            });
        });
        answer
    }
}

/// Who does what.
impl Stage {
    pub fn create(&self, at: i64, name: &'static str) -> Answer<Created> {
        self.create_for(at, name, 1)
    }

    /// A creation under the job's one idempotency key, by a request that asks for this.
    pub fn create_for(&self, at: i64, name: &'static str, request: u64) -> Answer<Created> {
        let stage = self.clone();
        self.act(at, name, move |ports| async move {
            let now = ports.clock().now();
            let new = NewJob {
                tenant: stage.tenant.clone(),
                id: stage.id,
                schedule: Schedule::new(&stage.wish.plan, now).expect("a plan that fires"),
                definition: stage.wish.definition(),
                payload: stage.wish.large_payload.then(large_payload),
                fingerprint: Fingerprint::of(&request.to_string(), "", ""),
                trace: None,
                now,
            };
            let created = create(&ports, new).await?;
            stage.know(|driven| match created {
                Created::New(_) => (driven.acknowledged, driven.creations) = (true, driven.creations + 1),
                Created::Replayed(_) => driven.acknowledged = true,
                Created::Taken | Created::TooSlow | Created::NotHeeded(_) | Created::NotToFollow(_) => {}
            });
            Ok(created)
        })
    }

    pub fn change(&self, at: i64, name: &'static str, wish: Change) -> Answer<Changed> {
        let stage = self.clone();
        self.act(at, name, move |ports| async move { change(&ports, &stage.tenant, stage.id, &wish).await })
    }

    /// A calendar of the tenant's says this from then on.
    pub fn calendar(&self, at: i64, name: &'static str, calendar: &str, rules: Rules) -> Answer<bool> {
        self.calendar_as_seen(at, name, calendar, rules, AsSeen::Any)
    }

    /// The same of who has seen it like this. Whether it still was.
    pub fn calendar_as_seen(
        &self,
        at: i64,
        name: &'static str,
        calendar: &str,
        rules: Rules,
        seen: AsSeen,
    ) -> Answer<bool> {
        let (tenant, calendar) = (self.tenant.clone(), calendar.parse().expect("a name"));
        self.act(at, name, move |ports| async move {
            let put = put_calendar(&ports, &tenant, &calendar, &rules, seen).await?;
            Ok(matches!(put, PutCalendar::Done { .. }))
        })
    }

    /// A calendar of the tenant's goes: unless a job heeds it, or in any case. Whether it does.
    pub fn remove_calendar(&self, at: i64, name: &'static str, calendar: &str, in_any_case: bool) -> Answer<bool> {
        let (tenant, calendar) = (self.tenant.clone(), calendar.parse().expect("a name"));
        let goes = if in_any_case { Goes::InAnyCase } else { Goes::IfUnused };
        self.act(at, name, move |ports| async move {
            Ok(matches!(delete_calendar(&ports, &tenant, &calendar, goes, None).await?, Gone::Done { .. }))
        })
    }

    /// Its job becomes what is wished here.
    pub fn redefine(&self, at: i64, name: &'static str, wish: &Wish) -> Answer<Changed> {
        self.change(at, name, Change::define(wish.definition()))
    }

    pub fn reschedule(&self, at: i64, name: &'static str, plan: &Plan) -> Answer<Changed> {
        let schedule = Schedule::new(plan, moment(at)).expect("a plan that fires");
        self.change(at, name, Change::reschedule(schedule))
    }

    /// Somebody asks for the day of the job.
    pub fn count(&self, at: i64, name: &'static str) -> Answer<Day> {
        let stage = self.clone();
        self.act(at, name, move |ports| async move {
            let job = job_of(&ports, &stage.tenant, stage.id)
                .await?
                .ok_or_else(|| Fault::unavailable("the stage", "no job"))?;
            day_of(&ports, &job, ports.clock().now()).await
        })
    }

    pub fn ask(&self, at: i64, name: &'static str) -> Answer<Answered> {
        self.ask_as(at, name, None, None)
    }

    /// Asks for a run that is given this.
    pub fn ask_with(&self, at: i64, name: &'static str, payload: Json) -> Answer<Answered> {
        self.ask_as(at, name, None, Some(payload))
    }

    /// Asks for a run under the one idempotency key of the stage.
    pub fn ask_once(&self, at: i64, name: &'static str) -> Answer<Answered> {
        self.ask_as(at, name, Some("once"), None)
    }

    fn ask_as(
        &self,
        at: i64,
        name: &'static str,
        key: Option<&'static str>,
        payload: Option<Json>,
    ) -> Answer<Answered> {
        let stage = self.clone();
        self.act(at, name, move |ports| async move {
            let once = key.and_then(|key| Some((AskedName::of(key), Fingerprint::of("this", "", "")?)));
            let wish = on_demand::RunRequest { payload, by: By::host(), note: None, trace: None, once };
            let answered = run_now(&ports, &stage.tenant, stage.id, wish).await?;
            if let Answered::Queued(run) | Answered::Replayed(run) = &answered {
                stage.know(|driven| driven.tell_of(run.key, key.map(ToOwned::to_owned)));
            }
            Ok(answered)
        })
    }

    pub fn cancel(&self, at: i64, name: &'static str, instant: i64) -> Answer<Cancelled> {
        let stage = self.clone();
        let key = self.key(instant);
        self.act(at, name, move |ports| async move { cancel(&ports, &stage.tenant, key, &By::host()).await })
    }

    /// Promises the run that tells of the end of an occurrence, and does no more.
    pub fn promise_a_telling(&self, at: i64, name: &'static str, instant: i64) -> Answer<Timer> {
        let (tenant, of) = (self.tenant.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let key = RunKey::callback(of, CallbackPlace::Callback);
            promise_task(&ports, &tenant, TimerKey::run(key, ports.clock().now()), of).await
        })
    }

    pub fn sweep(&self, at: i64, name: &'static str) -> Answer<Pass> {
        let sim = self.sim.clone();
        self.act(at, name, move |ports| async move {
            let pass = tick(&ports).await?;
            (0..pass.corrupt).for_each(|_| sim.count("corrupt met"));
            Ok(pass)
        })
    }

    /// A sweeper each minute, from the one second to the other.
    pub fn sweep_each_minute(&self, seconds: Range<i64>) {
        for at in seconds.step_by(60) {
            self.sweep(at, "sweeper");
        }
    }

    /// From that second on at most so many runs of the tenant may be under way.
    pub fn limit_tenant(&self, at: i64, most: u32) -> Answer<()> {
        self.give_quota(at, Limits { max_concurrent_runs: Some(most), ..Limits::default() })
    }

    fn give_quota(&self, at: i64, limits: Limits) -> Answer<()> {
        let tenant = self.tenant.clone();
        self.act(at, "host", move |ports| async move {
            let (store, deployment) = (ports.store(), Tenant::deployment());
            let before = store.get::<Quota>(&deployment, tenant.clone()).await?;
            let quota = Quota::new(tenant.clone(), limits);
            let quota = quota.in_place_of(before.as_ref().map(|seen| &seen.item), ports.clock().now());
            let guard = before.map_or(Guard::Absent, |seen| seen.guard());
            let put = store.put(&deployment, tenant, &quota, guard).await?;
            assert!(put.is_written(), "nobody else gives it any");
            Ok(())
        })
    }

    /// What the job is was made so by a release that remembers nothing of what it said before.
    pub fn forget_what_was_kept(&self, at: i64) -> Answer<()> {
        let (tenant, id) = (self.tenant.clone(), self.id);
        self.act(at, "host", move |ports| async move {
            let seen = ports.store().get::<Head>(&tenant, id).await?.expect("it is created");
            let guard = seen.guard();
            let job = seen.item.into_job().expect("a job");
            let head = Head::Job(Job { lengthened: None, ..job });
            assert!(ports.store().put(&tenant, id, &head, guard).await?.is_written(), "nobody else writes it");
            Ok(())
        })
    }

    /// From that second on the tenant's runs are kept for so many days, where their jobs say nothing of it.
    pub fn keep_for(&self, at: i64, days: Option<u16>) -> Answer<()> {
        self.give_quota(at, Limits { retention: days.and_then(Retention::of_days), ..Limits::default() })
    }

    /// From that second on so many of what the tenant makes up for begin in a minute.
    pub fn limit_catch_up(&self, at: i64, most: u32) -> Answer<()> {
        let limits = Limits { max_catch_up_per_minute: Some(most), ..Limits::default() };
        self.give_quota(at, limits)
    }

    /// The partition in which the job and its runs lie cannot be reached from the one second to the other.
    pub fn take_partition_away(&self, seconds: Range<i64>) {
        self.world.take_away(self.id, moment(seconds.start).millis()..moment(seconds.end).millis());
    }

    /// What has expired at that second is gone, whatever may need it still: what DynamoDB takes by the clock, and with a run what lies beneath it.
    pub fn expire(&self, at: i64) {
        let world = self.world.clone();
        self.sim.at(moment(at).millis(), move |_| world.expire(moment(at)));
    }

    /// A run's record is gone from that second on, as if it had been kept until then.
    pub fn forget(&self, at: i64, run: RunKey) -> Answer<()> {
        let tenant = self.tenant.clone();
        self.act(at, "host", move |ports| async move {
            let seen = ports.store().get::<Run>(&tenant, run).await?.expect("it is there");
            let gone = ports.store().delete::<Run>(&tenant, run, seen.version).await?;
            assert!(matches!(gone, Deleted::Done), "nobody else writes it");
            Ok(())
        })
    }

    /// What DynamoDB's TTL deletes by that second is gone: each for itself, and nothing with it.
    pub fn expire_by_the_clock(&self, at: i64) {
        let world = self.world.clone();
        self.sim.at(moment(at).millis(), move |_| world.expire_by_the_clock(moment(at)));
    }

    /// A repair through the API of somebody who goes on meanwhile.
    pub fn repair(&self, at: i64, name: &'static str) -> Answer<Repaired> {
        self.act(at, name, |ports| async move {
            repair(&ports, Position::default(), Repair { check: false, until: Moment::END }).await
        })
    }

    /// Somebody looks at whether the chain goes on behind an instant, and mends it: the instant that was promised.
    pub fn mend_behind(&self, at: i64, name: &'static str, instant: i64) -> Answer<Option<i64>> {
        let (tenant, id) = (self.tenant.clone(), self.id);
        self.act(at, name, move |ports| async move {
            let job = job_of(&ports, &tenant, id).await?.expect("it is created");
            let Some(next) = job.next_after(moment(instant)) else { return Ok(None) };
            let promised = promise_gap(&ports, &job, next, &Followed::default()).await?;
            Ok(promised.map(|(gap, _timer)| second(gap.millis())))
        })
    }

    /// What a run is shown to have been given that was given what its job is, as it lay beside that.
    pub fn show_what_was_given(&self, at: i64, name: &'static str, run: Run) -> Answer<Option<Json>> {
        let given = Body::Apart(large_payload().digest());
        self.act(at, name, move |ports| async move { shown_of(&ports, &run, &given).await })
    }

    pub fn forget_hints(&self, at: i64, name: &'static str) -> Answer<()> {
        self.act(at, name, |ports| async move { forget_hints(&ports, 0, None).await })
    }

    /// Carries out a hint as an executor to whom it is delivered at that second. It is no queue's: it does not come again.
    pub fn execute(&self, at: i64, name: &'static str, hint: &Hint) -> Answer<Executed> {
        let delivery = self.delivery(hint);
        self.act(at, name, |ports| async move { execute(&ports, &delivery, std::future::pending()).await })
    }

    /// The same of a process that must go away at a second.
    pub fn execute_until(&self, at: i64, name: &'static str, hint: &Hint, leaves: i64) -> Answer<Executed> {
        let delivery = self.delivery(hint);
        self.act(at, name, move |ports| async move {
            let leaving = ports.clock().sleep_until(moment(leaves));
            execute(&ports, &delivery, leaving).await
        })
    }

    /// The same of a hint that came on this lane.
    pub fn execute_from(&self, lane: Lane, at: i64, name: &'static str, hint: &Hint) -> Answer<Executed> {
        let delivery = Delivered { lane, ..self.delivery(hint) };
        self.act(at, name, |ports| async move { execute(&ports, &delivery, std::future::pending()).await })
    }

    /// A hint on the lane of its job's calls.
    fn delivery(&self, hint: &Hint) -> Delivered<Receipt> {
        let definition = self.wish.definition();
        let lane = self.world.lane_for(Lane::of(definition.priority, &definition.terms));
        Delivered { hint: hint.clone(), lane, receipt: Receipt::EXPIRED }
    }

    /// Carries out a batch as an invocation does that ends at the second `deadline`.
    pub fn execute_batch(&self, at: i64, name: &'static str, hints: &[Hint], deadline: i64) -> Answer<Vec<Handled>> {
        let batch: Vec<_> = hints.iter().map(|hint| self.delivery(hint)).collect();
        self.act(at, name, move |ports| async move { Ok(execute_batch(&ports, &batch, moment(deadline)).await) })
    }

    /// A sweeper that hands out groups of the setting's size.
    pub fn sweep_in_groups(&self, at: i64, name: &'static str) -> Answer<Pass> {
        let each = self.world.setting().shards_per_sweep;
        self.act(at, name, move |ports| async move {
            tick_in_groups(&ports, each, Moment::END, |group| ports.hand_out(group)).await
        })
    }

    /// A sweeper that begins nothing more so many seconds later, and finds nobody who takes what is left.
    pub fn sweep_within(&self, at: i64, name: &'static str, seconds: i64) -> Answer<Pass> {
        self.act(at, name, move |ports| async move {
            let nobody = |_group| async { Err(Fault::unavailable("queue", "nobody takes it")) };
            sweep_shards(&ports, vec![0], moment(at + seconds), nobody).await
        })
    }

    /// Processes of these names are of a later release than the others, until all are at that second.
    pub fn roll_out(&self, names: impl IntoIterator<Item = &'static str>, at: i64) {
        self.world.begin_to_roll_out(names);
        let world = self.world.clone();
        self.sim.at(moment(at).millis(), move |_| world.roll_out());
    }

    /// What all processes together have asked their ports for.
    pub fn steps(&self) -> u64 {
        self.sim.steps()
    }

    /// Whatever is given to the queues in these seconds is lost.
    pub fn lose_hints(&self, seconds: Range<i64>) {
        for (at, losing) in [(seconds.start, true), (seconds.end, false)] {
            let world = self.world.clone();
            self.sim.at(moment(at).millis(), move |_| world.lose_hints(losing));
        }
    }

    /// From that second on everybody's clock is ahead by so many seconds.
    pub fn set_clocks(&self, at: i64, ahead: i64) {
        self.sim.at(moment(at).millis(), move |sim| sim.set_clocks(ahead * 1000));
    }

    /// One machine, which sweeps and carries out, runs from that second on.
    pub fn supervise(&self, at: i64) {
        let world = self.world.clone();
        self.sim.at(moment(at).millis(), move |_| world.supervise());
    }

    pub fn put_the_machine_to_sleep(&self, seconds: Range<i64>) {
        let (world, until) = (self.world.clone(), moment(seconds.end).millis());
        self.sim.at(moment(seconds.start).millis(), move |_| world.put_the_machine_to_sleep(until));
    }

    /// Whatever is on its way is lost.
    pub fn purge(&self, at: i64) {
        let world = self.world.clone();
        self.sim.at(moment(at).millis(), move |_| world.purge());
    }
}

/// How it stands.
impl Stage {
    pub fn key(&self, instant: i64) -> RunKey {
        RunKey::occurrence(self.id, moment(instant))
    }

    pub fn head(&self) -> Option<Head> {
        at_once(self.world.whole_store().get::<Head>(&self.tenant, self.id)).expect("memory").map(|seen| seen.item)
    }

    pub fn job(&self) -> Option<Job> {
        self.head().and_then(Head::into_job)
    }

    pub fn run(&self, instant: i64) -> Option<Run> {
        self.run_at(moment(instant))
    }

    pub fn read(&self, key: RunKey) -> Option<Run> {
        at_once(self.world.whole_store().get::<Run>(&self.tenant, key)).expect("memory").map(|seen| seen.item)
    }

    /// The body of this text that lies beneath a run.
    pub fn body(&self, key: RunKey, json: &Json) -> Option<RunBody> {
        let kept = self.world.whole_store().get::<RunBody>(&self.tenant, (key, json.digest()));
        at_once(kept).expect("memory").map(|seen| seen.item)
    }

    /// Whether its large payload lies beside the job.
    pub fn keeps_its_payload(&self) -> bool {
        let kept = self.world.whole_store().get::<KeptBody>(&self.tenant, (self.id, large_payload().digest()));
        at_once(kept).expect("memory").is_some()
    }

    /// The run of an instant that is no whole second.
    pub fn run_at(&self, at: Moment) -> Option<Run> {
        self.read(RunKey::occurrence(self.id, at))
    }

    /// The run that tells of the end of this one.
    pub fn teller(&self, of: RunKey, place: CallbackPlace) -> Option<Run> {
        self.read(RunKey::callback(of, place))
    }

    /// All runs of its job that have a record.
    pub fn all_runs(&self) -> Vec<RunKey> {
        let within = RunsOf { job: self.id, window: Moment::EPOCH..Moment::END };
        let runs = at_once(self.world.whole_store().list::<Run>(&self.tenant, within, None, 10_000)).expect("memory");
        runs.items.into_iter().map(|run| run.key).collect()
    }

    /// How much was written of a run and of its timers.
    pub fn written(&self, run: RunKey) -> u32 {
        self.world.seen().spent.get(&run).map(|spent| spent.writes).unwrap_or_default()
    }

    /// What those were told who are told of its runs, in order: of which run, and what.
    pub fn told(&self) -> Vec<(String, String)> {
        let seen = self.world.seen();
        seen.tellings.told.iter().map(|told| (told.of.clone(), told.kind.clone())).collect()
    }

    /// What the judge of callbacks and hooks finds wrong, where these are all the runs that there were.
    pub fn judge_tellings(&self, runs: &[RunKey]) -> Vec<Violation> {
        let there: Vec<Run> = runs.iter().filter_map(|key| self.read(*key)).collect();
        let now = Moment::from_millis(self.sim.now());
        let seen = self.world.seen();
        let ends = there.iter().filter(|run| run.is_finished()).map(|run| callbacks::End {
            run: run.key.to_string(),
            status: run.status(now).to_owned(),
            reason: run.reason().map(ToOwned::to_owned),
            at: seen.ended.get(&run.key).copied().unwrap_or(i64::MAX),
        });
        let tellers = runs.iter().filter_map(|key| self.teller(*key, CallbackPlace::Callback));
        let tellers = tellers.map(|teller| callbacks::Teller {
            run: teller.key.to_string(),
            of: teller.callback_of.map(|of| of.to_string()).unwrap_or_default(),
            status: teller.status(now).to_owned(),
            reason: teller.reason().map(ToOwned::to_owned),
        });
        let on = self.wish.told.iter().flat_map(|(_, on)| on.iter().map(|end| end.as_str().to_owned()));
        callbacks::Account {
            asked_for: on.collect(),
            tries: 3,
            ends: ends.collect(),
            tellers: tellers.collect(),
            told: seen.tellings.told.clone(),
            asked: seen.tellings.asked.clone(),
            calls: seen.tellings.calls.clone(),
            goes_on: self.wish.asks.is_some_and(|(_, on_error)| on_error == OnError::GoOn),
            asks: self.wish.asks.is_some(),
        }
        .judge()
    }

    /// The state of an occurrence in the wire's words: `succeeded`, `skipped: paused`.
    pub fn state(&self, instant: i64) -> String {
        let Some(run) = self.run(instant) else { return "no record".to_owned() };
        let status = run.status(Moment::from_millis(self.sim.now()));
        run.reason().map_or_else(|| status.to_owned(), |reason| format!("{status}: {reason}"))
    }

    /// What the run at this instant was meant for.
    pub fn nominal(&self, instant: i64) -> Option<i64> {
        self.run(instant).map(|run| second(run.nominal().millis()))
    }

    /// What else the record of an instant stands for: until when, and how many.
    pub fn spanned(&self, instant: i64) -> Option<(i64, u64)> {
        let span = self.run(instant)?.skipped_span()?;
        Some((second(span.until.millis()), span.count?))
    }

    /// Whether the tenant has a calendar of this name, though it may be about to go.
    pub fn has_calendar(&self, name: &str) -> bool {
        let name: CalendarName = name.parse().expect("a name");
        let place = name.place(&self.tenant);
        at_once(self.world.whole_store().get::<Shared>(&self.tenant, place)).expect("memory").is_some()
    }

    /// The link of the chain at this instant.
    pub fn timer(&self, instant: i64) -> Option<Timer> {
        at_once(self.world.whole_store().timer(&TimerKey::occurrence(self.id, moment(instant)))).expect("memory")
    }

    /// In which shard the job's timers lie.
    pub fn shard(&self) -> u16 {
        Obligation::Occurrence(self.id).shard(self.world.setting().shards)
    }

    /// A hint as it was given of the timer that stands at this instant.
    pub fn hint(&self, instant: i64) -> Hint {
        Hint::of(&self.timer(instant).expect("a timer stands there"))
    }

    /// A hint as it was given of what waits for its turn.
    pub fn put_off_hint(&self, instant: i64) -> Hint {
        let key = self.key(instant);
        let timer = self.timers().into_iter().find(|timer| timer.key.run_key() == key && timer.key.due > key.at);
        Hint::of(&timer.expect("a timer stands at its turn"))
    }

    /// Everything that stands in the buckets of the first five hours.
    pub fn timers(&self) -> Vec<Timer> {
        let minutes = BEGIN / 60_000..BEGIN / 60_000 + 300;
        let bucket =
            |minute| at_once(self.world.whole_store().timers(Bucket { minute, shard: 0 }, None, Moment::END, 1000));
        minutes.flat_map(|minute| bucket(minute).expect("memory").items).collect()
    }

    /// The instant of each of its calls, in order.
    pub fn called(&self) -> Vec<i64> {
        self.starts().into_iter().map(|(instant, _)| instant).collect()
    }

    /// Each of its calls: for which instant, and when; in this order.
    pub fn starts(&self) -> Vec<(i64, i64)> {
        let seen = self.world.seen();
        let calls = seen.calls.iter().filter(|call| call.job == self.number);
        let mut starts: Vec<_> = calls.map(|call| (second(call.instant), second(call.at))).collect();
        starts.sort_unstable();
        starts
    }

    /// Who holds a place of a key, of those whose limit one item can hold.
    pub fn holders(&self, key: &str) -> Vec<String> {
        self.holders_of(&SlotName::Key(key.parse().expect("a key")))
    }

    /// The same of the job's own, and of its queue.
    pub fn holders_of_the_job(&self) -> [Vec<String>; 2] {
        [SlotName::Job(self.id), SlotName::Queue(self.id)].map(|name| self.holders_of(&name))
    }

    fn holders_of(&self, name: &SlotName) -> Vec<String> {
        let slot = SlotKey { slot: name.id(&self.tenant), number: 0 };
        let slot = at_once(self.world.whole_store().get::<Slot>(&self.tenant, slot)).expect("memory");
        slot.map(|slot| slot.item.holders.into_iter().collect()).unwrap_or_default()
    }

    /// How many runs of its priority lie where workers look.
    pub fn offered(&self) -> usize {
        let pool = PoolId::of(&self.tenant, &POOL.parse().expect("a name"));
        let line = OfferLine { pool, priority: self.wish.priority };
        at_once(self.world.whole_store().list::<Offer>(&self.tenant, line, None, 100)).expect("memory").items.len()
    }

    /// How many runs of these jobs were called at one instant, at most. A call lasts no longer than its lease, however long its executor
    /// sleeps before he can say how it went; and one that never ended no longer than its run.
    pub fn most_at_once(&self, others: &[Self]) -> usize {
        let spans: Vec<_> = others.iter().chain([self]).flat_map(Self::spans).collect();
        let at = |now: i64| {
            let live = spans.iter().filter(|(_, from, until)| (*from..*until).contains(&now));
            live.map(|(run, ..)| run).collect::<BTreeSet<_>>().len()
        };
        spans.iter().map(|(_, from, _)| at(*from)).max().unwrap_or_default()
    }

    /// From when until when each of its calls was made.
    fn spans(&self) -> Vec<(RunKey, i64, i64)> {
        let seen = self.world.seen();
        let calls = seen.calls.iter().filter(|call| call.job == self.number);
        let spans = calls.map(|call| {
            let over =
                self.run(second(call.instant)).and_then(|run| run.finished_at()).map_or(i64::MAX, Moment::millis);
            let until = call.ended_at.unwrap_or(over).min(call.lease_until);
            (self.key(second(call.instant)), call.at, until)
        });
        spans.collect()
    }

    /// How many milliseconds after its instant each of its occurrences was first called.
    pub fn lags(&self) -> Vec<i64> {
        let seen = self.world.seen();
        let calls = seen.calls.iter().filter(|call| call.job == self.number && call.fence == 1);
        calls.map(|call| call.at - call.instant).collect()
    }

    /// When hints were given for an instant.
    pub fn hinted(&self, instant: i64) -> Vec<i64> {
        let key = self.key(instant);
        self.world.seen().hints.iter().filter(|(_, run)| *run == key).map(|(at, _)| second(*at)).collect()
    }

    /// The oldest bucket not yet left, as the second at which it begins.
    pub fn oldest_bucket(&self) -> i64 {
        self.cursor().oldest * 60 - BEGIN / 1000
    }

    /// How far the sweeping of the first shard has come.
    pub fn cursor(&self) -> Cursor {
        self.cursor_as_seen().item
    }

    fn cursor_as_seen(&self) -> Seen<Cursor> {
        let cursor = at_once(self.world.whole_store().get::<Cursor>(&Tenant::deployment(), 0));
        cursor.expect("memory").expect("it was swept")
    }

    /// So often this was met, which is counted with all else.
    pub fn met(&self, what: &str, times: usize) {
        (0..times).for_each(|_| self.sim.count(what));
    }

    /// What a history came to that was played here, where this is what was wrong.
    pub fn verdict(&self, violations: Vec<Violation>) -> Verdict {
        self.sim.verdict(violations)
    }

    /// How often that happened.
    pub fn counted(&self, what: &str) -> u64 {
        self.sim.tally().get(what).copied().unwrap_or_default()
    }

    /// The true time.
    pub fn now(&self) -> Moment {
        Moment::from_millis(self.sim.now())
    }

    /// What the judge finds wrong with what was played so far.
    pub fn judge(&self) -> Vec<Violation> {
        self.judge_beside(&[])
    }

    /// The same, of a world in which there are other jobs.
    pub fn judge_beside(&self, others: &[Self]) -> Vec<Violation> {
        let of = |stage: &Self| (stage.id, stage.driven.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let driven = others.iter().chain([self]).map(of).collect();
        account(&self.world, &driven, self.sim.now()).judge()
    }
}
