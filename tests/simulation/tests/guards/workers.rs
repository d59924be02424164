//! Workers elsewhere: whose a run is, what they may say of it, and what reaches the next one.

use minutehand_domain::body::Body;
use minutehand_domain::hint::Hint;
use minutehand_domain::job::Change;
use minutehand_domain::run::effect::Answer;
use minutehand_domain::run::{Outcome, Refusal};
use minutehand_domain::timer::TimerKey;
use minutehand_protocol::run::finish::Finished;
use minutehand_protocol::run::lease::Said;
use minutehand_simulation::campaign::{Campaign, Of};
use minutehand_simulation::stage::{Stage, Wish, dies_after, fails_before, sleeps_after, sleeps_before};

fn by_a_worker(wish: Wish) -> Wish {
    Wish { by_a_worker: true, ..wish }
}

/// The histories in which each rule of the judge of workers is needed.
///
/// Removed, one at a time: the token is not compared (whoever showed another was taken for the holder); a take is not guarded by what it
/// read (two had the same claim); a lease that is not over is no hindrance (two had the run at once); an answer under an old fence is
/// taken (a result was not its last holder's); the next holder is given nothing; and a hand-back counts as a failure.
#[test]
fn no_history_of_workers_breaks_a_rule() {
    let campaign = Campaign::play(Of::Workers, 1, 24, 2);

    assert!(campaign.failed.is_empty(), "{campaign}");
}

/// Guard **claim's condition**: both have read the offer and the run before either claims it.
///
/// Removed: a take whose write met another's counts as written. Both had the run.
#[test]
fn of_two_workers_who_saw_the_same_offer_one_has_the_run() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [sleeps_before("second", "put_run", 1)]);
    stage.create(0, "creator");
    stage.play_to(65);

    let (first, second) = (stage.take(66, "first"), stage.take(66, "second"));
    stage.play_to(80);

    assert_eq!((first.given().len(), second.given().len()), (1, 0));
}

/// Rule **late claim**, of workers: what was read long before the claim is read again.
///
/// Removed: a take decides on what it has read, however long ago. The occurrence of a paused job was taken.
#[test]
fn a_job_read_long_before_it_is_taken_is_read_again() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [sleeps_after("slow", "head", 8)]);
    stage.create(0, "creator");
    stage.play_to(65);

    let slow = stage.take(66, "slow");
    stage.change(68, "changer", Change::Pause);
    stage.play_to(300);

    assert!(slow.given().is_empty(), "{:?}", slow.given());
    assert!(stage.run(60).is_none_or(|run| run.fence == 0), "{}", stage.state(60));
}

/// Guard **fence**: whoever had the run before is refused, and what the next one says stands.
///
/// Removed: a lease is anybody's who has had the run, and a run is finished under any fence.
#[test]
fn an_answer_of_who_had_the_run_before_changes_nothing() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..600);
    let first = stage.take(66, "first");
    stage.play_to(180);
    let second = stage.take(181, "second");
    stage.play_to(182);
    let (first, second) = (first.given().remove(0), second.given().remove(0));

    let late = stage.complete(183, "first", &first);
    let good = stage.complete(184, "second", &second);
    stage.play_to(600);

    assert!(matches!(late.given(), Said::Refused(..)), "{:?}", late.given());
    assert!(matches!(good.given(), Said::Taken(_)), "{:?}", good.given());
    assert_eq!((stage.state(60), stage.run(60).map(|run| run.fence)), ("succeeded".to_owned(), Some(2)));
}

/// It was said twice at once, and the first to say it is the slower one.
///
/// Removed (`refused-by-what-stands`): whoever was slower is not told what the run is by then.
#[test]
fn who_says_it_second_is_told_of_the_run_as_the_first_has_left_it() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [sleeps_before("slow", "put_run", 5)]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..600);
    let worker = stage.take(66, "worker");
    stage.play_to(67);
    let has = worker.given().remove(0);
    let slow = stage.complete(68, "slow", &has);
    let quick = stage.complete(69, "quick", &has);
    stage.play_to(600);

    assert!(matches!(quick.given(), Said::Taken(_)), "{:?}", quick.given());
    match slow.given() {
        Said::Refused(why, run) => assert_eq!((why, run.is_finished()), (Refusal::Finished, true)),
        other => panic!("{other:?}"),
    }
}

