//! Hints are given in time, by whoever knows first, and the cursor says only what was done.

use minutehand_domain::job::Change;
use minutehand_simulation::stage::{Stage, Wish, dies_before, every, sleeps_before};

/// Guard **creator's hint**: nobody sweeps.
///
/// Removed: `dispatch_if_near` does nothing. Nothing started.
#[test]
fn what_is_due_soon_starts_on_time_though_nobody_sweeps() {
    let stage = Stage::new(Wish::every(60, 20), []);

    stage.create(0, "creator");
    stage.play_to(290);

    assert_eq!(stage.starts(), [(20, 20), (80, 80), (140, 140), (200, 200), (260, 260)]);
}

/// Guard **creator's hint**, of a change that brings a schedule into force.
///
/// Removed: `change` does not fire what it promised. Nothing started.
#[test]
fn what_a_change_made_due_soon_starts_on_time_though_nobody_sweeps() {
    let stage = Stage::new(Wish::every(36_000, 36_000), []);
    stage.create(0, "creator");

    stage.reschedule(5, "changer", &every(600, 20));
    stage.change(30, "changer", Change::Pause);
    stage.change(600, "changer", Change::Resume);
    stage.play_to(700);

    assert_eq!(stage.starts(), [(20, 20), (620, 620)]);
}

/// Guard **creator's hint**, of a run that was asked for.
///
/// Removed: `run_now` gives no hint. Nothing started.
#[test]
fn what_was_asked_for_starts_at_once_though_nobody_sweeps() {
    let stage = Stage::new(Wish::on_demand(), []);
    stage.create(0, "creator");

    stage.ask(10, "asker");
    stage.play_to(20);

    assert_eq!(stage.starts(), [(10, 10)]);
}

/// The cursor is written after the hints: a sweeper dies before the first of them.
///
/// Removed: the cursor is written before. The next passes took the hint for given, and the run was found overdue.
#[test]
fn a_sweeper_that_dies_before_its_hints_has_not_said_that_it_gave_them() {
    let stage = Stage::new(Wish::once(600), [dies_before("dying", "send")]);
    stage.create(0, "creator");

    stage.sweep(310, "dying");
    stage.sweep_each_minute(370..900);
    stage.play_to(900);

    assert_eq!(stage.starts(), [(600, 600)]);
}

/// The cursor is guarded: a sweeper that sleeps before it does not undo what an operator said meanwhile.
///
/// Removed: the cursor is put over what is there. The purged hints were taken for given.
#[test]
fn a_slow_sweeper_does_not_say_again_that_forgotten_hints_were_given() {
    let stage = Stage::new(Wish::once(590), [sleeps_before("slow", "put_cursor", 30)]);
    stage.create(0, "creator");
    stage.sweep(240, "first"); // lays the cursor: the slow one writes it once, at its end

    stage.sweep(300, "slow");
    stage.purge(310);
    stage.forget_hints(315, "operator");
    stage.sweep_each_minute(360..900);
    stage.play_to(900);

    assert_eq!(stage.starts(), [(590, 590)]);
}
