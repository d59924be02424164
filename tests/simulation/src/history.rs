//! A history: a course in which things go wrong, and then a hundred minutes of calm in which all of it must come right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::priority::Priority;
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use minutehand_judge as judge;
use minutehand_judge::Violation;
use minutehand_protocol::sweep::forget_hints;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::clocks::{self, Settings, Step};
pub use crate::course::BEGIN;
use crate::course::{self, Course};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::engine::Sim;
use crate::fate::{Fates, Rates};
use crate::ports::SimPorts;
use crate::secrets;
use crate::setting::{Host, Setting};
use crate::shown;
use crate::witness::{Driven, account};
use crate::world::{Behaviour, World};

mod besides;
mod heeding;

pub(crate) use self::besides::BYSTANDER;
use self::besides::Besides;

const MINUTE: i64 = 60_000;
/// What every job gives its target.
const TIMEOUT: i64 = 60_000;
/// Of each job so many instants are asked about.
const EXPLAINED: usize = 2;
/// No tenant has so many jobs.
const MOST_LISTED: usize = 100;
/// A list of jobs may be behind by a minute, and by what clocks differ.
const LIST_LAG: i64 = MINUTE + 5_000;

/// What a history came to.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub violations: Vec<Violation>,
    pub tally: BTreeMap<String, u64>,
    pub steps: u64,
}

/// Plays the history of this seed and has it judged.
pub fn history(seed: u64) -> Verdict {
    // Its own dice, so that the world is there before anything happens in it.
    let mut dice = Dice::new(!seed);
    let mut course = Course::drawn(&mut dice);
    let (mut setting, crowd) = (course.setting(&mut dice), course.crowd(&mut dice));
    course.leave_a_machine_alone(&mut dice);
    let besides = Besides::drawn(seed, &course);
    setting.page = besides.page.unwrap_or(setting.page);
    let (sim, world) = begun(seed, &course, setting, course.rates);
    let shards = world.setting().shards;
    sim.count(format!("played on {shards} shard{}", if shards == 1 { "" } else { "s" }));
    let plays = Play::plan(&world, &course, &crowd, besides.names_a_secret);
    besides.plan(&Crew { sim: sim.clone(), world: world.clone(), course: course.clone() });
    sim.at(course.calm_from, |sim| sim.set_fates(Fates::Chance(Rates::CALM)));
    sim.run_until(course.end);
    let account = told(&world, &course, &plays);
    count_ends(&sim, &account);
    sim.verdict(account.judge())
}

/// The world of a history as it begins, with what may go wrong at once.
pub(crate) fn begun(seed: u64, course: &Course, setting: Setting, rates: Rates) -> (Sim, World) {
    let sim = Sim::new(seed, BEGIN, Fates::Chance(rates));
    sim.count(format!("course {}", course.kind));
    sim.count(format!("played on {}", setting.host));
    if (course.kind, setting.host) == (course::Kind::Calm, Host::Machine) {
        sim.count("machine left alone");
    }
    let world = World::new(&sim, setting);
    if world.setting().host == Host::Machine {
        world.supervise();
    }
    set_clocks(&sim, course);
    (sim, world)
}

fn set_clocks(sim: &Sim, course: &Course) {
    let Settings { computers, steps, .. } = &course.clocks;
    if steps.is_empty() {
        return;
    }
    sim.let_clocks_be_set(*computers);
    if course.rates.lose_hint > 0.0 {
        sim.count("clocks set while hints are lost");
    }
    for (whose, Step { at, ahead }) in steps.clone() {
        sim.at(at, move |sim| match whose {
            None => sim.set_clocks(ahead),
            Some(computer) => sim.set_clock(computer, ahead),
        });
        for what in clocks::words(whose, ahead) {
            sim.count(what);
        }
    }
}

/// What the judge is told.
fn told(world: &World, course: &Course, plays: &[Play]) -> judge::Account {
    let driven = plays.iter().flat_map(Play::driven).collect();
    let mut account = account(world, &driven, course.end);
    account.calm = course.calm(world.setting());
    account.wrong_clocks = course.clocks.wrong();
    account.unswept = course.unswept.as_ref().map_or(0, |span| (span.end - span.start) / MINUTE);
    for play in plays {
        account.lists.append(&mut play.lists.lock().unwrap_or_else(PoisonError::into_inner));
        if course.kind == course::Kind::Throttled {
            account.blameless.append(&mut play.blameless());
        }
    }
    account
}

