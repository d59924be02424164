//! Histories of jobs whose runs overlap: what goes wrong is drawn, and whatever it was, no job has more under way than it may, each
//! occurrence comes to an end, and none is skipped that nobody was in the way of.

use minutehand_domain::Moment;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::Change;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::{Run, Skip, State};
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish};

const ROUGH_SEEDS: u64 = 120;
const CALM_SEEDS: u64 = 300;
const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: std::ops::Range<i64> = 5..900;
const PAUSED: i64 = 1500;

fn policy(dice: &mut Dice) -> (Overlap, usize) {
    let max = u32::try_from(dice.within(1..4)).expect("it is small");
    dice.pick(&[
        (Overlap::Allow { max: Some(max) }, max as usize),
        (Overlap::Skip, 1),
        (Overlap::Queue { waiting: max }, 1),
        (Overlap::CancelPrevious, 1),
    ])
}

fn wish(dice: &mut Dice, overlap: Overlap) -> Wish {
    let every = dice.pick(&[10, 20, 60]);
    let (takes, fails, retries) = (dice.within(1..50), dice.chance(0.2), 1);
    let catch_up = dice.pick(&[
        CatchUp::default(),
        CatchUp::None,
        CatchUp::All { window: CatchUp::DEFAULT_WINDOW, max_runs: 5, per_minute: None },
    ]);
    Wish { takes, fails, retries, overlap, catch_up, ..Wish::every(every, 10) }
}

/// Plays a job until it is paused and all that had begun has ended.
fn played(seed: u64, rough: std::ops::Range<i64>, dice: &mut Dice) -> (Stage, usize, Overlap) {
    let (overlap, most) = policy(dice);
    let stage = Stage::rough(seed, wish(dice, overlap), rough);
    stage.create(0, "creator");
    stage.change(PAUSED, "pauser", Change::Pause);
    stage.sweep_each_minute(0..3 * HOUR);
    stage.play_to(3 * HOUR);
    (stage, most, overlap)
}

/// Each with its instant.
fn runs(stage: &Stage) -> Vec<(i64, Run)> {
    (10..PAUSED).step_by(10).filter_map(|instant| Some((instant, stage.run(instant)?))).collect()
}

#[test]
fn no_job_has_more_under_way_than_it_may_and_all_come_to_their_end() {
    for seed in 0..ROUGH_SEEDS {
        let mut dice = Dice::new(!seed);
        let (stage, most, overlap) = played(seed, ROUGH, &mut dice);

        let found = stage.most_at_once(&[]);
        assert!(found <= most, "seed {seed}, {overlap:?}: {found} at once");
        for (instant, run) in runs(&stage) {
            assert!(run.is_finished(), "seed {seed}, {overlap:?}, {instant}: {:?}", run.state);
        }
        let first = stage.starts().first().copied();
        assert!(first.is_some(), "seed {seed}, {overlap:?}: nothing was ever called");
    }
}

/// Where nothing goes wrong each that was skipped came while another was under way or waited; and in the end nothing is held.
#[test]
fn where_nothing_goes_wrong_none_is_skipped_that_nobody_was_in_the_way_of() {
    let mut skipped = 0;
    for seed in 0..CALM_SEEDS {
        let mut dice = Dice::new(!seed);
        let (stage, most, overlap) = played(seed, 2 * HOUR..2 * HOUR + 1, &mut dice);

        let all = runs(&stage);
        let in_the_way = |at: i64, of: i64| {
            let is_so = |(instant, run): &&(i64, Run)| {
                let ended = run.finished_at().map_or(i64::MAX, Moment::millis);
                *instant != of && run.fence > 0 && run.key.at.millis() <= at && at <= ended
            };
            all.iter().filter(is_so).count()
        };
        for (instant, run) in &all {
            if let State::Skipped { at, why: Skip::Overlap, .. } = run.state {
                skipped += 1;
                assert!(in_the_way(at.millis(), *instant) > 0, "seed {seed}, {overlap:?}: {instant}");
                assert!(!matches!(overlap, Overlap::Allow { .. }), "seed {seed}: {instant}");
            }
        }
        assert!(stage.most_at_once(&[]) <= most, "seed {seed}, {overlap:?}");
        assert_eq!(stage.holders_of_the_job(), [vec![], vec![]] as [Vec<String>; 2], "seed {seed}, {overlap:?}");
    }
    assert!(skipped > 100, "only {skipped} were skipped");
}
