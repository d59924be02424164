//! What others say a cron expression means, asked of the whole: a job is created over HTTP that starts at the instant of the
//! question, the sweeper ticks each minute, and the first call has to be the occurrence that the vectors expect, on time.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_simulation::engine::Sim;
use minutehand_simulation::fate::Fates;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::world::{Behaviour, World};
use serde_json::{Value, json};

/// A day and a bit of virtual minutes is played in no time; months are not.
const WITHIN: i64 = 30 * 3_600_000;
/// Fewer than these would mean that the test has become empty, not that all is well.
const LEAST: usize = 200;

#[test]
fn the_first_call_of_a_job_is_the_occurrence_that_the_outside_expects() {
    let questions: Vec<Question> = vectors().iter().filter_map(Question::of).collect();
    for question in &questions {
        let (at, instant) = question.first_call().unwrap_or_else(|| panic!("no call at all: {question:?}"));

        assert_eq!(Moment::from_millis(instant), Moment::from_millis(question.expected), "{question:?}");
        assert!((0..1000).contains(&(at - instant)), "{} ms late: {question:?}", at - instant);
    }
    assert!(questions.is_empty() || questions.len() >= LEAST, "only {} asked", questions.len());
}

#[derive(Debug)]
struct Question {
    schedule: Value,
    created: i64,
    expected: i64,
}

/// How long before the instant of its question a job is created: longer than its creation takes.
const AHEAD: i64 = 10_000;

impl Question {
    /// Those whose answer lies near.
    fn of(line: &Value) -> Option<Self> {
        let instant = |name: &str| line[name].as_str().and_then(Moment::parse).map(Moment::millis);
        let (from, expected) = (instant("from")?, instant("next")?);
        let schedule = json!({
            "cron": line["expr"], "timezone": line["tz"], "dst_gap": line["dst_gap"], "dst_overlap": line["dst_overlap"],
            "days": if line["days"] == "both" { "both" } else { "either" },
            "start_at": Moment::from_millis(if line["inclusive"] == true { from } else { from + 1 }).to_string(),
        });
        (expected - from <= WITHIN).then_some(Self { schedule, created: from - AHEAD, expected })
    }

    /// When the target was called first, and for which instant.
    fn first_call(&self) -> Option<(i64, i64)> {
        let sim = Sim::new(1, self.created, Fates::script(Vec::new()));
        let world = World::new(&sim, Setting::one_machine(1));
        let tenant = Tenant::new("asked").expect("a word");
        world.introduce(&tenant, JobId::from_key(&tenant, "question"), 1, Behaviour { takes: 0, fails: 0.0 });
        world.supervise();
        let client = world.client(tenant).expect("it listens");
        let wish = json!({"schedule": self.schedule, "target": {"http": {"url": "https://simulated.example/"}}});
        sim.spawn(&sim.process("creator", 0), async move {
            let answer = client.send("POST", "/v1/jobs", Some("question"), &wish).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
        });
        sim.run_until(self.expected + 5_000);
        world.seen().calls.iter().map(|call| (call.at, call.instant)).min_by_key(|(_, instant)| *instant)
    }
}

fn vectors() -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/cron-next.jsonl");
    let Ok(text) = fs::read_to_string(&path) else {
        // Straight to standard error: the harness would swallow what a passing test prints by the macros.
        let _ =
            writeln!(std::io::stderr(), "!!! NOT JUDGED FROM OUTSIDE: there are no vectors at {} !!!", path.display());
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}