fn count_ends(sim: &Sim, account: &judge::Account) {
    for record in &account.records {
        let reason = record.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        sim.count(format!("ended {}{reason}", record.status));
    }
    for call in account.calls.iter().filter(|call| call.number == 0 && call.fence == 1) {
        if call.claimed_at > call.instant + MINUTE
            && let Some(head) = account.jobs.iter().find(|job| job.job == call.job).and_then(|job| job.heads.last())
        {
            sim.count(format!("made up for by {}", head.catch_up));
        }
    }
}

/// Who plays: clients, ticks, accidents.
#[derive(Clone)]
struct Play {
    sim: Sim,
    world: World,
    course: Course,
    tenant: Tenant,
    /// The number of its first job.
    first: u32,
    /// Whether the calls of its jobs name a secret of the tenant's.
    names_a_secret: bool,
    driven: Arc<Mutex<BTreeMap<JobId, Driven>>>,
    lists: Arc<Mutex<Vec<judge::List>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cron,
    Every,
    Fast,
    Once,
}

impl Play {
    /// One of ten minutes has no end.
    fn every(&self, seconds: i64) -> Value {
        let end_at = (seconds < 600).then(|| instant(self.course.last_fire));
        json!({"every_seconds": seconds, "start_at": instant(BEGIN), "end_at": end_at})
    }

    /// Of each tenant one, with so many jobs; the first has the accidents, and the ticks where nobody else ticks.
    fn plan(world: &World, course: &Course, crowd: &[i64], names_a_secret: bool) -> Vec<Self> {
        let (mut plays, mut first) = (Vec::new(), 0);
        for (nth, jobs) in crowd.iter().enumerate() {
            let tenant = Tenant::new(&format!("simulated-{nth}")).expect("a word");
            let (sim, course) = (world.sim().clone(), course.clone());
            let (driven, lists) = (Arc::default(), Arc::default());
            let play = Self { sim, world: world.clone(), course, tenant, first, names_a_secret, driven, lists };
            if names_a_secret {
                world.keep_drawn_secret(&play.tenant);
            }
            play.plan_jobs(*jobs);
            first += u32::try_from(*jobs).unwrap_or_default();
            plays.push(play);
        }
        if let Some(first) = plays.first() {
            if world.setting().host != Host::Machine {
                first.crew().plan_sweeps();
            }
            first.plan_accidents();
        }
        plays
    }

    fn driven(&self) -> BTreeMap<JobId, Driven> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The jobs whose targets always answer in time, and that may be tried again.
    fn blameless(&self) -> BTreeSet<u32> {
        let driven = self.driven();
        let may_repeat = |id: &JobId| driven.get(id).is_none_or(|driven| !driven.at_most_once);
        let seen = self.world.seen();
        let told = seen.jobs.iter().filter(|(id, told)| told.behaviour.never_fails(TIMEOUT) && may_repeat(id));
        told.map(|(_, told)| told.number).collect()
    }

    fn know(&self, job: JobId, note: impl FnOnce(&mut Driven)) {
        note(self.driven.lock().unwrap_or_else(PoisonError::into_inner).entry(job).or_default());
    }

    fn plan_jobs(&self, jobs: i64) {
        let heeds = self.plan_calendar();
        for nth in 0..jobs {
            let number = self.first + u32::try_from(nth).unwrap_or_default();
            let key = format!("job-{number}");
            let id = JobId::from_key(&self.tenant, &key);
            let kind = self
                .sim
                .dice(|dice| dice.pick(&[Kind::Cron, Kind::Cron, Kind::Every, Kind::Fast, Kind::Once, Kind::Once]));
            let created = BEGIN + self.sim.dice(|dice| dice.within(0..5 * MINUTE));
            let schedule = self.sim.dice(|dice| schedule_for(kind, &self.course, created, dice));
            let schedule = self.heeding(heeds, schedule);
            let (mut wish, behaviour) = self.sim.dice(|dice| wish_for(kind, &schedule, dice));
            if self.names_a_secret {
                self.sim.count("secret named");
                wish["target"]["http"]["headers"] = json!({"x-key": {"secret": secrets::DRAWN}});
            }
            self.world.introduce(&self.tenant, id, number, behaviour);
            self.know(id, |driven| driven.at_most_once = wish["delivery"] == "at_most_once");
            self.sim.count(format!("catches up: {}", wish["catch_up"]["policy"].as_str().unwrap_or("as usual")));
            if !wish["catch_up"]["rate_per_minute"].is_null() {
                self.sim.count("catches up: at a pace");
            }
            if !schedule["jitter_seconds"].is_null() {
                self.sim.count("jittered");
            }
            if kind != Kind::Once && schedule["end_at"].is_null() {
                self.sim.count("schedule without an end");
            }
            self.plan_creations(id, &key, &wish, created);
            if kind != Kind::Once && self.sim.dice(|dice| dice.chance(0.2)) {
                self.plan_back_and_forth(id, &schedule, created);
            }
            if kind != Kind::Once || self.sim.dice(|dice| dice.chance(0.3)) {
                self.plan_changes(id, created);
            }
            self.plan_asking(id, &schedule, created);
            if wish["health"] == "full" {
                self.sim.count("ends are counted");
                self.plan_counting(id, created);
            }
        }
        self.plan_listing();
        self.explain_at(self.course.end - MINUTE);
    }

