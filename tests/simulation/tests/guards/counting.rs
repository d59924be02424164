//! Counting: each end of a job that asks for it is counted once, whoever died on the way and whoever counts meanwhile.

use minutehand_domain::health::Extent;
use minutehand_domain::health::day::Ends;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, fails_after, sleeps_after, sleeps_before};

const HOUR: i64 = 3600;

fn counted(wish: Wish) -> Wish {
    Wish { health: Extent::Full, ..wish }
}

/// What the day says when all of it is over.
fn total(stage: &Stage, at: i64) -> Ends {
    let day = stage.count(at, "reader");
    stage.play_to(at + 5);
    day.given().total()
}

fn succeeded(count: u64) -> Ends {
    Ends { succeeded: count, ..Ends::default() }
}

/// Removed (`health-counts`): nobody writes an end down. None was counted.
#[test]
fn ends_are_counted_once_each_however_often_they_are_settled_and_counted() {
    let stage = Stage::new(counted(Wish::every(60, 60)), [Line { nth: 3, ..fails_after("executor", "put_end") }]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..2 * HOUR);
    for at in (100..HOUR).step_by(250) {
        stage.count(at, "counter");
    }
    stage.play_to(HOUR - 30);

    assert_eq!(stage.called().len(), 59);
    assert_eq!(total(&stage, HOUR - 20), succeeded(59));
}

/// Whoever carries it out dies about the writing of its end.
#[test]
fn an_end_is_counted_whoever_died_on_the_way() {
    for death in
        [dies_after("executor", "put_run"), dies_before("executor", "put_end"), dies_after("executor", "put_end")]
    {
        let nth = if death.port == "put_run" { 2 } else { 1 };
        let said = format!("{death:?}");
        let stage = Stage::new(counted(Wish::once(60)), [Line { nth, ..death }]);
        stage.create(0, "creator");
        stage.sweep_each_minute(0..HOUR);
        stage.play_to(1000);

        assert_eq!((stage.state(60).as_str(), total(&stage, 1010)), ("succeeded", succeeded(1)), "{said}");
    }
}

/// An end that is written down five minutes late, while somebody counts: he has read the ends without it, and keeps what he counted after it was
/// written.
///
/// Removed (`health-late-sets-back`): whoever writes an end down late leaves the day as it is. It was never counted.
#[test]
fn an_end_that_is_written_down_late_is_counted_by_who_counts_next() {
    let script = [sleeps_before("slept", "put_end", 300), sleeps_before("counter", "put_day", 70)];
    let stage = Stage::new(counted(Wish::every(60, 60)), script);
    stage.lose_hints(0..30);
    stage.create(0, "creator");
    stage.play_to(10);
    let slept = stage.execute(60, "slept", &stage.hint(60));
    for at in [120, 180] {
        stage.execute(at, "executor", &stage.hint(at));
    }
    stage.count(340, "counter");
    stage.sweep_each_minute(420..HOUR);
    stage.play_to(1000);

    assert!(slept.given().is_recorded());
    assert!(stage.called().starts_with(&[60, 120, 180]), "{:?}", stage.called());
    assert_eq!(total(&stage, 1000), succeeded(u64::try_from(stage.called().len()).unwrap()));
}

/// A job that asks for it no more, and one that has never asked.
#[test]
fn nothing_is_written_for_who_does_not_ask() {
    let stage = Stage::new(Wish::once(60), [sleeps_after("executor", "put_end", 1000)]);
    stage.create(0, "creator");
    stage.lose_hints(0..5);
    stage.play_to(10);
    let done = stage.execute(60, "executor", &stage.hint(60));
    stage.play_to(100);

    assert!(done.given().is_recorded(), "nobody came to that write");
    assert_eq!(total(&stage, 100), Ends::default());
}
