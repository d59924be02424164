//! Neighbours: one tenant floods the most urgent queue with twenty thousand runs of a slow target, another's critical jobs fall
//! due in the same minute. The real handlers and the real queues of one machine, under the virtual clock.

use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_simulation::client::Client;
use minutehand_simulation::engine::Sim;
use minutehand_simulation::fate::Fates;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::world::{Behaviour, World};
use serde_json::json;

const BEGIN: i64 = 1_800_000_000_000;
/// When the flood comes.
const FLOOD: i64 = BEGIN + 30_000;
const FLOODING: u32 = 20_000;
const SLOW: i64 = 200;
/// From its instant to its call a run asks the store and the queue some times, which takes up to 12 ms each.
const ALONE: i64 = 150;
/// A quarter of a slow call: nobody's hand was waited for.
const UNNOTICED: i64 = 50;
const CONCURRENCY: u32 = 64;
/// One a second, before, during and after the flood.
const CRITICAL: u32 = 90;

/// In a queue that serves in the order of instants it would wait as in its own flood, which is the test below: for a minute.
#[test]
fn a_noisy_tenant_does_not_delay_anothers_critical_job() {
    let quiet = critical_lags(None);
    let noisy = critical_lags(Some("noisy"));

    let (quiet, noisy) = (worst(&quiet), worst(&noisy));
    eprintln!("the calm tenant's latest critical job: {quiet} ms alone, {noisy} ms beside {FLOODING} of another's");
    assert!(quiet <= ALONE, "{quiet} ms late with nobody near");
    assert!(noisy <= quiet + UNNOTICED, "{noisy} ms late beside a flood, {quiet} ms without");
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
    let world = World::new(&sim, Setting::one_machine(CONCURRENCY));
    world.supervise();
    let calm = Asker::new(&world, "calm");
    for number in 0..CRITICAL {
        calm.create(number, BEGIN + 5_000 + i64::from(number) * 1_000, 0);
    }
    if let Some(noisy) = flooding.map(|tenant| Asker::new(&world, tenant)) {
        (CRITICAL..CRITICAL + FLOODING).for_each(|number| noisy.create(number, FLOOD, SLOW));
    }
    sim.run_until(BEGIN + 180_000);
    let seen = world.seen();
    seen.calls.iter().filter(|call| call.job < CRITICAL).map(|call| call.at - call.instant).collect()
}

/// A tenant who asks the machine for jobs.
struct Asker {
    world: World,
    tenant: Tenant,
    client: Arc<Client>,
}

impl Asker {
    fn new(world: &World, tenant: &str) -> Self {
        let tenant = Tenant::new(tenant).unwrap();
        let client = Arc::new(world.client(tenant.clone()).expect("it listens"));
        Self { world: world.clone(), tenant, client }
    }

    /// A critical job that is due once, whose call takes so long.
    fn create(&self, number: u32, due: i64, takes: i64) {
        let (sim, client, key) = (self.world.sim(), Arc::clone(&self.client), number.to_string());
        self.world.introduce(
            &self.tenant,
            JobId::from_key(&self.tenant, &key),
            number,
            Behaviour { takes, fails: 0.0 },
        );
        let job = json!({"priority": "critical", "target": {"http": {"url": "https://simulated.example/"}},
                         "schedule": {"at": Moment::from_millis(due).to_string()}});
        sim.spawn(&sim.process("asker", 0), async move {
            let answer = client.send("POST", "/v1/jobs", Some(&key), &job).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
        });
    }
}