/// What its holder said slowly does not replace what the next one has kept.
///
/// Removed: a checkpoint is put whoever has kept one since. The third holder went on from the first one's.
#[test]
fn a_checkpoint_that_was_long_on_its_way_replaces_no_later_holders() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [sleeps_before("first", "checkpoint", 200)]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);
    let first = stage.take(66, "first");
    stage.play_to(70);
    let slow = stage.keep(71, "first", &first.given().remove(0), 1);
    let second = stage.take(200, "second");
    stage.play_to(201);
    stage.keep(202, "second", &second.given().remove(0), 2);
    let third = stage.take(400, "third");

    stage.play_to(401);

    assert!(matches!(slow.given(), Said::Taken(_)), "its heartbeat came in time: {:?}", slow.given());
    assert_eq!(third.given()[0].checkpoint.as_ref().map(|json| json.as_str().to_owned()), Some("2".to_owned()));
}

/// A run is cancelled while its target is called, and the target takes it on: the end of its grace is looked at, and not the end of its
/// time, which may be hours away.
///
/// Removed (`grace-is-promised`): nobody promises that look. The run went on for its whole time.
#[test]
fn a_cancelled_run_that_its_target_takes_on_ends_with_its_grace() {
    let stage = Stage::new(Wish { takes: 700, timeout: 800, ..Wish::once(10) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..600);
    stage.cancel(100, "canceller", 10); // a look has moved its timer to the end of its lease

    let taken_on = stage.take_on(105, "executor", 10);
    stage.play_to(110);
    let meanwhile = stage.state(10);
    stage.play_to(320);

    assert!(matches!(taken_on.given(), Finished::Recorded(_)), "{:?}", taken_on.given());
    assert_eq!((meanwhile.as_str(), stage.state(10).as_str()), ("running", "cancelled"));
}

/// What a target takes on has all the time of an attempt.
///
/// Tried: with the time of a call for what is taken on, it had timed out before 2,900 s.
#[test]
fn what_a_target_takes_on_may_last_longer_than_a_call() {
    let stage = Stage::new(Wish { takes: 700, timeout: 3_000, ..Wish::once(10) }, [dies_after("executor", "call")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..3_600);

    stage.take_on(105, "executor", 10);
    stage.play_to(2_900);
    let late = stage.state(10);
    stage.play_to(3_200);

    assert_eq!((late.as_str(), stage.state(10).as_str()), ("running", "timed_out"));
}

/// What a target had taken on for days leaves no timer that stands as long.
///
/// Removed (`far-timer-goes`): the timer that a look had moved to the end of its time stayed, one for each run of a job.
#[test]
fn what_a_target_has_done_leaves_no_timer_behind() {
    let stage = Stage::new(Wish { takes: 700, timeout: 12_000, ..Wish::once(10) }, [dies_after("executor", "call")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..3_600);
    stage.take_on(105, "executor", 10);
    stage.play_to(1_900);
    let stood = stage.timers();
    let key = stage.key(10);
    let behind = Hint { timer: TimerKey::occurrence(key.job, key.at), ..Hint::of(&stood[0]) };

    stage.finish_elsewhere(2_000, "api", 10, Outcome::Succeeded { result: Body::Empty }, Some(behind));
    stage.play_to(2_010);

    assert_eq!((stood.len(), stage.timers().len()), (1, 0), "{stood:?}");
}

/// A worker keeps a run by heartbeats, each for half a minute, for an hour. Each look moves its timer to the end of its lease and hints that.
///
/// Found by reading, and not shown: held until that end, each would meet the next one. This test passes without the guard as well.
#[test]
fn the_hints_of_a_run_that_its_worker_keeps_do_not_pile_up() {
    let stage = Stage::new(by_a_worker(Wish { timeout: 7_200, ..Wish::once(60) }), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..4_000);
    let taken = stage.take(66, "worker");
    stage.play_to(67);
    let has = taken.given().pop().expect("it was offered");
    for at in (75..3_700).step_by(10) {
        stage.keep(at, "worker", &has, 1);
    }

    let steps = [600, 1_200, 3_000, 3_600].map(|second| {
        stage.play_to(second);
        stage.steps()
    });

    assert_eq!(stage.state(60), "running");
    let (early, late) = (steps[1] - steps[0], steps[3] - steps[2]);
    assert!(late <= early + early / 4, "{early} and {late} steps in ten minutes");
}

/// Rule **nudge**: whoever takes down that a target has ended what it took on dies with that, and a look of hours ago has moved the run's timer to the
/// end of its time.
///
/// Removed (`nudge-of-an-end-from-elsewhere`): nobody promises a look. Who waited for its place waited until then.
#[test]
fn what_a_target_has_ended_is_settled_though_who_heard_of_it_died() {
    let script = [dies_after("executor", "call"), dies_after("api", "put_run")];
    let first = Stage::new(Wish { takes: 700, timeout: 12_000, ..Wish::once(10) }.at_once("bank", 1), script);
    let second = first.beside(Wish::once(20).at_once("bank", 1));
    first.create(0, "creator");
    second.create(0, "creator");
    first.sweep_each_minute(0..3_600);
    first.take_on(105, "executor", 10);

    first.finish_elsewhere(2_000, "api", 10, Outcome::Succeeded { result: Body::Empty }, None);
    first.play_to(1_990);
    let waited = second.state(20);
    first.play_to(2_200);

    assert_eq!(
        (waited.as_str(), first.state(10).as_str(), second.state(20).as_str()),
        ("waiting", "succeeded", "succeeded")
    );
}

/// The run waited for hours, and whoever took it dies: it is offered again when its lease is over, and not when its timer, which the looks
/// have moved an hour on by then, is due.
///
/// Removed (`take-promises-a-look`): nobody looked before the next full hour.
#[test]
fn a_worker_that_dies_with_a_run_that_waited_for_hours_is_missed_soon() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..13_000);
    stage.play_to(12_000);
    let first = stage.take(12_001, "first"); // for thirty seconds
    stage.play_to(12_200);

    let second = stage.take(12_201, "second");
    stage.play_to(12_205);

    assert_eq!((first.given().len(), second.given().len()), (1, 1));
}

/// The call itself is over when a call must be, and so is the lease of who makes it.
///
/// Tried: where what is left of the lease is held against the time of the attempt, the target is never called.
#[test]
fn a_call_ends_in_time_whatever_its_attempt_may_take() {
    let stage = Stage::new(Wish { takes: 2_000, timeout: 3_000, ..Wish::once(10) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..1_200);

    stage.play_to(840);
    let before = stage.state(10);
    stage.play_to(860);

    assert_eq!((before.as_str(), stage.state(10).as_str()), ("running", "timed_out"));
}

/// The partition of one job is away: a worker is given the runs of the others that it was offered beside it.
///
/// Removed (`take-goes-on`): what cannot be read is told before anything is claimed. Nothing was given, for as long as it was away.
#[test]
fn what_cannot_be_read_keeps_nothing_else_from_a_worker() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [fails_before("worker", "head")]);
    let other = stage.beside(by_a_worker(Wish::once(61)));
    stage.create(0, "creator");
    other.create(0, "creator");
    stage.play_to(65);

    let taken = stage.take(66, "worker");
    stage.play_to(70);

    assert_eq!(taken.given().len(), 1);
}

