//! A world for the sweep alone, in this process: any embedded store, queues in memory, a clock that is set by hand.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant, Worker};
use minutehand_domain::job::Definition;
use minutehand_domain::pace;
use minutehand_domain::run::Claimant;
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::Ports;
use minutehand_io::chance::SystemChance;
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::plans::Plans;
use minutehand_io::queues::embedded::EmbeddedQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::{Embedded, Engine};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::NoVault;
use minutehand_protocol::job::create::{Created, NewJob, create};
use minutehand_sweeper::tick;

use crate::failure::{Failure, Outcome};

/// 2027-01-15T08:00:00Z.
const NOW: Moment = Moment::from_secs(1_800_000_000);
/// How much later the due jobs are inspected.
const LATER: Duration = Duration::from_secs(120);
/// Writes under way at a time while a store is filled: enough to share its commits.
const AT_ONCE: usize = 1000;

pub struct World<E> {
    store: Embedded<E>,
    queues: EmbeddedQueues<HandClock>,
    clock: HandClock,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
}

/// The cost of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub items_read: u64,
    pub items_written: u64,
    pub hinted: u64,
    pub looked_at: u64,
    pub took: Duration,
}

/// A sleep sets the clock forward.
#[derive(Clone)]
pub struct HandClock(Arc<AtomicI64>);

/// A sweep calls no target.
pub struct NoTargets;

impl<E: Engine> World<E> {
    /// `pending` timers that are not due, spread over an hour from the end of the sweep's horizon; and `due` jobs, half of
    /// them overdue and half due soon, whose hints were lost with the process that sent them.
    pub async fn filled(store: Embedded<E>, pending: u32, due: u32) -> Outcome<Self> {
        let clock = HandClock(Arc::new(AtomicI64::new(NOW.millis())));
        let world = Self {
            store,
            queues: EmbeddedQueues::new(clock.clone()),
            clock,
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
        };
        stream::iter(0..pending).map(Ok).try_for_each_concurrent(AT_ONCE, |n| world.put_pending(n)).await?;
        for n in 0..due {
            let offset = if n % 2 == 0 { pace::OVERDUE * 2 } else { LATER + pace::OVERDUE };
            world.create_due(n, NOW + offset).await?;
        }
        world.queues.purge();
        world.clock.set(NOW + LATER);
        Ok(world)
    }

    /// One pass over all shards.
    pub async fn pass(&self) -> Outcome<Cost> {
        let (before, begin) = (self.store.meter(), Instant::now());
        let pass = tick(self).await?;
        let (took, after) = (begin.elapsed(), self.store.meter());
        Ok(Cost {
            items_read: after.reads - before.reads,
            items_written: after.writes - before.writes,
            hinted: pass.hinted,
            looked_at: pass.looked_at,
            took,
        })
    }

    async fn put_pending(&self, n: u32) -> Outcome<()> {
        const SPREAD_MILLIS: u32 = 3_600_000;
        let due = NOW + LATER + pace::HORIZON + Duration::from_millis(u64::from(1 + n % SPREAD_MILLIS));
        let key = TimerKey::occurrence(job_id(1, n), due);
        let timer = Timer { key, tenant: tenant(), stamp: TimerStamp { generation: 1, written: NOW }, parent: None };
        self.store.put_timer(&timer).await?;
        Ok(())
    }

    async fn create_due(&self, n: u32, at: Moment) -> Outcome<()> {
        let plan = Plan { at: Some(at), ..Plan::default() };
        let schedule = Schedule::new(&plan, NOW).map_err(|why| Failure::Said(why.to_string()))?;
        let (tenant, id, definition) = (tenant(), job_id(0, n), Definition::default());
        let new = NewJob { tenant, id, schedule, definition, payload: None, fingerprint: None, trace: None, now: NOW };
        match create(self, new).await? {
            Created::New(_) => Ok(()),
            other => Failure::said(format!("a job that cannot be created: {other:?}")),
        }
    }
}

fn tenant() -> Tenant {
    Tenant::new("default").expect("a word")
}

fn job_id(kind: u8, n: u32) -> JobId {
    let mut bytes = [kind; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    JobId::from_bytes(bytes)
}

impl HandClock {
    fn set(&self, moment: Moment) {
        self.0.store(moment.millis(), Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::Relaxed))
    }

    async fn sleep_until(&self, moment: Moment) {
        self.0.fetch_max(moment.millis(), Ordering::Relaxed);
    }
}

impl Targets for NoTargets {
    async fn call(&self, _call: Call<'_>) -> Answer {
        Answer::TimedOut
    }
}

impl<E: Engine> Ports for World<E> {
    type Store = Embedded<E>;
    type Queues = EmbeddedQueues<HandClock>;
    type Targets = NoTargets;
    type Vault = NoVault;
    type Events = Log;
    type Clock = HandClock;
    type Chance = SystemChance;

    fn store(&self) -> &Embedded<E> {
        &self.store
    }

    fn queues(&self) -> &EmbeddedQueues<HandClock> {
        &self.queues
    }

    fn targets(&self) -> &NoTargets {
        &NoTargets
    }

    fn vault(&self) -> &NoVault {
        &NoVault
    }

    fn events(&self) -> &Log {
        &Log
    }

    fn clock(&self) -> &HandClock {
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
        Claimant { worker: Worker(1), exclusive_store: true }
    }
}

impl<E> fmt::Debug for World<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}
