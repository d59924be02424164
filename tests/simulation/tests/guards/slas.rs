//! SLAs: a run that has not ended in time is told of once, and goes on.

use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::Change;
use minutehand_judge::graph::Step;
use minutehand_protocol::run::take::Taken;
use minutehand_simulation::stage::graphs::{Graphs, call, flow};
use minutehand_simulation::stage::{Answer, Stage, Wish, dies_before, moment, sleeps_before};

/// Due at 10, and to have ended by 70.
fn in_a_minute() -> Wish {
    Wish { sla: Some(60), ..Wish::once(10) }
}

/// When its run was found to have missed its SLA, and how often that was told.
fn missed(stage: &Stage) -> (Option<i64>, u64) {
    let run = stage.run(10).expect("it has a record");
    let at = run.sla_missed().map(|at| i64::try_from(at.since(moment(0)).as_secs()).expect("some seconds"));
    (at, stage.counted("sla missed"))
}

#[test]
fn a_run_that_ends_in_time_has_kept_its_sla() {
    let stage = Stage::new(Wish { takes: 30, ..in_a_minute() }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..600);

    stage.play_to(600);

    assert_eq!((stage.state(10).as_str(), missed(&stage)), ("succeeded", (None, 0)));
}

/// A look finds it, though it would otherwise come only when the lease is over; and its lease stays its own.
///
/// Removed (`sla-is-looked-at`): the look moves the timer to the end of the lease. It was told when it ended.
#[test]
fn a_run_that_goes_on_past_its_sla_is_told_of_while_it_goes_on() {
    let stage = Stage::new(Wish { takes: 500, timeout: 600, ..in_a_minute() }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);

    stage.play_to(200);
    let meanwhile = (stage.state(10), missed(&stage));
    stage.play_to(900);

    assert_eq!(meanwhile, ("running".to_owned(), (Some(120), 1)));
    assert_eq!((stage.state(10).as_str(), missed(&stage)), ("succeeded", (Some(120), 1)));
    assert_eq!((stage.called(), stage.timers()), (vec![10], vec![]));
}

/// Nobody looks: what is written of it next says so.
#[test]
fn a_run_that_begins_or_ends_late_is_told_of_with_that() {
    let [begins, ends] =
        [Stage::new(in_a_minute(), []), Stage::new(Wish { takes: 90, timeout: 300, ..in_a_minute() }, [])];
    begins.create(0, "creator");
    begins.lose_hints(0..20);
    ends.create(0, "creator");
    begins.play_to(1);
    begins.execute(100, "executor", &begins.hint(10));

    begins.play_to(200);
    ends.play_to(200);

    assert_eq!((begins.state(10).as_str(), missed(&begins)), ("succeeded", (Some(100), 1)));
    assert_eq!((ends.state(10).as_str(), missed(&ends)), ("succeeded", (Some(100), 1)));
}

fn pulled() -> Wish {
    Wish { by_a_worker: true, ..in_a_minute() }
}

fn take_late(stage: &Stage) -> Answer<Vec<Taken>> {
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);
    stage.play_to(500);
    stage.take(501, "worker")
}

/// No worker comes: the occurrence has no record that could say so. A look tells, once; and who claims it later knows that.
///
/// Removed (`sla-told-once`): a claim does not ask whether a look has told. It was told twice.
#[test]
fn an_occurrence_that_nobody_begins_is_told_of_once() {
    let stage = Stage::new(pulled(), []);
    let taken = take_late(&stage);
    let told = stage.counted("sla missed");

    stage.play_to(900);

    assert_eq!((told, taken.given().len()), (1, 1));
    let (at, times) = missed(&stage);
    assert!(at.is_some_and(|at| (71..=300).contains(&at)), "{at:?}");
    assert_eq!(times, 1);
}

