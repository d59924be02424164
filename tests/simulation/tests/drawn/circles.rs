//! Histories of circles: jobs that run behind one another until nobody knows who was the first. What goes wrong is drawn, and whatever it was,
//! what was asked for ends.

use std::ops::Range;

use minutehand_domain::limits::FOLLOW_DEPTH;
use minutehand_domain::run::{Run, Skip, State};
use minutehand_domain::workflow::edge::On;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish, behind};

const SEEDS: u64 = 150;
const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 0..900;
const END: i64 = 3 * HOUR;

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
