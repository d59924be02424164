//! Who may begin a run, who may end it, and who must not call any more.

use minutehand_domain::hook::OnError;
use minutehand_domain::job::Change;
use minutehand_domain::order::Delivery;
use minutehand_domain::run::{Ending, Refusal};
use minutehand_executor::Executed;
use minutehand_executor::batch::{Back, Handled};
use minutehand_protocol::run::claim::Dropped;
use minutehand_protocol::run::finish::Finished;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{
    Called, Stage, Wish, dies_after, fails_after, fails_before, sleeps_after, sleeps_before,
};
use minutehand_simulation::telling::Telling;

/// Guard **claim's condition**, `Guard::Absent`: both have read that there is no run before either writes one.
///
/// Removed: a conflict in `try_claim` overwrites what is there. Two calls.
#[test]
fn of_two_executors_who_saw_no_run_one_calls() {
    let stage = Stage::new(Wish::once(60), [sleeps_before("second", "put_run", 1)]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let first = stage.execute(60, "first", &hint);
    let second = stage.execute(60, "second", &hint);
    stage.play_to(300);

    assert_eq!(stage.called(), [60]);
    assert!(first.given().is_recorded());
    assert_eq!(second.given(), Executed::Dropped(Dropped::Faster));
}

/// It was delivered again while its run waits: its own hint comes in its time, and a hand that held this one until then
/// would do nothing else.
///
/// Removed: `claim` holds whatever comes. Nothing is dropped before 120.
#[test]
fn a_hint_that_comes_far_too_soon_is_dropped_and_its_timer_stands() {
    let stage = Stage::new(Wish::once(120), []);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    let early = stage.execute(30, "executor", &stage.hint(120));
    stage.play_to(60);

    assert_eq!(early.given(), Executed::Dropped(Dropped::TooSoon));
    assert!(stage.timer(120).is_some());
    assert_eq!(stage.state(120), "no record");
}

/// Tried: with the payload read after the claim, this fault is a lost lease, and three of them in a throttled minute are
/// the run's failure.
#[test]
fn a_payload_that_cannot_be_read_costs_no_attempt() {
    costs_no_attempt(&Stage::new(Wish { large_payload: true, ..Wish::once(60) }, [fails_before("executor", "body")]));
}

/// The same of what its call is signed with. `minutehand serve --aws` and the function read it after the claim, under a caller
/// that no simulation had in its path: three tries in a throttled minute, and the job had failed.
///
/// Removed: it is read after the claim. The fault costs the attempt, and the run waits for its lease to end.
#[test]
fn signing_secrets_that_cannot_be_read_cost_no_attempt() {
    costs_no_attempt(&Stage::new(Wish::once(60), [fails_before("executor", "signing")]));
}

/// The same of a secret that its call names: the table does not answer, or what opens it.
///
/// Removed (`material-before-the-claim`): it is read after the claim. The fault costs the attempt.
#[test]
fn a_named_secret_that_cannot_be_read_or_opened_costs_no_attempt() {
    for fails in ["secret", "open"] {
        let wish = Wish { secret: Some(Called::Target), ..Wish::once(60) };
        costs_no_attempt(&Stage::new(wish, [fails_before("executor", fails)]));
    }
}

/// The same of what the call of whoever is asked before takes.
///
/// Removed (`hooks-material-before-the-claim`): it is read after the claim. The fault costs the attempt.
#[test]
fn what_a_hooks_call_takes_costs_no_attempt_where_it_cannot_be_read_or_opened() {
    for fails in ["secret", "open"] {
        let asks = Some((Telling::LETS, OnError::Fail));
        let wish = Wish { secret: Some(Called::Hook), asks, ..Wish::once(60) };
        costs_no_attempt(&Stage::new(wish, [fails_before("executor", fails)]));
    }
}

/// A hook takes ten seconds, in which the secret that the call names may be written anew; nobody can read that when it has answered.
///
/// Removed (`material-again-behind-a-hook`): what was read before the claim is used. It was called at 70, with what the secret had said at 60.
#[test]
fn a_call_behind_a_slow_hook_takes_what_its_secret_says_then_or_is_handed_back() {
    let asks = Some((Telling { takes: 10_000, ..Telling::LETS }, OnError::Fail));
    let wish = Wish { secret: Some(Called::Target), asks, ..Wish::once(60) };
    let stage = Stage::new(wish, [Line { nth: 2, ..fails_before("executor", "secret") }]);
    stage.lose_hints(0..300);
    stage.keep_secret(0);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let first = stage.execute(60, "executor", &hint);
    stage.play_to(75);
    let called = stage.starts();
    stage.execute(80, "another", &hint);
    stage.play_to(120);

    assert_eq!(first.given(), Executed::GaveUp);
    assert_eq!((called, stage.starts()), (vec![], vec![(60, 90)]));
    assert_eq!(stage.state(60), "succeeded");
}

/// A process has read a secret for one call, and three seconds later claims another call that names it, behind a hook that takes two: nobody can read
/// what the secret says by then.
///
/// Removed (`material-lasts-a-second`): what was read before the claim lasts for three seconds. The second was called at 65, with what the secret had
/// said at 60.
#[test]
fn behind_a_hook_what_a_secret_said_five_seconds_ago_is_not_used() {
    let asks = Some((Telling { takes: 2_000, ..Telling::LETS }, OnError::Fail));
    let wish = |at| Wish { secret: Some(Called::Target), asks, ..Wish::once(at) };
    let first = Stage::new(wish(60), [Line { nth: 2, ..fails_before("executor", "secret") }]);
    let second = first.beside(wish(63));
    first.lose_hints(0..300);
    first.keep_secret(0);
    for stage in [&first, &second] {
        stage.create(0, "creator");
    }
    first.play_to(10);

    let batch = first.execute_batch(60, "executor", &[first.hint(60), second.hint(63)], 900);
    first.play_to(120);

    assert_eq!(batch.given()[1], Handled::Done(Executed::GaveUp));
    assert_eq!((first.starts(), second.starts()), (vec![(60, 62)], vec![]));
}

/// The executor must go away while it asks a hook whether to call.
///
/// Removed (`left-before-the-call`): the run is handed back as if it had been called, which one that may run once does not survive.
#[test]
fn who_leaves_while_a_hook_is_asked_has_not_called() {
    let asks = Some((Telling { takes: 10_000, ..Telling::LETS }, OnError::Fail));
    let stage = Stage::new(Wish { delivery: Delivery::AtMostOnce, asks, ..Wish::once(60) }, []);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let first = stage.execute_until(60, "executor", &hint, 63);
    stage.play_to(65);
    stage.execute(66, "another", &hint);
    stage.play_to(120);

    assert_eq!(first.given(), Executed::GaveUp);
    assert_eq!((stage.starts(), stage.state(60)), (vec![(60, 76)], "succeeded".to_owned()));
}

/// What the executor cannot read at first it reads two seconds later, and the run has had one attempt.
fn costs_no_attempt(stage: &Stage) {
    stage.lose_hints(0..300);
    stage.keep_secret(0);
    stage.create(0, "creator");
    stage.play_to(10);

    let first = stage.execute(60, "executor", &stage.hint(60));
    stage.play_to(61);
    let met = stage.state(60);
    stage.execute(62, "executor", &stage.hint(60));
    stage.play_to(80);

    assert!(matches!(first.so_far(), Some(Err(_))), "its hint is given back");
    assert_eq!(stage.counted("hint given back"), 1, "and somebody hears of it");
    assert_eq!(met, "no record", "it is unclaimed");
    assert_eq!(stage.starts(), [(60, 62)]);
    assert_eq!((stage.state(60).as_str(), stage.run(60).unwrap().attempts.len()), ("succeeded", 1));
}

/// A table that takes 6 s for each read makes every reading stale. Its hint is given back, as from any world that is away, and a
/// later one finds it well again.
///
/// Removed: the bound, so that it reads until one reading is in time. It starts at 180 without ever giving its hint back; and
/// never, where the table stays as it is.
#[test]
fn a_claim_whose_every_reading_is_stale_gives_its_hint_back() {
    let slow = (1..=20).map(|nth| Line { nth, ..sleeps_after("executor", "head", 6) });
    let stage = Stage::new(Wish::once(60), slow);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    let slow = stage.execute(60, "executor", &stage.hint(60));
    stage.execute(120, "another", &stage.hint(60));
    stage.play_to(300);

    assert!(matches!(slow.so_far(), Some(Err(_))), "its hint is given back");
    assert_eq!(stage.starts(), [(60, 120)]);
}

/// Guard **claim's condition**, `Guard::Seen`: both have read the same expired lease before either takes it over, and the first still
/// calls when the second writes.
///
/// Removed: as above. Two calls after the dead one's claim.
#[test]
fn of_two_executors_who_saw_a_dead_ones_lease_one_calls() {
    let script = [dies_after("dead", "put_run"), sleeps_before("second", "put_run", 1)];
    let stage = Stage::new(Wish { takes: 30, ..Wish::once(60) }, script);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    stage.execute(60, "dead", &hint);
    stage.execute(151, "first", &hint);
    let second = stage.execute(151, "second", &hint);
    stage.play_to(300);

    assert_eq!(stage.starts(), [(60, 151)]);
    assert_eq!(second.given(), Executed::Dropped(Dropped::Faster));
}

/// Guard **fence**: a zombie wakes up after its lease, while another holds the run, and says how its attempt went.
///
/// Removed: `Run::after` takes any fence; or `finish` puts what it knew of the run over what is there now. The zombie's
/// outcome was recorded as the run's.
#[test]
fn a_zombie_does_not_speak_for_the_run_of_another() {
    let stage = Stage::new(Wish { takes: 30, ..Wish::once(60) }, [sleeps_after("zombie", "call", 75)]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let zombie = stage.execute(60, "zombie", &hint);
    let other = stage.execute(151, "other", &hint);
    stage.play_to(300);

    let fenced = Refusal::Fenced { offered: 1, current: 2 };
    assert_eq!(zombie.given(), Executed::Attempted(Finished::Refused(fenced)));
    assert!(other.given().is_recorded());
    let endings: Vec<_> = stage.run(60).unwrap().attempts.into_iter().map(|a| a.ended.unwrap().how).collect();
    assert_eq!(endings, [Ending::Lost, Ending::Succeeded]);
}

/// Rule **late claim**, its middle: what an executor read long before it claims is read again.
///
/// Removed: nothing counts as stale. The hint was delivered early, and the occurrence of a paused job was called.
#[test]
fn a_job_read_long_before_the_claim_is_read_again() {
    let stage = Stage::new(Wish::once(60), []);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.execute(30, "early", &stage.hint(60));
    stage.change(45, "changer", Change::Pause);
    stage.play_to(300);

    assert_eq!(stage.called(), [0; 0]);
}

/// Rule **late claim**, its end: an executor sleeps between its claim and its call until its lease is over.
///
/// Removed: `may_still_call` always says yes. Two calls at once.
#[test]
fn an_executor_that_slept_over_its_lease_does_not_call() {
    let stage = Stage::new(Wish { takes: 30, ..Wish::once(60) }, [sleeps_after("slept", "put_run", 95)]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let slept = stage.execute(60, "slept", &hint);
    stage.execute(151, "other", &hint);
    stage.play_to(300);

    assert_eq!(stage.starts(), [(60, 151)]);
    assert_eq!(slept.given(), Executed::GaveUp);
}

/// An executor sleeps for half a minute between its claim and its call: what is left of the lease does not cover that, of a run that may run once.
///
/// Removed (`not-called-is-not-lost`): the run counts as one of which nobody knows how far it came. It ended without having been called. And
/// (`given-up-at-once`): it is left to the end of its lease, which came to the same.
#[test]
fn what_was_given_up_before_its_call_is_not_lost() {
    let wish = Wish { delivery: Delivery::AtMostOnce, ..Wish::once(60) };
    let stage = Stage::new(wish, [sleeps_after("slept", "put_run", 30)]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    let slept = stage.execute(60, "slept", &hint);
    stage.play_to(95);
    let free = stage.state(60);
    stage.execute(100, "other", &hint);
    stage.play_to(300);

    assert_eq!((slept.given(), free.as_str()), (Executed::GaveUp, "queued"));
    assert_eq!((stage.starts(), stage.state(60).as_str()), (vec![(60, 100)], "succeeded"));
}

/// The store knows its own writing by a look (`a_write_of_which_every_answer_was_lost_is_known_by_a_look` shows it of DynamoDB).
///
/// Tried: without the look the hint was given back, met the lease of the one who asked, and was dropped.
#[test]
fn a_claim_whose_answers_were_lost_is_its_claimants_own() {
    let stage = Stage::new(Wish::once(60), [fails_after("executor", "put_run")]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    let claimed = stage.execute(60, "executor", &stage.hint(60));
    stage.play_to(80);

    assert!(claimed.given().is_recorded());
    assert_eq!((stage.starts(), stage.run(60).unwrap().attempts.len()), (vec![(60, 60)], 1));
}

/// A queue may deliver again before the lease is over, by its whole seconds or by its own mistake; where the holder is dead,
/// that hint is the only one until the sweep finds the run overdue.
///
/// Removed: whatever is held is dropped.
#[test]
fn a_hint_that_meets_a_lease_near_its_end_comes_again_when_it_is_over() {
    let stage = Stage::new(Wish::once(60), [dies_after("dead", "call")]);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    stage.execute(60, "dead", &hint);
    let early = stage.execute(100, "early", &hint);
    let near = stage.execute(115, "near", &hint);
    let batch = stage.execute_batch(115, "batch", &[hint], 900);
    stage.play_to(140);

    assert_eq!(early.given(), Executed::Dropped(Dropped::Held));
    let until = stage.run(60).and_then(|run| run.lease().map(|lease| lease.until)).expect("a lease of the dead");
    assert_eq!(near.given(), Executed::ComeAgain(until));
    assert_eq!(batch.given(), [Handled::GivenBack(Back::NotYet(until))]);
}

/// The same of a real queue: the executor died before it could hide the hint until the lease's end, and nobody sweeps.
///
/// Removed: whatever is held is dropped. The run stayed running.
#[test]
fn the_hint_of_an_executor_that_died_before_it_hid_it_outlives_the_lease() {
    let stage = Stage::new(Wish::once(60), [dies_after("executor", "put_run")]);
    stage.create(0, "creator");

    stage.play_to(600);

    assert_eq!((stage.starts(), stage.state(60)), (vec![(60, 150)], "succeeded".to_owned()));
}

/// Rule **visibility is the lease's outer clock**: nobody sweeps, and the executor dies in its call.
///
/// Removed: the claim does not hide its hint. It came back in the middle of the lease, was dropped, and the run stayed running.
#[test]
fn the_hint_of_a_dead_executor_comes_back_when_its_lease_is_over() {
    let stage = Stage::new(Wish { timeout: 120, ..Wish::once(60) }, [dies_after("executor", "call")]);
    stage.create(0, "creator");

    stage.play_to(300);

    assert_eq!(stage.starts(), [(60, 60), (60, 210)]);
    assert_eq!(stage.state(60), "succeeded");
}

/// A run has waited for hours, so that its looks are an hour apart, and the executor that claims it dies: on one machine its hint dies with it.
///
/// Removed (`claim-promises-a-look`): nothing is promised for the end of the lease. Nobody looked before the next full hour.
#[test]
fn a_run_that_waited_for_hours_is_missed_soon_when_its_executor_dies() {
    let stage = Stage::new(Wish::once(60), [dies_after("dying", "put_run")]);
    stage.lose_hints(0..12_000);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..13_000);
    stage.play_to(10);

    stage.execute(12_001, "dying", &stage.hint(60)); // for a minute and a half
    stage.play_to(12_200);

    assert_eq!(stage.starts().len(), 1, "{:?}", stage.timers());
}
