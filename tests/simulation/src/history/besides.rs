//! What befalls a history beside its course: short pages, two releases side by side, items that nobody can read, and calls that name secrets. It has dice
//! of its own, so that where none of it happens a seed stays the history that it was.

use std::fmt;
use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::run::Run;
use minutehand_domain::timer::TimerKey;
use minutehand_io::store::{Bucket, Cursor, RunsOf, Store as _};
use serde_json::json;

use super::{BEGIN, MINUTE, instant};
use crate::client::Client;
use crate::course::{Course, Kind};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::telling::Telling;
use crate::witness::at_once;
use crate::world::World;

/// Whose only job is damaged, and not judged: the others are, as if nothing were wrong with it.
pub(crate) const BYSTANDER: &str = "bystander";
/// Its timers are looked for among so many minutes behind, and ahead.
const NEARBY: i64 = 10;
/// Who may be of the later of two releases, or not.
const WRITERS: [&str; 9] =
    ["creator", "changer", "asker", "retrier", "canceller", "keeper", "operator", "sweeper", "executor"];
/// Who shows others what there is must be able to read all of it.
const READERS: [&str; 3] = ["reader", "counter", "historian"];

#[derive(Clone, Debug, Default)]
pub(super) struct Besides {
    /// Most timers on a page.
    pub(super) page: Option<usize>,
    pub(super) names_a_secret: bool,
    rollout: Option<Rollout>,
    damage: Vec<(i64, Damaged)>,
}

/// Until its end these are of a later release than the others.
#[derive(Clone, Debug)]
struct Rollout {
    of: Vec<&'static str>,
    span: Range<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Damaged {
    Timer,
    Head,
    Run,
    /// Of one shard, which is everybody's.
    Cursor,
}

impl Besides {
    pub(super) fn drawn(seed: u64, course: &Course) -> Self {
        let mut dice = Dice::new(seed.rotate_left(32) ^ !seed);
        let (has_short_pages, is_rolled_out, is_damaged) = (dice.chance(0.2), dice.chance(0.15), dice.chance(0.2));
        let page = dice.pick(&[1, 1, 2, 3, 7]);
        let (rollout, damage) = (Rollout::drawn(&mut dice), damage(&mut dice));
        let names_a_secret = dice.chance(0.15);
        let (shared, rough) = match course.kind {
            Kind::Rough | Kind::Crowd => (true, true),
            Kind::Machine => (false, true),
            Kind::Clocks | Kind::Throttled | Kind::Calm | Kind::HintsLost | Kind::Outage => (false, false),
        };
        Self {
            page: (rough && has_short_pages).then_some(page),
            names_a_secret,
            rollout: (shared && is_rolled_out).then_some(rollout),
            damage: if rough && is_damaged { damage } else { Vec::new() },
        }
    }

    pub(super) fn plan(self, crew: &Crew) {
        if let Some(rollout) = self.rollout {
            rollout.plan(crew);
        }
        if self.damage.is_empty() {
            return;
        }
        for at in [BEGIN + 1_000, BEGIN + MINUTE] {
            create(crew, at);
        }
        for (at, what) in self.damage {
            let world = crew.world.clone();
            crew.sim.at(at, move |sim| {
                if what.befalls(&world) {
                    sim.count(format!("damaged {what}"));
                }
            });
        }
    }
}

impl Rollout {
    fn drawn(dice: &mut Dice) -> Self {
        let begin = BEGIN + dice.within(MINUTE..20 * MINUTE);
        let end = begin + dice.within(MINUTE..10 * MINUTE);
        let writers = WRITERS.into_iter().filter(|_| dice.chance(0.5));
        Self { of: writers.chain(READERS).collect(), span: begin..end }
    }

    fn plan(self, crew: &Crew) {
        let (begins, ends) = (crew.world.clone(), crew.world.clone());
        crew.sim.at(self.span.start, move |sim| {
            sim.count("two releases side by side");
            begins.begin_to_roll_out(self.of);
        });
        crew.sim.at(self.span.end, move |_| ends.roll_out());
    }
}

fn damage(dice: &mut Dice) -> Vec<(i64, Damaged)> {
    use Damaged::{Cursor, Head, Run, Timer};
    let times = 0..dice.within(1..5);
    let each =
        |_| (BEGIN + dice.within(2 * MINUTE..28 * MINUTE), dice.pick(&[Timer, Timer, Timer, Run, Run, Head, Cursor]));
    times.map(each).collect()
}

fn bystander() -> (Tenant, JobId) {
    let tenant = Tenant::new(BYSTANDER).expect("a word");
    let job = JobId::from_key(&tenant, BYSTANDER);
    (tenant, job)
}

/// It calls somebody whom nobody judges.
fn create(crew: &Crew, at: i64) {
    crew.act_at(at, "creator", |ports| async move {
        let schedule = json!({"every_seconds": 60, "start_at": instant(BEGIN)});
        let wish = json!({"schedule": schedule, "target": {"http": {"url": Telling::HEARS.target().url}}});
        let answer = Client::of(ports, bystander().0).send("POST", "/v1/jobs", Some(BYSTANDER), &wish).await;
        assert!([200, 201, 503].contains(&answer.status.as_u16()), "{}", answer.body);
    });
}

impl Damaged {
    /// False where there is none at the time.
    fn befalls(self, world: &World) -> bool {
        let (tenant, job) = bystander();
        match self {
            Self::Head => world.damage::<Head>(&tenant, job),
            Self::Run => one_of(world, &runs(world)).is_some_and(|run| world.damage::<Run>(&tenant, run.key)),
            Self::Timer => one_of(world, &timers(world)).is_some_and(|timer| world.damage_timer(&timer)),
            Self::Cursor => {
                let shard = world.sim().dice(|dice| dice.within(0..i64::from(world.setting().shards)));
                world.damage::<Cursor>(&Tenant::deployment(), u16::try_from(shard).unwrap_or_default())
            }
        }
    }
}

fn one_of<T: Clone>(world: &World, all: &[T]) -> Option<T> {
    (!all.is_empty()).then(|| world.sim().dice(|dice| dice.pick(all)))
}

fn runs(world: &World) -> Vec<Run> {
    let (tenant, job) = bystander();
    let within = RunsOf { job, window: Moment::EPOCH..Moment::END };
    at_once(world.whole_store().list::<Run>(&tenant, within, None, 100)).expect("memory").items
}

fn timers(world: &World) -> Vec<TimerKey> {
    let now = world.sim().now() / MINUTE;
    let buckets = (now - NEARBY..now + NEARBY)
        .flat_map(|minute| (0..world.setting().shards).map(move |shard| Bucket { minute, shard }));
    let all = buckets.flat_map(|bucket| {
        at_once(world.whole_store().timers(bucket, None, Moment::END, 1_000)).expect("memory").items
    });
    all.filter(|timer| timer.tenant.as_str() == BYSTANDER).map(|timer| timer.key).collect()
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timer => "timer",
            Self::Head => "head",
            Self::Run => "run",
            Self::Cursor => "cursor",
        })
    }
}