/// Its executor is so slow that the occurrence is late when it is offered. It has no record all the same: with one it would go on in a pause, and be
/// made up for by no policy.
///
/// Removed (`sla-makes-no-record`): that it is late is written down where it is offered. A worker was given it while its job was paused.
#[test]
fn an_occurrence_that_is_late_when_it_is_offered_does_not_start_in_a_pause() {
    let stage = Stage::new(Wish { sla: Some(3), ..pulled() }, [sleeps_before("executor", "head", 8)]);
    stage.create(0, "creator");
    stage.sweep(0, "sweeper");
    stage.play_to(25);
    let offered = stage.offered();

    stage.change(30, "pauser", Change::Pause);
    let taken = stage.take(40, "worker");
    stage.play_to(60);

    assert_eq!((offered, taken.given().len()), (1, 0));
}

/// Who dies on the way to telling leaves it to the next.
#[test]
fn an_occurrence_that_nobody_begins_is_told_of_whoever_dies() {
    for port in ["put_timer", "erase_timer", "send"] {
        for number in 1..=8 {
            let mut death = dies_before("sweeper", port);
            death.nth = number;
            let stage = Stage::new(pulled(), [death]);
            let taken = take_late(&stage);
            let told = stage.counted("sla missed");

            stage.play_to(900);

            assert!((1..=2).contains(&told), "{port} {number}: {told}");
            assert!(!taken.given().is_empty() && missed(&stage).0.is_some(), "{port} {number}");
        }
    }
}

#[test]
fn a_run_that_waits_for_a_place_past_its_sla_is_told_of() {
    let stage = Stage::new(in_a_minute().at_once("x", 1), []);
    let first = stage.beside(Wish { takes: 300, timeout: 600, ..Wish::once(5) }.at_once("x", 1));
    first.create(0, "creator");
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);

    stage.play_to(250);
    let meanwhile = (stage.state(10), missed(&stage));
    stage.play_to(900);

    assert_eq!(meanwhile, ("waiting".to_owned(), (Some(120), 1)));
    assert_eq!((stage.state(10).as_str(), missed(&stage)), ("succeeded", (Some(120), 1)));
}

#[test]
fn the_run_of_a_workflow_has_the_sla_of_the_job_that_calls_it() {
    let slow = Step { takes: 55_000, ..call(&[]) };
    let graphs = Graphs::new([flow([slow])], []);
    let stage = graphs.beside(Wish { timeout: 600, sla: Some(30), ..in_a_minute() });
    stage.create(1, "creator");
    graphs.sweep_each_minute(0..900);

    graphs.play_to(63);
    let meanwhile = (stage.state(10), missed(&stage));
    graphs.play_to(900);

    assert_eq!(meanwhile, ("waiting".to_owned(), (Some(60), 1)));
    assert_eq!((stage.state(10).as_str(), missed(&stage).1), ("succeeded", 1));
}

/// After an outage the timer of what is made up for is promised late, as one that was moved: whoever promises it tells.
///
/// Removed (`sla-told-with-a-late-promise`): nobody tells with that. Nothing was told of what began half an hour late.
#[test]
fn what_is_made_up_for_is_told_of() {
    for catch_up in
        [CatchUp::default(), CatchUp::All { window: Duration::from_secs(86_400), max_runs: 10, per_minute: None }]
    {
        let stage = Stage::new(Wish { sla: Some(600), catch_up, ..Wish::every(3600, 3600) }, []);
        stage.create(0, "creator");
        stage.sweep_each_minute(12_600..14_000);

        stage.play_to(14_000);

        let late = stage.called();
        let told = stage.counted("sla missed");
        assert!(late.contains(&10_800), "{late:?}");
        assert_eq!(usize::try_from(told).unwrap(), late.len(), "{catch_up:?}");
    }
}

/// It waits out a backoff that is longer than its SLA.
///
/// Removed (`sla-in-a-backoff`): nobody looks before the next attempt. It was told an hour later.
#[test]
fn a_run_that_waits_out_a_long_backoff_is_told_of() {
    let stage = Stage::new(Wish { fails: true, retries: 1, retry_after: 3600, ..in_a_minute() }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..4_500);

    stage.play_to(200);
    let meanwhile = (stage.state(10), missed(&stage));
    stage.play_to(4_500);

    assert_eq!(meanwhile, ("scheduled".to_owned(), (Some(120), 1)));
    assert_eq!((stage.state(10).as_str(), missed(&stage).1, stage.timers()), ("failed: error", 1, vec![]));
}