    /// When all of it is calm somebody asks what became of some instants: of those that a schedule of the job named, and of others.
    fn explain_at(&self, at: i64) {
        let play = self.clone();
        self.act_at(at, "historian", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            for id in play.driven().into_keys() {
                for _ in 0..EXPLAINED {
                    let Some(instant) = play.an_instant_of(id) else { continue };
                    let path = format!("/v1/jobs/{id}/why?at={}", self::instant(instant));
                    let answer = client.command("GET", &path).await;
                    match answer.status.as_u16() {
                        200 => play.note_explanation(id, instant, &answer),
                        503 => play.sim.count("why unanswered"),
                        other => panic!("why was answered with {other}: {}", answer.body),
                    }
                }
            }
        });
    }

    /// None of a job that was never written.
    fn an_instant_of(&self, id: JobId) -> Option<i64> {
        let heads = self.world.seen().jobs.get(&id)?.heads.clone();
        let span = BEGIN - 5 * MINUTE..self.course.end - 20 * MINUTE;
        if heads.is_empty() {
            return None;
        }
        self.sim.dice(|dice| {
            let schedule = dice.pick(&heads).schedule;
            let mut named = schedule.instants(span.start, span.end);
            named.extend(schedule.taken(span.start, span.end));
            let is_named = !named.is_empty() && dice.chance(0.8);
            Some(if is_named { dice.pick(&named) } else { dice.within(span) / 1000 * 1000 })
        })
    }

    fn note_explanation(&self, id: JobId, asked: i64, answer: &Answer) {
        let word = |field: &str| answer.body[field].as_str().unwrap_or_default().to_owned();
        let effective = answer.body["effective_at"].as_str().and_then(Moment::parse);
        let (verdict, rule) = (word("verdict"), word("rule"));
        self.sim.count(format!("why: {verdict}, {rule}"));
        let instant = effective.map_or(asked, Moment::millis);
        let told = judge::Explanation { at: self.sim.now(), instant, verdict, rule };
        self.know(id, |driven| driven.explanations.push(told));
    }

    /// Whoever looks at a job whose ends are counted counts them, while things go wrong and when all of it is calm.
    fn plan_counting(&self, id: JobId, created: i64) {
        let early = created + self.sim.dice(|dice| dice.within(5 * MINUTE..25 * MINUTE));
        for at in [early, self.course.end - 30 * MINUTE, self.course.end - MINUTE] {
            let play = self.clone();
            self.act_at(at, "counter", move |ports| async move {
                let path = format!("/v1/jobs/{id}");
                let answer = Client::of(ports, play.tenant.clone()).command("GET", &path).await;
                play.sim.count(format!("a day counted: {}", answer.status.as_u16()));
            });
        }
    }

    /// Lists may lag behind; nobody but their reader minds. One more is read when all of it is calm.
    fn plan_listing(&self) {
        for _ in 0..self.sim.dice(|dice| dice.within(0..3)) {
            let at = BEGIN + self.sim.dice(|dice| dice.within(0..20 * MINUTE));
            self.list_at(at);
        }
        self.list_at(self.course.end - 10 * MINUTE);
    }

    /// Somebody reads all of the tenant's jobs, page by page.
    fn list_at(&self, at: i64) {
        let (play, limit) = (self.clone(), self.sim.dice(|dice| dice.pick(&[1, 2, 50])));
        self.act_at(at, "reader", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            let (begun, mut shown, mut cursor) = (play.sim.now(), Vec::new(), String::new());
            loop {
                let path = format!("/v1/jobs?limit={limit}{cursor}");
                let answer = client.command("GET", &path).await;
                if answer.status != 200 {
                    return play.sim.count("list unanswered");
                }
                let seen = play.world.seen();
                let ids = answer.body["items"].as_array().into_iter().flatten();
                let ids = ids.filter_map(|job| job["job_id"].as_str()?.parse::<JobId>().ok());
                shown.extend(ids.map(|id| seen.jobs.get(&id).map_or(u32::MAX, |told| told.number)));
                drop(seen);
                let Some(next) = answer.body["next_cursor"].as_str().filter(|_| shown.len() < MOST_LISTED) else {
                    break;
                };
                cursor = format!("&cursor={next}");
                play.sim.count("second page of jobs");
            }
            play.note_list(begun, shown);
        });
    }

    fn note_list(&self, at: i64, shown: Vec<u32>) {
        let seen = self.world.seen();
        let own = seen.jobs.values().filter(|told| told.tenant == self.tenant).map(|told| told.number).collect();
        let list = judge::List { at, own, lag: LIST_LAG, shown };
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).push(list);
    }

    /// One creator, often a second one with the same key, sometimes one with the same key and another wish.
    fn plan_creations(&self, id: JobId, key: &str, wish: &Value, at: i64) {
        self.create_at(at, id, key, wish.clone());
        if self.sim.dice(|dice| dice.chance(0.3)) {
            let again = at + self.sim.dice(|dice| dice.magnitude(1.0, 5.0));
            self.create_at(again, id, key, wish.clone());
        }
        if self.sim.dice(|dice| dice.chance(0.05)) {
            let later = at + self.sim.dice(|dice| dice.magnitude(1.0, 5.0));
            let mut other = wish.clone();
            other["name"] = "another wish".into();
            self.create_at(later, id, key, other);
        }
    }

    fn plan_changes(&self, id: JobId, created: i64) {
        for _ in 0..self.sim.dice(|dice| dice.pick(&[0, 0, 1, 2, 3])) {
            let mut at = created + self.sim.dice(|dice| dice.within(1000..20 * MINUTE));
            if self.sim.dice(|dice| dice.chance(0.4)) {
                at = at / MINUTE * MINUTE + self.sim.dice(|dice| dice.within(-2500..2500)); // close to a fire
            }
            let roll = self.sim.dice(Dice::fraction);
            if roll < 0.35 {
                let seconds = self.sim.dice(|dice| dice.pick(&[60, 120, 300, 600]));
                self.change_at(at, id, to_schedule(&self.every(seconds)));
            } else if roll < 0.45 {
                self.change_at(at, id, json!({"tags": [format!("at-{at}")]}));
            } else if roll < 0.55 {
                let catch_up = self.sim.dice(catch_up_for);
                self.sim.count("catch-up changed");
                self.change_at(at, id, json!({ "catch_up": catch_up }));
            } else if roll < 0.92 {
                self.command_at(at, id, "POST", "/pause");
                let resume = at + self.sim.dice(|dice| dice.within(100..6 * MINUTE));
                self.command_at(resume, id, "POST", "/resume");
            } else {
                self.command_at(at, id, "DELETE", "");
            }
        }
    }

    /// Another schedule, and then the first one again: at once or minutes later, sometimes twice, sometimes in a pause.
    fn plan_back_and_forth(&self, id: JobId, schedule: &Value, created: i64) {
        let seconds = self.sim.dice(|dice| dice.pick(&[60, 120, 300]));
        let mut at = created + self.sim.dice(|dice| dice.within(1000..15 * MINUTE));
        let paused = self.sim.dice(|dice| dice.chance(0.3));
        if paused {
            self.command_at(at, id, "POST", "/pause");
        }
        for _ in 0..self.sim.dice(|dice| dice.pick(&[1, 1, 2])) {
            for changes in [to_schedule(&self.every(seconds)), to_schedule(schedule)] {
                at += self.sim.dice(|dice| dice.magnitude(2.0, 5.3));
                self.change_at(at, id, changes);
            }
        }
        self.sim.count(if paused { "schedule back and forth in a pause" } else { "schedule back and forth" });
        if paused {
            let resume = at + self.sim.dice(|dice| dice.magnitude(2.0, 5.3));
            self.command_at(resume, id, "POST", "/resume");
        }
    }

    /// Somebody asks for a run now, somebody cancels an occurrence.
    fn plan_asking(&self, id: JobId, schedule: &Value, created: i64) {
        if self.sim.dice(|dice| dice.chance(0.25)) {
            let at = created + self.sim.dice(|dice| dice.within(2000..20 * MINUTE));
            let key = self.sim.dice(|dice| dice.chance(0.5)).then(|| "once".to_owned());
            if key.is_some() {
                self.ask_at(at + self.sim.dice(|dice| dice.magnitude(0.0, 5.5)), id, key.clone());
            }
            self.ask_at(at, id, key);
        }
        if self.sim.dice(|dice| dice.chance(0.15)) {
            self.retry_at(created + self.sim.dice(|dice| dice.within(3 * MINUTE..20 * MINUTE)), id);
        }
        let start = schedule["start_at"].as_str().and_then(Moment::parse);
        let next = schedule["every_seconds"]
            .as_i64()
            .zip(start)
            .map(|(seconds, from)| from.millis() + seconds * 1000 * self.sim.dice(|dice| dice.within(0..8)));
        if let Some(instant) = next.filter(|_| self.sim.dice(|dice| dice.chance(0.3))) {
            let at = (instant - self.sim.dice(|dice| dice.within(-500..3000))).max(created);
            self.cancel_at(at, id, instant);
        }
    }

    fn create_at(&self, at: i64, id: JobId, key: &str, wish: Value) {
        let (play, key) = (self.clone(), key.to_owned());
        self.act_at(at, "creator", move |ports| async move {
            let answer = Client::of(ports, play.tenant.clone()).send("POST", "/v1/jobs", Some(&key), &wish).await;
            match answer.status.as_u16() {
                201 => {
                    play.note_answer(id, &wish, &answer);
                    play.know(id, |driven| {
                        driven.acknowledged = true;
                        driven.creations += 1;
                    });
                }
                200 if answer.replayed => {
                    play.sim.count("creation replayed");
                    play.know(id, |driven| driven.acknowledged = true);
                }
                422 if answer.body["type"] == "/problems/idempotency-key-reused" => {
                    play.sim.count("key taken by another wish");
                }
                422 => play.sim.count("creation impossible by now"),
                503 => play.sim.count("creation unanswered"),
                other => panic!("a creation was answered with {other}: {}", answer.body),
            }
        });
    }

    /// What needs only a path: pause, resume, delete.
    fn command_at(&self, at: i64, id: JobId, method: &'static str, what: &'static str) {
        let play = self.clone();
        self.act_at(at, "changer", move |ports| async move {
            let path = format!("/v1/jobs/{id}{what}");
            let answer = Client::of(ports, play.tenant.clone()).command(method, &path).await;
            assert_ne!(answer.status.as_u16(), 500, "{}", answer.body);
            let asked = match what {
                "/pause" => json!({"status": "paused"}),
                "/resume" => json!({"status": "active"}),
                _ => Value::Null,
            };
            if method == "DELETE" && answer.status.is_success() {
                play.sim.count("delete answered");
                play.know(id, |driven| driven.deletes.push(play.sim.now()));
            }
            play.note_answer(id, &asked, &answer);
        });
    }

    /// What a client was answered must be so. A job without occurrences left is completed, and active all the same.
    fn note_answer(&self, id: JobId, asked: &Value, answer: &Answer) {
        let Some(stands) = Some(&answer.body).filter(|_| answer.status.is_success()).and_then(shown::stands) else {
            return;
        };
        let mut body = answer.body.clone();
        if body["status"] == "completed" {
            body["status"] = "active".into();
        }
        let answer = judge::Answer { at: self.sim.now(), stands, fields: shown::fields(asked, &body) };
        self.sim.count("change answered");
        self.know(id, |driven| driven.answers.push(answer));
    }

    fn change_at(&self, at: i64, id: JobId, changes: Value) {
        let play = self.clone();
        self.act_at(at, "changer", move |ports| async move {
            let path = format!("/v1/jobs/{id}");
            let answer = Client::of(ports, play.tenant.clone()).send("PATCH", &path, None, &changes).await;
            play.note_answer(id, &changes, &answer);
            match answer.status.as_u16() {
                200 => play.sim.count("patched"),
                404 | 409 | 422 | 503 => play.sim.count("patch refused"),
                other => panic!("a patch was answered with {other}: {}", answer.body),
            }
        });
    }

    /// Whoever bears the same idempotency key is told of the same run.
    fn ask_at(&self, at: i64, id: JobId, key: Option<String>) {
        let play = self.clone();
        self.act_at(at, "asker", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            let answer = client.send("POST", &format!("/v1/jobs/{id}/run"), key.as_deref(), &json!({})).await;
            let Some(run) = run_key(&answer).filter(|_| answer.status.is_success()) else { return };
            if answer.replayed {
                play.sim.count("run asked for again");
            }
            play.know(id, |driven| driven.tell_of(run, key));
        });
    }

    /// Somebody looks for a run that failed, and asks for another try at it.
    fn retry_at(&self, at: i64, id: JobId) {
        let play = self.clone();
        self.act_at(at, "retrier", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            let failed = client.command("GET", &format!("/v1/jobs/{id}/runs?status=failed&limit=1")).await;
            let Some(run) = failed.body["items"][0]["run_id"].as_str() else { return };
            let answer = client.command("POST", &format!("/v1/runs/{run}/retry")).await;
            if let Some(run) = run_key(&answer).filter(|_| answer.status == 202) {
                play.sim.count("failed run tried again");
                play.know(id, |driven| driven.tell_of(run, None));
            }
        });
    }

    fn cancel_at(&self, at: i64, id: JobId, instant: i64) {
        let play = self.clone();
        self.act_at(at, "canceller", move |ports| async move {
            let run = RunKey::occurrence(id, Moment::from_millis(instant));
            let path = format!("/v1/runs/{run}/cancel");
            let answer = Client::of(ports, play.tenant.clone()).command("POST", &path).await;
            if answer.status == 200 {
                let waited = answer.body["status"] == "cancelled";
                play.sim.count(format!("cancelled while {}", if waited { "waiting" } else { "running" }));
                play.know(id, |driven| driven.cancels.push((play.sim.now(), instant)));
            }
        });
    }

    fn act_at<F>(&self, at: i64, name: &'static str, act: impl FnOnce(SimPorts) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.crew().act_at(at, name, act);
    }

    fn crew(&self) -> Crew {
        Crew { sim: self.sim.clone(), world: self.world.clone(), course: self.course.clone() }
    }

    fn plan_accidents(&self) {
        if self.course.ticks_as_it_pleases() && self.sim.dice(|dice| dice.chance(0.15)) {
            let at = BEGIN + self.sim.dice(|dice| dice.within(5 * MINUTE..25 * MINUTE));
            let world = self.world.clone();
            self.sim.at(at, move |_| world.purge());
            if self.sim.dice(|dice| dice.chance(0.5)) {
                self.act_at(at + 1000, "operator", |ports| async move {
                    for shard in 0..ports.store().shards() {
                        let _whatever_came_of_it = forget_hints(&ports, shard, None).await;
                    }
                });
            }
        }
        let is_left_alone = self.course.kind == course::Kind::Calm;
        if self.world.setting().host == Host::Machine && !is_left_alone && self.sim.dice(|dice| dice.chance(0.2)) {
            let (at, slept) =
                self.sim.dice(|dice| (dice.within(5 * MINUTE..25 * MINUTE), dice.within(MINUTE..15 * MINUTE)));
            let world = self.world.clone();
            self.sim.at(BEGIN + at, move |sim| world.put_the_machine_to_sleep(sim.now() + slept));
        }
        self.crew().plan_repairs();
    }
}

