//! Operations: what is done to many at once goes on whoever dies, and a backfill begins nothing twice.

use minutehand_domain::job::{Change, Status};
use minutehand_domain::operation::{Order, State};
use minutehand_domain::run::State as Ended;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, sleeps_before};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Due each minute, also of the hour before it was made.
fn each_minute() -> Wish {
    Wish::every(60, -HOUR)
}

fn minutes(seconds: std::ops::Range<i64>) -> Vec<i64> {
    seconds.step_by(60).collect()
}

/// Guard **promise before act**, operation: the asker dies before and after each of its steps.
///
/// Removed (`operation-promise`): no timer is promised. The operation was there, and nobody carried it on.
#[test]
fn an_asker_of_an_operation_may_die_at_any_step() {
    let steps = [
        dies_before("asker", "put_timer"),
        dies_after("asker", "put_timer"),
        dies_before("asker", "put_operation"),
        dies_after("asker", "put_operation"),
        Line { nth: 2, ..dies_before("asker", "put_operation") },
        Line { nth: 2, ..dies_after("asker", "put_operation") },
        dies_before("asker", "put_run"),
        dies_after("asker", "put_run"),
        Line { nth: 2, ..dies_before("asker", "put_timer") },
        Line { nth: 2, ..dies_after("asker", "put_timer") },
    ];
    let mut asked = 0;
    for step in steps {
        let stage = Stage::new(each_minute(), [step.clone()]);
        stage.create(0, "creator");
        stage.sweep_each_minute(0..HOUR);
        stage.backfill(10, "asker", -300..0);
        stage.play_to(HOUR);

        let operations = stage.operations();
        asked += operations.len();
        let expected = if operations.is_empty() { vec![] } else { minutes(-300..0) };
        let begun: Vec<_> = stage.begun().into_iter().filter(|instant| *instant < 0).collect();
        assert_eq!(begun, expected, "{step:?}");
        assert_eq!(stage.account_of_backfills(-HOUR, 60, &[]).judge(), [], "{step:?}");
    }
    assert_eq!(asked, 7);
}

/// Rule **touch**: who resumes an operation has promised its look, which finds it paused still.
///
/// Removed (`operation-touch`): a look at what is paused erases its timer. It was resumed, and nobody went on with it.
#[test]
fn a_word_that_slept_through_its_look_is_refused() {
    let stage = Stage::new(
        each_minute(),
        [sleeps_before("boss", "put_operation", 70), Line { nth: 2, ..dies_after("boss", "put_operation") }],
    );
    stage.create(0, "creator");
    stage.sweep_each_minute(0..HOUR);
    stage.backfill(10, "asker", -HOUR..0);
    stage.order(11, "pauser", Order::Pause);
    stage.order(130, "boss", Order::Resume);
    stage.play_to(HOUR);

    assert_eq!(stage.operations()[0].state, State::Done);
    assert_eq!(stage.begun().into_iter().filter(|instant| *instant < 0).count(), 60);
}

/// Rule **touch**, of a backfill that has made all its runs: who cancels it has promised its look, which finds it done still.
///
/// Removed (`operation-touch-done`): a look at what is done erases its timer at once. It was being cancelled, and nobody went on with it.
#[test]
fn a_cancel_that_slept_through_its_look_is_refused() {
    let script = [sleeps_before("boss", "put_operation", 100), dies_before("boss", "runs_of")];
    let stage = Stage::new(each_minute(), script);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..HOUR);
    stage.backfill(10, "asker", -HOUR..0);
    stage.play_to(120);
    assert_eq!(stage.operations()[0].state, State::Done);

    stage.order(130, "boss", Order::Cancel);
    stage.play_to(HOUR);

    assert_eq!(stage.operations()[0].state, State::Cancelled);
}

/// An asker that sleeps for longer than anybody waits finds a tombstone.
///
/// Removed (`operation-tombstone`): its timer is erased and nothing is left in its place. The operation was written, and nobody carried it on.
#[test]
fn an_asker_that_slept_for_too_long_is_refused() {
    let stage = Stage::new(each_minute(), [sleeps_before("asker", "put_operation", 2400)]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..2 * HOUR);
    stage.backfill(10, "asker", -HOUR..0);
    stage.play_to(2 * HOUR);

    let stuck = stage.operations().into_iter().find(|operation| !operation.is_over());
    assert_eq!(stuck, None);
}

