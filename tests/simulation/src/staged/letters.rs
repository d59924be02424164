//! Histories of dead letters: a job whose runs fail, and clerks who try them again or dismiss them while everything goes wrong. Whatever
//! it was, a letter is listed until exactly one of the two is done, and a redrive makes exactly one run.

use minutehand_domain::schedule::Plan;
use minutehand_judge::letters::What;

use crate::dice::Dice;
use crate::history::Verdict;
use crate::stage::{Stage, Wish, every, moment};

const HOUR: i64 = 3600;
/// Jobs whose runs fail; the others show that what succeeds is no letter.
const FAILS: f64 = 0.85;
/// From when until when things go wrong.
const ROUGH: std::ops::Range<i64> = 5..1500;

/// Plays a job that ends after a quarter of an hour, and clerks at its letters; in the end the list is read.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed);
    let plan = Plan { end_at: Some(moment(900)), ..every(dice.pick(&[30, 60, 120]), 10) };
    let retries = dice.pick(&[0, 0, 1]);
    let wish = Wish { plan, fails: dice.chance(FAILS), retries, takes: dice.within(1..20), ..Wish::every(60, 10) };
    let stage = Stage::rough(seed, wish, ROUGH);
    stage.create(0, "creator");
    super::repaired(&stage, &mut dice);
    stage.sweep_each_minute(0..2 * HOUR);
    for _ in 0..dice.within(5..25) {
        let (at, place) = (dice.within(60..1600), usize::try_from(dice.within(0..20)).expect("it is small"));
        let what = dice.pick(&[What::Redrive, What::Redrive, What::Dismiss]);
        stage.clerk(at, what, place);
        // Another at the same letter.
        if dice.chance(0.4) {
            let other = dice.pick(&[What::Redrive, What::Dismiss]);
            stage.clerk(at + dice.pick(&[0, 0, 1, 5, 40]), other, place);
        }
    }
    let listed = stage.letters(2 * HOUR - 60);
    stage.play_to(2 * HOUR);

    let wrong = stage.account_of_letters(listed.given()).judge();
    stage.verdict(wrong.into_iter().chain(stage.judge()).collect())
}