fn run_key(answer: &Answer) -> Option<RunKey> {
    answer.body["run_id"].as_str()?.parse().ok()
}

fn schedule_for(kind: Kind, course: &Course, created: i64, dice: &mut Dice) -> Value {
    let recurs = kind == Kind::Cron || kind == Kind::Every;
    if recurs && dice.chance(0.25) {
        return endless(kind, created, dice);
    }
    let end_at = instant(if kind == Kind::Fast { course.last_fast_fire } else { course.last_fire });
    let mut schedule = match kind {
        Kind::Once => json!({"at": instant(created + dice.within(0..4 * MINUTE))}),
        Kind::Cron => json!({"cron": format!("*/{} * * * *", dice.pick(&[1, 2, 5])), "end_at": end_at}),
        Kind::Every | Kind::Fast => {
            let seconds = if kind == Kind::Fast { dice.pick(&[5, 15]) } else { dice.pick(&[60, 120, 300]) };
            let start = created / 1000 * 1000 + dice.within(-10..60) * 1000;
            json!({"every_seconds": seconds, "start_at": instant(start), "end_at": end_at})
        }
    };
    if kind != Kind::Once && dice.chance(0.15) {
        schedule["end_at"] = instant(created + dice.within(2 * MINUTE..25 * MINUTE)).into();
    }
    if kind != Kind::Once && dice.chance(0.15) {
        schedule["max_fires"] = dice.pick(&[1, 2, 5, 20]).into();
    }
    if dice.chance(0.2) {
        schedule["jitter_seconds"] = dice.within(1..120).into();
    }
    schedule
}

