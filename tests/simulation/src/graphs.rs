//! Histories of graphs: workflows of every kind of step and edge, started, judged, cancelled and gone on with while everything goes
//! wrong that can; then calm, in which all of it must come to its end. The judge executes each graph for itself.

pub mod definition;
mod drawing;
pub mod telling;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::access::{By, Role};
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::{AskedName, Fingerprint};
use minutehand_domain::job::Definition as JobDefinition;
use minutehand_domain::run::{Judgement, Run, State, Waiting, Word};
use minutehand_domain::schedule::{Plan as When, Schedule};
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::plan::Plan;
use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_judge::Violation;
use minutehand_judge::graph as judge;
use minutehand_protocol::graph::judge::{Judged, Resumed, judge as judge_run, resume};
use minutehand_protocol::job::create::{NewJob, create as create_job};
use minutehand_protocol::run::cancel::cancel;
use minutehand_protocol::run::on_demand::{Answered, RunRequest, run_now};
use minutehand_protocol::workflow::change::{Changed, Wanted, change as change_workflow};
use minutehand_protocol::workflow::{About, Created, NewWorkflow, create};
use serde_json::json;

use self::definition::{definition, params_json, workflow};
use self::telling::{Drawn, account};
use crate::course::{self, BEGIN, Course};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::engine::Sim;
use crate::fate::{Fates, Rates};
use crate::history::{Verdict, begun};
use crate::setting::Host;
use crate::world::World;

const MINUTE: i64 = 60_000;
/// Workflows are made before anything goes wrong.
const MADE: i64 = MINUTE;
/// When the last run is started that nobody goes on with.
const LAST_START: i64 = 22 * MINUTE;
/// So long after the rough times another run of what was replaced is started: nobody has slept for so long.
const LATE_START: i64 = 40 * MINUTE;
/// In calm all of it must be over by then. A line is looked at each hour at the latest, and lines wait for each other.
const LONGEST: i64 = 12 * 60 * MINUTE;
/// What is over leaves timers that are looked at.
const TIDYING: i64 = 30 * MINUTE;
/// No task is tried more often by operators.
const MOST_TRIES: u64 = 3;

/// Plays the history of graphs of this seed and has it judged.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed ^ 0x6772_6170_6873);
    let mut course = Course::of_graphs(&mut dice);
    course.end = course.calm_from.max(course.clocks.reached()) + LONGEST;
    let setting = course.setting(&mut dice);
    let (sim, world) = begun(seed, &course, setting, Rates::CALM);
    let play = Play::drawn(&world, course.clone(), &mut dice);
    play.plan(&mut dice);
    let end = play.play();
    let account = play.told(end);
    play.count(&account);
    let broken = account.judge().into_iter().map(|broken| Violation {
        rule: broken.rule,
        job: 0,
        instant: 0,
        detail: format!("{}: {}", broken.run, broken.detail),
    });
    sim.verdict(broken.collect())
}

#[derive(Clone)]
struct Play {
    crew: Crew,
    tenant: Tenant,
    drawn: Arc<Drawn>,
    made: Arc<Vec<NewWorkflow>>,
    /// What the first workflow is made in the midst of its runs.
    replacement: Option<Arc<Wanted>>,
    /// Whether a run that came to nothing may be gone on with.
    resumes: bool,
    heard: Arc<Mutex<Heard>>,
}

/// What whoever acted was answered.
#[derive(Clone, Debug, Default)]
struct Heard {
    told: Vec<RunKey>,
    acts: Vec<judge::Act>,
    workflows: usize,
    replaced: Option<judge::Replaced>,
}

