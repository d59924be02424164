//! Histories of a job that heeds a calendar which is changed while all goes wrong. What may have been in force when is worked out from who asked
//! for what, by arithmetic of its own: nothing begins that everything that may have been said then excludes, what nothing excludes comes to its
//! end or is on record, and once all is calm the last word counts to the second.

use std::ops::Range;

use minutehand_domain::calendar::{Maintenance, Rules};
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::Change;
use minutehand_domain::run::{Run, Skip, State};
use minutehand_domain::schedule::cron::zone;
use minutehand_domain::schedule::{OnExcluded, Plan};
use minutehand_domain::timer::Timer;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::{Stage, Wish, every, moment};

const SEEDS: u64 = 60;
const HOUR: i64 = 3600;
const EVERY: i64 = 60;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 5..1500;
/// The last word, when nothing goes wrong any more and whoever slept over his own is awake, which may take 26 minutes; and what it excludes.
const LAST: i64 = 3180;
const SHUT: Range<i64> = 3480..3780;
const PAUSED: i64 = 4385;

fn rules(shut: &Range<i64>) -> Rules {
    let maintenance = vec![Maintenance { from: moment(shut.start), until: moment(shut.end), reason: None }];
    Rules { maintenance, ..Rules::none(zone("UTC").expect("a zone")) }
}

fn drawn(dice: &mut Dice) -> Range<i64> {
    let from = dice.within(0..2000);
    from..from + dice.within(30..900)
}

fn heeding(on_excluded: OnExcluded) -> Wish {
    let calendars = vec!["works".parse().expect("a name")];
    let plan = Plan { calendars, on_excluded: Some(on_excluded), ..every(60, EVERY) };
    let catch_up = CatchUp::All { window: CatchUp::DEFAULT_WINDOW, max_runs: 100, per_minute: None };
    Wish { catch_up, ..Wish::of(plan) }
}

/// What was said, and from when on it may have counted.
fn played(seed: u64, on_excluded: OnExcluded) -> (Stage, Vec<(i64, Range<i64>)>) {
    let mut dice = Dice::new(!seed);
    let stage = Stage::rough(seed, heeding(on_excluded), ROUGH);
    let mut said = vec![(0, drawn(&mut dice))];
    let mut at = 0;
    for _ in 0..4 {
        at += dice.within(60..380);
        said.push((at, drawn(&mut dice)));
    }
    said.push((LAST, SHUT));
    for (at, shut) in &said {
        stage.calendar(*at, if *at == 0 { "maker" } else { "changer" }, "works", rules(shut));
    }
    stage.create(1, "creator");
    stage.change(PAUSED, "pauser", Change::Pause);
    stage.sweep_each_minute(0..4 * HOUR);
    stage.play_to(4 * HOUR);
    (stage, said)
}

fn instants() -> impl Iterator<Item = i64> {
    (EVERY..PAUSED).step_by(60)
}

/// The records of what a calendar took: from where to where.
fn taken(stage: &Stage) -> Vec<(i64, i64)> {
    let is_taken = |run: &Run| matches!(run.state, State::Skipped { why: Skip::Calendar, .. });
    let of = |at| Some((at, stage.run(at).filter(is_taken).map(|_| stage.spanned(at).map_or(at, |(until, _)| until))?));
    instants().filter_map(of).collect()
}

#[test]
fn no_history_of_a_changing_calendar_loses_a_fire_or_begins_one_that_it_takes() {
    let (mut taken_in_all, mut called_in_all) = (0, 0);
    for seed in 0..SEEDS {
        let (stage, said) = played(seed, OnExcluded::Skip);
        let (called, taken) = (stage.called(), taken(&stage));
        for t in instants() {
            let may_count: Vec<_> = said.iter().filter(|(at, _)| *at <= t).map(|(_, shut)| shut.contains(&t)).collect();
            let is_called = called.contains(&t);
            let is_taken = taken.iter().any(|(from, until)| (*from..=*until).contains(&t));
            if may_count.iter().all(|is_shut| *is_shut) {
                assert!(!is_called, "seed {seed}: {t} began, and all that was said excludes it: {said:?}");
            }
            if !may_count.contains(&true) {
                let run = stage.run(t);
                let is_told = run.as_ref().is_some_and(Run::is_finished);
                assert!(is_called || is_told, "seed {seed}: nothing became of {t}: {run:?} {said:?}");
            }
            if t > LAST + 5 {
                assert_eq!((is_called, is_taken), (!SHUT.contains(&t), SHUT.contains(&t)), "seed {seed}: {t}");
            }
            (taken_in_all, called_in_all) = (taken_in_all + u32::from(is_taken), called_in_all + u32::from(is_called));
        }
        assert_eq!(swept(&stage), [], "seed {seed}");
    }
    assert!(taken_in_all > 300 && called_in_all > 1000, "{taken_in_all} taken, {called_in_all} called");
}

