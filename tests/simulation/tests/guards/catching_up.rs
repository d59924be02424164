//! What an outage's occurrences become is decided once.

use minutehand_executor::CarriedOut;
use minutehand_protocol::claim::Dropped;
use minutehand_simulation::stage::{Stage, Wish, dies_after, moment, sleeps_after, sleeps_before};

/// A job of every minute that was created, and then nobody did anything, until after 580 seconds the lanes are back.
fn after_an_outage(script: impl IntoIterator<Item = minutehand_simulation::fate::Line>) -> Stage {
    let stage = Stage::new(Wish::every(60, 60), script);
    stage.lose_hints(0..580);
    stage.create(0, "creator");
    stage.play_to(10);
    stage
}

/// Rule **catch-up is decided once**: two sweepers read that nothing is decided, five seconds apart, so that each has
/// another last occurrence.
///
/// Removed: the record is put over what is there; or a sweeper that lost fires what it had decided itself. The first left
/// a record that speaks for less than was skipped; by the second an occurrence ran that the record speaks for.
#[test]
fn two_sweepers_after_an_outage_make_one_record_and_one_run() {
    let script = [dies_after("creator", "put_head"), sleeps_before("slow", "put_run", 7)];
    let stage = Stage::new(Wish::every(5, 60), script);
    stage.create(0, "creator");

    stage.sweep(541, "slow");
    stage.sweep(546, "quick");
    stage.play_to(559);

    assert_eq!(stage.run(60).unwrap().coalesced_until(), Some(moment(545)));
    assert_eq!(stage.called(), [545, 550, 555]);
}

/// Rule **catch-up is decided once**, put only where nothing is: an executor claims the occurrence between the sweeper's
/// read and its record.
///
/// Removed: the record is put over what is there. The run was called and then called skipped.
#[test]
fn a_run_that_began_meanwhile_is_not_coalesced() {
    let stage = after_an_outage([sleeps_before("slow", "put_run", 5)]);
    let hint = stage.hint(60);

    stage.sweep(590, "slow");
    let late = stage.execute(592, "late", &hint);
    stage.play_to(660);

    assert!(late.given().is_recorded());
    assert_eq!(stage.state(60), "succeeded");
}

/// Rule **catch-up is decided once**, by the head of the chain: whose successor has a timer is a straggler, and runs late.
///
/// Removed: the look does not ask for the successor. The straggler was skipped, as if there had been an outage.
#[test]
fn a_straggler_whose_successor_stands_is_not_coalesced() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.lose_hints(0..10);
    stage.create(0, "creator");

    stage.sweep(120, "sweeper");
    stage.play_to(150);

    assert_eq!(stage.starts(), [(60, 120), (120, 120)]);
}

/// Rule **late claim**, its beginning: a late hint of an occurrence that the record of an outage speaks for.
///
/// Removed: the claim does not look for a covering record. The occurrence ran although it was coalesced.
#[test]
fn a_late_hint_of_a_covered_occurrence_runs_nothing() {
    let stage = after_an_outage([sleeps_after("sweeper", "put_run", 20)]);
    let hint = stage.hint(120);

    stage.sweep(590, "sweeper");
    let late = stage.execute(600, "late", &hint);
    stage.play_to(660);

    assert!(!stage.called().contains(&120));
    assert_eq!(late.given(), CarriedOut::Dropped(Dropped::Covered));
}

/// Rule **catch-up is decided once**, of those covered: an executor has looked for a covering record before it was there,
/// and sleeps over its claim.
///
/// Removed: the timer of a covered occurrence is erased without a record of its own. The occurrence ran although it was
/// coalesced, and no timer stood behind it.
#[test]
fn an_executor_that_slept_while_its_occurrence_was_covered_runs_nothing() {
    let stage = after_an_outage([sleeps_before("slept", "put_run", 15)]);
    let hint = stage.hint(120);

    let slept = stage.execute(585, "slept", &hint);
    stage.sweep(590, "sweeper");
    stage.play_to(660);

    assert!(!stage.called().contains(&120));
    assert_eq!(slept.given(), CarriedOut::Dropped(Dropped::Faster));
}

/// Rule **catch-up is decided once**, every reader fires the last: the sweeper dies once the record is there, and a late
/// hint finds it before the next sweeper.
///
/// Removed: the hint's executor erases the timer of any finished run. The last occurrence never ran, and the chain ended.
#[test]
fn the_timer_of_a_coalescing_record_stays_until_the_last_occurrence_is_fired() {
    let stage = after_an_outage([dies_after("dying", "put_run")]);
    let hint = stage.hint(60);

    stage.sweep(590, "dying");
    stage.execute(600, "late", &hint);
    stage.sweep_each_minute(660..800);
    stage.play_to(800);

    assert_eq!(stage.starts(), [(540, 660), (600, 660), (660, 660), (720, 720), (780, 780)]);
}
