//! Histories of erasures: a tenant with jobs of several kinds is erased while it works, amid faults and beside a tenant whose name begins alike.
//! When the operation says that nothing is left, nothing is, and nothing comes; and the other tenant's jobs have run as if nobody had been erased.
//!
//! No process stands still in these for longer than a writer is waited for: of one that does, the erasure promises nothing.

use std::ops::Range;

use minutehand_domain::operation::State;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::fate::Rates;
use minutehand_simulation::stage::{Stage, Wish};

const SEEDS: u64 = 60;
const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 5..3000;
/// The number of the other tenant's job.
const OTHER: u32 = 2;
const RATES: Rates = Rates { stall: 0.0, ..Rates::ROUGH };

fn wish(dice: &mut Dice) -> Wish {
    let (takes, fails, retries) = (dice.pick(&[1, 5, 20]), dice.chance(0.3), 2);
    Wish { takes, fails, retries, ..Wish::every(dice.pick(&[60, 300]), 0) }
}

#[test]
fn nothing_is_left_of_a_tenant_that_was_erased_and_nothing_is_missing_of_another() {
    let mut erased = 0;
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let first = Stage::rough_as(RATES, seed, wish(&mut dice), ROUGH);
        let other = first.beside_of("staged2", Wish::every(60, 0));
        let second = other.beside_of("staged", wish(&mut dice));
        let third = second.beside(wish(&mut dice));
        for (stage, at) in [(&first, 0), (&other, 0), (&second, dice.within(0..300)), (&third, dice.within(0..300))] {
            stage.create(at, "creator");
            stage.create(at + 40, "creator");
        }
        first.make_key(20, "admin");
        first.sweep_each_minute(0..6 * HOUR);
        let at = dice.within(100..1500);
        // One who was let in before, and comes after.
        first.ask(at + dice.within(0..30), "late");
        let mut asked = Vec::new();
        for nth in 0..dice.within(1..4) {
            asked.push(first.erase(at + nth * dice.within(1..300), "asker"));
        }
        // Who is not answered asks again when all is well.
        asked.push(first.erase(ROUGH.end + 60, "asker"));
        let mut over_at = None;
        for minute in 0..6 * 60 {
            first.play_to(minute * 60);
            let is_over = first.erasures().iter().any(|erasure| erasure.state == State::Done);
            if over_at.is_none() && is_over && first.erasures().iter().all(|erasure| erasure.state == State::Done) {
                over_at = Some(minute);
                assert_eq!(first.remains(), [], "seed {seed}: something is left when it is over");
            }
        }

        assert!(over_at.is_some(), "seed {seed}: {:?}", first.erasures());
        assert!(first.erasures().iter().all(|erasure| erasure.state == State::Done), "seed {seed}");
        assert_eq!(first.remains(), [], "seed {seed}: something came after it was over");
        assert!(asked.last().is_some_and(|last| last.given().is_some()), "seed {seed}");
        erased += first.erasures().iter().map(|erasure| erasure.progress.done).sum::<u64>();
        let begun = other.begun();
        assert!(other.job().is_some() && begun.len() > 300, "seed {seed}: {}", begun.len());
        let wrong: Vec<_> = other.judge().into_iter().filter(|violation| violation.job == OTHER).collect();
        assert_eq!(wrong, [], "seed {seed}");
    }
    assert!(erased > 20 * SEEDS, "{erased}");
}
