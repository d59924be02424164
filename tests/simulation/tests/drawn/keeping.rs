//! Histories of days in which everything goes wrong that can, and every three hours all goes that may be gone: on one machine, and by the table's clock. What
//! goes on loses nothing that it needs, and what was over does not begin again. Of a job's occurrences `guards/expiring.rs` draws the same.

use std::ops::Range;

use minutehand_domain::body::Json;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::Word;
use minutehand_domain::run::effect::Answer;
use minutehand_judge::graph::{Does, Flow, Step};
use minutehand_protocol::run::lease::Said;
use minutehand_protocol::run::take::Taken;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::stage::graphs::{Graphs, call, flow};
use minutehand_simulation::stage::{Stage, Wish};

const SEEDS: u64 = 6;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
/// How far apart sweeps are. Nothing that is asked here is about punctuality.
const SWEEPS: i64 = 900;
/// How far apart what has expired goes.
const GOES: i64 = 3 * HOUR;

/// A workflow whose question is answered after days: what was done before it is on record until then, and what is behind it is done.
///
/// Removed (`kept-for-the-graph`): a task's record is kept like any other run's. The first task was carried out again.
#[test]
fn a_workflow_that_waits_for_days_goes_on_where_it_was() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let (answered, rough) = (dice.within(DAY..9 * DAY), 5..10 * DAY);
        let question = Step { does: Does::Ask { in_time: 11 * DAY * 1000, default: "failed" }, ..call(&[0]) };
        let graph = Flow { timeout: 14 * DAY * 1000, ..flow([call(&[]), question, call(&[0, 1]), call(&[2])]) };
        let stage = Graphs::rough(seed, [graph], rough.clone());
        for at in [1, 61, 121] {
            drop(stage.ask(at));
        }
        each(SWEEPS, 60..12 * DAY).for_each(|at| stage.sweep(at));

        let mut over = Vec::new();
        for now in each(GOES, GOES..12 * DAY) {
            stage.play_to(now);
            over.extend(newly_over(&stage, now, &over));
            stage.expire(now + 1);
            if now > answered {
                stage
                    .runs_of(0, 1)
                    .into_iter()
                    .for_each(|asked| drop(stage.judge_task(now + 2, "judge", asked, Word::Approve)));
            }
        }

        let runs = stage.runs_of(0, 3);
        assert!(!runs.is_empty() && runs.iter().all(|run| stage.status(*run) == "succeeded"), "seed {seed}: {runs:?}");
        for (run, at) in over {
            let again = stage.calls_of(run).into_iter().find(|called| *called > at);
            assert_eq!(again, None, "seed {seed}: {run} was over at {at}");
        }
        assert_eq!(stage.judge(), [], "seed {seed}");
    }
}

/// The calls of the first graph that have succeeded since they were asked for the last time.
fn newly_over(stage: &Graphs, now: i64, before: &[(RunKey, i64)]) -> Vec<(RunKey, i64)> {
    let runs = [0, 2, 3].into_iter().flat_map(|step| stage.runs_of(0, step));
    let is_new = |run: &RunKey| stage.status(*run) == "succeeded" && before.iter().all(|(known, _)| known != run);
    runs.filter(is_new).map(|run| (run, now)).collect()
}

/// A run whose worker has claimed an effect, kept where it was and is gone. Another comes after months, and goes on there.
///
/// Removed (`renews-what-a-run-needs`): who looks at the run renews nothing that lies beneath it. After three months and a day nobody knew of the effect.
#[test]
fn a_run_that_waits_for_months_for_another_worker_is_given_to_that_as_it_was() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let back = dice.within(95..110) * DAY + dice.within(0..DAY);
        let wish = Wish { by_a_worker: true, kept: Some(1), retries: 3, ..Wish::on_demand() };
        let stage = Stage::rough(seed, wish, 60..back - DAY);
        stage.create(0, "creator");
        stage.ask(10, "asker");
        let (_, first) = taken(&stage, 20..22).expect("it waits");
        stage.keep(22, "first", &first, 1);
        stage.claim_effect(24, "first", &first);
        each(HOUR, 60..back - HOUR).for_each(|at| drop(stage.sweep(at, "sweeper")));
        each(SWEEPS, back - HOUR..back + DAY).for_each(|at| drop(stage.sweep(at, "sweeper")));

        for now in each(GOES, GOES..back) {
            stage.expire(now);
            stage.play_to(now + 1);
        }
        let second = taken(&stage, back..back + 2 * HOUR);

        let (at, second) = second.unwrap_or_else(|| panic!("seed {seed}: nobody has it behind {back}"));
        assert_eq!(second.run.key, first.run.key, "seed {seed}");
        assert_eq!(second.checkpoint.as_ref().map(Json::as_str), Some("1"), "seed {seed}");
        let claimed = stage.claim_effect(at + 2, "second", &second);
        stage.play_to(at + 3);
        assert!(matches!(claimed.given(), Said::Taken(Ok(Answer::Before(_)))), "seed {seed}");
    }
}

/// What somebody has who asks as often as it is swept, and when.
fn taken(stage: &Stage, seconds: Range<i64>) -> Option<(i64, Taken)> {
    each(SWEEPS, seconds).find_map(|at| {
        let asked = stage.take(at, "worker");
        stage.play_to(at + 1);
        Some((at, asked.so_far()?.ok()?.pop()?))
    })
}

fn each(seconds: i64, within: Range<i64>) -> impl Iterator<Item = i64> {
    within.step_by(usize::try_from(seconds).expect("it is short"))
}

/// A run that fails, and is tried again for days: all of its attempts are on record when it is over, and behind that it does not begin again.
#[test]
fn a_run_that_is_tried_again_for_days_has_all_its_attempts_on_record() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let retry_after = dice.within(HOUR..8 * HOUR).unsigned_abs();
        let wish = Wish { fails: true, retries: 24, retry_after, kept: Some(1), ..Wish::once(60) };
        let stage = Stage::rough(seed, wish, 5..9 * DAY);
        stage.create(0, "creator");
        each(SWEEPS, 60..14 * DAY).for_each(|at| drop(stage.sweep(at, "sweeper")));

        let mut over = None;
        for now in each(GOES, GOES..14 * DAY) {
            stage.play_to(now);
            if over.is_none() && stage.run(60).is_some_and(|run| run.is_finished()) {
                over = Some(now);
                assert_eq!(stage.judge(), [], "seed {seed}");
            }
            stage.expire(now);
            stage.play_to(now + 1);
        }

        let (over, begun) = (over.expect("it came to its end"), stage.starts());
        assert!(begun.len() > 24 && stage.run(60).is_none(), "seed {seed}: {} attempts", begun.len());
        assert!(begun.iter().all(|(_, at)| *at < over), "seed {seed}: it was over at {over}");
    }
}
