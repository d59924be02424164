//! Histories of backfills beside schedules, catch-up, pauses and one another, while everything goes wrong that can and the sweeper is away for a
//! while. Whatever it was, each occurrence is begun once, all that was asked for is done, and what was cancelled does not begin.

use std::ops::Range;

use minutehand_domain::job::Change;
use minutehand_domain::operation::{Operation, Order, State};
use minutehand_protocol::operation::ask::Ordered;

use super::catch_up;
use crate::dice::Dice;
use crate::history::Verdict;
use crate::stage::{Stage, Wish};

const HOUR: i64 = 3600;
/// From when until when things go wrong.
const ROUGH: Range<i64> = 5..1800;

/// A job of each minute, of which an hour before it was made, and what it was due while things went wrong, is made up for.
fn wish(dice: &mut Dice) -> Wish {
    let catch_up = catch_up(dice);
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

/// Plays a job of each minute until all that was asked for is over.
pub fn history(seed: u64) -> Verdict {
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
        stage.met("operation paused", 1);
        let at = at + dice.within(1..300);
        stage.order(at, "boss", Order::Pause);
        stage.order(at + dice.within(1..600), "boss", Order::Resume);
        stage.resume_all(2 * HOUR + 60, "boss");
    }
    let cancel = dice.chance(0.25).then(|| stage.order(at + dice.within(1..900), "boss", Order::Cancel));
    super::repaired(&stage, &mut dice);
    stage.play_to(6 * HOUR);

    let answered = cancel.and_then(|answer| answer.so_far()).and_then(Result::ok).flatten();
    let told = matches!(answered, Some(Ordered::Done(_) | Ordered::AsItWas(_)));
    // When it was answered is known only to be before the end of the rough times; what began by then is no wrong.
    let mut operations = stage.operations();
    operations.reverse();
    let is_cancelled =
        |(number, one): (usize, &Operation)| (one.state == State::Cancelled).then_some((number, 2 * HOUR));
    let cancelled: Vec<_> = operations.iter().enumerate().filter_map(is_cancelled).collect();
    assert!(cancelled.len() <= 1, "one word ended {cancelled:?}");
    stage.met("cancellation told", usize::from(told));
    let account = stage.account_of_backfills(-HOUR, 60, &cancelled);
    stage.met("occurrence begun", account.begun.len());
    stage.met("made up for", account.begun.iter().filter(|run| run.by.is_some()).count());
    assert!(!account.asked.is_empty(), "nobody was answered");
    stage.verdict(account.judge())
}
