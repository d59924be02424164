//! Of any number of creators with one key, one makes the job.

use minutehand_protocol::job::create::Created;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, sleeps_before};

/// All of them have read that there is no job before any of them puts one.
fn racing() -> impl Iterator<Item = Line> {
    (1..=24).map(|nth| Line { nth, ..sleeps_before("creator", "put_head", 1) })
}

/// Guard **idempotency put**: twenty-four creators race with one key and one request.
///
/// Removed: a creator that meets a conflict puts its own head over what is there. More than one was told that it made the
/// job.
#[test]
fn of_racing_creators_one_makes_the_job() {
    let stage = Stage::new(Wish::once(60), racing());

    let answers: Vec<_> = (0..24).map(|_| stage.create(0, "creator")).collect();
    stage.play_to(300);

    let made = answers.iter().filter(|answer| matches!(answer.given(), Created::New(_))).count();
    let replayed = answers.iter().filter(|answer| matches!(answer.given(), Created::Replayed(_))).count();
    assert_eq!((made, replayed), (1, 23));
    assert_eq!(stage.called(), [60]);
}

/// Guard **idempotency put**, its fingerprint: half of them ask for something else under the same key.
///
/// Removed: `answer_of` does not compare what was asked for. Twelve were told that the job is theirs which it is not.
#[test]
fn a_key_that_belongs_to_another_request_is_taken() {
    let stage = Stage::new(Wish::once(60), racing());

    let answers: Vec<_> = (0..24).map(|n| stage.create_for(0, "creator", n % 2)).collect();
    stage.play_to(300);

    let taken = answers.iter().filter(|answer| answer.given() == Created::Taken).count();
    assert_eq!(taken, 12);
}
