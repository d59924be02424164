//! A stage with workflows instead of a job: drawn in the judge's own form, and judged by its executor.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::{By, Role};
use minutehand_domain::body::Body;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::retention::Retention;
use minutehand_domain::run::{Judgement, Run, Word};
use minutehand_domain::schedule::{Plan as When, Schedule};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_domain::workflow::plan::Plan;
use minutehand_executor::{Executed, execute};
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::Delivery as Delivered;
use minutehand_io::{Fault, Ports as _};
use minutehand_judge::graph as judge;
use minutehand_protocol::graph::judge::{Judged, Resumed, judge as judge_run, resume};
use minutehand_protocol::run::cancel::{Cancelled, cancel};
use minutehand_protocol::run::on_demand::{Answered, RunRequest, run_now};
use minutehand_protocol::sweep::repair::{Position, Repair, Repaired, repair};
use minutehand_protocol::workflow::change::{Changed, Wanted, change};
use minutehand_protocol::workflow::delete::{Deleted, Deletion, delete};
use minutehand_protocol::workflow::{About, NewWorkflow, create};

use super::{Answer, Stage, Wish, moment, second};
use crate::dice::Dice;
use crate::fate::Line;
use crate::graphs::definition::{definition, workflow};
use crate::graphs::telling::{Drawn, account};
use crate::queues::Receipt;

/// One world with workflows, numbered as they are given. The first is started.
#[derive(Clone)]
pub struct Graphs {
    stage: Stage,
    drawn: Arc<Drawn>,
    told: Arc<Mutex<Vec<RunKey>>>,
}

/// A call that is made after these have succeeded, and succeeds.
pub fn call(after: &[usize]) -> judge::Step {
    judge::Step {
        edges: after.iter().map(|step| (*step, judge::On::Success)).collect(),
        takes: 1_000,
        ..judge::Step::default()
    }
}

/// A workflow of these steps.
pub fn flow(steps: impl IntoIterator<Item = judge::Step>) -> judge::Flow {
    let steps: Vec<_> = steps.into_iter().collect();
    let (main, day) = (steps.len(), 86_400_000);
    judge::Flow { steps, main, timeout: day, finally_timeout: 3_600_000, ..judge::Flow::default() }
}

impl Graphs {
    /// Workflows that run when somebody asks.
    pub fn new(flows: impl IntoIterator<Item = judge::Flow>, script: impl IntoIterator<Item = Line>) -> Self {
        Self::firing(flows, &When { on_demand: true, ..When::default() }, script)
    }

    /// The first of them fires like this.
    pub fn firing(
        flows: impl IntoIterator<Item = judge::Flow>,
        first: &When,
        script: impl IntoIterator<Item = Line>,
    ) -> Self {
        Self::on(Stage::new(Wish::on_demand(), script), flows, first)
    }

    /// Workflows that run when somebody asks, while everything goes wrong that can between these seconds.
    pub fn rough(seed: u64, flows: impl IntoIterator<Item = judge::Flow>, rough: std::ops::Range<i64>) -> Self {
        let on_demand = When { on_demand: true, ..When::default() };
        Self::on(Stage::rough(seed, Wish::on_demand(), rough), flows, &on_demand)
    }

    fn on(stage: Stage, flows: impl IntoIterator<Item = judge::Flow>, first: &When) -> Self {
        let mut drawn = Drawn { tenant: Some(stage.tenant.clone()), ..Drawn::default() };
        let mut made = Vec::new();
        for (number, flow) in flows.into_iter().enumerate() {
            let id = workflow(&stage.tenant, number);
            let definition = definition(&stage.tenant, number, &flow, &mut Dice::new(1));
            drawn.plans.push(Arc::new(Plan::new(definition.clone()).expect("a graph")));
            drawn.jobs.insert(id.job(), (number, flow.defaults.clone()));
            drawn.numbers.insert(id, number);
            drawn.flows.push(flow);
            let on_demand = When { on_demand: true, ..When::default() };
            let schedule =
                Schedule::new(if number == 0 { first } else { &on_demand }, moment(0)).expect("a plan that fires");
            let (name, by, now) = (format!("flow {number}"), By::host(), moment(0));
            made.push(NewWorkflow {
                tenant: stage.tenant.clone(),
                id,
                name,
                definition,
                schedule,
                about: About { retention: Some(Retention::LEAST), ..About::default() },
                fingerprint: None,
                trace: None,
                by,
                now,
            });
        }
        stage.world.seen().graphs.jobs = drawn.jobs.keys().copied().collect();
        let _made = stage.act::<(), _>(0, "maker", |ports| async move {
            for new in made.into_iter().rev() {
                create(&ports, new).await?;
            }
            Ok(())
        });
        Self { stage, drawn: Arc::new(drawn), told: Arc::default() }
    }

