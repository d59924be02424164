//! Histories of jobs that share limits: what goes wrong is drawn, and whatever it was, no key has more under way than it may, each run comes
//! to its end, and whoever comes afterwards has all its places at once.

use minutehand_domain::priority::Priority;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish};

const SEEDS: u64 = 300;
const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: std::ops::Range<i64> = 5..1200;
/// When all that is over, as many runs come at once as a key has places.
const AFTERWARDS: i64 = 2 * HOUR;

/// Jobs of one key: how many of them may be under way at once, and the second at which each comes.
struct Drawn {
    limit: u32,
    wishes: Vec<(i64, Wish)>,
}

fn drawn(dice: &mut Dice, key: &str) -> Drawn {
    let limit = u32::try_from(dice.within(1..4)).expect("it is small");
    let wish = |dice: &mut Dice| {
        let at = dice.within(10..600);
        let priority = dice.pick(&[Priority::High, Priority::Normal, Priority::Normal, Priority::Low]);
        let (takes, fails, retries) = (dice.within(1..55), dice.chance(0.2), 1);
        let wish = Wish { takes, fails, retries, priority, ..Wish::once(at) }.at_once(key, limit);
        (at, if dice.chance(0.3) { wish.a_minute("all", 20) } else { wish })
    };
    let count = dice.within(2..9);
    Drawn { limit, wishes: (0..count).map(|_| wish(dice)).collect() }
}

impl Drawn {
    /// Who comes when all is over has every place: whoever died with one, or took one in his sleep for a run that was over, keeps nobody.
    fn with_those_who_come_afterwards(mut self, key: &str) -> Self {
        let wish = Wish { takes: 30, ..Wish::once(AFTERWARDS) }.at_once(key, self.limit);
        self.wishes.extend((0..self.limit).map(|_| (AFTERWARDS, wish.clone())));
        self
    }
}

/// A stage for each of them, in one world; the first makes it.
fn stages(drawn: &[Drawn], first: impl FnOnce(Wish) -> Stage) -> Vec<Vec<(i64, Stage)>> {
    let mut wishes = drawn.iter().flat_map(|drawn| drawn.wishes.iter().cloned());
    let (at, wish) = wishes.next().expect("there are some");
    let mut all = vec![(at, first(wish))];
    for (at, wish) in wishes {
        let stage = all[all.len() - 1].1.beside(wish);
        all.push((at, stage));
    }
    let mut all = all.into_iter();
    drawn.iter().map(|drawn| all.by_ref().take(drawn.wishes.len()).collect()).collect()
}

/// Two keys, and whatever may happen to those who work on them.
#[test]
fn no_key_has_more_under_way_than_it_may_and_all_come_to_their_end() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let drawn = ["a", "b"].map(|key| drawn(&mut dice, key).with_those_who_come_afterwards(key));
        let keys = stages(&drawn, |wish| Stage::rough(seed, wish, ROUGH));
        let all: Vec<&Stage> = keys.iter().flatten().map(|(_, stage)| stage).collect();
        for stage in &all {
            stage.create(0, "creator");
        }
        all[0].sweep_each_minute(0..3 * HOUR);

        all[0].play_to(3 * HOUR);

        for (Drawn { limit, .. }, stages, key) in
            drawn.iter().zip(&keys).zip(["a", "b"]).map(|((drawn, stages), key)| (drawn, stages, key))
        {
            let of_key: Vec<Stage> = stages.iter().map(|(_, stage)| stage.clone()).collect();
            let most = of_key[0].most_at_once(&of_key[1..]);
            assert!(most <= usize::try_from(*limit).unwrap(), "seed {seed}, key {key}: {most} at once of {limit}");
            for (at, stage) in stages {
                let run = stage.run(*at).unwrap_or_else(|| panic!("seed {seed}: no record of {at}"));
                assert!(run.is_finished(), "seed {seed}, key {key}, {at}: {:?}", run.state);
                let begun = stage.starts()[0].1;
                assert!(*at != AFTERWARDS || begun == AFTERWARDS, "seed {seed}, key {key}: {begun}");
            }
            assert_eq!(of_key[0].holders(key), Vec::<String>::new(), "seed {seed}, key {key}");
        }
    }
}

/// Where nothing goes wrong, each begins in its turn: within a priority by when it came.
#[test]
fn where_nothing_goes_wrong_each_begins_in_its_turn() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let mut drawn = drawn(&mut dice, "a");
        for (_, wish) in &mut drawn.wishes {
            wish.fails = false;
            wish.bounds.rate = None;
        }
        let keys = stages(std::slice::from_ref(&drawn), |wish| Stage::rough(seed, wish, 3 * HOUR..4 * HOUR));
        let mut came: Vec<_> =
            keys[0].iter().zip(&drawn.wishes).map(|((at, stage), (_, wish))| (wish.priority, *at, stage)).collect();
        for (.., stage) in &came {
            stage.create(0, "creator");
        }
        came[0].2.sweep_each_minute(0..2 * HOUR);

        came[0].2.play_to(2 * HOUR);

        came.sort_by_key(|(priority, at, _)| (*priority, *at));
        for pair in came.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 < pair[1].1) {
            let begun = [&pair[0], &pair[1]].map(|(_, _, stage)| stage.starts()[0].1);
            assert!(
                begun[0] <= begun[1],
                "seed {seed}: {} began at {}, {} at {}",
                pair[0].1,
                begun[0],
                pair[1].1,
                begun[1]
            );
        }
        let (limit, all) =
            (usize::try_from(drawn.limit).unwrap(), keys[0].iter().map(|(_, stage)| stage.clone()).collect::<Vec<_>>());
        assert!(all[0].most_at_once(&all[1..]) <= limit, "seed {seed}");
    }
}