/// One that outlives the history: its chain must go on to the end, and past it.
fn endless(kind: Kind, created: i64, dice: &mut Dice) -> Value {
    let mut schedule = match kind {
        Kind::Cron => json!({"cron": format!("*/{} * * * *", dice.pick(&[10, 15, 30]))}),
        Kind::Every | Kind::Fast | Kind::Once => {
            json!({"every_seconds": dice.pick(&[600, 900]), "start_at": instant(created / 1000 * 1000)})
        }
    };
    if dice.chance(0.2) {
        schedule["jitter_seconds"] = dice.within(1..120).into();
    }
    schedule
}

/// Changes to this schedule and leaves nothing of the one that is there. Its fires are not counted: nobody could say from
/// when on, but whoever carries out the change.
fn to_schedule(schedule: &Value) -> Value {
    let mut changes = json!({"start_at": null, "end_at": null, "jitter_seconds": null});
    for (field, value) in schedule.as_object().into_iter().flatten() {
        changes[field] = value.clone();
    }
    changes["max_fires"] = Value::Null;
    json!({ "schedule": changes })
}

/// Mostly what a job has that says nothing.
fn catch_up_for(dice: &mut Dice) -> Value {
    let roll = dice.fraction();
    if roll < 0.5 {
        return Value::Null;
    }
    if roll < 0.65 {
        return json!({"policy": "last", "window_seconds": dice.pick(&[60, 120, 300, 900])});
    }
    if roll < 0.8 {
        return json!({"policy": "none"});
    }
    let (max_runs, window) = (dice.pick(&[1, 2, 3, 5, 20, 100]), dice.pick(&[90, 300, 900, 86_400]));
    let mut all = json!({"policy": "all", "max_runs": max_runs, "window_seconds": window});
    // Few enough that they come to their end while it is calm.
    if max_runs <= 20 && dice.chance(0.5) {
        all["rate_per_minute"] = json!(dice.pick(&[2, 6, 30]));
    }
    all
}

