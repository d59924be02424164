//! Histories of jobs that run behind one another: what goes wrong is drawn, and whatever it was, each end that was to be followed was, once,
//! and nothing else.

use std::ops::Range;

use minutehand_domain::job::Change;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::workflow::edge::On;
use minutehand_judge::followers as judge;

use crate::dice::Dice;
use crate::history::Verdict;
use crate::stage::{Stage, Wish, behind};

const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 0..900;
const PAUSED: i64 = 1500;
const END: i64 = 3 * HOUR;
const FAR: i64 = 1_000 * HOUR;

fn front(dice: &mut Dice) -> Wish {
    let every = dice.pick(&[20, 30, 60]);
    let (takes, fails) = (dice.within(1..30), dice.chance(0.4));
    let overlap = dice.pick(&[Overlap::default(), Overlap::Skip]);
    Wish { takes, fails, retries: u16::from(dice.chance(0.5)), overlap, ..Wish::every(every, 10) }
}

fn end(dice: &mut Dice) -> (On, &'static str) {
    dice.pick(&[(On::Success, "success"), (On::Failure, "failure"), (On::Finished, "finished")])
}

/// A chain of three, of which the middle is changed in half of the histories; one job more behind the first.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed);
    let first = Stage::rough(seed, front(&mut dice), ROUGH);
    let [(on_first, first_word), (on_second, second_word), (on_other, other_word)] =
        [end(&mut dice), end(&mut dice), end(&mut dice)];
    let second = first.beside(Wish { fails: dice.chance(0.3), ..Wish::behind(&first, on_first) });
    let third = second.beside(Wish::behind(&second, on_second));
    let other = third.beside(Wish { takes: dice.within(1..40), ..Wish::behind(&first, on_other) });
    // A creator that dies asks again, as a client does who was not answered: each has an hour of trying.
    let created = [dice.within(0..300), dice.within(300..400), dice.within(0..600)];
    first.create(0, "creator");
    for (stage, at) in [(&second, created[0]), (&third, created[1]), (&other, created[2])] {
        for again in 0..8 {
            stage.create(at + again * 60, "creator");
        }
    }
    let changed = dice.chance(0.5).then(|| change(&mut dice, &second, &first));
    let first_word = if changed.is_some_and(|(_, other_end)| other_end) { "changed" } else { first_word };
    first.change(PAUSED, "pauser", Change::Pause);
    super::repaired(&first, &mut dice);
    first.sweep_each_minute(0..END);
    first.play_to(END);

    let until = changed.map_or(FAR, |(at, _)| at);
    let watched = |stage: &Stage, at: i64, until| {
        let there = stage.job().map_or(FAR, |_| at + 8 * 60);
        there..until
    };
    let accounts = [
        second.watched_behind(&first, first_word, watched(&second, created[0], until)),
        third.watched_behind(&second, second_word, watched(&third, created[1], FAR)),
        other.watched_behind(&first, other_word, watched(&other, created[2], FAR)),
    ];
    for made in accounts.iter().flat_map(|account| &account.made) {
        first.met(&format!("follower: {}", made.reason.as_deref().unwrap_or("of an end")), 1);
    }
    first.verdict(accounts.iter().flat_map(judge::Account::judge).collect())
}

/// Somebody pauses it for a while, deletes it, or has it run behind another end. When, and whether that end is another.
fn change(dice: &mut Dice, stage: &Stage, front: &Stage) -> (i64, bool) {
    let (at, what) = (dice.within(100..900), dice.within(0..4));
    match what {
        0 => drop(stage.change(at, "changer", Change::Delete)),
        1 => drop(stage.reschedule(at, "changer", &behind(front, On::Finished))),
        _ => {
            stage.change(at, "changer", Change::Pause);
            stage.change(at + dice.within(30..400), "changer", Change::Resume);
        }
    }
    (at, what == 1)
}