impl Play {
    fn drawn(world: &World, course: Course, dice: &mut Dice) -> Self {
        let tenant = Tenant::new("simulated").expect("a word");
        let mut flows = drawing::flows(dice);
        let (mut plans, mut made, mut jobs, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (number, flow) in flows.iter().enumerate() {
            let definition = definition(&tenant, number, flow, dice);
            let plan = Plan::new(definition.clone()).unwrap_or_else(|bad| panic!("a graph that is none: {bad:?}"));
            plans.push(Arc::new(plan));
            let id = workflow(&tenant, number);
            jobs.insert(id.job(), (number, flow.defaults.clone()));
            numbers.insert(id, number);
            let (now, by, name) = (Moment::from_millis(BEGIN), By::host(), format!("flow {number}"));
            let when =
                if number == 0 && dice.chance(0.35) { every(dice, course.unswept.as_ref()) } else { on_demand() };
            let schedule = Schedule::new(&when, now).expect("a plan that fires");
            made.push(NewWorkflow {
                tenant: tenant.clone(),
                id,
                name,
                definition,
                schedule,
                about: About::default(),
                fingerprint: None,
                trace: None,
                by,
                now,
            });
        }
        if dice.chance(0.25) {
            let params = judge::Params { n: dice.within(0..10), list: vec![4, 5] };
            jobs.insert(JobId::from_key(&tenant, "a job"), (0, params));
        }
        world.seen().graphs.jobs = jobs.keys().copied().collect();
        let replacement = dice.chance(0.2).then(|| {
            let (by, flow) = (flows.len(), drawing::replacement(dice, &flows));
            let definition = definition(&tenant, by, &flow, dice);
            let plan = Plan::new(definition.clone()).unwrap_or_else(|bad| panic!("a graph that is none: {bad:?}"));
            plans.push(Arc::new(plan));
            flows.push(flow);
            let NewWorkflow { name, schedule, about, by: who, now, .. } = made[0].clone();
            Arc::new(Wanted { name, definition, schedule, about, seen: None, by: who, now })
        });
        // Which of the two versions did what a run goes on with would have to be said of each task.
        let resumes = replacement.is_none() && !flows.iter().flat_map(|flow| &flow.steps).any(asks_for_results);
        let replaced_by = replacement.is_some().then(|| flows.len() - 1);
        let drawn = Drawn { tenant: Some(tenant.clone()), flows, plans, jobs, numbers, replacement: replaced_by };
        let crew = Crew { sim: world.sim().clone(), world: world.clone(), course };
        Self { crew, tenant, drawn: Arc::new(drawn), made: Arc::new(made), replacement, resumes, heard: Arc::default() }
    }

    fn sim(&self) -> &Sim {
        &self.crew.sim
    }

    fn hear(&self, note: impl FnOnce(&mut Heard)) {
        note(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Who does what when.
    fn plan(&self, dice: &mut Dice) {
        let (course, rates) = (&self.crew.course, self.crew.course.rates);
        self.make();
        self.sim().at(BEGIN + MADE, move |sim| sim.set_fates(Fates::Chance(rates)));
        self.sim().at(course.calm_from, |sim| sim.set_fates(Fates::Chance(Rates::CALM)));
        if self.crew.world.setting().host != Host::Machine {
            self.crew.plan_sweeps();
        }
        self.plan_starts(dice);
        if self.replacement.is_some() {
            self.replace_at(BEGIN + dice.within(2 * MINUTE..LAST_START));
            // Whoever begins it knows of the newest version, whatever went wrong before.
            self.start_at(self.crew.course.calm_from + LATE_START, 0, None, None);
        }
        self.plan_operators(dice);
        if course.ticks_as_it_pleases() && dice.chance(0.15) {
            let world = self.crew.world.clone();
            self.sim().at(BEGIN + dice.within(5 * MINUTE..25 * MINUTE), move |_| world.purge());
        }
        self.crew.plan_repairs();
    }

    /// Makes all workflows, the inner ones first.
    fn make(&self) {
        let play = self.clone();
        self.crew.act_at(BEGIN, "maker", move |ports| async move {
            for new in play.made.iter().rev() {
                while !matches!(create(&ports, new.clone()).await, Ok(Created::New(_) | Created::Replayed(_))) {
                    play.sim().sleep_until(play.sim().now() + 500).await;
                }
                play.hear(|heard| heard.workflows += 1);
            }
            let job = JobId::from_key(&play.tenant, "a job");
            if let Some((_, params)) = play.drawn.jobs.get(&job) {
                let new = play.job(job, params, ports.clock().now());
                while create_job(&ports, new.clone()).await.is_err() {
                    play.sim().sleep_until(play.sim().now() + 500).await;
                }
            }
        });
    }

    /// A job that carries a workflow out at two instants.
    fn job(&self, id: JobId, params: &judge::Params, now: Moment) -> NewJob {
        let start_at = Some(Moment::from_millis(BEGIN + 3 * MINUTE));
        let when = When { every_seconds: Some(240), start_at, max_fires: Some(2), ..When::default() };
        let target = Target::Workflow(WorkflowTarget { id: workflow(&self.tenant, 0), version: None });
        NewJob {
            tenant: self.tenant.clone(),
            id,
            schedule: Schedule::new(&when, now).expect("a plan that fires"),
            definition: JobDefinition { target, ..JobDefinition::default() },
            payload: Some(params_json(params)),
            fingerprint: Fingerprint::of("a job", "", ""),
            trace: None,
            now,
        }
    }

    fn plan_starts(&self, dice: &mut Dice) {
        let count = dice.pick(&[1, 1, 2, 2, 3, 8]);
        let at_once = dice.chance(0.3).then(|| dice.within(MADE..LAST_START));
        for nth in 0..count {
            let at = BEGIN + at_once.unwrap_or_else(|| dice.within(MADE..LAST_START));
            let flow = if dice.chance(0.8) { 0 } else { dice.pick(&(0..self.drawn.flows.len()).collect::<Vec<_>>()) };
            let given =
                dice.chance(0.5).then(|| judge::Params { n: dice.within(0..10), list: vec![dice.within(0..10)] });
            let key = dice.chance(0.2).then(|| format!("start {nth}"));
            self.start_at(at, flow, given.clone(), key.clone());
            if key.is_some() {
                self.start_at(at + dice.magnitude(0.0, 5.5), flow, given, key);
            }
        }
    }

    fn start_at(&self, at: i64, flow: usize, given: Option<judge::Params>, key: Option<String>) {
        let play = self.clone();
        self.crew.act_at(at, "asker", move |ports| async move {
            let once = key.and_then(|key| Some((AskedName::of(&key), Fingerprint::of("this", "", "")?)));
            let request =
                RunRequest { payload: given.as_ref().map(params_json), by: By::host(), note: None, trace: None, once };
            let job = workflow(&play.tenant, flow).job();
            if let Ok(Answered::Queued(run) | Answered::Replayed(run)) =
                run_now(&ports, &play.tenant, job, request).await
            {
                play.hear(|heard| heard.told.push(run.key));
            }
        });
    }

    /// Somebody makes the first workflow another, while runs of it may be under way.
    fn replace_at(&self, at: i64) {
        let play = self.clone();
        self.crew.act_at(at, "editor", move |ports| async move {
            let (Some(wanted), Some(by)) = (&play.replacement, play.drawn.replacement) else { return };
            let wanted = Wanted { now: ports.clock().now(), ..Wanted::clone(wanted) };
            let asked = judge::Replaced { flow: 0, by, asked: play.sim().now(), told: None };
            play.hear(|heard| heard.replaced = Some(asked));
            if let Ok(Changed::Done(..)) =
                change_workflow(&ports, &play.tenant, workflow(&play.tenant, 0), &wanted).await
            {
                play.sim().count("workflow replaced amid its runs");
                play.hear(|heard| heard.replaced = Some(judge::Replaced { told: Some(play.sim().now()), ..asked }));
            }
        });
    }

    /// At random while it is rough; and then nobody is left waiting for them.
    fn plan_operators(&self, dice: &mut Dice) {
        // A question that was asked by a clock that was ahead waits until that time has come.
        let calm_from = self.crew.course.calm_from.max(self.crew.course.clocks.reached());
        let mut at = BEGIN + MADE;
        while at < calm_from {
            at += dice.within(MINUTE..5 * MINUTE);
            self.operate_at(at, 0.3);
        }
        for pass in 0..LONGEST / (5 * MINUTE) {
            self.operate_at(calm_from + pass * 5 * MINUTE + 2_000, 1.0);
        }
        if dice.chance(0.35) {
            let at = BEGIN + dice.within(2 * MINUTE..25 * MINUTE);
            self.cancel_at(at, false);
            if dice.chance(0.4) {
                self.cancel_at(at + dice.magnitude(3.0, 5.5), false);
            }
        }
        if dice.chance(0.2) {
            self.cancel_at(BEGIN + dice.within(2 * MINUTE..25 * MINUTE), true);
        }
        if self.resumes && dice.chance(0.5) {
            for _ in 0..2 {
                self.resume_at(BEGIN + dice.within(5 * MINUTE..40 * MINUTE), false);
            }
            for _ in 0..dice.pick(&[0, 2, 6]) {
                let at = BEGIN + dice.within(8 * MINUTE..60 * MINUTE);
                self.resume_at(at, true);
                if dice.chance(0.3) {
                    self.cancel_a_resumed_at(at + dice.magnitude(0.0, 5.0));
                }
            }
        }
    }

    /// Somebody answers what is asked, and judges what is held.
    fn operate_at(&self, at: i64, share: f64) {
        let play = self.clone();
        self.sim().at(at, move |sim| {
            for run in play.stand().into_values() {
                let acts = Self::words_for(&run);
                if acts.is_empty() || !sim.dice(|dice| dice.chance(share)) {
                    continue;
                }
                for _ in 0..sim.dice(|dice| dice.pick(&[1, 1, 2])) {
                    let word = sim.dice(|dice| dice.pick(&acts));
                    play.judge_at(sim.now(), run.key, word);
                }
            }
        });
    }

    fn words_for(run: &Run) -> Vec<Word> {
        match &run.state {
            State::Waiting(Waiting::Answer { .. }) => vec![Word::Approve, Word::Approve, Word::Reject],
            State::Failed { .. } | State::TimedOut { .. } if run.task.is_some() && run.verdict().is_none() => {
                let tried_often = run.key.discriminator & 0xff_ffff >= MOST_TRIES;
                if tried_often {
                    vec![Word::Fail, Word::Skip]
                } else {
                    vec![Word::Retry, Word::Skip, Word::Succeed, Word::Fail]
                }
            }
            _ => Vec::new(),
        }
    }

    fn judge_at(&self, at: i64, key: RunKey, word: Word) {
        let play = self.clone();
        self.crew.act_at(at, "operator", move |ports| async move {
            let says_something = play.sim().dice(|dice| dice.chance(0.7));
            let has_result = says_something && matches!(word, Word::Approve | Word::Succeed);
            let result = if has_result { Body::Inside(Json::of(&json!({"n": 7}))) } else { Body::Empty };
            let judgement = Judgement { word, by: By::host(), at: ports.clock().now(), note: None, result };
            if let Ok(Judged::Done(_)) = judge_run(&ports, &play.tenant, key, &judgement, Role::Operator).await {
                play.sim().count(format!("judged {}", word.as_str()));
                play.hear(|heard| heard.acts.push(judge::Act { run: key.to_string(), word: word.as_str().to_owned() }));
            }
        });
    }

    /// One of the runs that stand then and fit is chosen.
    fn at_one_of(&self, at: i64, fits: fn(&Run) -> bool, act: impl FnOnce(&Self, RunKey) + Send + 'static) {
        let play = self.clone();
        self.sim().at(at, move |sim| {
            let fitting: Vec<_> = play.stand().into_values().filter(fits).map(|run| run.key).collect();
            if !fitting.is_empty() {
                act(&play, sim.dice(|dice| dice.pick(&fitting)));
            }
        });
    }

    fn cancel_at(&self, at: i64, a_task: bool) {
        let fits: fn(&Run) -> bool = if a_task {
            |run| run.task.is_some() && !run.is_finished()
        } else {
            |run| run.task.is_none() && !run.is_finished()
        };
        self.cancel_one_at(at, fits);
    }

    /// What goes on with another, maybe before it has unfolded.
    fn cancel_a_resumed_at(&self, at: i64) {
        self.cancel_one_at(at, |run| run.redrive_of.is_some() && !run.is_finished());
    }

    fn cancel_one_at(&self, at: i64, fits: fn(&Run) -> bool) {
        self.at_one_of(at, fits, |play, key| {
            let its = play.clone();
            play.crew.act_at(play.sim().now(), "canceller", move |ports| async move {
                if cancel(&ports, &its.tenant, key, &By::host()).await.is_ok() {
                    its.sim().count("cancelled");
                }
            });
        });
    }

    /// `again`: one that goes on with another itself.
    fn resume_at(&self, at: i64, again: bool) {
        let fits: fn(&Run) -> bool = if again {
            |run| run.redrive_of.is_some() && run.is_finished() && run.aftermath.is_none()
        } else {
            |run| run.task.is_none() && run.is_finished()
        };
        self.at_one_of(at, fits, |play, key| {
            let its = play.clone();
            play.crew.act_at(play.sim().now(), "resumer", move |ports| async move {
                if let Ok(Resumed::Queued(run) | Resumed::Already(run)) =
                    resume(&ports, &its.tenant, key, &By::host(), None).await
                {
                    its.sim().count("gone on with");
                    its.hear(|heard| heard.told.push(run.key));
                }
            });
        });
    }

    /// Every run as it stands.
    fn stand(&self) -> BTreeMap<RunKey, Run> {
        self.crew.world.seen().graphs.writes.iter().map(|(_, run)| (run.key, run.clone())).collect()
    }

    /// Until all of it is over, and what is left behind it was looked at.
    fn play(&self) -> i64 {
        let (sim, course) = (self.sim(), &self.crew.course);
        // The late start, where there is one, is no run yet when the rough times are over.
        let started = if self.replacement.is_some() { course.calm_from + LATE_START } else { course.calm_from };
        let mut end = started.max(course.clocks.reached()) + TIDYING;
        loop {
            sim.run_until(end);
            let all_over = self.stand().values().all(Run::is_finished);
            if all_over || end >= course.end {
                break;
            }
            end += 10 * MINUTE;
        }
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).workflows;
        assert_eq!(heard, self.made.len(), "every workflow is made before anything goes wrong");
        sim.run_until(end + TIDYING);
        end + TIDYING
    }

    fn told(&self, end: i64) -> judge::Account {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let account = account(&self.crew.world, &self.drawn, end);
        let calm = self.crew.course.kind == course::Kind::Calm;
        let wrong = self.crew.course.clocks.wrong();
        let wrong_by = wrong.iter().map(|wrong| wrong.ahead.max(wrong.behind)).max().unwrap_or(0);
        let told = heard.told.iter().map(RunKey::to_string).collect();
        let replaced = heard.replaced.into_iter().collect();
        judge::Account { acts: heard.acts, told, calm, replaced, wrong_by, ..account }
    }

    /// What it met, so that a suite can see that it is not empty.
    fn count(&self, account: &judge::Account) {
        let sim = self.sim();
        for run in account.runs.values() {
            let kind = match (&run.place, run.branches, run.unfolded) {
                (None, ..) => "workflow",
                (Some(place), ..) if place.branch.is_some() => "branch",
                (_, Some(_), _) => "for_each",
                (_, None, true) => "inner workflow",
                _ => "task",
            };
            let reason = run.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            sim.count(format!("ended {kind} {}{reason}", run.status));
            if run.reused.is_some() {
                sim.count("reused");
            }
            if run.fence > 1 && !run.unfolded && run.place.is_some() {
                sim.count("task tried again by itself");
            }
            if run.flow.is_some() && run.unfolded && run.flow == self.drawn.replacement {
                sim.count("run of the later version");
            }
            let resumed = run.resumes.as_ref().and_then(|before| account.runs.get(before));
            if resumed.is_some_and(|before| before.status == "failed") {
                sim.count("failed run gone on with");
            }
            if resumed.is_some_and(|before| before.resumes.is_some()) {
                sim.count("resumed once more");
            }
            self.count_kind(account, run);
        }
        for write in &account.writes {
            match &write.stands {
                judge::Stands::Tasks { stop: Some(stop), finally, .. } => {
                    sim.count(format!("stopped {stop}{}", if *finally { " in finally" } else { "" }));
                }
                judge::Stands::Queueing => sim.count("waited for a place"),
                _ => {}
            }
        }
    }
}

impl Play {
    /// What is rare among the steps that runs are of.
    fn count_kind(&self, account: &judge::Account, run: &judge::Run) {
        let Some(place) = &run.place else { return };
        let step = account.flow_above(place).and_then(|flow| self.drawn.flows.get(flow)?.steps.get(place.step));
        let Some(judge::Step { does, each: Some(each), .. }) = step else { return };
        if matches!(does, judge::Does::Flow(_)) && place.branch.is_some() && run.unfolded {
            self.sim().count("for_each over a workflow");
            let is_each_inside = |flow: usize| self.drawn.flows[flow].steps.iter().any(|step| step.each.is_some());
            if matches!(does, judge::Does::Flow(flow) if is_each_inside(*flow)) {
                self.sim().count("for_each below a for_each");
            }
        }
        if matches!(each.tolerate, judge::Tolerate::Percent(1..)) && place.branch.is_none() && run.status == "succeeded"
        {
            self.sim().count("percentage tolerated");
        }
    }
}

fn asks_for_results(step: &judge::Step) -> bool {
    matches!(step.each, Some(judge::Each { over: judge::Over::ResultsOf(_), .. }))
}

fn on_demand() -> When {
    When { on_demand: true, ..When::default() }
}

/// Mostly while nobody sweeps, where that is.
fn every(dice: &mut Dice, unswept: Option<&Range<i64>>) -> When {
    let at = match unswept {
        Some(span) if dice.chance(0.7) => span.start / MINUTE * MINUTE + 6 * MINUTE,
        _ => BEGIN + dice.within(2..10) * MINUTE,
    };
    let start_at = Some(Moment::from_millis(at));
    When { every_seconds: Some(dice.pick(&[60, 180, 300])), start_at, max_fires: Some(3), ..When::default() }
}
