//! The same faults as in `faults.rs`, and the alarms of CDK behind them: each function measures as it does on Lambda, and what CloudWatch's alarms
//! ask is asked of what it wrote. What is to ring rings, nothing else does, and it is silent when all is well again.
//!
//! Of what AWS measures itself there is only what is said here: that the archiver's source is read. So nothing rings by a queue's depth or a function's errors.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::priority::Priority;
use minutehand_io::metrics::document::Document;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish};
use minutehand_tests::cloudwatch::CloudWatch;

use super::faults::{END, FAULT, MINUTE, making_up_for_all, store_away, work_but_in_the_fault};
use super::synthesized;

const FUNCTIONS: [&str; 3] = ["api", "executor", "sweeper"];
/// In minutes: until then an alarm looks at a time before there was anything.
const BEGUN: i64 = 10;
/// In minutes: how long an alarm looks back for a run that waits for a worker, which is looked at once an hour.
const WAITS_LOOKED_BACK: i64 = 125;
/// The longest that the others do, but for what the shorter half of an alarm ends.
const LOOKED_BACK: i64 = 35;

struct Functions {
    stage: Stage,
    documents: [Arc<Document>; 3],
    /// Of the only queue.
    priority: Priority,
    heard: CloudWatch,
}

impl Functions {
    /// One job, whose occurrences are each made up for when they are late. Nothing where there is no Node.
    fn of(setting: Setting, wish: Wish) -> Option<Self> {
        Self::as_wished(setting, making_up_for_all(wish))
    }

    fn as_wished(setting: Setting, wish: Wish) -> Option<Self> {
        let (heard, priority) = (CloudWatch::of(synthesized()?), wish.priority);
        let stage = Stage::on(setting, wish, []);
        let documents = FUNCTIONS.map(|function| Arc::new(Document::new("Minutehand/prod".to_owned(), function)));
        let sinks = documents.clone();
        // Whoever is none of the others asks the API.
        stage.measure_by(move |process| {
            sinks[FUNCTIONS.iter().position(|function| *function == process).unwrap_or(0)].clone()
        });
        stage.create(0, "creator");
        Some(Self { stage, documents, priority, heard })
    }

    fn each_minute() -> Option<Self> {
        Self::of(Setting::plain(), Wish::every(60, MINUTE))
    }

    fn sweeps(self, minutes: Range<i64>) -> Self {
        self.stage.sweep_each_minute(minutes.start * MINUTE..minutes.end * MINUTE);
        self
    }

    fn with_a_worker(self) -> Self {
        work_but_in_the_fault(&self.stage);
        self
    }

    /// To the end. All that a function did in a minute is one document, as if it were one invocation.
    fn played(mut self) -> CloudWatch {
        for minute in 0..=END {
            self.stage.play_to(minute * MINUTE + 30);
            for (function, document) in FUNCTIONS.iter().zip(&self.documents) {
                let priority = (*function == "executor").then_some(self.priority);
                if let Some(line) = document.take(priority, self.stage.now()) {
                    self.heard.told(&line, minute);
                }
            }
            self.heard.measured_by_aws("PolledEventCount", minute, 1.0);
        }
        self.heard
    }
}

/// The fault is met, what is to ring rings, and nothing rings before it, nor so long behind it.
fn rings(name: &str, heard: &CloudWatch, looked_back: i64, expected: &[&str]) {
    assert_eq!(heard.rang(BEGUN..FAULT.start), BTreeSet::new(), "{name}: all is well");
    let expected = expected.iter().map(|alarm| (*alarm).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(heard.rang(FAULT.start..END), expected, "{name}");
    assert_eq!(heard.rang(FAULT.end + looked_back + 5..END), BTreeSet::new(), "{name}: all is well again");
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
    rings("nothing", &functions.sweeps(1..END).played(), LOOKED_BACK, &[]);
}

/// Of a pass that comes at last there is one minute, and `SweepBehind` and `LateStarts` look for several: that they are silent is as it was meant.
#[test]
fn a_tick_that_stops_is_told_of() {
    let Some(functions) = Functions::each_minute() else { return };
    let mut heard = functions.sweeps(1..FAULT.start).sweeps(FAULT.end..END).played();
    heard.measured_by_aws("InvocationAttemptCount", FAULT.start + 3, 1.0); // the dead man's switch
    rings("tick", &heard, LOOKED_BACK, &["StartBudgetBurns", "SweepsStopped", "TelemetryMissing"]);
    wakes_somebody("tick", &heard);
}

/// One of each ten minutes, which nobody makes up for when it is minutes late.
#[test]
fn occurrences_that_are_missed_are_told_of() {
    let functions =
        Functions::as_wished(Setting::plain(), Wish { catch_up: CatchUp::None, ..Wish::every(600, MINUTE) });
    let Some(functions) = functions else { return };
    let heard = functions.sweeps(1..FAULT.start).sweeps(FAULT.end..END).played();
    rings("missed", &heard, LOOKED_BACK, &["OccurrencesMissed", "TelemetryMissing"]);
}

/// Each hint is lost while it waits, so that a run begins when it is found overdue, a minute late.
#[test]
fn starts_that_are_late_for_minutes_are_told_of() {
    let Some(functions) = Functions::each_minute() else { return };
    FAULT.for_each(|minute| functions.stage.purge(minute * MINUTE - 5));
    let heard = functions.sweeps(1..END).played();
    rings("late", &heard, LOOKED_BACK, &["LateStarts", "StartBudgetBurns"]);
    wakes_somebody("late", &heard);
}

#[test]
fn workers_that_are_gone_are_told_of() {
    let functions = Functions::of(Setting::plain(), Wish { by_a_worker: true, ..Wish::every(60, MINUTE) });
    let Some(functions) = functions else { return };
    let heard = functions.sweeps(1..END).with_a_worker().played();
    rings("worker", &heard, WAITS_LOOKED_BACK, &["PoolUnattended"]);
    wakes_somebody("worker", &heard);
}

#[test]
fn workers_that_are_gone_while_critical_runs_wait_are_told_of_twice() {
    let wish = Wish { by_a_worker: true, priority: Priority::Critical, ..Wish::every(60, MINUTE) };
    let Some(functions) = Functions::of(Setting::plain(), wish) else { return };
    let heard = functions.sweeps(1..END).with_a_worker().played();
    rings("critical", &heard, WAITS_LOOKED_BACK, &["CriticalWaits", "PoolUnattended"]);
    wakes_somebody("critical", &heard);
}

/// A ticket, since only who sees to the target can mend it.
#[test]
fn a_target_that_fails_is_told_of() {
    let Some(functions) = Functions::each_minute() else { return };
    functions.stage.let_fail(FAULT.start * MINUTE, true);
    functions.stage.let_fail(FAULT.end * MINUTE, false);
    let heard = functions.sweeps(1..END).played();
    rings("target", &heard, LOOKED_BACK, &["DeadLetters"]);
    assert!(!heard.pages().contains("DeadLetters"));
}

#[test]
fn a_store_that_cannot_be_reached_is_told_of() {
    let functions = Functions::of(store_away(), Wish::every(60, MINUTE));
    let Some(functions) = functions else { return };
    let heard = functions.sweeps(1..END).played();
    rings(
        "store",
        &heard,
        LOOKED_BACK,
        &["FunctionsFail", "HintsGivenBack", "StartBudgetBurns", "SweepBehind", "TelemetryMissing"],
    );
    wakes_somebody("store", &heard);
}