/// A sweeper dies when it has paused a job and before it could say so; then somebody resumes the job.
///
/// Removed (`operation-as-seen`): the job is changed whatever became of it. It was paused again.
#[test]
fn what_is_changed_after_it_was_looked_at_is_left_alone() {
    let stage = Stage::new(each_minute(), [dies_after("asker", "put_head")]);
    stage.create(0, "creator");
    // A list of jobs may be a minute behind.
    stage.pause_all(100, "asker", None);
    stage.change(110, "owner", Change::Resume);
    stage.sweep_each_minute(120..600);
    stage.play_to(600);

    assert_eq!(stage.job().map(|job| job.status), Some(Status::Active));
    let operation = stage.operations().remove(0);
    assert_eq!((operation.state, operation.progress.refused), (State::Done, 1));
}

/// Rule **closed first**: an executor was hinted of an occurrence, and sleeps while its job is paused and it is made up for.
///
/// Removed (`backfill-closes`): nothing stands at the occurrence's own key. It was begun by both.
#[test]
fn an_executor_that_slept_while_its_occurrence_was_made_up_for_runs_nothing() {
    let stage = Stage::new(each_minute(), [sleeps_before("slow", "put_run", 20)]);
    stage.create(0, "creator");
    stage.sweep(0, "sweeper");
    stage.lose_hints(90..123);
    stage.play_to(115);
    stage.purge(115);
    stage.play_to(118);
    stage.execute(120, "slow", &stage.hint(120));
    stage.change(121, "pauser", Change::Pause);
    stage.backfill(124, "asker", 120..121);
    stage.sweep_each_minute(180..HOUR);
    stage.play_to(HOUR);

    assert_eq!(stage.begun().into_iter().filter(|instant| *instant == 120).count(), 1);
    assert_eq!(stage.made(120).len(), 1);
}

/// Rule **one key**: two backfills of one span, one of which sleeps before it writes its run.
///
/// Removed (`backfill-one-key`): whoever finds a run there makes another. Each made one.
#[test]
fn of_two_who_make_up_for_one_occurrence_one_makes_the_run() {
    let stage = Stage::new(each_minute(), [sleeps_before("slow", "put_run", 5)]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..HOUR);
    stage.backfill(10, "slow", -60..0);
    stage.backfill(11, "fast", -60..0);
    stage.play_to(HOUR);

    assert_eq!(stage.made(-60).len(), 1);
    let progress: Vec<_> = stage.operations().iter().map(|one| (one.progress.done, one.progress.already)).collect();
    assert_eq!(progress, [(1, 0), (0, 1)], "the later one made it");
}

/// Rule **gate**: who cancels a backfill dies before he has found what it has made.
///
/// Removed (`backfill-gate`): a claim does not ask the backfill. It was begun.
#[test]
fn a_run_whose_backfill_was_cancelled_is_not_begun() {
    let stage = Stage::new(each_minute(), [dies_after("boss", "put_operation")]);
    stage.create(0, "creator");
    stage.lose_hints(0..100);
    stage.backfill(10, "asker", -60..0);
    stage.order(20, "boss", Order::Cancel);
    stage.play_to(29);
    stage.execute(30, "executor", &stage.hint_of_made(-60));
    stage.sweep_each_minute(120..HOUR);
    stage.play_to(HOUR);

    assert!(!stage.begun().contains(&-60), "{:?}", stage.begun());
    assert_eq!(stage.operations()[0].state, State::Cancelled);
}

/// Rule **one key**: a backfill is asked for while another of the same span is being cancelled, and nobody has come to what that one has made.
///
/// Removed (`backfill-given-up`): a run of the other is taken for one that may begin. It was withdrawn, and the second had counted it as there.
#[test]
fn what_a_backfill_that_is_being_cancelled_has_made_is_made_anew() {
    let stage = Stage::new(each_minute(), [dies_after("boss", "put_operation")]);
    stage.create(0, "creator");
    stage.lose_hints(0..100);
    stage.backfill(10, "asker", -60..0);
    stage.order(20, "boss", Order::Cancel);
    stage.backfill(25, "other", -60..0);
    stage.sweep_each_minute(120..HOUR);
    stage.play_to(HOUR);

    assert!(stage.begun().contains(&-60), "{:?}", stage.begun());
    let [second, first] = stage.operations().try_into().expect("two");
    assert_eq!((first.state, first.progress.withdrawn), (State::Cancelled, 1));
    assert_eq!((second.state, second.progress.done, second.progress.already), (State::Done, 1, 0));
}

