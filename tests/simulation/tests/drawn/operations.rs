//! Histories of acts on many jobs, while everything goes wrong that can: each is done to each once. And what the judge of backfills says of a
//! history that is made to lie.

use std::ops::Range;

use minutehand_domain::job::Status;
use minutehand_domain::operation::State;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish};

const SEEDS: u64 = 150;
const HOUR: i64 = 3600;
/// Of a list of jobs, and what clocks differ.
const LIST_LAG: i64 = 65_000;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 5..1800;

/// A mutation of what a history says: one occurrence begun as two runs is noticed.
#[test]
fn the_judge_notices_an_occurrence_that_is_begun_twice() {
    let stage = Stage::new(Wish::every(60, -HOUR), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..HOUR);
    stage.backfill(30, "asker", -600..0);
    stage.play_to(HOUR);

    let mut account = stage.account_of_backfills(-HOUR, 60, &[]);
    assert_eq!(account.judge(), []);
    assert_eq!(account.begun.iter().filter(|run| run.by == Some(0)).count(), 10);
    let mut twice = account.begun[0].clone();
    twice.run.push('x');
    account.begun.push(twice);

    let rules: Vec<_> = account.judge().into_iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, ["no occurrence is begun as two runs"]);
}

/// Many jobs are paused by one word. Each is paused once, and counted once; whoever is made later goes on.
#[test]
fn an_act_on_many_jobs_is_done_to_each_once() {
    let (mut jobs_seen, mut sure) = (0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let first = Stage::rough(seed, Wish::every(600, 10_000), ROUGH);
        let mut stages = vec![first];
        for _ in 0..dice.within(1..8) {
            let next = stages[stages.len() - 1].beside(Wish::every(600, 10_000));
            stages.push(next);
        }
        let asked_at = dice.within(100..1000);
        for stage in &stages {
            let at = if dice.chance(0.8) { dice.within(0..60) } else { asked_at + dice.within(500..700) };
            stage.create(at, "creator");
            stage.create(at + 30, "creator");
        }
        stages[0].sweep_each_minute(0..4 * HOUR);
        for nth in 0..3 {
            stages[0].pause_all(asked_at + nth * 150, "asker", Some("pause them"));
        }
        stages[0].pause_all(2 * HOUR, "asker", Some("pause them"));
        stages[0].play_to(4 * HOUR);

        let operations = stages[0].operations();
        let [operation] = operations.as_slice() else { panic!("seed {seed}: one request made {operations:?}") };
        assert_eq!(operation.state, State::Done, "seed {seed}");
        let mut paused = 0;
        for stage in &stages {
            let Some(job) = stage.job() else { continue };
            jobs_seen += 1;
            let is_paused = job.status == Status::Paused;
            // It matches when it is looked at: a list of jobs may be a minute behind, and whoever made one slow to write it.
            let was_there = stage.first_written().is_some_and(|at| at + LIST_LAG < operation.asked_at.millis());
            assert!(is_paused || !was_there, "seed {seed}: {job:?}, {operation:?}");
            assert!(!is_paused || job.created_at <= operation.asked_at, "seed {seed}: {job:?}, {operation:?}");
            assert_eq!(job.generation, 1 + u64::from(is_paused), "seed {seed}");
            sure += u64::from(was_there);
            paused += u64::from(is_paused);
        }
        assert_eq!((operation.progress.done, operation.progress.seen), (paused, paused), "seed {seed}: {operation:?}");
        let left = stages[0]
            .timers()
            .into_iter()
            .filter(|timer| matches!(timer.key.obligation, minutehand_domain::timer::Obligation::Operation(_)));
        assert_eq!(left.count(), 0, "seed {seed}");
    }
    assert!(jobs_seen > 300 && sure > 200, "only {jobs_seen}, {sure}");
}
