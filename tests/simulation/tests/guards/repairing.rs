//! A repair while everything goes on: what was lost is there again, and what was not is done once all the same.

use std::collections::BTreeSet;
use std::ops::Range;

use minutehand_domain::job::Change;
use minutehand_domain::repair::Subject;
use minutehand_domain::schedule::Plan;
use minutehand_judge::graph::{Each, Flow, Over, Step, Tolerate};
use minutehand_protocol::job::change::Changed;
use minutehand_simulation::fate::Line;
use minutehand_simulation::setting::{Host, Lambda, Setting};
use minutehand_simulation::stage::graphs::{Graphs, call, flow};
use minutehand_simulation::stage::{Stage, Wish, dies_after, every, sleeps_after};

const DAY: i64 = 86_400;

fn on_lambda() -> Setting {
    let lambda = Lambda { batch: 1, timeout: 900_000, concurrency: 5, more: 5, fair: false };
    Setting { host: Host::Lambda(lambda), ..Setting::plain() }
}

/// The table of timers is lost at 610 s, between two passes, and repaired at 905.
///
/// Removed: the timer that a repair puts. Neither job ran again.
#[test]
fn after_the_timers_were_lost_and_made_again_every_chain_goes_on() {
    for setting in [Setting::plain(), on_lambda()] {
        let ours = Stage::on(setting, Wish::every(60, 60), []);
        let theirs = ours.beside_of("other", Wish::every(60, 90));
        ours.create(0, "creator");
        theirs.create(1, "creator");
        ours.sweep_each_minute(60..2100);
        ours.lose_timers(610);

        let repaired = ours.repair(905, "admin");
        ours.play_to(2080);

        let summary = repaired.given().summary;
        assert_eq!((summary.jobs, summary.without_timer + summary.overdue), (2, 2), "{summary:?}");
        for stage in [&ours, &theirs] {
            let called = stage.called();
            let punctual =
                (0..18).map(|n| 960 + 60 * n).filter(|at| called.iter().any(|called| called / 60 == at / 60));
            assert_eq!(punctual.count(), 18, "{called:?}");
        }
        assert_eq!(ours.judge_beside(&[theirs]), []);
    }
}

/// On AWS, where no pass looks through what is to come: a clock that was a day ahead for a quarter of a minute puts a run off.
///
/// Removed: the timer that a repair puts. The run was silent until tomorrow.
#[test]
fn what_a_clock_that_was_ahead_put_off_is_begun_after_a_repair() {
    let stage = Stage::on(on_lambda(), Wish::on_demand(), []);
    stage.lose_hints(0..118);
    stage.create(0, "creator");
    stage.ask(5, "client");
    stage.sweep(10, "sweeper");
    stage.set_clocks(95, DAY);
    stage.sweep(100, "ahead");
    stage.set_clocks(110, 0);
    stage.sweep_each_minute(120..900);
    stage.play_to(590);
    assert_eq!(stage.starts(), [], "it is put off");

    let repaired = stage.repair(600, "admin");
    stage.play_to(890);

    assert_eq!(repaired.given().summary.overdue, 1, "{:?}", repaired.given());
    assert_eq!(stage.starts().len(), 1, "{:?}", stage.timers());
}

/// On AWS, where no pass looks through what is to come: by a clock that is two days ahead for some minutes these days are an outage, and
/// one record speaks for them. Its job is a minute's, or a second's.
///
/// Removed (`a-record-of-what-is-to-come-speaks-for-nothing`): a repair believes that record, and finds nothing. The job was silent for two days.
#[test]
fn what_a_clock_that_was_ahead_passed_over_runs_after_a_repair() {
    for every in [60, 1] {
        let stage = Stage::on(on_lambda(), Wish::every(every, 60), []);
        stage.create(0, "creator");
        stage.sweep(10, "sweeper");
        stage.set_clocks(95, 2 * DAY);
        stage.sweep(100, "ahead");
        stage.set_clocks(310, 0);
        stage.sweep_each_minute(360..1500);
        stage.play_to(790);
        let begun = |instants: Range<i64>| {
            stage.starts().into_iter().filter(|(instant, _)| instants.contains(instant)).collect::<Vec<_>>()
        };
        assert_eq!(begun(450..800), [], "each {every} s: it is silent");

        stage.repair(800, "admin");
        stage.play_to(1490);

        let seconds = i64::try_from(every).unwrap();
        let on_time: Vec<_> = (900..1450).filter(|at| at % seconds == 0).map(|at| (at, at)).collect();
        assert_eq!(begun(900..1450), on_time, "each {every} s");
    }
}

