//! Histories of jobs that have others told of their ends and asked before their calls: what goes wrong is drawn, and whatever it was, each
//! end that asked for it is told of, by one run, after it was written; and nobody is called after a no.

use minutehand_domain::callback::End;
use minutehand_domain::hook::OnError;
use minutehand_domain::id::Origin;
use minutehand_domain::job::Change;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::timer::Timer;

use super::catch_up;
use crate::dice::Dice;
use crate::history::Verdict;
use crate::stage::{Stage, Wish, moment};
use crate::telling::Telling;

const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: std::ops::Range<i64> = 5..900;
const PAUSED: i64 = 1500;

fn wish(dice: &mut Dice) -> Wish {
    let every = dice.pick(&[10, 20, 60]);
    let (takes, fails, retries) = (dice.within(1..40), dice.chance(0.3), 1);
    let on: Vec<End> = End::ALL.into_iter().filter(|_| dice.chance(0.7)).collect();
    let on = if on.is_empty() { vec![End::Skipped] } else { on };
    let telling =
        Telling { takes: dice.pick(&[50, 5_000, 31_000]), fails: dice.pick(&[0, 0, 30, 100]), ..Telling::HEARS };
    let asking = Telling {
        takes: dice.pick(&[50, 5_000, 29_000, 31_000]),
        fails: dice.pick(&[0, 30]),
        vetoes: dice.pick(&[0, 30, 60]),
        ..Telling::LETS
    };
    let on_error = dice.pick(&[OnError::Fail, OnError::GoOn]);
    let overlap = dice.pick(&[Overlap::default(), Overlap::default(), Overlap::Skip, Overlap::CancelPrevious]);
    let catch_up = catch_up(dice);
    Wish {
        takes,
        fails,
        retries,
        overlap,
        catch_up,
        told: Some((telling, on)),
        asks: dice.chance(0.5).then_some((asking, on_error)),
        ..Wish::every(every, 10)
    }
}

/// Plays a job until it is paused and all that had begun has ended; some of it is cancelled, and some of it is asked for.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed);
    let stage = Stage::rough(seed, wish(&mut dice), ROUGH);
    stage.create(0, "creator");
    for at in (30..900).step_by(90) {
        let instant = (at + dice.within(-5..40)) / 10 * 10;
        stage.cancel(at, "canceller", instant);
        stage.ask(at + 7, "asker");
    }
    stage.change(PAUSED, "pauser", Change::Pause);
    super::repaired(&stage, &mut dice);
    stage.sweep_each_minute(0..4 * HOUR);
    stage.play_to(4 * HOUR);

    stage.met("told", stage.told().len());
    for (what, transition) in [("met a no", "run running -> skipped"), ("met a failure", "run running -> failed")] {
        stage.met(what, usize::from(stage.counted(transition) > 0));
    }
    let wrong = stage.judge_tellings(&stage.all_runs());
    if wrong.is_empty() {
        let is_left = |timer: &Timer| {
            timer.key.due >= moment(stage.oldest_bucket()) && timer.key.run_key().origin == Origin::Callback
        };
        assert_eq!(stage.timers().into_iter().find(is_left), None, "the timer of a callback");
    }
    stage.verdict(wrong)
}