    pub fn play_to(&self, second: i64) {
        self.stage.play_to(second);
    }

    /// A job in the same world that carries out the first workflow.
    pub fn beside(&self, wish: Wish) -> Stage {
        self.stage.beside(Wish { workflow: Some(workflow(&self.tenant(), 0)), ..wish })
    }

    /// What has expired at that second is gone.
    pub fn expire(&self, at: i64) {
        self.stage.expire(at);
    }

    /// What DynamoDB's TTL deletes by that second is gone.
    pub fn expire_by_the_clock(&self, at: i64) {
        self.stage.expire_by_the_clock(at);
    }

    pub fn run(&self, run: RunKey) -> Option<Run> {
        self.stage.read(run)
    }

    pub fn sweep_each_minute(&self, seconds: std::ops::Range<i64>) {
        self.stage.sweep_each_minute(seconds);
    }

    pub fn sweep(&self, at: i64) {
        let _whatever_comes_of_it = self.stage.sweep(at, "sweeper");
    }

    fn tenant(&self) -> Tenant {
        self.stage.tenant.clone()
    }

    /// Somebody makes another version of the first workflow.
    pub fn replace(&self, at: i64, flow: &judge::Flow) -> Answer<Changed> {
        let tenant = self.tenant();
        let definition = definition(&tenant, 0, flow, &mut Dice::new(1));
        self.stage.act(at, "editor", move |ports| async move {
            let on_demand = When { on_demand: true, ..When::default() };
            let schedule = Schedule::new(&on_demand, moment(0)).expect("a plan");
            let (name, by, now) = ("flow 0".to_owned(), By::host(), ports.clock().now());
            let wanted = Wanted { name, definition, schedule, about: About::default(), seen: None, by, now };
            change(&ports, &tenant, workflow(&tenant, 0), &wanted).await
        })
    }

    /// Somebody asks for a run of the first workflow.
    pub fn ask(&self, at: i64) -> Answer<RunKey> {
        let graphs = self.clone();
        self.stage.act(at, "asker", move |ports| async move {
            let request = RunRequest { payload: None, by: By::host(), note: None, trace: None, once: None };
            let job = workflow(&graphs.tenant(), 0).job();
            let Answered::Queued(run) = run_now(&ports, &graphs.tenant(), job, request).await? else {
                return Err(Fault::unavailable("asking", "it was not queued"));
            };
            graphs.told.lock().unwrap_or_else(PoisonError::into_inner).push(run.key);
            Ok(run.key)
        })
    }

    pub fn cancel(&self, at: i64, name: &'static str, run: RunKey) -> Answer<Cancelled> {
        let tenant = self.tenant();
        self.stage.act(at, name, move |ports| async move { cancel(&ports, &tenant, run, &By::host()).await })
    }

    /// Somebody deletes the first workflow with its runs, and has ten seconds for it.
    pub fn delete(&self, at: i64, name: &'static str) -> Answer<Deleted> {
        let tenant = self.tenant();
        self.stage.act(at, name, move |ports| async move {
            let until = ports.clock().now() + Duration::from_secs(10);
            let deletion = Deletion { cancel_runs: true, by: By::host(), until };
            delete(&ports, (&tenant, workflow(&tenant, 0)), &deletion).await
        })
    }

    pub fn judge_task(&self, at: i64, name: &'static str, run: RunKey, word: Word) -> Answer<Judged> {
        let tenant = self.tenant();
        self.stage.act(at, name, move |ports| async move {
            let judgement =
                Judgement { word, by: By::host(), at: ports.clock().now(), note: None, result: Body::Empty };
            judge_run(&ports, &tenant, run, &judgement, Role::Operator).await
        })
    }

    pub fn resume(&self, at: i64, name: &'static str, run: RunKey) -> Answer<Resumed> {
        let tenant = self.tenant();
        self.stage.act(at, name, move |ports| async move { resume(&ports, &tenant, run, &By::host(), None).await })
    }

    /// Carries out another hint of a run, as an executor to whom it is delivered at that second.
    pub fn execute(&self, at: i64, name: &'static str, run: RunKey) -> Answer<Executed> {
        let stamp = TimerStamp { generation: 0, written: moment(0) };
        let timer = Timer { key: TimerKey::run(run, moment(0)), tenant: self.tenant(), stamp, parent: None };
        let lane = self.stage.world.lane_for(Lane::default());
        let delivery = Delivered { hint: Hint::of(&timer), lane, receipt: Receipt::EXPIRED };
        self.stage.act(at, name, |ports| async move { execute(&ports, &delivery, std::future::pending()).await })
    }

