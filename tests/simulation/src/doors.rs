//! The doors of a simulated process: every call passes through fate twice, before it acts and before its answer arrives.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::body::{Digest, Json};
use minutehand_domain::head::Head;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, AttemptError, Claimant, Run};
use minutehand_domain::timer::{Mark, Timer, TimerKey};
use minutehand_io::chance::Chance;
use minutehand_io::clock::Clock;
use minutehand_io::events::{Event, Events};
use minutehand_io::lanes::Lanes;
use minutehand_io::store::{Bucket, Cursor, Guard, Put, Seen, Store};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::{Doors, Fault};

use crate::engine::Process;
use crate::fate::{Phase, Step};
use crate::witness;
use crate::world::{Behaviour, Receipt, World};

/// All doors of one process.
#[derive(Clone, Debug)]
pub struct SimDoors(Door);

#[derive(Clone, Debug)]
pub struct Door {
    world: World,
    process: Arc<Process>,
}

impl SimDoors {
    pub fn new(world: World, process: Arc<Process>) -> Self {
        Self(Door { world, process })
    }
}

impl Doors for SimDoors {
    type Store = Door;
    type Lanes = Door;
    type Targets = Door;
    type Events = Door;
    type Clock = Door;
    type Chance = Door;

    fn store(&self) -> &Door {
        &self.0
    }
    fn lanes(&self) -> &Door {
        &self.0
    }
    fn targets(&self) -> &Door {
        &self.0
    }
    fn events(&self) -> &Door {
        &self.0
    }
    fn clock(&self) -> &Door {
        &self.0
    }
    fn chance(&self) -> &Door {
        &self.0
    }
    fn me(&self) -> Claimant {
        World::claimant(&self.0.process)
    }
}

impl Door {
    /// One call: fate, the act itself, fate again. A fault before means it did not happen, one after that it did.
    async fn pass<T>(&self, door: &'static str, act: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        self.step(door, Phase::Before).await?;
        let answer = act.await?;
        self.step(door, Phase::After).await?;
        Ok(answer)
    }

    async fn step(&self, door: &'static str, phase: Phase) -> Result<(), Fault> {
        let step = Step { process: self.process.name, door, phase };
        if self.world.sim().step(&self.process, step).await {
            return Err(Fault::unavailable(door, format!("{phase:?}")));
        }
        Ok(())
    }

    fn trace(&self, line: impl FnOnce() -> String) {
        self.world.sim().trace(&self.process, line);
    }

    fn witness_head(&self, head: &Head) {
        let now = self.world.sim().now();
        if let Head::Job(job) = head
            && let Some(told) = self.world.seen().jobs.get_mut(&job.id)
        {
            let head = witness::head(job, now);
            // A payload or an epoch is no change of what is in force.
            if told.heads.last().is_none_or(|last| (last.status, &last.schedule) != (head.status, &head.schedule)) {
                told.heads.push(head);
            }
        }
    }

    fn witness_lease(&self, run: &Run) {
        if let Some(lease) = run.lease() {
            // When it was decided: its write may have been long on its way.
            let decided = run.attempts.last().map_or(0, |attempt| attempt.started_at.millis());
            let claim = (decided - self.process.skew, lease.until.millis() - self.process.skew);
            self.world.seen().claims.entry((run.key, run.fence)).or_insert(claim);
        }
    }
}

impl Store for Door {
    fn shards(&self) -> u16 {
        self.world.store().shards()
    }

    async fn head(&self, tenant: &Tenant, job: JobId) -> Result<Option<Seen<Head>>, Fault> {
        self.pass("head", self.world.store().head(tenant, job)).await
    }

    async fn put_head(&self, head: &Head, guard: Guard) -> Result<Put<Head>, Fault> {
        let put = async {
            let put = self.world.store().put_head(head, guard).await?;
            self.trace(|| {
                format!("put_head {:?} written {}", head.job().map(|job| (job.status, &job.since)), put.is_written())
            });
            if put.is_written() {
                self.witness_head(head);
            }
            Ok(put)
        };
        self.pass("put_head", put).await
    }

    async fn jobs(&self, tenant: &Tenant, after: Option<JobId>, limit: usize) -> Result<Vec<Job>, Fault> {
        self.pass("jobs", self.world.store().jobs(tenant, after, limit)).await
    }

    async fn run(&self, tenant: &Tenant, key: RunKey) -> Result<Option<Seen<Run>>, Fault> {
        self.pass("run", self.world.store().run(tenant, key)).await
    }

    async fn put_run(&self, run: &Run, guard: Guard) -> Result<Put<Run>, Fault> {
        let put = async {
            let put = self.world.store().put_run(run, guard).await?;
            self.trace(|| {
                format!("put_run {:?} {:?} fence {} written {}", run.key, run.state, run.fence, put.is_written())
            });
            if put.is_written() {
                self.witness_lease(run);
            }
            Ok(put)
        };
        self.pass("put_run", put).await
    }

    async fn runs_of(
        &self,
        tenant: &Tenant,
        job: JobId,
        window: Range<Moment>,
        before: Option<RunKey>,
        limit: usize,
    ) -> Result<Vec<Run>, Fault> {
        self.pass("runs_of", self.world.store().runs_of(tenant, job, window, before, limit)).await
    }