/// A sweep leaves a look twenty seconds: who cancels a backfill of eight runs waits five seconds for each of them.
///
/// Removed (`withdraws-side-by-side`): one is cancelled behind the other. That took forty seconds.
#[test]
fn the_runs_of_a_cancelled_backfill_are_withdrawn_side_by_side() {
    let slow = (1..=8).map(|nth| Line { nth, ..sleeps_before("boss", "put_run", 5) });
    let stage = Stage::new(each_minute(), slow);
    stage.create(0, "creator");
    stage.lose_hints(0..100);
    stage.backfill(10, "asker", -480..0);
    stage.order(20, "boss", Order::Cancel);
    let is_cancelled =
        |instant: i64| stage.made(instant).iter().all(|run| matches!(run.state, Ended::Cancelled { .. }));

    stage.play_to(24);
    assert!(!minutes(-480..0).into_iter().any(is_cancelled), "the boss is slow");
    stage.play_to(29);
    assert!(minutes(-480..0).into_iter().all(is_cancelled));
}

/// An occurrence that is overdue, and that nobody has decided about: its schedule may still start it.
///
/// Removed (`backfill-waits`): it is made up for at once. The last of the outage was begun by both.
#[test]
fn what_a_schedule_may_still_start_is_left_to_it() {
    let stage = Stage::new(each_minute(), []);
    stage.create(0, "creator");
    stage.lose_hints(0..300);
    stage.backfill(290, "asker", 60..290);
    stage.sweep_each_minute(295..HOUR);
    stage.play_to(HOUR);

    assert_eq!(stage.account_of_backfills(-HOUR, 60, &[]).judge(), []);
    let begun: Vec<_> = stage.begun().into_iter().filter(|instant| (60..290).contains(instant)).collect();
    assert_eq!(begun, minutes(60..290));
    assert!(stage.operations()[0].progress.done > 0, "the schedule fired the last of them alone");
}

/// The record of an outage speaks for many, and those that a backfill leaves lie between: more of them than whoever looks for it passes over.
///
/// Removed (`backfill-span`): what is put in the place of one speaks for none behind it. Behind the first few nothing was made.
#[test]
fn all_that_an_outage_took_is_made_up_for() {
    let stage = Stage::new(each_minute(), []);
    stage.create(0, "creator");
    let outage = 8 * HOUR;
    stage.lose_hints(0..outage);
    stage.sweep_each_minute(outage..12 * HOUR);
    stage.backfill(outage + 300, "asker", 60..outage);
    stage.play_to(12 * HOUR);

    assert_eq!(stage.account_of_backfills(-HOUR, 60, &[]).judge(), []);
    assert_eq!(stage.operations()[0].progress.refused, 0);
}

/// A backfill of before a job was made; what it made expires, and somebody asks for the same once more.
///
/// Removed (`backfill-of-before-a-job`): of before a job was made nobody knows anything. Each of its occurrences was run a second time.
#[test]
fn what_was_made_up_for_and_has_expired_is_not_made_up_for_again() {
    let stage = Stage::new(Wish { kept: Some(1), ..Wish::every(6 * 3600, -DAY) }, []);
    stage.create(0, "creator");
    stage.backfill(10, "asker", -DAY..0);
    for at in (0..4 * DAY).step_by(1800) {
        stage.sweep(at + 90, "sweeper");
    }
    stage.expire(4 * DAY);

    stage.backfill(4 * DAY + 10, "asker", -DAY..0);
    stage.sweep_each_minute(4 * DAY + 60..4 * DAY + 900);
    stage.play_to(4 * DAY + 900);

    let [again, _first] = stage.operations().try_into().expect("two");
    assert_eq!((again.state, again.progress.done, again.progress.refused), (State::Done, 0, 4));
}
