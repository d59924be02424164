//! Of any number of askers with one key, all are told of one run.

use minutehand_protocol::run::on_demand::Answered;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, fails_before, sleeps_before};

const TWENTY_MINUTES: u64 = 20 * 60;

/// Guard **the key's answer**: twenty-four askers race with one key, and none has seen another's answer before it puts its
/// own.
///
/// Removed: whoever finds the key answered makes the run that it had drawn for itself. There were as many runs as askers.
#[test]
fn of_racing_askers_with_one_key_one_makes_the_run() {
    let racing = (1..=24).map(|nth| Line { nth, ..sleeps_before("asker", "put_document", 1) });
    let stage = Stage::new(Wish::on_demand(), racing);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);

    let answers: Vec<_> = (0..24).map(|_| stage.ask_once(10, "asker")).collect();
    stage.play_to(600);

    let queued = answers.iter().filter(|answer| matches!(answer.given(), Answered::Queued(_))).count();
    let replayed = answers.iter().filter(|answer| matches!(answer.given(), Answered::Replayed(_))).count();
    assert_eq!((queued, replayed, stage.called().len()), (1, 23, 1));
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// Guard **the key's answer**, when its asker dies anywhere between it and the run: who asks again makes that very run.
#[test]
fn who_asks_again_makes_what_a_dead_asker_named() {
    for step in [
        dies_before("asker", "put_document"),
        dies_after("asker", "put_document"),
        dies_after("asker", "put_timer"),
        dies_before("asker", "put_run"),
        dies_after("asker", "put_run"),
        dies_before("asker", "send"),
    ] {
        let stage = Stage::new(Wish::on_demand(), [step.clone()]);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..3600);

        stage.ask_once(10, "asker");
        let again = [20, 300].map(|at| stage.ask_once(at, "second asker"));
        stage.play_to(3600);

        assert!(matches!(again[1].given(), Answered::Replayed(_)), "{step:?}");
        assert_eq!((stage.called().len(), stage.timers(), stage.judge()), (1, vec![], vec![]), "{step:?}");
    }
}

/// Guard **named anew**: the asker sleeps between its promise and the run for so long that the run is given up. Whoever asks
/// again gets one that runs.
///
/// Removed: the run that was given up is the key's answer for ever. Whoever asked again was told that it was skipped.
#[test]
fn a_run_that_was_given_up_is_named_anew() {
    let script = [sleeps_before("asker", "put_run", TWENTY_MINUTES), fails_before("asker", "send")];
    let stage = Stage::new(Wish::on_demand(), script);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..3600);

    let asked = stage.ask_once(10, "asker");
    let again = stage.ask_once(1_800, "second asker");
    stage.play_to(3600);

    assert_eq!(asked.given(), Answered::TooSlow);
    assert!(matches!(again.given(), Answered::Queued(_)), "{:?}", again.given());
    assert_eq!((stage.called().len(), stage.timers(), stage.judge()), (1, vec![], vec![]));
}
