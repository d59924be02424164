//! Callbacks: whoever is to be told of an end is told, whoever died on the way; and hooks, which say whether a run is called.

use minutehand_domain::callback::{CallbackPlace, End};
use minutehand_domain::hook::OnError;
use minutehand_domain::id::Origin;
use minutehand_domain::job::Change;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::Run;
use minutehand_domain::timer::Timer;
use minutehand_executor::Executed;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, every, fails_before, sleeps_after};
use minutehand_simulation::telling::Telling;

const HOUR: i64 = 3600;

/// Fires at 10, and each end is told of.
fn told() -> Wish {
    Wish { told: Some((Telling::HEARS, End::ALL.to_vec())), ..Wish::once(10) }
}

#[expect(clippy::needless_pass_by_value, reason = "it is made where it is given")]
fn nth(nth: u32, line: Line) -> Line {
    Line { nth, ..line }
}

/// Its executor dies there, and everybody else does what they do.
fn played(wish: Wish, script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(wish, script);
    stage.create(0, "creator");
    stage.lose_hints(0..5);
    stage.play_to(1);
    stage.execute(10, "executor", &stage.hint(10));
    stage.sweep_each_minute(0..HOUR);
    stage.play_to(HOUR);
    stage
}

fn teller(stage: &Stage, instant: i64) -> Option<Run> {
    stage.teller(stage.key(instant), CallbackPlace::Callback)
}

fn status(stage: &Stage, run: Option<&Run>) -> &'static str {
    run.map_or("no record", |run| run.status(stage.now()))
}

fn heard(stage: &Stage, instant: i64, kind: &str) -> usize {
    let run = stage.key(instant).to_string();
    stage.told().iter().filter(|(of, what)| *of == run && what == kind).count()
}

fn is_a_callbacks(timer: &Timer) -> bool {
    timer.key.run_key().origin == Origin::Callback
}

#[test]
fn an_end_is_told_of_once_and_holds_up_nothing() {
    let stage = played(told(), []);

    assert_eq!((stage.state(10).as_str(), heard(&stage, 10, "run.succeeded")), ("succeeded", 1));
    let teller = teller(&stage, 10).expect("it was told of");
    assert_eq!((teller.callback_of, teller.fence), (Some(stage.key(10)), 1));
    assert_eq!(stage.written(teller.key), 5, "its timer, its record, its claim, its end, and the timer's end");
    assert_eq!((stage.called(), stage.timers()), (vec![10], vec![]));
    assert_eq!(stage.judge_tellings(&[stage.key(10)]), []);
}

/// Rule **pinned**: a job that asks for no callback any more has its run's end told of all the same.
#[test]
fn what_is_owed_was_said_when_the_run_was_born() {
    let stage = Stage::new(Wish { takes: 30, ..told() }, []);
    stage.create(0, "creator");
    stage.redefine(20, "changer", &Wish::once(10));
    stage.sweep_each_minute(0..HOUR);

    stage.play_to(HOUR);

    assert_eq!(heard(&stage, 10, "run.succeeded"), 1);
}

#[test]
fn an_end_that_nobody_asked_about_costs_no_write() {
    let of = |on: &[End]| played(Wish { told: Some((Telling::HEARS, on.to_vec())), ..Wish::once(10) }, []);
    let [plain, failures] = [played(Wish::once(10), []), of(&[End::Failed])];

    let writes = |stage: &Stage| stage.written(stage.key(10));
    assert_eq!(writes(&plain), writes(&failures));
    assert_eq!((status(&failures, teller(&failures, 10).as_ref()), failures.told()), ("no record", vec![]));
}

/// Rule **only settle erases**: the executor dies with the end just written.
///
/// Removed (`callbacks-settle`): a run that is over owes nothing but what graphs and places do. Nobody was told.
#[test]
fn an_end_is_told_of_though_its_executor_died() {
    let stage = played(told(), [nth(2, dies_after("executor", "put_run"))]);

    assert_eq!((stage.state(10).as_str(), heard(&stage, 10, "run.succeeded")), ("succeeded", 1));
    assert_eq!(stage.timers(), []);
}

/// Rule **derive**: whoever was to tell of an end dies with the callback promised, and the timer of the run that it tells of is gone.
///
/// Removed (`callbacks-derived`): a timer of a callback alone is an asker's who died. Its run was recorded as abandoned.
#[test]
fn a_callback_is_made_though_who_promised_it_died() {
    let stage = Stage::new(told(), [nth(2, dies_after("executor", "put_run"))]);
    stage.create(0, "creator");
    stage.lose_hints(0..5);
    stage.play_to(1);
    stage.execute(10, "executor", &stage.hint(10));
    stage.lose_timers(15);
    stage.promise_a_telling(20, "promiser", 10);
    stage.sweep_each_minute(0..HOUR);

    stage.play_to(HOUR);

    assert_eq!((status(&stage, teller(&stage, 10).as_ref()), heard(&stage, 10, "run.succeeded")), ("succeeded", 1));
    assert_eq!(stage.timers(), []);
}

