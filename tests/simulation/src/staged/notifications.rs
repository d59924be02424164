//! Histories of jobs that fail, are missed, are late, under a rule that tells of it: what goes wrong is drawn, and whatever it was, each end is
//! told in one digest, each window has one message at most, and none tells of nothing. Another tenant's rule is told nothing.

use minutehand_domain::job::Change;
use minutehand_domain::notification::{Rule, When};
use minutehand_domain::run::{Run, Skip, State};
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_judge::notified::{End, judge};

use super::catch_up;
use crate::dice::Dice;
use crate::history::Verdict;
use crate::stage::{Stage, Wish};

const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: std::ops::Range<i64> = 5..900;
const PAUSED: i64 = 1500;

fn wish(dice: &mut Dice) -> Wish {
    let every = dice.pick(&[20, 60, 90]);
    let (takes, fails, retries) = (dice.within(1..20), dice.chance(0.7), 1);
    let sla = dice.chance(0.5).then_some(30);
    let catch_up = catch_up(dice);
    Wish { takes, fails, retries, catch_up, sla, ..Wish::every(every, 10) }
}

fn rule(stage: &Stage, dice: &mut Dice) -> Rule {
    let refused = dice.pick(&[0, 0, 30, 100]);
    let digest = std::time::Duration::from_secs(dice.pick(&[30, 60, 120]));
    let when = [When::Failed, When::Missed, When::Late, When::Sla].into();
    Rule { when, digest, ..stage.rule_refusing(refused) }
}

/// What a run is to be told as, by its record alone.
fn ends_of(run: &Run) -> Vec<End> {
    let end = |what: &str| End { what: what.to_owned(), run: run.key.to_string(), at: run.key.at.millis() };
    let how = match &run.state {
        State::Failed { .. } | State::TimedOut { .. } => Some("failed"),
        State::Skipped { why: Skip::Missed, .. } | State::Skipped { why: Skip::Coalesced, span: Some(_), .. } => {
            Some("missed")
        }
        _other => None,
    };
    let began_late = run.started_at.is_some_and(|began| began.millis() > run.key.at.millis() + 5_000);
    let late = began_late.then_some("late");
    let sla = run.sla_missed().is_some().then_some("sla");
    how.into_iter().chain(late).chain(sla).map(end).collect()
}

fn runs(stage: &Stage) -> Vec<Run> {
    (10..PAUSED).step_by(10).filter_map(|instant| stage.run(instant)).collect()
}

/// Plays a job under a rule, beside a neighbour's rule, until it is paused and all has been told.
pub fn history(seed: u64) -> Verdict {
    let mut dice = Dice::new(!seed);
    let stage = Stage::rough(seed, wish(&mut dice), ROUGH);
    let rule = rule(&stage, &mut dice);
    let neighbour = stage.beside_of("neighbour", Wish::once(5 * HOUR));
    let theirs = Rule { when: When::ALL.into(), ..neighbour.rule() };
    stage.write_rule(0, rule.clone());
    neighbour.write_rule(0, theirs.clone());
    stage.create(1, "creator");
    stage.change(PAUSED, "pauser", Change::Pause);
    super::repaired(&stage, &mut dice);
    stage.sweep_each_minute(0..3 * HOUR);
    stage.play_to(3 * HOUR);

    let all = runs(&stage);
    let (ends, made) = (all.iter().flat_map(ends_of).collect::<Vec<_>>(), stage.messages(&rule));
    stage.met("message", made.len());
    for end in &ends {
        stage.met(&format!("end: {}", end.what), 1);
    }
    let wrong = judge(&ends, &made, &stage.sent(&rule));
    if wrong.is_empty() {
        assert!(all.iter().all(Run::is_finished));
        assert_eq!(stage.messages(&theirs), []);
        // Who puts a timer into a minute that was left puts it again ahead, and may meet a fault before he erases the first: nobody looks there.
        let swept = stage.cursor().oldest;
        let is_left = |timer: &Timer| matches!(timer.key.obligation, Obligation::Run(_)) && timer.key.minute() >= swept;
        assert_eq!(stage.timers().into_iter().find(is_left), None, "the timer of a message");
    }
    stage.verdict(wrong)
}
