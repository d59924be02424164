//! Histories of workers: they take runs out of a pool, keep them by heartbeats, and say how it went, while everything goes wrong that can,
//! they themselves among it: they die, sleep past their leases, and come back with an answer that nobody wants any more. Then calm, in
//! which all of it must come to its end.

mod working;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::body::Body;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::Definition;
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::pool::PoolName;
use minutehand_domain::priority::Priority;
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use minutehand_domain::run::{Attempt, Ending, Run, State};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::target::{Target, WorkerTarget};
use minutehand_io::Fault;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_judge::workers as judge;
use minutehand_protocol::job::create::{NewJob, create};
use minutehand_protocol::run::cancel::cancel;

use self::working::Worker;
use crate::course::{BEGIN, Course};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::engine::Sim;
use crate::fate::{Fates, Rates};
use crate::history::{Verdict, begun};
use crate::ports::SimPorts;
use crate::setting::Host;
use crate::witness::at_once;
use crate::world::{Behaviour, World};

const MINUTE: i64 = 60_000;
/// Jobs are made before anything goes wrong.
const MADE: i64 = MINUTE;
/// For how long the answer to a request is waited for, look by look.
const PATIENCE: [i64; 8] = [20, 80, 400, 1_500, 3_000, 5_000, 5_000, 5_000];

/// Plays the history of workers of this seed and has it judged.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed ^ 0x0077_6f72_6b65);
    let course = Course::of_graphs(&mut dice);
    let setting = course.setting(&mut dice);
    let (sim, world) = begun(seed, &course, setting, Rates::CALM);
    let shop = Shop::opened(&world, course, &mut dice);
    shop.plan(&mut dice);
    sim.run_until(shop.crew.course.end);
    let account = shop.account();
    shop.count(&account);
    sim.verdict(account.judge())
}

/// Where workers take runs, and what the judge will be told of it.
#[derive(Clone)]
pub(crate) struct Shop {
    crew: Crew,
    tenant: Tenant,
    pool: PoolName,
    jobs: Arc<Vec<JobId>>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    takes: Vec<judge::Take>,
    claims: Vec<judge::Claim>,
    thefts: Vec<u64>,
    /// Runs by their numbers, in the order in which they were first taken.
    runs: BTreeMap<RunKey, u64>,
    /// What no two holders kept or said.
    next: u64,
}

impl Heard {
    /// Runs that are likely to be somebody's now.
    fn last_taken(&self) -> Vec<RunKey> {
        let last: Vec<u64> = self.takes.iter().rev().take(4).map(|take| take.run).collect();
        self.runs.iter().filter(|(_, number)| last.contains(number)).map(|(run, _)| *run).collect()
    }

    fn claimed(&mut self, claim: judge::Claim) -> usize {
        self.claims.push(claim);
        self.claims.len() - 1
    }
}

impl Shop {
    fn opened(world: &World, course: Course, dice: &mut Dice) -> Self {
        let tenant = Tenant::new("simulated").expect("a word");
        let jobs: Vec<JobId> =
            (0..dice.within(1..4)).map(|number| JobId::from_key(&tenant, &format!("job {number}"))).collect();
        for (number, job) in (0..).zip(&jobs) {
            world.introduce(&tenant, *job, number, Behaviour { takes: 0, fails: 0.0 });
        }
        let crew = Crew { sim: world.sim().clone(), world: world.clone(), course };
        let pool = "web1".parse().expect("a name");
        Self { crew, tenant, pool, jobs: Arc::new(jobs), heard: Arc::default() }
    }