    /// Delivers the hint of the first timer that points to a run to an executor; nothing where there is none.
    pub fn deliver_first(&self, at: i64, name: &'static str, run: RunKey) {
        let graphs = self.clone();
        self.stage.sim.at(moment(at).millis(), move |_| {
            let timers = graphs.stage.timers().into_iter().filter(|timer| timer.key.run_key() == run);
            let Some(first) = timers.min_by_key(|timer| timer.key) else { return };
            let lane = graphs.stage.world.lane_for(Lane::default());
            let delivery = Delivered { hint: Hint::of(&first), lane, receipt: Receipt::EXPIRED };
            graphs.stage.act(at, name, |ports| async move { execute(&ports, &delivery, std::future::pending()).await });
        });
    }

    /// Whatever is given to the queues in these seconds is lost.
    pub fn lose_hints(&self, seconds: std::ops::Range<i64>) {
        self.stage.lose_hints(seconds);
    }

    /// Whoever carries something out dies with it, and all else that stood behind it goes: the queues are purged, the timers lost.
    pub fn lose_all_that_points(&self, at: i64) {
        self.stage.purge(at);
        self.stage.lose_timers(at);
    }

    /// A repair, or a check, through the API of somebody who goes on meanwhile.
    pub fn repair(&self, at: i64, name: &'static str, check: bool) -> Answer<Repaired> {
        self.stage.act(at, name, move |ports| async move {
            repair(&ports, Position::default(), Repair { check, until: Moment::END }).await
        })
    }

    /// All that waits in the queues is lost.
    pub fn purge(&self, at: i64) {
        self.stage.purge(at);
    }

    /// Every run as it stands.
    fn runs(&self) -> Vec<Run> {
        let seen = self.stage.world.seen();
        let last: std::collections::BTreeMap<_, _> =
            seen.graphs.writes.iter().map(|(_, run)| (run.key, run.clone())).collect();
        last.into_values().collect()
    }

    /// How a run stands, in the wire's words.
    pub fn status(&self, run: RunKey) -> &'static str {
        let found = self.runs().into_iter().find(|there| there.key == run);
        found.map_or("no record", |there| there.status(self.stage.now()))
    }

    /// The runs of a step of a workflow, over all its runs, in the order of their keys.
    pub fn runs_of(&self, flow: usize, step: usize) -> Vec<RunKey> {
        let told = account(&self.stage.world, &self.drawn, self.stage.now().millis());
        let calls = |run: &Run| {
            let id = run.key.to_string();
            let place = told.runs.get(&id).and_then(|run| run.place.clone());
            place.is_some_and(|place| place.step == step && told.flow_above(&place) == Some(flow))
        };
        self.runs().iter().filter(|run| calls(run)).map(|run| run.key).collect()
    }

    /// How each run of a step stands.
    pub fn statuses(&self, flow: usize, step: usize) -> Vec<&'static str> {
        self.runs_of(flow, step).into_iter().map(|run| self.status(run)).collect()
    }

    /// When the targets of a step were called.
    pub fn calls(&self, flow: usize, step: usize) -> Vec<i64> {
        let seen = self.stage.world.seen();
        let its = seen.graphs.calls.iter().filter(|call| (call.flow, call.step) == (flow, step));
        its.map(|call| second(call.at)).collect()
    }

    /// When the target of a run was called.
    pub fn calls_of(&self, run: RunKey) -> Vec<i64> {
        let (seen, run) = (self.stage.world.seen(), run.to_string());
        seen.graphs.calls.iter().filter(|call| call.run == run).map(|call| second(call.at)).collect()
    }

    /// How many hold a place of a workflow's.
    pub fn holders(&self) -> usize {
        account(&self.stage.world, &self.drawn, self.stage.now().millis()).holders.len()
    }

    /// How many timers point to a run.
    pub fn timers_of(&self, run: RunKey) -> usize {
        self.stage.timers().iter().filter(|timer| timer.key.run_key() == run).count()
    }

    /// From that second on so many runs of the tenant are under way at once.
    pub fn limit_tenant(&self, at: i64, most: u32) -> Answer<()> {
        self.stage.limit_tenant(at, most)
    }

    /// How many stand in the line of a workflow's places.
    pub fn waiters(&self) -> usize {
        account(&self.stage.world, &self.drawn, self.stage.now().millis()).waiters.len()
    }

    /// Steps at ports so far: what somebody reads for ever shows in it.
    pub fn steps(&self) -> u64 {
        self.stage.steps()
    }

    pub fn counted(&self, what: &str) -> u64 {
        self.stage.counted(what)
    }

    /// What the judge finds wrong with what was played so far.
    pub fn judge(&self) -> Vec<judge::Broken> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.iter().map(RunKey::to_string).collect();
        let end = self.stage.now().millis();
        judge::Account { told, ..account(&self.stage.world, &self.drawn, end) }.judge()
    }
}
