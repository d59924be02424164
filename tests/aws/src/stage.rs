//! The stage: the three functions over one DynamoDB in this process, one after the other under a clock that jumps, so that the
//! requests of each can be counted separately.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use futures_util::future::BoxFuture;
use http::{Request, StatusCode};
use minutehand_api::{Api, Keyring, TargetCheck, router};
use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{Tenant, Worker};
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{AttemptError, Claimant};
use minutehand_executor::execute;
use minutehand_io::chance::SystemChance;
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::plans::Plans;
use minutehand_io::queues::Queues;
use minutehand_io::queues::embedded::{EmbeddedQueues, Receipt};
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::Store as _;
use minutehand_io::store::dynamo::{DynamoStore, Listing, Operation, Resource, Spent};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::search::search;
use minutehand_protocol::sweep::{Allowance, Pass, sweep};
use minutehand_sweeper::tick;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::dynamo::Dynamo;

const KEY: &str = "the-key-of-the-stage";

/// A full hour.
pub const BEGIN: Moment = Moment::from_secs(1_800_000_000);

/// The API, the sweeper, the executor and the archiver, each with its own ports on the same world.
pub struct Stage {
    pub api: Arc<Function>,
    pub sweeper: Arc<Function>,
    pub executor: Arc<Function>,
    pub archiver: Arc<Function>,
    /// A second sweeper on an empty shard, for the cost of a tick that finds nothing.
    idle: Arc<Function>,
    clock: JumpingClock,
    queues: Arc<EmbeddedQueues<JumpingClock>>,
    target: Arc<Target>,
    router: Router,
    dynamo: Dynamo,
}

/// The ports of one function.
pub struct Function {
    store: DynamoStore,
    queues: Counted,
    target: Arc<Target>,
    vault: KeyFile,
    clock: JumpingClock,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    me: Claimant,
}

/// The requests of one function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    pub table: Spent,
    /// Hints sent and visibilities set, counted as messages and not as requests.
    pub messages: u64,
}

/// A wait sets the clock to its moment.
#[derive(Clone, Debug)]
pub struct JumpingClock(Arc<Time>);

#[derive(Debug)]
struct Time {
    now: AtomicI64,
    /// The time that passes with each reading of the clock.
    stride: AtomicI64,
}

/// Queues in memory that count their requests.
pub struct Counted {
    queues: Arc<EmbeddedQueues<JumpingClock>>,
    sent: AtomicU64,
    hidden: AtomicU64,
}

/// A target with a preset answer.
#[derive(Debug, Default)]
pub struct Target {
    fails: AtomicBool,
}

/// What the functions do, in a box: what is in none is compiled once more in each test that waits for it.
type Done<'a, T = ()> = BoxFuture<'a, T>;

impl Stage {
    pub fn new(listing: Listing) -> Done<'static, Self> {
        Box::pin(async move {
            let dynamo = Dynamo::start().await;
            let clock = JumpingClock(Arc::new(Time { now: AtomicI64::new(BEGIN.millis()), stride: AtomicI64::new(0) }));
            let queues = Arc::new(EmbeddedQueues::new(clock.clone()));
            let target = Arc::new(Target::default());
            let function = |number| {
                let queues =
                    Counted { queues: Arc::clone(&queues), sent: AtomicU64::new(0), hidden: AtomicU64::new(0) };
                let me = Claimant { worker: Worker(number), exclusive_store: false };
                let store = dynamo.store(listing);
                let vault = KeyFile::in_memory();
                Arc::new(Function {
                    store,
                    queues,
                    target: Arc::clone(&target),
                    vault,
                    clock: clock.clone(),
                    plans: Plans::default(),
                    // What this would read once in five minutes is no run's own cost.
                    quotas: Quotas::none(),
                    rules: Rules::none(),
                    me,
                })
            };
            let (api, sweeper, executor, idle) = (function(1), function(2), function(3), function(4));
            let archiver = function(5);
            let keys = Keyring::single(KEY, Tenant::new("acme").expect("a word"));
            let router = router(Api {
                ports: Arc::clone(&api),
                keys,
                target_check: TargetCheck::new(|_reachable| Ok(())),
                metrics: None,
                backups: None,
            });
            Self { api, sweeper, executor, archiver, idle, clock, queues, target, router, dynamo }
        })
    }

    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    pub fn jump_to(&self, moment: Moment) {
        self.clock.jump_to(moment);
    }

    /// Sets the time that passes with each reading of the clock, which makes every function slow.
    pub fn everybody_takes(&self, stride: Duration) {
        self.clock.0.stride.store(i64::try_from(stride.as_millis()).expect("a short time"), Ordering::Relaxed);
    }

    /// Sets whether the target fails.
    pub fn target_fails(&self, fails: bool) {
        self.target.fails.store(fails, Ordering::Relaxed);
    }

    /// Drops every hint in the queues.
    pub fn purge(&self) {
        self.queues.purge();
    }

    /// Sends a request with the deployment's own key.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        self.ask_by(KEY, method, path, body).await
    }

    pub async fn ask_by(&self, key: &str, method: &str, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .expect("a well-made request");
        let response = self.router.clone().oneshot(request).await.expect("a router answers");
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// Creates a job and returns its id.
    pub async fn create(&self, job: &Value) -> String {
        let (status, created) = self.ask("POST", "/v1/jobs", Some(job)).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        created["job_id"].as_str().expect("a job has an id").to_owned()
    }

    pub fn sweep(&self, shard: u16) -> Done<'_> {
        let idle = (shard + 1) % self.idle.store().shards();
        Box::pin(async move {
            swept(&self.sweeper, shard).await;
            swept(&self.idle, idle).await;
        })
    }

    /// Sweeps every shard once, as the tick of a minute does.
    pub fn sweep_all(&self) -> Done<'_> {
        Box::pin(async {
            for shard in 0..self.sweeper.store().shards() {
                swept(&self.sweeper, shard).await;
            }
        })
    }

    /// The tick of a minute.
    pub fn tick(&self) -> Done<'_, Result<Pass, Fault>> {
        Box::pin(tick(&*self.sweeper))
    }

    /// Searches all timers, as after a cursor was lost.
    pub fn search(&self) -> Done<'_> {
        Box::pin(async {
            let now = self.sweeper.clock().now();
            assert!(search(&*self.sweeper, now, Moment::END).await.expect("nothing breaks here"));
        })
    }

    /// The requests of the functions so far, without those of an empty sweep.
    pub fn bill(&self) -> Bill {
        let busy = [&self.api, &self.sweeper, &self.executor].map(|function| function.bill());
        let [api, sweeper, executor] = busy;
        let table = api.table + sweeper.table + executor.table - self.idle.bill().table;
        Bill { table, messages: api.messages + sweeper.messages + executor.messages }
    }

    /// The requests so far of the empty sweep of one shard.
    pub fn idle_bill(&self) -> Bill {
        self.idle.bill()
    }

    /// Executes every hint that becomes visible until then, at its time.
    pub fn work_until(&self, end: Moment) -> Done<'_> {
        Box::pin(async move {
            while let Some(delivery) = self.next_before(end).await {
                execute(&*self.executor, &delivery, pending()).await.expect("nothing breaks here");
                self.queues.done(&delivery.receipt);
            }
            self.jump_to(end);
        })
    }

    /// Sweeps at each full minute until then, and executes hints in between.
    pub async fn live_until(&self, end: Moment, shard: u16) {
        while self.now() < end {
            self.sweep(shard).await;
            let minute = Moment::from_millis((self.now().millis() / 60_000 + 1) * 60_000);
            self.work_until(minute.min(end)).await;
        }
    }

    async fn next_before(&self, end: Moment) -> Option<minutehand_io::queues::embedded::Delivery> {
        let (from, depths) = (self.now(), self.queues.depths());
        if depths.iter().all(|depth| depth.ready + depth.delayed == 0) {
            return None;
        }
        let taken = self.queues.receive(1).await.pop()?;
        if self.now() <= end {
            return Some(taken);
        }
        // Past the end: the hint is given back, and the clock set back.
        self.queues.give_back(&taken.receipt, self.now());
        self.clock.0.now.store(from.millis(), Ordering::Relaxed);
        None
    }
}

