//! Histories of jobs that run behind one another: what goes wrong is drawn, and whatever it was, each end that was to be followed was, once,
//! and nothing else.

use std::ops::Range;

use minutehand_domain::job::Change;
use minutehand_domain::limits::FOLLOW_DEPTH;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::{Run, Skip, State};
use minutehand_domain::workflow::edge::On;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish, behind};

const SEEDS: u64 = 150;
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
#[test]
fn each_end_is_followed_once_whatever_goes_wrong() {
    let (mut followed, mut refused, mut recorded) = (0, 0, 0);
    for seed in 0..SEEDS {
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
        for account in &accounts {
            assert_eq!(account.judge(), [], "seed {seed}");
            followed += account.made.len();
            recorded += account.made.iter().filter(|made| made.reason.as_deref() == Some("upstream")).count();
            refused += account.made.iter().filter(|made| made.reason.as_deref() == Some("paused")).count();
        }
    }
    assert!(followed > 3_000, "only {followed} followed");
    assert!(recorded > 300, "only {recorded} were recorded");
    assert!(refused > 20, "only {refused} were refused");
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

/// Of a circle of three two are changed, at nearly the same time, and one is refused; or both came to be. What was asked for ends.
#[test]
fn no_cycle_goes_on_for_ever() {
    let mut closed = 0;
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let one = Stage::rough(seed, Wish::on_demand(), ROUGH);
        let other = one.beside(Wish::on_demand());
        let between = other.beside(Wish::behind(&other, On::Finished));
        for stage in [&one, &other, &between] {
            (0..5).for_each(|again| drop(stage.create(again * 20, "creator")));
        }
        one.reschedule(150, "one", &behind(&between, On::Finished));
        if seed % 2 == 0 {
            other.reschedule(150 + dice.within(0..3), "other", &behind(&one, On::Finished));
        } else {
            other.close_circle(300, &one, On::Finished);
        }
        (0..3).for_each(|again| drop(one.ask(600 + again, "asker")));
        one.sweep_each_minute(0..END);

        one.play_to(END);

        let runs = [one.runs(), other.runs(), between.runs()].concat();
        let is_cut = |why: &State| matches!(why, State::Skipped { why: Skip::Cycle, .. });
        let cut = runs.iter().filter(|run| is_cut(&run.state)).count();
        assert!(runs.iter().all(Run::is_finished), "seed {seed}");
        assert!(runs.iter().all(|run| run.follows.is_none_or(|it| it.depth <= FOLLOW_DEPTH + 1)), "seed {seed}");
        assert!(cut <= 3 && runs.len() <= 3 * (usize::from(FOLLOW_DEPTH) + 2), "seed {seed}: {} runs", runs.len());
        closed += usize::from(cut > 0);
    }
    assert!(closed > 5, "only {closed} circles were closed");
}