/// Guard **effect once**: of all that claim an effect one is the first, however long a claim was on its way.
///
/// Removed: a claim whose write met another's counts as written. Two were told to make it.
#[test]
fn of_two_who_claim_an_effect_one_makes_it() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), [sleeps_before("first", "put_document", 200)]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);
    let first = stage.take(66, "first");
    stage.play_to(70);
    let slow = stage.claim_effect(71, "first", &first.given().remove(0));
    let second = stage.take(200, "second");
    stage.play_to(201);
    let quick = stage.claim_effect(202, "second", &second.given().remove(0));

    stage.play_to(401);

    assert!(matches!(quick.given(), Said::Taken(Ok(Answer::First(_)))), "{:?}", quick.given());
    assert!(matches!(slow.given(), Said::Taken(Ok(Answer::Before(_)))), "{:?}", slow.given());
}

/// Runs of four and of twelve hours, kept by heartbeats: nobody else is given them, one timer stands behind each, and it moves with the sweep
/// and not with each heartbeat.
#[test]
fn runs_of_hours_stay_their_holders() {
    for hours in [4, 12] {
        let end = hours * 3600;
        let stage = Stage::new(Wish { timeout: 13 * 3600, ..by_a_worker(Wish::once(60)) }, []);
        stage.create(0, "creator");
        stage.sweep_each_minute(0..end + 600);
        let holder = stage.take(66, "holder");
        stage.play_to(67);
        let has = holder.given().remove(0);
        let beats: Vec<_> = (76..end).step_by(25).map(|at| stage.keep(at, "holder", &has, 1)).collect();
        let others: Vec<_> = (100..end).step_by(600).map(|at| stage.take(at, "other")).collect();

        for at in (120..end).step_by(600) {
            stage.play_to(at);
            let is_within_five_hours = at < 17_000; // those that the stage looks for timers in
            assert!(stage.timers().len() == 1 || !is_within_five_hours, "at {at}: {:?}", stage.timers());
        }
        let done = stage.complete(end, "holder", &has);
        stage.play_to(end + 600);

        assert!(others.iter().all(|taken| taken.given().is_empty()));
        assert!(beats.iter().all(|beat| matches!(beat.given(), Said::Taken(_))));
        assert!(matches!(done.given(), Said::Taken(_)));
        assert_eq!((stage.state(60), stage.run(60).map(|run| run.fence)), ("succeeded".to_owned(), Some(1)));
    }
}