async fn swept(sweeper: &Function, shard: u16) {
    sweep(sweeper, shard, &Allowance::UNLIMITED).await.whole().expect("nothing breaks here");
}

impl Function {
    pub fn bill(&self) -> Bill {
        let table = self.store.spent().into_values().fold(Spent::default(), |all, spent| all + spent);
        let messages = self.queues.sent.load(Ordering::Relaxed) + self.queues.hidden.load(Ordering::Relaxed);
        Bill { table, messages }
    }

    /// The units consumed in the tables and their indexes.
    pub fn asked(&self) -> BTreeMap<(Operation, Resource), Spent> {
        self.store.spent()
    }

    pub fn sends(&self) -> bool {
        self.queues.sent.load(Ordering::Relaxed) > 0
    }

    pub fn hides(&self) -> bool {
        self.queues.hidden.load(Ordering::Relaxed) > 0
    }
}

impl JumpingClock {
    fn jump_to(&self, moment: Moment) {
        self.0.now.fetch_max(moment.millis(), Ordering::Relaxed);
    }
}

impl Clock for JumpingClock {
    fn now(&self) -> Moment {
        let passes = self.0.stride.load(Ordering::Relaxed);
        Moment::from_millis(self.0.now.fetch_add(passes, Ordering::Relaxed))
    }

    fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send {
        self.jump_to(moment);
        std::future::ready(())
    }
}

impl Queues for Counted {
    type Receipt = Receipt;

    async fn send(&self, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.queues.send(lane, hint, at).await
    }

    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        self.hidden.fetch_add(1, Ordering::Relaxed);
        self.queues.hide(receipt, until).await
    }
}

impl Targets for Target {
    async fn call(&self, _call: Call<'_>) -> Answer {
        if self.fails.load(Ordering::Relaxed) {
            let error = AttemptError::new("http_503", "the target answered 503");
            return Answer::Failed { error, retry_after: None };
        }
        Answer::Succeeded { result: Some(Json::of(&serde_json::json!({"done": true}))) }
    }
}

impl Ports for Function {
    type Store = DynamoStore;
    type Queues = Counted;
    type Targets = Target;
    type Vault = KeyFile;
    type Events = Log;
    type Clock = JumpingClock;
    type Chance = SystemChance;

    fn store(&self) -> &DynamoStore {
        &self.store
    }

    fn queues(&self) -> &Counted {
        &self.queues
    }

    fn targets(&self) -> &Target {
        &self.target
    }

    fn vault(&self) -> &KeyFile {
        &self.vault
    }

    fn events(&self) -> &Log {
        &Log
    }

    fn clock(&self) -> &JumpingClock {
        &self.clock
    }

    fn chance(&self) -> &SystemChance {
        &SystemChance
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
        self.me
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stage at {}", self.now())
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function as {}", self.me.worker)
    }
}
