//! What a run was given, too long for its record, goes with that run and with no other.

use minutehand_domain::body::Json;
use minutehand_domain::id::RunKey;
use minutehand_domain::retention::RENEWED_AFTER;
use minutehand_protocol::run::on_demand::Answered;
use minutehand_simulation::stage::{Answer, Stage, Wish};

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

fn long() -> Json {
    Json::of(&serde_json::json!({ "text": "x".repeat(3000) }))
}

fn made(answer: &Answer<Answered>) -> RunKey {
    match answer.given() {
        Answered::Queued(run) => run.key,
        other => panic!("{other:?}"),
    }
}

/// Rule **one of its own**: a run is tried again, and goes before the other try.
///
/// Removed: the other try names what the first was given, and is given none of its own. It could not be carried out, since what it was to be given
/// was nowhere.
#[test]
fn another_try_is_given_what_the_first_was_though_that_has_gone() {
    let stage = Stage::new(Wish { fails: true, kept: Some(1), ..Wish::on_demand() }, []);
    stage.create(0, "creator");
    let first = stage.ask_with(10, "asker", long());
    stage.sweep_each_minute(60..600);
    stage.play_to(12 * HOUR);
    let first = made(&first);
    let second = stage.retry_of(12 * HOUR, "asker", first);
    stage.sweep_each_minute(12 * HOUR..12 * HOUR + 600);

    stage.expire(DAY + HOUR);
    stage.play_to(DAY + HOUR + 1);
    let second = made(&second);
    let left = [first, second].map(|run| (stage.read(run).is_some(), stage.body(run, &long()).is_some()));
    let word = stage.read(second).map(|run| run.status(stage.now()));
    stage.expire(3 * DAY);
    stage.play_to(3 * DAY + 1);

    assert_eq!((left, word), ([(false, false), (true, true)], Some("failed")));
    assert_eq!((stage.read(second), stage.body(second, &long())), (None, None));
    assert_eq!(stage.called().len(), 2);
}

/// Rule **renewed**: a run waits for a worker for months, and its body is looked after with it: DynamoDB deletes by the clock alone.
///
/// Removed: who looks at the run lets its body be. What it was to be given was gone before a worker came.
#[test]
fn what_a_run_needs_is_kept_while_it_waits_for_months() {
    let stage = Stage::new(Wish { by_a_worker: true, ..Wish::on_demand() }, []);
    stage.create(0, "creator");
    let run = stage.ask_with(10, "asker", long());
    for at in (60..100 * DAY).step_by(12 * 3600) {
        stage.sweep(at, "sweeper");
    }

    stage.play_to(100 * DAY);

    let until = stage.body(made(&run), &long()).expect("it is needed").until;
    assert!(until >= stage.now() + 2 * RENEWED_AFTER, "{until}");
}