/// Whoever tells of an end puts the callback's timer before its run.
///
/// Removed (`callbacks-promised`): no timer stands behind it. Who made it died before its hint, and it was found by nobody.
#[test]
fn a_callback_is_promised_before_it_is_put() {
    let stage = played(told(), [nth(3, dies_after("executor", "put_run"))]);

    assert_eq!((stage.state(10).as_str(), heard(&stage, 10, "run.succeeded")), ("succeeded", 1));
    assert_eq!(stage.timers(), []);
}

/// Rule **nudge**: whoever cancels a run dies with the word written; it waited for an hour.
///
/// Removed (`callbacks-nudge`): only who owes before its end is promised a look. It was told of when its backoff was over.
#[test]
fn a_cancelled_run_is_told_of_soon_though_who_cancelled_it_died() {
    let waiting = Wish { fails: true, retries: 1, retry_after: 1200, ..told() };
    let stage = Stage::new(waiting, [dies_after("canceller", "put_run")]);
    stage.create(0, "creator");
    stage.cancel(30, "canceller", 10);
    stage.sweep_each_minute(0..600);

    stage.play_to(600);

    assert_eq!((stage.state(10).as_str(), heard(&stage, 10, "run.cancelled")), ("cancelled", 1));
}

/// Who cancels an occurrence that is far ahead dies with its look promised, before there is a record.
///
/// Removed (`callbacks-unrecorded`): a look that finds no run takes it for one that somebody asked for and gave up. The occurrence was
/// recorded as abandoned, and never ran.
#[test]
fn an_occurrence_whose_canceller_died_fires_all_the_same() {
    let late = Wish { told: Some((Telling::HEARS, End::ALL.to_vec())), ..Wish::once(2400) };
    let stage = Stage::new(late, [dies_before("canceller", "put_run")]);
    stage.create(0, "creator");
    stage.cancel(30, "canceller", 2400);
    stage.sweep_each_minute(0..2 * HOUR);

    stage.play_to(2 * HOUR);

    assert_eq!((stage.state(2400).as_str(), heard(&stage, 2400, "run.succeeded")), ("succeeded", 1));
    assert_eq!(stage.timers(), []);
}

/// A record that is born over is settled by who bears it, and its look is promised before: the timer in hand is not its own.
///
/// Removed (`callbacks-born-over`): nobody promises a look at what was forgone. Nobody was told of it.
#[test]
fn what_a_pause_took_is_told_of_though_who_recorded_it_died() {
    let each_minute = Wish { told: Some((Telling::HEARS, vec![End::Skipped])), ..Wish::every(60, 60) };
    let stage = Stage::new(each_minute, [dies_after("changer", "put_head"), dies_after("sweeper", "put_run")]);
    stage.create(0, "creator");
    stage.reschedule(58, "changer", &every(420, 60));
    stage.sweep_each_minute(600..HOUR);

    stage.change(500, "pauser", Change::Pause);
    stage.play_to(HOUR);

    assert_eq!((stage.state(480).as_str(), heard(&stage, 480, "run.skipped")), ("skipped: paused", 1));
}

/// The record of an outage is one end, and told of before its timer goes.
///
/// Removed (`callbacks-coalesced`): the look that goes on behind the record erases its timer. Nobody was told of it.
#[test]
fn the_record_of_an_outage_is_told_of() {
    let each_minute = Wish { told: Some((Telling::HEARS, vec![End::Skipped])), ..Wish::every(60, 60) };
    let stage = Stage::new(each_minute, []);
    stage.create(0, "creator");
    stage.lose_hints(0..1000);
    stage.sweep_each_minute(1000..3 * HOUR);

    stage.play_to(3 * HOUR);

    let coalesced =
        (60..1000).step_by(60).find(|instant| stage.state(*instant) == "skipped: coalesced").expect("one is");
    assert_eq!(heard(&stage, coalesced, "run.skipped"), 1);
}

#[test]
fn who_cannot_be_reached_is_tried_three_times_and_tells_of_nothing_itself() {
    let deaf = Telling { fails: 100, ..Telling::HEARS };
    let stage =
        played(Wish { told: Some((deaf, End::ALL.to_vec())), after: Some(Telling::HEARS), ..Wish::once(10) }, []);

    let of = stage.key(10);
    let (callback, after) = (teller(&stage, 10), stage.teller(of, CallbackPlace::After));
    assert_eq!((status(&stage, callback.as_ref()), status(&stage, after.as_ref())), ("failed", "succeeded"));
    assert_eq!(callback.as_ref().map(|run| run.fence), Some(3));
    for key in [callback, after].into_iter().flatten().map(|run| run.key) {
        assert!(CallbackPlace::ALL.iter().all(|place| stage.teller(key, *place).is_none()));
    }
    assert!(!stage.timers().iter().any(is_a_callbacks));
}

