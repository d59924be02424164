//! A history: half an hour in which everything goes wrong that can, and then a hundred minutes of calm in which all of it
//! must come right.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Body;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::{Change, Definition, Delivery, Terms};
use minutehand_domain::priority::Priority;
use minutehand_domain::retry::{Jitter, RetryPolicy};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::target::Target;
use minutehand_io::Doors as _;
use minutehand_io::clock::Clock as _;
use minutehand_judge::{Asked as AskedRun, Finding};
use minutehand_protocol::cancel::{Cancelled, cancel};
use minutehand_protocol::change::change;
use minutehand_protocol::create::{Created, NewJob, create};
use minutehand_protocol::on_demand::{Asked, run_now};
use minutehand_protocol::sweep::forget_hints;
use minutehand_sweeper::tick;

use crate::dice::Dice;
use crate::doors::SimDoors;
use crate::engine::Sim;
use crate::fate::{Fates, Rates};
use crate::witness::{Driven, account};
use crate::world::{Behaviour, World};

const MINUTE: i64 = 60_000;
/// A full hour, so that crons and intervals meet.
pub const BEGIN: i64 = 1_800_000_000_000;
const CALM_FROM: i64 = BEGIN + 30 * MINUTE;
const LAST_FIRE: i64 = CALM_FROM + 30 * MINUTE;
const END: i64 = CALM_FROM + 100 * MINUTE;

/// What a history came to.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub findings: Vec<Finding>,
    pub tally: BTreeMap<String, u64>,
    pub steps: u64,
}

/// Plays the history of this seed and has it judged.
pub fn history(seed: u64) -> Verdict {
    let sim = Sim::new(seed, BEGIN, Fates::Chance(Rates::ROUGH));
    let world = World::new(&sim);
    world.deploy();
    let play = Play::new(&world);
    play.plan_jobs();
    play.plan_sweeps();
    play.plan_accidents();
    sim.at(CALM_FROM, |sim| sim.set_fates(Fates::Chance(Rates::CALM)));
    sim.run_until(END);
    let account = account(&world, &play.tenant, &play.driven(), END);
    for record in &account.records {
        sim.count(format!(
            "ended {}{}",
            record.status,
            record.reason.as_ref().map_or(String::new(), |r| format!(": {r}"))
        ));
    }
    Verdict { findings: account.judge(), tally: sim.tally(), steps: sim.steps() }
}

/// Who plays: clients, ticks, accidents.
#[derive(Clone)]
struct Play {
    sim: Sim,
    world: World,
    tenant: Tenant,
    driven: Arc<Mutex<BTreeMap<JobId, Driven>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cron,
    Every,
    Fast,
    Once,
}

impl Play {
    fn new(world: &World) -> Self {
        let tenant = Tenant::new("simulated").expect("a word");
        Self { sim: world.sim().clone(), world: world.clone(), tenant, driven: Arc::default() }
    }

    fn driven(&self) -> BTreeMap<JobId, Driven> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn know(&self, job: JobId, note: impl FnOnce(&mut Driven)) {
        note(self.driven.lock().unwrap_or_else(PoisonError::into_inner).entry(job).or_default());
    }

    fn plan_jobs(&self) {
        for number in 0..self.sim.dice(|dice| dice.within(1..4)) {
            let number = u32::try_from(number).unwrap_or_default();
            let id = JobId::from_key(&self.tenant, &format!("job {number}"));
            let kind = self
                .sim
                .dice(|dice| dice.pick(&[Kind::Cron, Kind::Cron, Kind::Every, Kind::Fast, Kind::Once, Kind::Once]));
            let created = BEGIN + self.sim.dice(|dice| dice.within(0..5 * MINUTE));
            let plan = self.sim.dice(|dice| plan_for(kind, created, dice));
            let (definition, behaviour) = self.sim.dice(|dice| definition_for(kind, dice));
            self.world.introduce(id, number, behaviour);
            self.know(id, |driven| driven.at_most_once = definition.terms.delivery == Delivery::AtMostOnce);
            self.plan_creations(id, &plan, &definition, created);
            if kind != Kind::Once || self.sim.dice(|dice| dice.chance(0.3)) {
                self.plan_changes(id, &definition, created);
            }
            self.plan_asking(id, &plan, created);
        }
    }

    /// One creator, often a second one with the same key, sometimes one with the same key and another wish.
    fn plan_creations(&self, id: JobId, plan: &Plan, definition: &Definition, at: i64) {
        self.create_at(at, id, plan.clone(), definition.clone(), 1);
        if self.sim.dice(|dice| dice.chance(0.3)) {
            let again = at + self.sim.dice(|dice| dice.magnitude(1.0, 5.0));
            self.create_at(again, id, plan.clone(), definition.clone(), 1);
        }
        if self.sim.dice(|dice| dice.chance(0.05)) {
            let other = at + self.sim.dice(|dice| dice.magnitude(1.0, 5.0));
            self.create_at(other, id, plan.clone(), definition.clone(), 2);
        }
    }