    fn sim(&self) -> &Sim {
        &self.crew.sim
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What no other holder says or keeps.
    fn next_value(&self) -> u64 {
        let mut heard = self.heard();
        heard.next += 1;
        heard.next
    }

    fn plan(&self, dice: &mut Dice) {
        for job in self.jobs.iter() {
            self.make_at(BEGIN + 1_000, self.job(*job, dice));
        }
        let (calm_from, rates) = (self.crew.course.calm_from, self.crew.course.rates);
        self.sim().at(BEGIN + MADE, move |sim| sim.set_fates(Fates::Chance(rates)));
        self.sim().at(calm_from, |sim| sim.set_fates(Fates::Chance(Rates::CALM)));
        if self.crew.world.setting().host != Host::Machine {
            self.crew.plan_sweeps();
        }
        self.crew.plan_repairs();
        for number in 0..dice.within(2..5) {
            let worker = Worker::new(self, &format!("web1-{number}"));
            self.sim().at(BEGIN + MADE / 2 + number * 130, move |_| worker.begin());
        }
        for _ in 0..dice.within(1..8) {
            self.cancel_at(BEGIN + dice.within(MADE..30 * MINUTE));
        }
    }

    fn job(&self, id: JobId, dice: &mut Dice) -> NewJob {
        let now = Moment::from_millis(BEGIN);
        let end_at = Some(Moment::from_millis(self.crew.course.last_fire));
        let every_seconds = Some(dice.pick(&[20, 60, 120, 300]));
        let plan = Plan { every_seconds, start_at: Some(now), end_at, ..Plan::default() };
        let retry = RetryPolicy {
            max_retries: dice.pick(&[0, 1, 3, 100]),
            backoff: Backoff::Fixed,
            initial_delay: Duration::from_secs(dice.pick(&[1, 20, 90])),
            jitter: Jitter::None,
            ..RetryPolicy::default()
        };
        let delivery = if dice.chance(0.15) { Delivery::AtMostOnce } else { Delivery::AtLeastOnce };
        let terms = Terms { timeout: Duration::from_secs(dice.pick(&[60, 600])), retry, delivery, ..Terms::default() };
        let handler = dice.pick(&["a", "b"]).parse().expect("a name");
        let target = Target::Worker(WorkerTarget { pool: self.pool.clone(), handler });
        let priority = dice.pick(&Priority::ALL);
        let definition = Definition { target, terms, priority, catch_up: CatchUp::default(), ..Definition::default() };
        NewJob {
            tenant: self.tenant.clone(),
            id,
            schedule: Schedule::new(&plan, now).expect("a plan that fires"),
            definition,
            payload: None,
            fingerprint: Fingerprint::of("a job", "", ""),
            trace: None,
            now,
        }
    }

    fn make_at(&self, at: i64, new: NewJob) {
        self.crew.act_at(at, "creator", move |ports| async move {
            let _nothing_goes_wrong_yet = create(&ports, new).await.expect("the store answers");
        });
    }

    /// Somebody cancels one of the runs that workers have.
    fn cancel_at(&self, at: i64) {
        let shop = self.clone();
        self.crew.act_at(at, "canceller", move |ports| async move {
            let runs = shop.heard().last_taken();
            if runs.is_empty() {
                return;
            }
            let run = shop.sim().dice(|dice| dice.pick(&runs));
            if cancel(&ports, &shop.tenant, run, &By::host()).await.is_ok() {
                shop.sim().count("run of a worker cancelled");
            }
        });
    }

    /// A request to the API: a process carries it out that may die, and then nobody answers.
    async fn request<T, F>(&self, act: impl FnOnce(SimPorts) -> F + Send + 'static) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let (answer, world) = (Arc::new(Mutex::new(None)), &self.crew.world);
        let told = Arc::clone(&answer);
        let (process, ports) = if world.setting().host == Host::Machine {
            let machine = world.listening()?;
            (machine.process, machine.ports)
        } else {
            world.process("api")
        };
        let acting = act(ports);
        self.sim().spawn(&process, async move {
            let outcome = acting.await;
            *told.lock().unwrap_or_else(PoisonError::into_inner) = outcome.ok();
        });
        for pause in PATIENCE {
            self.sim().sleep_until(self.sim().now() + pause).await;
            if let Some(answer) = answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Some(answer);
            }
        }
        self.sim().count("request unanswered");
        None
    }

    /// While it is rough workers do what workers do.
    fn is_rough(&self) -> bool {
        let now = self.sim().now();
        now > BEGIN + MADE && now < self.crew.course.calm_from
    }

    fn account(&self) -> judge::Account {
        let heard = self.heard();
        let records = self.jobs.iter().flat_map(|job| self.records(*job, &heard.runs)).collect();
        let skew = self.crew.world.setting().skew + self.widest_setting();
        judge::Account {
            takes: heard.takes.clone(),
            claims: heard.claims.clone(),
            records,
            thefts: heard.thefts.clone(),
            skew,
        }
    }

    /// By how much clocks were set: whoever reads a lease by another clock than its writer's may be so far off.
    fn widest_setting(&self) -> i64 {
        self.crew.course.clocks.steps.iter().map(|(_, step)| step.ahead.abs()).max().unwrap_or(0)
    }

    fn records(&self, job: JobId, numbers: &BTreeMap<RunKey, u64>) -> Vec<judge::Record> {
        let within = RunsOf { job, window: Moment::EPOCH..Moment::END };
        let runs = at_once(self.crew.world.whole_store().list::<Run>(&self.tenant, within, None, usize::MAX));
        let runs = runs.expect("memory").items;
        let known = runs.iter().filter_map(|run| Some((*numbers.get(&run.key)?, run)));
        known.map(|(number, run)| self.record(number, run)).collect()
    }

    fn record(&self, number: u64, run: &Run) -> judge::Record {
        let store = self.crew.world.whole_store();
        let older = at_once(store.list::<Attempt>(&self.tenant, run.key, None, usize::MAX)).expect("memory").items;
        let attempts = run.with_older_attempts(older);
        let is_timed_out =
            |attempt: &&Attempt| attempt.ended.as_ref().is_some_and(|ended| matches!(ended.how, Ending::TimedOut(_)));
        let result = match &run.state {
            State::Succeeded { result: Body::Inside(json), .. } => json.as_str().parse().ok(),
            _nothing_that_a_worker_said => None,
        };
        judge::Record {
            run: number,
            status: run.status(Moment::from_millis(self.sim().now())).to_owned(),
            result,
            fence: run.fence,
            failures: run.tally.failures.into(),
            timed_out: u32::try_from(attempts.iter().filter(is_timed_out).count()).unwrap_or(u32::MAX),
        }
    }

    fn count(&self, account: &judge::Account) {
        for record in &account.records {
            self.sim().count(format!("ended {}", record.status));
            if record.fence > 1 {
                self.sim().count("had several holders");
            }
        }
        for take in &account.takes {
            if let Some(said) = take.said {
                let word = match said.word {
                    judge::Word::Succeeded(_) => "success",
                    judge::Word::Failed | judge::Word::FailedForGood => "failure",
                    judge::Word::HandedBack => "hand-back",
                };
                let answer = match said.answer {
                    judge::Answer::Taken => "taken",
                    judge::Answer::Refused => "refused",
                    judge::Answer::None => "unanswered",
                };
                self.sim().count(format!("{word} {answer}"));
            }
            if take.given.is_some() {
                self.sim().count("went on from a checkpoint");
            }
        }
    }
}
