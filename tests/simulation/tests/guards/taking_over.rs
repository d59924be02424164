//! A worker elsewhere holds a run: what a start must leave to it, and what it leaves to the sweep.

use minutehand_domain::body::Body;
use minutehand_domain::run::{ErrorCode, Outcome, Refusal};
use minutehand_protocol::run::finish::Finished;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish};

fn on_one_machine(wish: Wish) -> Stage {
    let stage = Stage::on(Setting { exclusive_store: true, ..Setting::plain() }, wish, []);
    stage.lose_hints(0..70);
    stage.create(0, "creator");
    stage
}

fn success() -> Outcome {
    Outcome::Succeeded { result: Body::Empty }
}

/// Guard **a remote holder lives on**: the run is overdue at 100, so that its timer moves to its lease's end, and at 120
/// another process starts. A lease of a minute and a half ends at 150.
///
/// Removed: `cannot_be_alive` says of a remote worker what it says of a process. Its run was called beside it at 100.
#[test]
fn a_start_does_not_take_over_what_a_worker_elsewhere_holds() {
    let stage = on_one_machine(Wish::once(60));

    stage.hold_elsewhere(60, "api", 60);
    stage.sweep_each_minute(100..400);
    let started = stage.start(120, "host");
    stage.play_to(400);

    assert_eq!(started.given(), 0);
    assert_eq!(stage.starts(), [(60, 150)], "the hint of the moved timer comes for the end of its lease");
}

/// Guard **overdue look**: a worker elsewhere knows no timer, and so erases none.
///
/// Removed: `inspect_run` leaves the timer of what is over. It stood for ever.
#[test]
fn a_timer_behind_what_was_finished_elsewhere_goes_when_it_is_overdue() {
    let stage = on_one_machine(Wish::once(60));
    stage.hold_elsewhere(60, "api", 60);

    let finished = stage.finish_elsewhere(65, "api", 60, success(), None);
    stage.play_to(80);
    let behind = stage.timer(60);
    stage.sweep_each_minute(100..130);
    stage.play_to(130);

    assert!(matches!(finished.given(), Finished::Recorded(_)));
    assert!(behind.is_some(), "it is left to the sweep");
    assert_eq!((stage.state(60).as_str(), stage.timers().len()), ("succeeded", 0));
}

#[test]
fn a_failure_that_is_told_from_elsewhere_is_tried_again_and_leaves_no_timer() {
    let stage = on_one_machine(Wish { retries: 1, retry_after: 20, ..Wish::once(60) });
    stage.hold_elsewhere(60, "api", 60);
    let failure = Outcome::Failed { error: ErrorCode::Http5xx.error("the worker gave up"), retry_after: None };

    stage.finish_elsewhere(75, "api", 60, failure, None);
    stage.sweep_each_minute(100..200);
    stage.play_to(200);

    assert_eq!(stage.starts(), [(60, 95)]);
    assert_eq!((stage.state(60).as_str(), stage.timers().len()), ("succeeded", 0));
}

#[test]
fn who_comes_late_from_elsewhere_is_fenced() {
    let stage = on_one_machine(Wish::once(60));
    stage.hold_elsewhere(60, "api", 60);
    stage.sweep_each_minute(100..200);

    let late = stage.finish_elsewhere(165, "api", 60, success(), None);
    stage.play_to(200);

    assert_eq!(late.given(), Finished::Refused(Refusal::Finished));
    assert_eq!(stage.starts(), [(60, 150)]);
}
