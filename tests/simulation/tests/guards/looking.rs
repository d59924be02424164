//! Whatever a queue lost, and whoever died, is found by the overdue look.

use minutehand_simulation::stage::{Stage, Wish, dies_after};

/// Guard **overdue look**: the hint of a single occurrence is lost.
///
/// Removed: the sweeper does not look at what is overdue. It never ran.
#[test]
fn an_occurrence_whose_hint_was_lost_runs() {
    let stage = Stage::new(Wish::once(60), []);
    stage.lose_hints(0..100);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);

    stage.play_to(600);

    assert_eq!(stage.starts(), [(60, 120)]);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// Guard **overdue look**: the queue is purged, and nobody says so.
///
/// Removed: the sweeper does not look at what is overdue. What had been hinted never ran.
#[test]
fn what_was_in_a_purged_queue_runs() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..900);

    stage.purge(61);
    stage.play_to(890);

    assert_eq!(stage.called(), (1..15).map(|n| n * 60).collect::<Vec<_>>());
}

/// Guard **overdue look**, of a run: its executor dies with the claim just written, and the hints of its timer are lost, also that
/// of the pass right after its lease.
///
/// Removed: the look does nothing about a run whose lease is over. It stayed running for ever.
#[test]
fn the_run_of_a_dead_executor_is_taken_over_after_its_lease() {
    let stage = Stage::new(Wish::once(60), [dies_after("executor", "put_run")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);

    stage.purge(61);
    stage.lose_hints(61..190);
    stage.play_to(600);

    assert_eq!(stage.starts(), [(60, 240)]);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}