fn wish_for(kind: Kind, schedule: &Value, dice: &mut Dice) -> (Value, Behaviour) {
    let takes = if kind == Kind::Fast { 200 } else { dice.pick(&[200, 200, 5_000, 45_000, 90_000]) };
    let behaviour = Behaviour { takes, fails: dice.pick(&[0.0, 0.0, 0.3, 0.9]) };
    let mut wish = json!({
        "schedule": schedule,
        "target": {"http": {"url": "https://simulated.example/"}},
        "priority": dice.pick(&Priority::ALL).as_str(),
        "timeout_seconds": TIMEOUT / 1000,
        "retry": {
            "max_retries": dice.pick(&[0, 1, 3, 5]),
            "initial_delay_seconds": dice.pick(&[2, 20, 90]),
            "max_delay_seconds": 400,
            "jitter": dice.pick(&["none", "full", "equal", "decorrelated"]),
        },
        // A large one is kept apart and read by each run.
        "payload": "x".repeat(dice.pick(&[1, 1, 1, 600])),
        "catch_up": catch_up_for(dice),
        "delivery": if dice.chance(0.15) { "at_most_once" } else { "at_least_once" },
    });
    // Those with much to read have an SLA as well.
    if wish["payload"].as_str().is_some_and(|payload| payload.len() > 1) {
        wish["sla_seconds"] = json!(60);
    }
    if dice.chance(0.25) {
        wish["health"] = json!("full");
    }
    (wish, behaviour)
}

fn instant(millis: i64) -> String {
    Moment::from_millis(millis).to_string()
}