/// A clock that is two days ahead makes a job of each minute: an interval without a start, and two that are spread. One was paused and resumed meanwhile.
///
/// Removed (`a-repair-begins-intervals-anew`): a repair leaves when an interval begins. (`a-repair-spreads-anew`): it leaves from when on instants are
/// spread. (`a-repair-knows-what-counts-from-ahead`): it looks at since when the schedule is in force alone. Each job was said to be mended, or to be well, and
/// silent for two days.
#[test]
fn what_a_clock_that_was_ahead_made_runs_after_a_repair() {
    let interval = Plan { every_seconds: Some(60), ..Plan::default() };
    let cron = Plan { cron: Some("* * * * *".to_owned()), jitter_seconds: Some(20), ..Plan::default() };
    let spread = Plan { jitter_seconds: Some(20), ..interval.clone() };
    for (plan, resumed) in [(interval.clone(), false), (spread, false), (cron, false), (interval, true)] {
        let stage = Stage::on(on_lambda(), Wish::of(plan.clone()), []);
        stage.set_clocks(20, 2 * DAY);
        stage.create(25, "creator");
        stage.set_clocks(30, 0);
        if resumed {
            stage.change(40, "owner", Change::Pause);
            stage.change(50, "owner", Change::Resume);
        }
        stage.sweep_each_minute(60..1500);
        stage.play_to(590);
        assert_eq!(stage.starts(), [], "{plan:?}: it is silent");

        stage.repair(600, "admin");
        stage.play_to(1490);

        let minutes: BTreeSet<i64> = stage.starts().into_iter().map(|(instant, _)| instant / 60).collect();
        assert!((12..24).all(|minute| minutes.contains(&minute)), "{plan:?}: {minutes:?}");
    }
}

/// What a clock that was ahead made is changed by its owner while a repair is at it.
///
/// Removed (`a-repair-mends-what-is-there`): it is mended as the repair had read it. The owner's change, which was answered, was undone.
#[test]
fn a_repair_undoes_no_change_that_was_made_meanwhile() {
    let interval = Plan { every_seconds: Some(60), ..Plan::default() };
    let stage = Stage::on(on_lambda(), Wish::of(interval), [sleeps_after("admin", "everything", 20)]);
    stage.set_clocks(20, 2 * DAY);
    stage.create(25, "creator");
    stage.set_clocks(30, 0);
    stage.sweep_each_minute(60..1500);

    let mended = stage.repair(600, "admin");
    let changed = stage.reschedule(610, "owner", &every(300, 900));
    stage.play_to(1490);

    assert!(matches!(changed.given(), Changed::Done(_)));
    assert_eq!(mended.given().summary.ahead, 1, "it was so when it was read");
    assert_eq!(stage.called(), [900, 1200]);
}

/// On AWS, where nobody knows the first timer: a job is created by a clock that is two hours behind, in a minute that the passes have left.
///
/// Removed: the timers that a repair puts. The job never ran.
#[test]
fn what_was_promised_by_a_clock_that_was_behind_is_begun_after_a_repair() {
    let stage = Stage::on(on_lambda(), Wish::every(60, -10_800), []);
    stage.sweep_each_minute(0..1200);
    stage.set_clocks(70, -7200);
    stage.lose_hints(65..100);
    stage.create(75, "creator");
    stage.set_clocks(80, 0);
    stage.play_to(590);
    assert_eq!(stage.starts(), [], "nobody looks there");

    stage.repair(600, "admin");
    stage.play_to(1190);

    let punctual: Vec<_> = stage.starts().into_iter().filter(|(instant, _)| *instant > 660).collect();
    assert_eq!(punctual, (12..20).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
}

/// A job of each two hours that somebody begins by hand every ten seconds: between its newest occurrence, if it has one, and now lie more of its
/// runs than one page holds, or than a repair reads. Its timers are lost.
///
/// Removed: runs by hand count as those of its chain do (`repairs-behind-runs-by-hand`), by which the occurrence that was lost among them was passed
/// over; and where not all of them are read nothing is said of the chain behind them (`repairs-behind-more-runs-than-it-reads`), by which it was silent for ever.
#[test]
fn a_chain_goes_on_after_a_repair_however_many_runs_by_hand_lie_behind_it() {
    for (first, asks, lost) in [(60, 150, Some(7260)), (60, 1100, None), (14_460, 1100, None)] {
        let stage = Stage::new(Wish::every(7200, first), []);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..16_000);
        stage.lose_timers(400);
        for ask in 0..asks {
            stage.ask(7500 + 6 * ask, "client");
        }

        let repaired = stage.repair(14_300, "admin");
        stage.play_to(15_900);

        let summary = repaired.given().summary;
        let found = if lost.is_some() { (1, 0) } else { (0, 1) };
        assert_eq!((summary.overdue, summary.without_timer), found, "{first}, {asks}: {summary:?}");
        let begun: Vec<_> = stage.starts().into_iter().filter(|(instant, _)| (instant - 60) % 7200 == 0).collect();
        assert_eq!(begun.last(), Some(&(14_460, 14_460)), "{first}, {asks}: {begun:?}");
        assert_eq!(
            begun.iter().any(|(instant, _)| Some(*instant) == lost),
            lost.is_some(),
            "{first}, {asks}: {begun:?}"
        );
    }
}

