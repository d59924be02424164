//! Faults, and the alarms that ring behind them: the real handlers meet one at virtual time and are measured as a process measures them, and
//! Prometheus' rules are asked of what was measured. What is to ring rings, nothing else does, and it is silent when all is well again.
//!
//! What names a cause rings, and beside it what says that starts were late (`StartBudgetBurns`), where they were.
//!
//! Of the process itself there are only the series of its registry; what it reads of its queues and of DynamoDB when it is asked is not there. Real
//! processes meet the same in `localstack/tests/faults.rs`, by the clock.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_io::metrics::series::Series;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish, moment};
use minutehand_simulation::throttle::{Resource, Throttle};
use minutehand_tests::alarms::{Scraped, promtool};
use prometheus::{Registry, TextEncoder};

pub(super) const MINUTE: i64 = 60;
/// In minutes: before it all is well, and behind it too.
pub(super) const FAULT: Range<i64> = 60..80;
pub(super) const END: i64 = 240;

/// Each occurrence is made up for when it is late.
pub(super) fn making_up_for_all(wish: Wish) -> Wish {
    let catch_up = CatchUp::All { window: Duration::from_secs(86_400), max_runs: 1000, per_minute: None };
    Wish { catch_up, ..wish }
}

/// A worker comes each two seconds, and in the fault nobody.
pub(super) fn work_but_in_the_fault(stage: &Stage) {
    for second in (MINUTE..END * MINUTE).step_by(2).filter(|second| !FAULT.contains(&(second / MINUTE))) {
        stage.take_and_complete(second, "worker");
    }
}

/// In the fault the store cannot be reached.
pub(super) fn store_away() -> Setting {
    let span = moment(FAULT.start * MINUTE).millis()..moment(FAULT.end * MINUTE).millis();
    let away = [Resource::State, Resource::Timers];
    let throttles = away.map(|resource| Throttle { resource, shard: None, span: span.clone(), share: 1.0 }).to_vec();
    Setting { throttles, ..Setting::plain() }
}

/// What is measured of a world, and what it measured.
struct Host {
    stage: Stage,
    registry: Registry,
    scraped: Scraped,
}

impl Host {
    /// One job, whose occurrences are each made up for when they are late.
    fn of(setting: Setting, wish: Wish) -> Self {
        Self::as_wished(setting, making_up_for_all(wish))
    }

    fn as_wished(setting: Setting, wish: Wish) -> Self {
        let stage = Stage::on(setting, wish, []);
        let registry = Registry::new();
        stage.measure_into(Arc::new(Series::of_a_host(&registry).expect("a registry of its own")));
        stage.create(0, "creator");
        Self { stage, registry, scraped: Scraped::each(Duration::from_secs(60)) }
    }

    fn each_minute() -> Self {
        Self::of(Setting::plain(), Wish::every(60, MINUTE))
    }

    fn with_a_worker(self) -> Self {
        work_but_in_the_fault(&self.stage);
        self
    }

    fn sweeps(self, minutes: Range<i64>) -> Self {
        self.stage.sweep_each_minute(minutes.start * MINUTE..minutes.end * MINUTE);
        self
    }

    /// To the end, asked each minute.
    fn played(mut self) -> Scraped {
        for minute in 0..=END {
            self.stage.play_to(minute * MINUTE + 30);
            self.scrape();
        }
        self.scraped
    }

    fn scrape(&mut self) {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).expect("text");
        // The store of a simulation has no units. Of those of a host over DynamoDB there is no more here than that some were measured once.
        self.scraped.answered(&format!("{text}minutehand_store_units_total{{what=\"read\"}} 1\n"));
    }
}

/// Which alerts rang between two minutes.
fn rang(promtool: &Path, name: &str, scraped: &Scraped, minutes: Range<i64>) -> BTreeSet<String> {
    let scrape = |minute| usize::try_from(minute).expect("a few minutes");
    scraped.rang(promtool, name, scrape(minutes.start)..scrape(minutes.end))
}

/// The fault is met, what is to ring rings, and nothing rings before it, nor an hour and a half after it.
fn rings(name: &str, scraped: &Scraped, expected: &[&str]) {
    let Some(promtool) = promtool() else { return };
    let rang = |minutes| rang(promtool, name, scraped, minutes);
    assert_eq!(rang(0..FAULT.start - 1), BTreeSet::new(), "{name}: all is well");
    assert_eq!(rang(FAULT.start..END), expected.iter().map(|name| (*name).to_owned()).collect(), "{name}");
    assert_eq!(rang(END - 60..END), BTreeSet::new(), "{name}: all is well again");
}

/// A page that rings once all is over wakes nobody in time.
fn rings_meanwhile(name: &str, scraped: &Scraped, page: &str) {
    let Some(promtool) = promtool() else { return };
    let rang = rang(promtool, name, scraped, FAULT.start..FAULT.end - 1);
    assert!(rang.contains(page), "{name}: of {page} nobody is told before it is over, but of {rang:?}");
}

#[test]
fn nothing_rings_where_nothing_is_wrong() {
    rings("nothing", &Host::each_minute().sweeps(1..END).played(), &[]);
}

#[test]
fn a_tick_that_stops_is_told_of() {
    let host = Host::each_minute().sweeps(1..FAULT.start).sweeps(FAULT.end..END);
    let scraped = host.played();
    rings("tick", &scraped, &["StartBudgetBurns", "SweepBehind"]);
    rings_meanwhile("tick", &scraped, "SweepBehind");
}

#[test]
fn workers_that_are_gone_are_told_of() {
    let host = Host::of(Setting::plain(), Wish { by_a_worker: true, ..Wish::every(60, MINUTE) });
    let host = host.sweeps(1..END).with_a_worker();
    rings("worker", &host.played(), &["PoolUnattended"]);
}

/// Each minute one occurrence fires in the stead of those before it, and none waits for long by itself (guard `waits-since-the-first-of-them`).
#[test]
fn workers_that_are_gone_are_told_of_however_often_their_job_comes() {
    let host = Host::as_wished(Setting::plain(), Wish { by_a_worker: true, ..Wish::every(5, MINUTE) });
    let scraped = host.sweeps(1..END).with_a_worker().played();
    rings("often", &scraped, &["PoolUnattended"]);
    rings_meanwhile("often", &scraped, "PoolUnattended");
}

#[test]
fn a_target_that_fails_is_told_of() {
    let host = Host::each_minute().sweeps(1..END);
    host.stage.let_fail(FAULT.start * MINUTE, true);
    host.stage.let_fail(FAULT.end * MINUTE, false);
    rings("target", &host.played(), &["DeadLetters"]);
}

/// Where the last pass began is in the store, too: until that is back no pass is measured.
#[test]
fn a_store_that_cannot_be_reached_is_told_of() {
    let host = Host::of(store_away(), Wish::every(60, MINUTE));
    let scraped = host.sweeps(1..END).played();
    rings("store", &scraped, &["StartBudgetBurns", "SweepBehind"]);
    rings_meanwhile("store", &scraped, "SweepBehind");
}
