//! Telling the judge of graphs what happened, in its own words. It reads what was written and what was called; it works nothing out.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::Moment;
use minutehand_domain::body::Body;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::run::{Run, State, TaskPlace, Waiting};
use minutehand_domain::slot::{Slot, SlotId, SlotKey, Waiter};
use minutehand_domain::timer::TimerKey;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::plan::{Phase, Plan};
use minutehand_io::store::{Bucket, Store as _};
use minutehand_judge::graph as judge;

use super::definition::workflow;
use crate::witness::at_once;
use crate::world::World;

/// What a world saw of its graphs.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Each writing of a run, and when.
    pub writes: Vec<(i64, Run)>,
    pub calls: Vec<judge::Call>,
    /// Whose runs are those of workflows.
    pub jobs: BTreeSet<JobId>,
    /// When each timer was put the last time, in a history of graphs.
    pub timers: BTreeMap<TimerKey, i64>,
}

/// What was drawn, and who is who.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    pub tenant: Option<Tenant>,
    pub flows: Vec<judge::Flow>,
    pub plans: Vec<std::sync::Arc<Plan>>,
    /// Which workflow the runs of a job carry out, and what they are given where nobody says.
    pub jobs: BTreeMap<JobId, (usize, judge::Params)>,
    pub numbers: BTreeMap<WorkflowId, usize>,
    /// Which flow the first workflow's runs are of once its definition was replaced.
    pub replacement: Option<usize>,
}

impl Drawn {
    /// Which flow a run of this version of a workflow is of.
    fn flow_of(&self, workflow: WorkflowId, version: u32) -> Option<usize> {
        let number = *self.numbers.get(&workflow)?;
        Some(self.replacement.filter(|_| number == 0 && version > 1).unwrap_or(number))
    }
}

/// Everything the judge is told.
pub fn account(world: &World, drawn: &Drawn, end: i64) -> judge::Account {
    let seen = world.seen().graphs.clone();
    let last: BTreeMap<RunKey, &Run> = seen.writes.iter().map(|(_, run)| (run.key, run)).collect();
    let telling = Telling { drawn, last: &last };
    let writes = seen.writes.iter().filter(|(_, run)| telling.is_of_a_graph(run)).map(|(at, run)| write(*at, run));
    let (holders, waiters) = slots(world, drawn);
    judge::Account {
        flows: drawn.flows.clone(),
        runs: last.values().filter(|run| telling.is_of_a_graph(run)).map(|run| telling.run(run)).collect(),
        writes: writes.collect(),
        calls: seen.calls.clone(),
        timers: timers(world, end),
        holders,
        waiters,
        end,
        ..judge::Account::default()
    }
}

struct Telling<'a> {
    drawn: &'a Drawn,
    last: &'a BTreeMap<RunKey, &'a Run>,
}

impl Telling<'_> {
    fn is_of_a_graph(&self, run: &Run) -> bool {
        run.task.is_some() || self.drawn.jobs.contains_key(&run.key.job)
    }

    fn run(&self, run: &Run) -> (String, judge::Run) {
        let job = self.drawn.jobs.get(&run.key.job);
        let began_as = run.graph.as_ref().and_then(|graph| self.drawn.flow_of(graph.workflow, graph.version));
        let flow = job.map(|(flow, _)| began_as.unwrap_or(*flow));
        // A job of its own says all that it gives; the workflow's gives what the version says.
        let is_its_own = |flow: &usize| job.is_some_and(|(number, _)| number != flow) && self.is_own_job(run.key.job);
        let given = flow.filter(is_its_own).map(|flow| &self.drawn.flows[flow].defaults);
        let params = given.or(job.map(|(_, params)| params)).map(|params| params_of(run, params));
        let told = judge::Run {
            flow,
            params: params.unwrap_or_default(),
            place: self.place(run),
            resumes: run.task.is_none().then(|| run.before()).flatten().map(|key| key.to_string()),
            reused: run.task.as_ref().and_then(|task| task.reused).map(|key| key.to_string()),
            status: run.status(Moment::END).to_owned(),
            reason: run.reason().map(str::to_owned),
            fence: run.fence,
            unfolded: run.graph.is_some(),
            branches: run.graph.as_ref().and_then(|graph| graph.each).map(|each| each.count.into()),
            result: json(run.result()),
            verdict: run.verdict().map(|word| word.as_str().to_owned()),
            answer: run.task.as_ref().and_then(|task| Some(task.answer.as_ref()?.word.as_str().to_owned())),
            cancel_asked: run.cancel.is_some(),
        };
        (run.key.to_string(), told)
    }

    fn is_own_job(&self, job: JobId) -> bool {
        self.drawn.numbers.keys().any(|workflow| workflow.job() == job)
    }

    fn place(&self, run: &Run) -> Option<judge::Place> {
        let (task, place) = (run.task.as_ref()?, TaskPlace::of(run.key)?);
        let Some(parent) = self.last.get(&task.parent) else {
            // The judge reports that; at which step it stands does not matter then.
            return Some(judge::Place {
                parent: task.parent.to_string(),
                step: 0,
                branch: None,
                turn: place.turn.into(),
            });
        };
        let graph = parent.graph.as_ref()?;
        let plan = &self.drawn.plans[self.drawn.flow_of(graph.workflow, graph.version)?];
        let step = plan.node(place.node)?.task.key.as_str().strip_prefix('s')?.parse().ok()?;
        let branch = place.branch.map(usize::from);
        Some(judge::Place { parent: task.parent.to_string(), step, branch, turn: place.turn.into() })
    }
}

