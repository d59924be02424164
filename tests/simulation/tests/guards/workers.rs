//! Workers elsewhere: whose a run is, what they may say of it, and what reaches the next one.

use minutehand_domain::job::Change;
use minutehand_protocol::run::lease::Said;
use minutehand_simulation::campaign::Campaign;
use minutehand_simulation::stage::{Stage, Wish, sleeps_after, sleeps_before};

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
    let campaign = Campaign::play_workers(1, 24, 2);

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
