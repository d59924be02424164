//! Dead letters: of all that may be done about one, one thing is done, whoever dies on the way.

use minutehand_domain::run::{NotALetter, Run};
use minutehand_protocol::run::letter::{Dismissed, Redriven};
use minutehand_protocol::run::on_demand::Answered;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Answer, Stage, Wish, dies_after, dies_before, sleeps_before};

/// Due at 10, and failed a second later.
fn in_vain() -> Wish {
    Wish { fails: true, ..Wish::once(10) }
}

fn played(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(in_vain(), script);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..3600);
    stage
}

fn queued(answer: &Redriven) -> Option<&Run> {
    match answer {
        Redriven::Queued(run) => Some(run),
        _ => None,
    }
}

/// Rule **promise, mark, make**: who tries again dies anywhere on the way. Either nothing was done, and the letter is one still; or there is
/// the other try, and it runs.
///
/// Removed (`redrive-is-made-by-a-look`): the look that finds the promise of a try that the old run says there is leaves it. The letter was
/// seen to, and nothing came of it.
#[test]
fn who_tries_again_may_die_at_any_step() {
    for (step, is_made) in [
        (dies_before("clerk", "put_timer"), false),
        (dies_after("clerk", "put_timer"), false),
        (dies_before("clerk", "put_run"), false),
        (dies_after("clerk", "put_run"), true),
        (Line { nth: 2, ..dies_before("clerk", "put_run") }, true),
        (Line { nth: 2, ..dies_after("clerk", "put_run") }, true),
        (dies_before("clerk", "send"), true),
    ] {
        let stage = played([step.clone()]);
        stage.redrive(20, "clerk", 10);

        stage.play_to(3600);

        let old = stage.run(10).expect("it has a record");
        let tries = stage.tries_at(10);
        assert_eq!((old.is_dead_letter(), tries.len()), (!is_made, usize::from(is_made)), "{step:?}");
        assert!(tries.iter().all(Run::is_dead_letter), "{step:?}: it was tried, and failed again");
        assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]), "{step:?}");
    }
}

/// The same, and somebody asks again right away: they get the very run.
///
/// Removed (`redrive-is-made-by-who-asks-again`): who finds that there is another try does not look whether it is there. They were told
/// of nothing.
#[test]
fn who_asks_again_makes_what_a_dead_one_has_marked() {
    let stage = played([Line { nth: 2, ..dies_before("clerk", "put_run") }]);
    stage.redrive(20, "clerk", 10);
    let again = stage.redrive(25, "second clerk", 10);

    stage.play_to(28);
    let Redriven::Already(run) = again.given() else { panic!("{:?}", again.given()) };
    stage.play_to(3600);

    assert_eq!(stage.tries_at(10).iter().map(|run| run.key).collect::<Vec<_>>(), [run.key]);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// A clerk promises, sleeps through the look at it, goes on, and dies right behind his mark. The look has written the old run, so that the
/// mark is refused, and the letter is one still.
///
/// Removed (`redrive-touch`): the look lets the promise go and writes nothing. The letter was seen to, and nothing came of it.
#[test]
fn a_mark_that_slept_through_its_look_is_refused() {
    let stage = played([sleeps_before("clerk", "put_run", 300), dies_after("clerk", "put_run")]);
    stage.redrive(20, "clerk", 10);

    stage.play_to(3600);

    assert_eq!((stage.run(10).expect("it has a record").is_dead_letter(), stage.tries_at(10).len()), (true, 0));
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// Rule **one of the two**: twenty-four clerks have seen one letter before any of them marks it.
///
/// Removed (`redrive-as-seen`): whoever was refused takes it for done. All but one had a run of their own.
#[test]
fn of_racing_clerks_one_makes_the_other_try() {
    let racing = (1..=24).map(|nth| Line { nth, ..sleeps_before("clerk", "put_timer", 1) });
    let stage = played(racing);
    let answers: Vec<_> = (0..24).map(|_| stage.redrive(20, "clerk", 10)).collect();

    stage.play_to(3600);

    let made: Vec<_> = answers.iter().map(Answer::given).collect();
    assert_eq!(made.iter().filter_map(queued).count(), 1);
    assert_eq!(made.iter().filter(|answer| matches!(answer, Redriven::Already(_))).count(), 23);
    assert_eq!((stage.tries_at(10).len(), stage.timers(), stage.judge()), (1, vec![], vec![]));
}

/// Rule **one of the two**: one dismisses what another tries again, and each has seen the letter before the other wrote.
///
/// Removed (`dismiss-as-seen`): whoever was refused takes it for done. It was said to be dismissed, and was tried again.
#[test]
fn of_a_redrive_and_a_dismissal_one_is_done() {
    let stage = played([sleeps_before("dismisser", "put_run", 5)]);
    let dismissed = stage.dismiss(20, "dismisser", 10);
    let redriven = stage.redrive(22, "clerk", 10);

    stage.play_to(3600);

    let run = queued(&redriven.given()).expect("it was first").key;
    assert_eq!(dismissed.given(), Dismissed::Refused(NotALetter::Redriven(run)));
    assert_eq!((stage.tries_at(10).len(), stage.timers(), stage.judge()), (1, vec![], vec![]));
}

/// Rule **no mark without its run**: a clerk dies between mark and run, and somebody retries the run before anybody looks. There are both.
///
/// Removed (`retry-makes-sure-of-the-one-before`): whoever takes the mark's place leaves its run to a look, which finds nothing of it
/// any more. What the clerk was about to make was lost.
#[test]
fn a_retry_makes_sure_of_the_try_before() {
    let stage = played([Line { nth: 2, ..dies_before("clerk", "put_run") }]);
    stage.redrive(20, "clerk", 10);
    let retried = stage.retry(25, "retrier", 10);

    stage.play_to(3600);

    assert!(matches!(retried.given(), Answered::Queued(_)), "{:?}", retried.given());
    assert_eq!((stage.tries_at(10).len(), stage.timers(), stage.judge()), (2, vec![], vec![]));
}

/// The table of timers is lost with the promise of a try that was marked and not made.
///
/// Removed (`repair-makes-the-other-try`): a repair does not ask whether the other try is there. It never was.
#[test]
fn a_repair_finds_a_try_that_nobody_made() {
    let stage = Stage::new(in_vain(), [Line { nth: 2, ..dies_before("clerk", "put_run") }]);
    stage.create(0, "creator");
    stage.redrive(20, "clerk", 10);
    stage.lose_timers(30);
    stage.repair(300, "admin");
    stage.sweep_each_minute(360..3600);
    stage.play_to(3600);

    assert_eq!(stage.tries_at(10).len(), 1);
}