fn write(at: i64, run: &Run) -> judge::Write {
    let stands = match &run.state {
        State::Scheduled { .. } => judge::Stands::Scheduled,
        State::Running(lease) => judge::Stands::Running { until: lease.until.millis() },
        State::Waiting(Waiting::Answer { until }) => judge::Stands::Asking { until: until.millis() },
        State::Waiting(Waiting::Slot { .. }) => judge::Stands::Queueing,
        State::Waiting(Waiting::Tasks(tasks)) => judge::Stands::Tasks {
            finally: tasks.phase == Phase::Finally,
            stop: tasks.stop.map(minutehand_domain::run::Stop::as_str),
            deadline: tasks.deadline.millis(),
        },
        State::Succeeded { .. }
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => judge::Stands::Over(run.status(Moment::END).to_owned()),
    };
    let verdict = run.verdict().map(|word| word.as_str().to_owned());
    judge::Write { at, run: run.key.to_string(), stands, fence: run.fence, verdict }
}

/// What a run was given: its own payload says, or its job's.
fn params_of(run: &Run, of_the_job: &judge::Params) -> judge::Params {
    let Some(Body::Inside(json)) = &run.payload else { return of_the_job.clone() };
    let value: serde_json::Value = serde_json::from_str(json.as_str()).unwrap_or_default();
    let number = |value: &serde_json::Value| value["n"].as_i64();
    let list = value["list"].as_array().map(|list| list.iter().filter_map(number).collect());
    judge::Params { n: number(&value).unwrap_or(of_the_job.n), list: list.unwrap_or_else(|| of_the_job.list.clone()) }
}

fn json(body: &Body) -> Option<String> {
    match body {
        Body::Inside(json) => Some(json.as_str().to_owned()),
        Body::Empty | Body::Apart(_) => None,
    }
}

/// Those that stand, wherever they lie.
fn timers(world: &World, end: i64) -> Vec<judge::Timer> {
    let store = world.whole_store();
    let first = store.first_timer().ok().flatten().map_or(end / 60_000, |first| first.millis() / 60_000);
    let minutes = |shard| (first..=end / 60_000).map(move |minute| Bucket { minute, shard });
    let buckets = (0..world.setting().shards).flat_map(minutes);
    let all =
        buckets.flat_map(|bucket| at_once(store.timers(bucket, None, Moment::END, 10_000)).unwrap_or_default().items);
    let put = world.seen().graphs.timers.clone();
    let told = |key: TimerKey| judge::Timer {
        due: key.due.millis(),
        run: key.run_key().to_string(),
        put_at: put.get(&key).copied().unwrap_or_default(),
    };
    all.map(|timer| told(timer.key)).collect()
}

/// Who holds a place of a workflow's, and who stands in its line.
fn slots(world: &World, drawn: &Drawn) -> (Vec<String>, Vec<String>) {
    let (store, mut holders, mut waiters) = (world.whole_store(), Vec::new(), Vec::new());
    let Some(tenant) = &drawn.tenant else { return (holders, waiters) };
    for flow in 0..drawn.flows.len() {
        let slot = SlotId::from(workflow(tenant, flow));
        let line = at_once(store.list::<Waiter>(tenant, slot, None, 1000)).unwrap_or_default();
        let slot = at_once(store.get::<Slot>(tenant, SlotKey { slot, number: 0 })).ok().flatten();
        holders.extend(slot.into_iter().flat_map(|slot| slot.item.holders));
        waiters.extend(line.items.into_iter().map(|waiter| waiter.run.to_string()));
    }
    (holders, waiters)
}
