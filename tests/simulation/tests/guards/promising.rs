//! Promise, act, erase: whoever dies between two steps leaves a timer too many, never one too few.

use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, every, sleeps_before};

/// Guard **promise before act**, creation: the creator dies before and after each of its steps.
///
/// Removed: the head is put before its timer. The job was there, and nothing ever looked at it.
#[test]
fn a_creator_may_die_at_any_step() {
    let steps = [
        dies_before("creator", "put_timer"),
        dies_after("creator", "put_timer"),
        dies_before("creator", "put_head"),
        dies_after("creator", "put_head"),
        dies_before("creator", "send"),
        dies_after("creator", "send"),
    ];
    let mut created = 0;
    for step in steps {
        let stage = Stage::new(Wish::once(120), [step.clone()]);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..3600);

        stage.play_to(3600);

        let is_created = stage.job().is_some();
        assert_eq!(stage.called(), if is_created { vec![120] } else { vec![] }, "{step:?}");
        assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]), "{step:?}");
        created += u32::from(is_created);
    }
    assert_eq!(created, 3);
}

/// Guard **promise before act**, change: the changer dies right after the head with the new schedule is written.
///
/// Removed: the head is put before the new schedule's first timer. Only the old schedule's timer, ten minutes away, led
/// back to the job, and what the new one promised until then was lost.
#[test]
fn a_changer_may_die_once_the_new_schedule_is_written() {
    let stage = Stage::new(Wish::every(600, 600), [dies_after("changer", "put_head")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..420);

    stage.reschedule(100, "changer", &every(60, 130));
    stage.play_to(420);

    assert_eq!(stage.called(), [130, 190, 250, 310, 370]);
}

/// Guard **promise before act**, retry: the executor dies before and after each step of recording a failed attempt.
///
/// Removed: the next attempt's timer is put after the record, and after the old timer is erased. The run waited for ever.
/// (The order of the first two alone is not needed: until it is erased the old timer leads to the run as well.)
#[test]
fn an_executor_may_die_at_any_step_of_a_retry() {
    let steps = [
        dies_before("first", "put_timer"),
        dies_after("first", "put_timer"),
        Line { nth: 2, ..dies_before("first", "put_run") },
        Line { nth: 2, ..dies_after("first", "put_run") },
        dies_before("first", "send"),
        dies_after("first", "send"),
        dies_before("first", "erase_timer"),
        dies_after("first", "erase_timer"),
    ];
    for step in steps {
        let stage = Stage::new(Wish { fails: true, retries: 1, ..Wish::once(60) }, [step.clone()]);
        stage.lose_hints(0..70);
        stage.create(0, "creator");
        stage.sweep_each_minute(120..3600);
        stage.play_to(10);

        stage.execute(60, "first", &stage.hint(60));
        stage.play_to(3600);

        assert_eq!(stage.state(60), "failed: error", "{step:?}");
        assert!(stage.called().len() >= 2, "{step:?}: {:?}", stage.starts());
        assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]), "{step:?}");
    }
}

/// Guard **promise before act**, run-now: the asker dies before and after each of its steps.
///
/// Removed: the run is put before its timer. It was queued for ever.
#[test]
fn an_asker_may_die_at_any_step() {
    let steps = [
        dies_before("asker", "put_timer"),
        dies_after("asker", "put_timer"),
        dies_before("asker", "put_run"),
        dies_after("asker", "put_run"),
        dies_before("asker", "send"),
        dies_after("asker", "send"),
    ];
    let mut calls = 0;
    for step in steps {
        let stage = Stage::new(Wish::on_demand(), [step.clone()]);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..7200);

        stage.ask(10, "asker");
        stage.play_to(7200); // a run of the last hour may be under way yet

        assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]), "{step:?}");
        calls += stage.called().len();
    }
    assert_eq!(calls, 3);
}

/// Rule **successor first**: a sweeper dies right after its hint; the hinted run ends, and its timer is erased.
///
/// Removed: the hint is given before the successor's timer is put. The chain ended there.
#[test]
fn a_sweeper_may_die_right_after_a_hint() {
    let stage = Stage::new(Wish::every(600, 600), [dies_after("dying", "send")]);
    stage.create(0, "creator");

    stage.sweep(310, "dying");
    stage.sweep_each_minute(660..1800);
    stage.play_to(1300);

    assert_eq!(stage.starts(), [(600, 600), (1200, 1200)]);
}

/// Guard **write line**: a creator sleeps over its promise until the bucket was left, and dies once the head is there.
///
/// Removed: `promise` does not look at its clock. Nobody ever looked at the timer.
#[test]
fn a_promise_put_into_a_bucket_that_was_left_is_made_again() {
    let script = [sleeps_before("creator", "put_timer", 300), dies_after("creator", "put_head")];
    let stage = Stage::new(Wish::once(60), script);
    stage.sweep_each_minute(0..1200);

    stage.create(10, "creator");
    stage.play_to(1200);

    assert_eq!(stage.called(), [60]);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// The first sweeper after an outage sleeps over the promise of the successor, until its bucket was left. It has moved nothing yet: who comes
/// after it sees what it saw.
///
/// Tried: without the look at the clock in `promise_successor` nothing is lost here, since the timer of what is late is moved after that promise.
#[test]
fn a_sweeper_that_sleeps_over_a_successor_ends_no_chain() {
    let script = [dies_after("creator", "put_head"), sleeps_before("slow", "put_timer_if_absent", 800)];
    let stage = Stage::new(Wish::every(3000, 60), script);
    stage.create(0, "creator");

    stage.sweep(2460, "slow");
    stage.sweep_each_minute(2520..7800);
    stage.play_to(7800);

    assert_eq!(stage.starts(), [(60, 2520), (3060, 3060), (6060, 6060)]);
    assert_eq!(stage.judge(), []);
}