/// What a sweep still sees: a timer too many that was put into a bucket that is left is looked at by nobody, and means nothing any more.
fn swept(stage: &Stage) -> Vec<Timer> {
    stage.timers().into_iter().filter(|timer| timer.key.due >= moment(stage.oldest_bucket())).collect()
}

/// What moves is one run at the end of what is shut, which may be a regular one; and it is not lost by what is said meanwhile.
#[test]
fn no_history_of_a_changing_calendar_loses_what_it_moved() {
    for seed in 0..SEEDS {
        let (stage, said) = played(seed, OnExcluded::Move);
        let starts = stage.starts();
        for t in instants().filter(|t| *t > LAST + 5) {
            let is_called = starts.iter().any(|(instant, _)| *instant == t);
            assert_eq!(is_called, !SHUT.contains(&t), "seed {seed}: {t} {said:?}");
        }
        // Whatever was said, the job goes on: no two fires lie further apart than what was shut at most, and what repairs the worst.
        let mut last = 0;
        for (instant, _) in &starts {
            assert!(instant - last <= 2400, "seed {seed}: nothing from {last} to {instant}: {said:?}");
            last = *instant;
        }
        assert_eq!(swept(&stage), [], "seed {seed}");
    }
}

/// One calendar that stays as it is, things that go wrong, and a while in which nobody sweeps: so what comes behind it may be made up for, or be
/// called off ahead. All that it takes is on record in the end, whatever begins behind it.
///
/// Removed, one after the other: who puts an occurrence off until its turn looks for nothing that was taken; who finds one that was called off over
/// does not.
#[test]
fn no_history_leaves_untold_what_a_calendar_took() {
    let (mut taken_in_all, mut before_late, mut before_called_off) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let shut = { 240 + dice.within(0..900) }..{ 1200 + dice.within(0..900) };
        let away = { shut.start + dice.within(0..900) }..{ shut.end + dice.within(0..600) };
        let behind = (shut.end + EVERY - 1) / EVERY * EVERY;
        let stage = Stage::rough(seed, heeding(OnExcluded::Skip), ROUGH);
        stage.calendar(0, "maker", "works", rules(&shut));
        stage.create(1, "creator");
        if dice.within(0..3) == 0 {
            stage.cancel(shut.start - 120, "canceller", behind);
        }
        stage.sweep_each_minute(0..away.start);
        stage.sweep_each_minute(away.end..3 * HOUR);
        stage.change(2 * HOUR, "pauser", Change::Pause);
        stage.play_to(3 * HOUR);

        let (taken, starts) = (taken(&stage), stage.starts());
        for t in instants().filter(|t| shut.contains(t)) {
            let is_told = taken.iter().any(|(from, until)| (*from..=*until).contains(&t));
            assert!(is_told, "seed {seed}: nothing tells of {t}, shut {shut:?}, away {away:?}: {taken:?}");
            taken_in_all += 1;
        }
        let began = starts.iter().find(|(instant, _)| *instant == behind).map_or(behind, |(_, began)| *began);
        before_late += u32::from(began - behind > 130);
        before_called_off += u32::from(stage.state(behind) == "cancelled");
    }
    let met = (taken_in_all, before_late, before_called_off);
    assert!(taken_in_all > 500 && before_late >= 10 && before_called_off >= 5, "{met:?}");
}
