//! The same faults as in `faults.rs`, and the alarms of CDK behind them: each function measures as it does on Lambda, and what CloudWatch's alarms ask is asked of
//! what it wrote. What is to ring rings, nothing else does, and it is silent when all is well again.
//!
//! Of what AWS measures itself there is only what is said here: that the archiver's source is read. So nothing rings by a queue's depth or a function's errors.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::priority::Priority;
use minutehand_io::metrics::document::Document;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish, moment};
use minutehand_simulation::throttle::{Resource, Throttle};
use minutehand_tests::cloudwatch::CloudWatch;

use super::SYNTHESIZED;
use super::faults::{END, FAULT, MINUTE};

const FUNCTIONS: [&str; 3] = ["api", "executor", "sweeper"];
/// In minutes: until then an alarm looks at a time before there was anything.
const BEGUN: i64 = 10;
/// The longest time that an alarm looks back, of those that ring here: two hours, as a run that waits is looked at once an hour.
const LOOKED_BACK: i64 = 125;

struct Functions {
    stage: Stage,
    documents: [Arc<Document>; 3],
    heard: CloudWatch,
}

impl Functions {
    /// One job, whose occurrences are each made up for when they are late. Nothing where there is no Node.
    fn of(setting: Setting, wish: Wish) -> Option<Self> {
        let heard = CloudWatch::of(SYNTHESIZED.as_ref()?);
        let catch_up = CatchUp::All { window: Duration::from_secs(86_400), max_runs: 1000, per_minute: None };
        let stage = Stage::on(setting, Wish { catch_up, ..wish }, []);
        let documents = FUNCTIONS.map(|function| Arc::new(Document::new("Minutehand/prod".to_owned(), function)));
        let sinks = documents.clone();
        // Whoever is none of the others asks the API.
        stage.measure_by(move |process| {
            sinks[FUNCTIONS.iter().position(|function| *function == process).unwrap_or(0)].clone()
        });
        stage.create(0, "creator");
        Some(Self { stage, documents, heard })
    }

    fn each_minute() -> Option<Self> {
        Self::of(Setting::plain(), Wish::every(60, MINUTE))
    }

    fn sweeps(self, minutes: Range<i64>) -> Self {
        self.stage.sweep_each_minute(minutes.start * MINUTE..minutes.end * MINUTE);
        self
    }

    /// A worker comes each two seconds, and in the fault nobody.
    fn with_a_worker(self) -> Self {
        for second in (MINUTE..END * MINUTE).step_by(2).filter(|second| !FAULT.contains(&(second / MINUTE))) {
            self.stage.take_and_complete(second, "worker");
        }
        self
    }

    /// To the end. All that a function did in a minute is one document, as if it were one invocation.
    fn played(mut self) -> CloudWatch {
        for minute in 0..=END {
            self.stage.play_to(minute * MINUTE + 30);
            for (function, document) in FUNCTIONS.iter().zip(&self.documents) {
                let priority = (*function == "executor").then_some(Priority::Normal);
                if let Some(line) = document.take(priority, self.stage.now()) {
                    self.heard.told(&line, minute);
                }
            }
            self.heard.measured_by_aws("PolledEventCount", minute, 1.0);
        }
        self.heard
    }
}

/// The fault is met, what is to ring rings, and nothing rings before it, nor once it is behind what alarms look back for.
fn rings(name: &str, heard: &CloudWatch, expected: &[&str]) {
    assert_eq!(heard.rang(BEGUN..FAULT.start), BTreeSet::new(), "{name}: all is well");
    let expected = expected.iter().map(|alarm| (*alarm).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(heard.rang(FAULT.start..END), expected, "{name}");
    assert_eq!(heard.rang(FAULT.end + LOOKED_BACK + 5..END), BTreeSet::new(), "{name}: all is well again");
}

/// Somebody is woken while it lasts.
fn wakes_somebody(name: &str, heard: &CloudWatch) {
    let rang = heard.rang(FAULT.start..FAULT.end - 1);
    assert!(
        rang.intersection(&heard.pages()).next().is_some(),
        "{name}: nobody is woken before it is over, but {rang:?} rang"
    );
}

#[test]
fn nothing_rings_where_nothing_is_wrong() {
    let Some(functions) = Functions::each_minute() else { return };
    rings("nothing", &functions.sweeps(1..END).played(), &[]);
}

/// Of a pass that comes at last there is one minute, and `SweepBehind` and `LateStarts` look for several: that they are silent is as it was meant.
#[test]
fn a_tick_that_stops_is_told_of() {
    let Some(functions) = Functions::each_minute() else { return };
    let heard = functions.sweeps(1..FAULT.start).sweeps(FAULT.end..END).played();
    rings("tick", &heard, &["StartBudgetBurns", "TelemetryMissing"]);
    wakes_somebody("tick", &heard);
}

#[test]
fn workers_that_are_gone_are_told_of() {
    let functions = Functions::of(Setting::plain(), Wish { by_a_worker: true, ..Wish::every(60, MINUTE) });
    let Some(functions) = functions else { return };
    let heard = functions.sweeps(1..END).with_a_worker().played();
    rings("worker", &heard, &["PoolUnattended"]);
    wakes_somebody("worker", &heard);
}

/// A ticket, since only who sees to the target can mend it.
#[test]
fn a_target_that_fails_is_told_of() {
    let Some(functions) = Functions::each_minute() else { return };
    functions.stage.let_fail(FAULT.start * MINUTE, true);
    functions.stage.let_fail(FAULT.end * MINUTE, false);
    let heard = functions.sweeps(1..END).played();
    rings("target", &heard, &["DeadLetters"]);
    assert!(!heard.pages().contains("DeadLetters"));
}

#[test]
fn a_store_that_cannot_be_reached_is_told_of() {
    let span = moment(FAULT.start * MINUTE).millis()..moment(FAULT.end * MINUTE).millis();
    let away = [Resource::State, Resource::Timers];
    let throttles = away.map(|resource| Throttle { resource, shard: None, span: span.clone(), share: 1.0 }).to_vec();
    let functions = Functions::of(Setting { throttles, ..Setting::plain() }, Wish::every(60, MINUTE));
    let Some(functions) = functions else { return };
    let heard = functions.sweeps(1..END).played();
    rings("store", &heard, &["FunctionsFail", "HintsGivenBack", "StartBudgetBurns", "SweepBehind", "TelemetryMissing"]);
    wakes_somebody("store", &heard);
}