    fn plan_changes(&self, id: JobId, definition: &Definition, created: i64) {
        for _ in 0..self.sim.dice(|dice| dice.pick(&[0, 0, 1, 2, 3])) {
            let mut at = created + self.sim.dice(|dice| dice.within(1000..20 * MINUTE));
            if self.sim.dice(|dice| dice.chance(0.4)) {
                at = at / MINUTE * MINUTE + self.sim.dice(|dice| dice.within(-2500..2500)); // close to a fire
            }
            let roll = self.sim.dice(Dice::fraction);
            if roll < 0.35 {
                let seconds = self.sim.dice(|dice| dice.pick(&[60, 120, 300]));
                self.change_at(at, id, Wish::Reschedule(seconds));
            } else if roll < 0.55 {
                let tags = [format!("at-{at}")].into();
                self.change_at(at, id, Wish::Change(Change::Define(Definition { tags, ..definition.clone() })));
            } else if roll < 0.92 {
                self.change_at(at, id, Wish::Change(Change::Pause));
                let resume = at + self.sim.dice(|dice| dice.within(100..6 * MINUTE));
                self.change_at(resume, id, Wish::Change(Change::Resume));
            } else {
                self.change_at(at, id, Wish::Change(Change::Delete));
            }
        }
    }

    /// Somebody asks for a run now, somebody cancels an occurrence.
    fn plan_asking(&self, id: JobId, plan: &Plan, created: i64) {
        if self.sim.dice(|dice| dice.chance(0.25)) {
            self.ask_at(created + self.sim.dice(|dice| dice.within(2000..20 * MINUTE)), id);
        }
        let next = plan.every_seconds.zip(plan.start_at).map(|(seconds, from)| {
            let period = i64::try_from(seconds).unwrap_or(1) * 1000;
            from.millis() + period * self.sim.dice(|dice| dice.within(0..8))
        });
        if let Some(instant) = next.filter(|_| self.sim.dice(|dice| dice.chance(0.3))) {
            let at = (instant - self.sim.dice(|dice| dice.within(-500..3000))).max(created);
            self.cancel_at(at, id, instant);
        }
    }

    fn create_at(&self, at: i64, id: JobId, plan: Plan, definition: Definition, wish: u64) {
        let play = self.clone();
        self.act_at(at, "creator", move |doors| async move {
            let now = doors.clock().now();
            let Ok(schedule) = Schedule::new(&plan, now) else { return };
            let fingerprint = Some(Fingerprint::of(&wish.into()));
            let tenant = play.tenant.clone();
            let new = NewJob { tenant, id, schedule, definition, payload: None, fingerprint, now };
            match create(&doors, new).await {
                Ok(Created::New(_)) => play.know(id, |driven| {
                    driven.acknowledged = true;
                    driven.creations += 1;
                }),
                Ok(Created::Replayed(_)) => {
                    play.sim.count("creation replayed");
                    play.know(id, |driven| driven.acknowledged = true);
                }
                Ok(Created::Taken) => play.sim.count("key taken by another wish"),
                Ok(Created::TooSlow) => play.sim.count("creator too slow"),
                Err(_fault) => play.sim.count("creation unanswered"),
            }
        });
    }

    fn change_at(&self, at: i64, id: JobId, wish: Wish) {
        let play = self.clone();
        self.act_at(at, "changer", move |doors| async move {
            let Some(wish) = wish.seen_from(doors.clock().now()) else { return };
            let _whatever_came_of_it = change(&doors, &play.tenant, id, &wish).await;
        });
    }

    fn ask_at(&self, at: i64, id: JobId) {
        let play = self.clone();
        self.act_at(at, "asker", move |doors| async move {
            if let Ok(Asked::Queued(run)) = run_now(&doors, &play.tenant, id, None).await {
                let asked = AskedRun { at: run.key.at.millis(), number: run.key.discriminator };
                play.know(id, |driven| driven.asked.push(asked));
            }
        });
    }

    fn cancel_at(&self, at: i64, id: JobId, instant: i64) {
        let play = self.clone();
        self.act_at(at, "canceller", move |doors| async move {
            let key = RunKey::occurrence(id, Moment::from_millis(instant));
            if let Ok(Cancelled::Done(run)) = cancel(&doors, &play.tenant, key).await {
                play.sim.count(format!("cancelled while {}", if run.is_finished() { "waiting" } else { "running" }));
                play.know(id, |driven| driven.cancels.push((play.sim.now(), instant)));
            }
        });
    }

    fn act_at<F>(&self, at: i64, name: &'static str, act: impl FnOnce(SimDoors) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let world = self.world.clone();
        self.sim.at(at, move |sim| {
            let (process, doors) = world.process(name);
            sim.spawn(&process, act(doors));
        });
    }