    async fn put_attempt(&self, tenant: &Tenant, run: RunKey, attempt: &Attempt) -> Result<(), Fault> {
        self.pass("put_attempt", self.world.store().put_attempt(tenant, run, attempt)).await
    }

    async fn attempts(&self, tenant: &Tenant, run: RunKey) -> Result<Vec<Attempt>, Fault> {
        self.pass("attempts", self.world.store().attempts(tenant, run)).await
    }

    async fn put_body(&self, tenant: &Tenant, job: JobId, body: &Json) -> Result<(), Fault> {
        self.pass("put_body", self.world.store().put_body(tenant, job, body)).await
    }

    async fn body(&self, tenant: &Tenant, job: JobId, digest: Digest) -> Result<Option<Json>, Fault> {
        self.pass("body", self.world.store().body(tenant, job, digest)).await
    }

    async fn timer(&self, key: &TimerKey) -> Result<Option<Timer>, Fault> {
        self.pass("timer", self.world.store().timer(key)).await
    }

    async fn put_timer(&self, timer: &Timer) -> Result<(), Fault> {
        let put = async {
            self.trace(|| format!("put_timer {timer:?}"));
            self.world.store().put_timer(timer).await
        };
        self.pass("put_timer", put).await
    }

    async fn put_timer_if_absent(&self, timer: &Timer) -> Result<Timer, Fault> {
        let put = async {
            let there = self.world.store().put_timer_if_absent(timer).await?;
            self.trace(|| format!("put_timer_if_absent {timer:?} put {}", there == *timer));
            Ok(there)
        };
        self.pass("put_timer_if_absent", put).await
    }

    async fn erase_timer(&self, key: &TimerKey, seen: Mark) -> Result<bool, Fault> {
        let erase = async {
            let erased = self.world.store().erase_timer(key, seen).await?;
            self.trace(|| format!("erase_timer {key:?} erased {erased}"));
            Ok(erased)
        };
        self.pass("erase_timer", erase).await
    }

    async fn timers(
        &self,
        bucket: Bucket,
        after: Option<TimerKey>,
        until: Moment,
        limit: usize,
    ) -> Result<Vec<Timer>, Fault> {
        self.pass("timers", self.world.store().timers(bucket, after, until, limit)).await
    }

    async fn cursor(&self, shard: u16) -> Result<Option<Seen<Cursor>>, Fault> {
        let cursor = self.pass("cursor", self.world.store().cursor(shard)).await?;
        if let Some(seen) = &cursor {
            let span = self.world.sim().now() / 60_000 - seen.item.oldest;
            let mut seen = self.world.seen();
            seen.widest_sweep = seen.widest_sweep.max(span);
        }
        Ok(cursor)
    }

    async fn put_cursor(&self, shard: u16, cursor: &Cursor, guard: Guard) -> Result<Put<Cursor>, Fault> {
        let put = async {
            let put = self.world.store().put_cursor(shard, cursor, guard).await?;
            self.trace(|| format!("put_cursor {cursor:?} written {}", put.is_written()));
            Ok(put)
        };
        self.pass("put_cursor", put).await
    }
}

impl Lanes for Door {
    type Receipt = Receipt;

    async fn send(&self, _priority: Priority, hint: &Hint, at: Moment) -> Result<(), Fault> {
        let send = async {
            self.trace(|| format!("send {:?} for {at} behind {:?}", hint.run, hint.timer));
            self.world.send(hint, at.millis());
            Ok(())
        };
        self.pass("send", send).await
    }

    async fn hide(&self, receipt: &Receipt, until: Moment) -> Result<(), Fault> {
        let hide = async {
            self.world.hide(*receipt, until.millis() - self.process.skew);
            Ok(())
        };
        self.pass("hide", hide).await
    }
}

impl Targets for Door {
    async fn call(&self, call: Call<'_>) -> Answer {
        let (behaviour, _ends_when_dropped) = self.witness_call(&call);
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

impl Door {
    fn witness_call(&self, call: &Call<'_>) -> (Behaviour, CallEnds) {
        let (at, own_clock) = (self.world.sim().now(), self.process.now(self.world.sim()).millis());
        let mut seen = self.world.seen();
        let told = seen.jobs.get(&call.run.job).expect("every job is introduced before it is created");
        let (job, behaviour) = (told.number, told.behaviour);
        let (claimed_at, lease_until) = seen.claims.get(&(call.run, call.attempt)).copied().unwrap_or((at, at));
        seen.calls.push(minutehand_judge::Call {
            at,
            claimed_at,
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

impl Events for Door {
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Job { what, .. } => self.world.sim().count(format!("job {what}")),
            Event::Run { run, from, now } => self.world.sim().count(format!("run {from} -> {}", run.status(*now))),
        }
    }
}

impl Clock for Door {
    fn now(&self) -> Moment {
        self.process.now(self.world.sim())
    }

    async fn sleep_until(&self, moment: Moment) {
        if self.now() < moment {
            self.world.sim().sleep_until(moment.millis() - self.process.skew).await;
        }
    }
}

impl Chance for Door {
    fn bytes(&self) -> [u8; 16] {
        let (a, b) = self.world.sim().dice(|dice| (dice.number(), dice.number()));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_be_bytes());
        bytes[8..].copy_from_slice(&b.to_be_bytes());
        bytes
    }
}
