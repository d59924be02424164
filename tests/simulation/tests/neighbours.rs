//! Neighbours: one tenant floods the most urgent queue with twenty thousand runs of a slow target, another's critical jobs fall
//! due in the same minute. The real handlers and the real queues of one machine, under the virtual clock.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use minutehand_api::{Api, Keyring, TargetCheck, router};
use minutehand_domain::Moment;
use minutehand_domain::id::{Tenant, Worker};
use minutehand_domain::run::Claimant;
use minutehand_executor::execute;
use minutehand_io::Ports;
use minutehand_io::chance::Chance;
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::plans::Plans;
use minutehand_io::queues::Inbox as _;
use minutehand_io::queues::embedded::EmbeddedQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::NoVault;
use minutehand_simulation::engine::Sim;
use minutehand_simulation::fate::Fates;
use minutehand_sweeper::tick;
use serde_json::json;
use tower::ServiceExt as _;

const BEGIN: i64 = 1_800_000_000_000;
/// When the flood comes.
const FLOOD: i64 = BEGIN + 30_000;
const FLOODING: usize = 20_000;
const SLOW: Duration = Duration::from_millis(200);
/// A quarter of a slow call: nobody's hand was waited for.
const UNNOTICED: i64 = 50;
const KEY: &str = "the-key-of-whoever-asks";
const CONCURRENCY: u32 = 64;
/// One a second, before, during and after the flood.
const CRITICAL: i64 = 90;

/// In a queue that serves in the order of instants it would wait as in its own flood, which is the test below: for a minute.
#[test]
fn a_noisy_tenant_does_not_delay_anothers_critical_job() {
    let quiet = critical_lags(None);
    let noisy = critical_lags(Some("noisy"));

    let (quiet, noisy) = (worst(&quiet), worst(&noisy));
    eprintln!("the calm tenant's latest critical job: {quiet} ms alone, {noisy} ms beside {FLOODING} of another's");
    assert!(quiet <= 5, "{quiet} ms late with nobody near");
    assert!(noisy <= UNNOTICED, "{noisy} ms late beside a flood, {quiet} ms without");
}

/// The flood is one: whoever shares it waits.
#[test]
fn a_tenants_own_flood_is_its_own() {
    let own = critical_lags(Some("calm"));

    eprintln!("in its own flood: {} ms", worst(&own));
    assert!(worst(&own) > 10_000, "{} ms", worst(&own));
}

fn worst(lags: &[i64]) -> i64 {
    assert_eq!(lags.len(), usize::try_from(CRITICAL).unwrap());
    *lags.iter().max().unwrap()
}

/// How late the calm tenant's critical jobs were called, in milliseconds, beside a flood of whoever floods.
fn critical_lags(flooding: Option<&str>) -> Vec<i64> {
    let sim = Sim::new(7, BEGIN, Fates::script(Vec::new()));
    let machine = Machine::new(&sim);
    let process = sim.process("machine", 0);
    let calm = machine.api_of("calm");
    for second in 0..CRITICAL {
        sim.spawn(&process, create(calm.clone(), BEGIN + 5_000 + second * 1_000, "calm"));
    }
    if let Some(api) = flooding.map(|tenant| machine.api_of(tenant)) {
        for _ in 0..FLOODING {
            sim.spawn(&process, create(api.clone(), FLOOD, "flood"));
        }
    }
    sim.spawn(&process, machine.clone().sweeping());
    machine.execute(&sim);
    sim.run_until(BEGIN + 180_000);
    machine.0.late.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn create(api: Router, due: i64, name: &'static str) {
    let job = json!({"priority": "critical", "target": {"noop": {}}, "payload": name,
                     "schedule": {"at": Moment::from_millis(due).to_string()}});
    let request = Request::post("/v1/jobs")
        .header("authorization", format!("Bearer {KEY}"))
        .header("content-type", "application/json")
        .body(Body::from(job.to_string()))
        .unwrap();
    let status = api.oneshot(request).await.unwrap().status();
    assert_eq!(status, 201);
}

/// One machine: a store in memory, the queues of `minutehand serve`, targets that take their time.
#[derive(Clone)]
struct Machine(Arc<Inside>);

struct Inside {
    store: MemoryStore,
    queues: EmbeddedQueues<SimClock>,
    clock: SimClock,
    drawn: AtomicU64,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    /// Of the calm tenant's own calls.
    late: Mutex<Vec<i64>>,
}

#[derive(Clone)]
struct SimClock(Sim);

impl Machine {
    fn new(sim: &Sim) -> Self {
        let clock = SimClock(sim.clone());
        let queues = EmbeddedQueues::new(clock.clone());
        let (store, drawn, late) = (MemoryStore::in_memory(), AtomicU64::new(1), Mutex::default());
        Self(Arc::new(Inside {
            store,
            queues,
            clock,
            drawn,
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            late,
        }))
    }

    fn api_of(&self, tenant: &str) -> Router {
        let keys = Keyring::single(KEY, Tenant::new(tenant).unwrap());
        let target_check = TargetCheck::new(|_| Ok(()));
        router(Api { ports: Arc::new(self.clone()), keys, target_check, metrics: None, backups: None })
    }

    async fn sweeping(self) {
        loop {
            tick(&self).await.unwrap();
            self.clock().sleep_until(self.clock().now() + Duration::from_secs(60)).await;
        }
    }

    /// As the local process does it: a hand for each delivery.
    fn execute(&self, sim: &Sim) {
        self.queues().set_concurrency(CONCURRENCY);
        let process = sim.process("hand", 0);
        for _ in 0..CONCURRENCY {
            let machine = self.clone();
            sim.spawn(&process, async move {
                loop {
                    for delivery in machine.queues().receive(1).await {
                        execute(&machine, &delivery, std::future::pending()).await.unwrap();
                        machine.queues().done(&delivery.receipt);
                    }
                }
            });
        }
    }
}

impl Targets for Machine {
    async fn call(&self, call: Call<'_>) -> Answer {
        if call.payload.is_some_and(|payload| payload.as_str() == "\"calm\"") {
            let late = call.now.millis() - call.scheduled_at.millis();
            self.0.late.lock().unwrap_or_else(PoisonError::into_inner).push(late);
        } else {
            self.clock().sleep_until(call.now + SLOW).await;
        }
        Answer::Succeeded { result: None }
    }
}

impl Ports for Machine {
    type Store = MemoryStore;
    type Queues = EmbeddedQueues<SimClock>;
    type Targets = Self;
    type Vault = NoVault;
    type Events = Log;
    type Clock = SimClock;
    type Chance = Self;

    fn store(&self) -> &MemoryStore {
        &self.0.store
    }

    fn queues(&self) -> &EmbeddedQueues<SimClock> {
        &self.0.queues
    }

    fn targets(&self) -> &Self {
        self
    }

    fn vault(&self) -> &NoVault {
        &NoVault
    }

    fn events(&self) -> &Log {
        &Log
    }

    fn clock(&self) -> &SimClock {
        &self.0.clock
    }

    fn chance(&self) -> &Self {
        self
    }

    fn me(&self) -> Claimant {
        Claimant { worker: Worker(1), exclusive_store: true }
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

impl Chance for Machine {
    fn bytes(&self) -> [u8; 16] {
        u128::from(self.0.drawn.fetch_add(1, Ordering::Relaxed)).to_be_bytes()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.now())
    }

    async fn sleep_until(&self, moment: Moment) {
        if self.now() < moment {
            self.0.sleep_until(moment.millis()).await;
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Machine")
    }
}
