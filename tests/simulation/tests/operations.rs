//! Histories of operations: backfills beside schedules, catch-up, pauses and one another, and acts on many jobs, while everything goes wrong
//! that can and the sweeper is away for a while. Whatever it was, each occurrence is begun once, all that was asked for is done, and what was
//! cancelled does not begin.

use std::ops::Range;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::{Change, Status};
use minutehand_domain::operation::{Operation, Order, State};
use minutehand_protocol::operation::ask::Ordered;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish};

const SEEDS: u64 = 150;
const HOUR: i64 = 3600;
/// Of a list of jobs, and what clocks differ.
const LIST_LAG: i64 = 65_000;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 5..1800;

/// A job of each minute, of which an hour before it was made, and what it was due while things went wrong, is made up for.
fn wish(dice: &mut Dice) -> Wish {
    let catch_up = dice.pick(&[
        CatchUp::default(),
        CatchUp::None,
        CatchUp::All { window: CatchUp::DEFAULT_WINDOW, max_runs: 5, per_minute: None },
    ]);
    let (takes, fails, retries) = (dice.within(1..20), dice.chance(0.2), 1);
    Wish { takes, fails, retries, catch_up, ..Wish::every(60, -HOUR) }
}

/// One that asks for the same until he is answered, as clients do.
fn insist(stage: &Stage, dice: &mut Dice, at: i64, span: &Range<i64>, key: &'static str) {
    let mut at = at;
    for _ in 0..dice.within(1..4) {
        stage.backfill_once(at, "asker", span.clone(), Some(key));
        at += dice.within(1..200);
    }
    stage.backfill_once(2 * HOUR, "asker", span.clone(), Some(key));
}

#[test]
fn each_occurrence_is_begun_once_whoever_makes_up_for_it() {
    let (mut begun, mut made, mut cancels, mut pauses) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let stage = Stage::rough(seed, wish(&mut dice), ROUGH);
        stage.create(0, "creator");
        stage.create(2 * HOUR - 60, "creator");
        let away = if dice.chance(0.5) { dice.within(60..900)..dice.within(900..1800) } else { 0..0 };
        (0..6 * HOUR).step_by(60).filter(|at| !away.contains(at)).for_each(|at| drop(stage.sweep(at, "sweeper")));
        if dice.chance(0.5) {
            let from = dice.within(100..1500);
            stage.change(from, "pauser", Change::Pause);
            stage.change(from + dice.within(100..1000), "pauser", Change::Resume);
        }
        // Twice over the same, in part or whole; and neither asks for what is still to come.
        let at = dice.within(200..1800);
        let from = -dice.within(60..HOUR);
        let span = from..dice.within(60..at);
        insist(&stage, &mut dice, at, &span, "one");
        if dice.chance(0.5) {
            let at = at + dice.within(0..300);
            let span = from - 600..dice.within(0..at);
            insist(&stage, &mut dice, at, &span, "two");
        }
        if dice.chance(0.3) {
            pauses += 1;
            let at = at + dice.within(1..300);
            stage.order(at, "boss", Order::Pause);
            stage.order(at + dice.within(1..600), "boss", Order::Resume);
            stage.order(2 * HOUR + 60, "boss", Order::Resume);
        }
        let cancel = dice.chance(0.25).then(|| stage.order(at + dice.within(1..900), "boss", Order::Cancel));
        stage.play_to(6 * HOUR);

        let answered = cancel.and_then(|answer| answer.so_far()).and_then(Result::ok).flatten();
        let told = matches!(answered, Some(Ordered::Done(_) | Ordered::AsItWas(_)));
        // When it was answered is known only to be before the end of the rough times; what began by then is no wrong.
        let mut operations = stage.operations();
        operations.reverse();
        let is_cancelled =
            |(number, one): (usize, &Operation)| (one.state == State::Cancelled).then_some((number, 2 * HOUR));
        let cancelled: Vec<_> = operations.iter().enumerate().filter_map(is_cancelled).collect();
        assert!(cancelled.len() <= 1, "seed {seed}: one word ended {cancelled:?}");
        cancels += usize::from(told);
        let account = stage.account_of_backfills(-HOUR, 60, &cancelled);
        (begun, made) =
            (begun + account.begun.len(), made + account.begun.iter().filter(|run| run.by.is_some()).count());
        assert_eq!(account.judge(), [], "seed {seed}");
        assert!(!account.asked.is_empty(), "seed {seed}: nobody was answered");
    }
    assert!(begun > 10_000 && made > 5_000 && cancels > 10 && pauses > 20, "{begun} {made} {cancels} {pauses}");
}

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