    /// A tick each minute, late or missed or doubled while it is rough; and sometimes no sweeper for a quarter of an hour.
    fn plan_sweeps(&self) {
        let dead = self.sim.dice(|dice| {
            let from = BEGIN + dice.within(3..20) * MINUTE;
            dice.chance(0.35).then(|| from..from + dice.within(3..15) * MINUTE)
        });
        if dead.is_some() {
            self.sim.count("sweeper dead for minutes");
        }
        for minute in 0..(END - BEGIN) / MINUTE {
            let at = BEGIN + minute * MINUTE;
            let rough = at < CALM_FROM;
            let missed = rough && self.sim.dice(|dice| dice.chance(0.08));
            if missed || dead.as_ref().is_some_and(|dead| dead.contains(&at)) {
                continue;
            }
            let late = self.sim.dice(|dice| if rough { dice.magnitude(0.0, 4.7) } else { 100 });
            self.sweep_at(at + late);
            if rough && self.sim.dice(|dice| dice.chance(0.05)) {
                self.sweep_at(at + late + self.sim.dice(|dice| dice.within(0..500)));
            }
        }
    }

    fn sweep_at(&self, at: i64) {
        let play = self.clone();
        self.act_at(at, "sweeper", move |doors| async move {
            if let Ok(pass) = tick(&doors).await {
                for (what, count) in [("hinted", pass.hinted), ("looked at", pass.looked_at), ("moved", pass.moved)] {
                    if count > 0 {
                        play.sim.count(format!("pass {what}"));
                    }
                }
            }
        });
    }

    fn plan_accidents(&self) {
        if self.sim.dice(|dice| dice.chance(0.15)) {
            let at = BEGIN + self.sim.dice(|dice| dice.within(5 * MINUTE..25 * MINUTE));
            let world = self.world.clone();
            self.sim.at(at, move |_| world.purge());
            if self.sim.dice(|dice| dice.chance(0.5)) {
                self.act_at(at + 1000, "operator", |doors| async move {
                    let _whatever_came_of_it = forget_hints(&doors, 0, None).await;
                });
            }
        }
    }
}

/// A change as it is wished for; what a new schedule means depends on when it is asked.
#[derive(Clone)]
enum Wish {
    Reschedule(u64),
    Change(Change),
}

impl Wish {
    fn seen_from(self, now: Moment) -> Option<Change> {
        match self {
            Self::Change(change) => Some(change),
            Self::Reschedule(seconds) => {
                let plan = Plan {
                    every_seconds: Some(seconds),
                    start_at: Some(Moment::from_millis(BEGIN)),
                    end_at: Some(Moment::from_millis(LAST_FIRE)),
                    ..Plan::default()
                };
                Schedule::new(&plan, now).ok().map(Change::Reschedule)
            }
        }
    }
}

fn plan_for(kind: Kind, created: i64, dice: &mut Dice) -> Plan {
    let end_at = Some(Moment::from_millis(LAST_FIRE));
    match kind {
        Kind::Once => Plan { at: Some(Moment::from_millis(created + dice.within(0..4 * MINUTE))), ..Plan::default() },
        Kind::Cron => {
            let minutes = dice.pick(&[1, 2, 5]);
            Plan { cron: Some(format!("*/{minutes} * * * *")), end_at, ..Plan::default() }
        }
        Kind::Every | Kind::Fast => {
            let seconds = if kind == Kind::Fast { dice.pick(&[5, 15]) } else { dice.pick(&[60, 120, 300]) };
            let start = created / 1000 * 1000 + dice.within(-10..60) * 1000;
            Plan { every_seconds: Some(seconds), start_at: Some(Moment::from_millis(start)), end_at, ..Plan::default() }
        }
    }
}

fn definition_for(kind: Kind, dice: &mut Dice) -> (Definition, Behaviour) {
    let takes = if kind == Kind::Fast { 200 } else { dice.pick(&[200, 200, 5_000, 45_000, 90_000]) };
    let behaviour = Behaviour { takes, fails: dice.pick(&[0.0, 0.0, 0.3, 0.9]) };
    let retry = RetryPolicy {
        max_retries: dice.pick(&[0, 1, 3, 5]),
        initial_delay: Duration::from_secs(dice.pick(&[2, 20, 90])),
        max_delay: Duration::from_secs(400),
        jitter: dice.pick(&[Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated]),
        ..RetryPolicy::default()
    };
    let delivery = if dice.chance(0.15) { Delivery::AtMostOnce } else { Delivery::AtLeastOnce };
    let terms = Terms { timeout: Duration::from_secs(60), retry, delivery };
    let definition = Definition {
        name: None,
        owner: None,
        tags: [].into(),
        target: Target::Noop,
        payload: Body::Empty,
        priority: dice.pick(&Priority::ALL),
        terms,
    };
    (definition, behaviour)
}
