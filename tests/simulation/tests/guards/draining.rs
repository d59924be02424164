//! Buckets are left when nothing can be in them any more, and timers that wait do not keep them.

use minutehand_simulation::stage::{Stage, Wish, dies_after, sleeps_before};

/// Guard **drain**, the leave line: a creator puts its timer into a bucket that was empty when the last pass came by, in time
/// before the write line, and dies once the head is there.
///
/// Removed: an empty bucket is left once its minute is over. Nobody ever looked at the timer. (One that is left before its
/// minute is over makes a cursor that no honest clock could have written, and the next pass begins at the first timer.)
#[test]
fn an_empty_bucket_is_not_left_before_its_line() {
    let script = [sleeps_before("creator", "put_timer", 25), dies_after("creator", "put_head")];
    let stage = Stage::new(Wish::once(50), script);
    stage.sweep_each_minute(0..600);

    stage.create(40, "creator");
    stage.play_to(600);

    assert_eq!(stage.starts(), [(50, 120)]);
}

/// Guard **drain**, the strong read: a pass leaves its decision about a timer to the next one, for somebody was faster;
/// and that one dies.
///
/// Removed: a bucket is left at its line whatever is in it. The run that was claimed there stayed running for ever, until a claim of what has waited promised a
/// look of its own.
#[test]
fn a_bucket_with_a_timer_in_it_is_not_left() {
    let script = [sleeps_before("slow", "put_run", 5), dies_after("dying", "put_run")];
    let stage = Stage::new(Wish::every(60, 60), script);
    stage.lose_hints(0..290);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    stage.sweep(300, "slow");
    stage.execute(302, "dying", &hint);
    stage.sweep_each_minute(360..900);
    stage.play_to(330);
    let oldest = stage.oldest_bucket();
    stage.play_to(900);

    assert!(oldest <= 60, "{oldest}");
    assert_eq!(stage.state(60), "succeeded");
}

/// Rule **drain**, of a long run: its timer is moved to the end of its lease.
///
/// Removed: the timer of a run that is held stays where it is. The sweep's oldest bucket stayed there as well.
#[test]
fn a_run_of_ten_minutes_does_not_keep_the_sweep_in_its_bucket() {
    let stage = Stage::new(Wish { takes: 600, timeout: 800, ..Wish::once(60) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);

    stage.play_to(590);

    assert_eq!(stage.state(60), "running");
    assert_eq!(stage.oldest_bucket(), 480);
}

/// Rule **drain**, of a run with two timers: a creator was slow to put the timer of the second occurrence, and does it when that has
/// begun and waits for another try.
///
/// Removed: the look moves the one beside the other. Each pass hinted both, for as long as the run was tried again.
#[test]
fn a_link_that_was_put_anew_beside_a_run_that_waits_for_another_try_goes() {
    let script = [sleeps_before("creator", "put_timer_if_absent", 125)];
    let stage = Stage::new(Wish { fails: true, retries: 2, retry_after: 120, ..Wish::every(60, 60) }, script);
    stage.create(0, "creator");
    stage.sweep_each_minute(20..900);
    stage.play_to(130);
    let of_the_second = || stage.timers().into_iter().filter(|timer| timer.key.run_key() == stage.key(120)).count();
    assert_eq!(of_the_second(), 2);

    stage.play_to(210);

    assert_eq!(of_the_second(), 1);
    stage.play_to(900);
    assert_eq!(stage.state(120), "failed: error");
}

/// Rule **drain**, of a backlog: nobody carries anything out for an hour.
///
/// Removed: the timer is moved by a second. Each pass gave the hint again.
#[test]
fn a_backlog_is_hinted_after_1_2_4_minutes_and_not_each_minute() {
    let stage = Stage::new(Wish::once(60), []);
    stage.lose_hints(0..10_000);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..4000);

    stage.play_to(4000);

    let minutes_late: Vec<_> = stage.hinted(60).into_iter().filter(|at| *at > 60).map(|at| (at - 60) / 60).collect();
    assert_eq!(
        minutes_late,
        [1, 2, 3, 4, 5, 7, 11, 19, 35, 63],
        "after three minutes it has its turn, from which it counts anew"
    );
}