/// Of a tenant that is being erased no job is left, and all timers are lost.
///
/// Removed (`repair-promises-erasures`): a repair asks for the operations of tenants that have a job. What was found late lay there for ever.
#[test]
fn an_erasure_goes_on_after_a_repair_though_no_job_is_left() {
    let stage = Stage::new(Wish::every(60, 0), []);
    stage.sweep_each_minute(0..7200);
    stage.create(0, "creator");
    stage.erase(10, "asker");
    stage.lose_timers(300);
    let ended = |stage: &Stage| stage.erasures().iter().filter(|erasure| !erasure.goes_on()).count();
    stage.play_to(3000);
    assert_eq!((stage.head(), ended(&stage)), (None, 0), "nobody looks at it");

    stage.repair(3010, "admin");
    stage.play_to(7000);

    assert_eq!(ended(&stage), 1);
}

/// Nobody sweeps: no pass makes the cursor anew before a repair comes to it.
///
/// Removed (`repair-discards-a-corrupt-cursor`): it is named, and stays. The repair after found it again.
#[test]
fn a_corrupt_cursor_is_named_by_a_repair_and_gone_after_it() {
    let stage = Stage::new(Wish::on_demand(), []);
    stage.create(0, "creator");
    stage.sweep(10, "sweeper");
    stage.damage_cursor(20);

    let repairs = [30, 40].map(|at| stage.repair(at, "admin"));
    stage.play_to(50);

    let [found, after] = repairs.map(|repaired| repaired.given());
    let subjects: Vec<_> = found.findings.iter().map(|finding| &finding.subject).collect();
    assert_eq!(subjects, [&Subject::Item("cursors 0".to_owned())]);
    assert_eq!((found.summary.corrupt, after.summary.corrupt), (1, 0), "{found:?} {after:?}");
}

/// Nothing was lost, and it is repaired twice at the same time as a pass, a claim and a change are made.
#[test]
fn a_repair_of_what_is_whole_doubles_nothing() {
    let stage = Stage::new(Wish { takes: 90, timeout: 120, ..Wish::every(60, 60) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..2100);
    for at in (240..1500).step_by(180) {
        stage.repair(at, "admin");
        stage.repair(at, "another admin");
    }

    stage.play_to(2000);

    assert_eq!(stage.starts()[..30], (1..31).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
    assert_eq!(stage.judge(), []);
}

/// A repair that dies in its midst is a repair of some of it: the next one does the rest.
#[test]
fn a_repair_that_dies_leaves_nothing_worse() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("admin", "put_timer")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..2100);
    stage.lose_timers(610);
    stage.repair(905, "admin");
    stage.repair(1000, "admin");

    stage.play_to(2080);

    assert!(stage.called().contains(&2040), "{:?}", stage.called());
    assert_eq!(stage.judge(), []);
}

/// A run whose executor died once the end of one of its tasks was written, and whose timers and hints are gone: nobody looks at that end
/// any more, and the look at the whole finds nothing to begin.
fn left_by(nth: u32, graph: Flow) -> Graphs {
    let stage = Graphs::new([graph], [Line { nth, ..dies_after("executor", "put_run") }]);
    stage.lose_all_that_points(20);
    stage.sweep_each_minute(60..4000);
    stage
}

/// What a repair of it finds: before, as often as it is asked; at once after, as nobody has looked yet; and when all is paid.
///
/// Removed: the look that is promised. The run stood still for ever.
#[test]
fn an_end_that_nobody_settles_any_more_is_found_and_settled() {
    let fan = || {
        let each = Each { over: Over::List(vec![1; 5]), lanes: Some(2), tolerate: Tolerate::Branches(0) };
        flow([Step { each: Some(each), ..call(&[]) }])
    };
    for (nth, graph) in
        [(4, flow([call(&[]), call(&[0])])), (6, flow([call(&[]), call(&[]), call(&[0, 1])])), (8, fan())]
    {
        let stage = left_by(nth, graph);
        let run = stage.ask(1);
        let young = stage.repair(60, "early", true);
        let checks = [stage.repair(600, "checker", true), stage.repair(660, "checker", true)];
        stage.play_to(700);
        assert_eq!(stage.status(run.given()), "waiting", "nobody looks at what is over");

        let repairs = [stage.repair(720, "admin", false), stage.repair(720, "another admin", false)];
        let after = stage.repair(1500, "checker", true);
        stage.play_to(1600);

        assert_eq!(stage.status(run.given()), "succeeded");
        for found in checks.iter().chain(&repairs) {
            assert_eq!(found.given().summary.unsettled, 1, "{:?}", found.given());
        }
        assert_eq!([young, after].map(|found| found.given().summary.unsettled), [0, 0], "too young, and all paid");
        assert_eq!(stage.judge(), []);
    }
}

/// A run that is over holds a place which nobody gives back; the next one has it after a repair, though nobody asks for another.
///
/// Removed: a repair does not look at places. The second run waited for ever.
#[test]
fn a_place_that_a_run_kept_which_is_over_is_given_back() {
    let one = Flow { at_once: Some(1), ..flow([call(&[])]) };
    let stage = left_by(5, one);
    let first = stage.ask(1);

    stage.play_to(700);
    let found = stage.repair(720, "admin", false);
    stage.play_to(1600);

    assert_eq!((stage.status(first.given()), stage.holders()), ("succeeded", 0));
    assert_eq!(found.given().summary.unsettled, 1, "{:?}", found.given());
    assert_eq!(stage.judge(), []);
}