/// It is a call as any other where a tenant may have one run under way, and needs no place of its job, nor of a key: the next run of its job
/// begins while it is called.
#[test]
fn a_callback_counts_for_the_quota_of_its_tenant_and_for_no_limit_of_its_job() {
    let first = Stage::new(told(), []);
    let second = first.beside(Wish { takes: 60, ..Wish::once(11) });
    first.limit_tenant(0, 1);
    first.create(0, "creator");
    second.create(0, "creator");
    let slow = Telling { takes: 25_000, ..Telling::HEARS };
    let own = Wish { overlap: Overlap::Skip, told: Some((slow, vec![End::Succeeded])), ..Wish::every(10, 10) };
    let own = Stage::new(own.at_once("key", 1), []);
    own.create(0, "creator");
    own.sweep_each_minute(0..600);
    first.sweep_each_minute(0..600);

    first.play_to(50);
    let meanwhile = (status(&first, teller(&first, 10).as_ref()), second.state(11));
    first.play_to(600);
    own.play_to(95);

    assert_eq!(meanwhile, ("waiting", "running".to_owned()));
    assert_eq!(heard(&first, 10, "run.succeeded"), 1);
    assert_eq!(own.called(), (10..95).step_by(10).collect::<Vec<_>>(), "none was skipped, and none waited");
    assert_eq!(own.starts().iter().filter(|(instant, at)| instant != at).count(), 0);
}

/// A callback cannot be told of before the end is there, whatever else fails.
#[test]
fn a_callback_outlasts_a_store_that_is_away() {
    let stage = played(told(), [nth(3, fails_before("executor", "put_run"))]);

    assert_eq!((stage.state(10).as_str(), heard(&stage, 10, "run.succeeded")), ("succeeded", 1));
}

/// The end of a run whose timer was lost is found by a repair.
///
/// Removed (`callbacks-repaired`): a repair does not ask who was told. Nobody was.
#[test]
fn an_end_that_nobody_was_told_of_is_found_by_a_repair() {
    let stage = Stage::new(told(), [nth(2, dies_after("executor", "put_run"))]);
    stage.create(0, "creator");
    stage.lose_hints(0..5);
    stage.play_to(1);
    stage.execute(10, "executor", &stage.hint(10));
    stage.lose_timers(15);
    stage.repair(200, "repairer");
    stage.sweep_each_minute(200..HOUR);

    stage.play_to(HOUR);

    assert_eq!(heard(&stage, 10, "run.succeeded"), 1);
}

/// Fires at 10, and somebody is asked before.
fn asks(telling: Telling, on_error: OnError) -> Wish {
    Wish { asks: Some((telling, on_error)), ..Wish::once(10) }
}

#[test]
fn a_run_whose_hook_says_no_is_not_called() {
    let stage = played(Wish { retries: 3, ..asks(Telling { vetoes: 100, ..Telling::LETS }, OnError::GoOn) }, []);

    assert_eq!((stage.state(10).as_str(), stage.called()), ("skipped: vetoed", vec![]));
    assert_eq!(stage.run(10).and_then(|run| run.told).as_deref(), Some("not today"));
    assert_eq!(stage.timers(), []);
}

#[test]
fn a_hook_that_fails_fails_the_attempt_or_is_passed_over_as_the_job_says() {
    let broken = Telling { fails: 100, ..Telling::LETS };
    let slow = Telling { takes: 31_000, ..Telling::LETS };
    for telling in [broken, slow] {
        let [fails, goes_on] = [OnError::Fail, OnError::GoOn].map(|on_error| played(asks(telling, on_error), []));

        assert_eq!((fails.state(10).as_str(), fails.called()), ("failed: error", vec![]));
        let error = fails.run(10).and_then(|run| run.attempts[0].error().cloned()).expect("it failed");
        assert_eq!((&*error.code, error.reached), ("hook", false));
        assert_eq!((goes_on.state(10).as_str(), goes_on.called()), ("succeeded", vec![10]));
    }
}

/// The hook and the call each have their time, and the lease has room for both.
///
/// Removed (`hooks-lease`): the lease has room for the call alone. It was given up, over and over.
#[test]
fn a_lease_has_room_for_the_hook_and_the_call() {
    let slow = Telling { takes: 29_000, ..Telling::LETS };
    let stage = played(Wish { takes: 59, ..asks(slow, OnError::Fail) }, []);

    assert_eq!((stage.state(10).as_str(), stage.run(10).map(|run| run.fence)), ("succeeded", Some(1)));
}

/// Rule **late claim**, its end: whoever sleeps between the hook's answer and the call has no time left for it.
///
/// Removed (`hooks-then-late`): the call is made, whatever is left of the lease. It was called twice at once.
#[test]
fn an_executor_that_slept_behind_its_hook_does_not_call() {
    let lets = Wish { takes: 50, ..asks(Telling::LETS, OnError::Fail) };
    let script = [sleeps_after("executor", "tell", 100)];
    let stage = Stage::new(lets, script);
    stage.create(0, "creator");
    stage.lose_hints(0..5);
    stage.play_to(1);
    let slept = stage.execute(10, "executor", &stage.hint(10));
    stage.sweep_each_minute(0..HOUR);

    stage.play_to(HOUR);

    assert_eq!(slept.given(), Executed::GaveUp);
    assert_eq!((stage.state(10).as_str(), stage.called()), ("succeeded", vec![10]));
}