/// A run waits for a worker of its pool. Whoever is alive and takes other handlers alone will never take it.
///
/// Removed (`unattended-asks-for-the-handler`): whoever is alive attends to it. Of a handler that was renamed nobody was told.
#[test]
fn who_takes_other_handlers_does_not_attend_to_a_run() {
    let told = |handlers: Option<&[&str]>| {
        let stage = Stage::new(by_a_worker(Wish::once(60)), []);
        stage.create(0, "creator");
        stage.be_present(50, "alive", handlers);
        stage.sweep_each_minute(60..400);
        stage.play_to(400);
        (stage.counted("run awaits a worker") > 0, stage.counted("run unattended") > 0)
    };

    assert_eq!(told(Some(&["another"])), (false, true));
    assert_eq!(told(Some(&["another", "handler"])), (true, false), "it is too busy");
    assert_eq!(told(None), (true, false), "it takes all");
}

/// The only worker of a pool was busy and drains; the worker that comes next is not there yet.
///
/// Removed (`unattended-since-who-was-there-went`): a worker that drains had never been there. What had waited for its busy pool for minutes was a page
/// at the first look behind a restart.
/// Removed (`unattended-while-who-is-there-goes`): a worker that drains is there until it is gone. Nobody was told of a pool that was left to one which
/// drains for an hour.
#[test]
fn who_goes_at_a_restart_was_there_until_then() {
    let stage = Stage::new(by_a_worker(Wish::once(60)), []);
    stage.create(0, "creator");
    stage.be_draining(290, "going");
    stage.sweep_each_minute(60..1200);

    stage.play_to(290);
    let before = stage.counted("run unattended");
    stage.play_to(420);
    assert!(stage.counted("run unattended") > before, "it was looked at");
    assert_eq!(stage.counted("run unattended for minutes"), 0);

    stage.play_to(1200);
    assert!(stage.counted("run unattended for minutes") > 0);
}

/// Nobody is there. Each minute one occurrence fires in the stead of those before it, and none waits for long by itself.
///
/// Removed (`waits-since-the-first-of-them`): each has waited since it was due itself. Of a pool whose only job comes each five seconds nobody was
/// told for as long as it stood.
#[test]
fn what_fires_in_the_stead_of_others_has_waited_since_the_first_of_them() {
    let stage = Stage::new(by_a_worker(Wish::every(5, 60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);

    stage.play_to(240);
    assert!(stage.counted("run unattended") > 0);
    assert_eq!(stage.counted("run unattended for minutes"), 0);

    // Half a minute later one has waited for three minutes by itself, too.
    stage.play_to(300);
    assert!(stage.counted("run unattended for minutes") > 0);
}

/// Offers stand until a worker comes, those of a job that is paused too.
///
/// Removed (`waits-for-nobody-while-paused`): the first occurrence behind a pause had waited since before the pause. An operator who resumes a job and
/// starts its workers together was told that there were none.
#[test]
fn what_was_offered_before_its_job_was_paused_waits_no_longer() {
    let stage = Stage::new(by_a_worker(Wish::every(5, 60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..900);
    stage.change(120, "pauser", Change::Pause);
    stage.change(720, "resumer", Change::Resume);

    stage.play_to(720);
    let before = stage.counted("run unattended");
    stage.play_to(840);

    assert!(stage.counted("run unattended") > before);
    assert_eq!(stage.counted("run unattended for minutes"), 0);
}

/// The offer of a run that was cancelled stands, too.
///
/// Removed (`waits-for-nothing-of-long-ago`): the next occurrence, an hour later, had waited since the cancelled one was offered.
#[test]
fn what_was_called_off_while_nobody_came_waits_no_longer() {
    let stage = Stage::new(by_a_worker(Wish::every(3600, 60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..3900);
    stage.cancel(100, "canceller", 60);

    stage.play_to(3660);
    let before = stage.counted("run unattended");
    stage.play_to(3780);

    assert!(stage.counted("run unattended") > before);
    assert_eq!(stage.counted("run unattended for minutes"), 0);
}
