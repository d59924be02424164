//! Clocks that are set while a history goes on: of one computer, or of all, by minutes to days. What each showed when is kept, so
//! that a moment that somebody noted can be told from the true time of it.

use std::ops::Range;

use minutehand_judge::WrongClocks;

use crate::dice::Dice;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
/// All together are behind for as long at the least, until a pass has seen it: the protocol withstands no less where several write (docs/decisions/0019).
const SEEN_BEHIND: i64 = 3 * MINUTE;
/// Computers that processes run on, where the clock of one of them is set.
const COMPUTERS: usize = 3;

/// A clock is set to be ahead of the true time by so much, or behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub at: i64,
    pub ahead: i64,
}

/// What the clock of one computer showed, from each step to the next.
#[derive(Clone, Debug, Default)]
pub struct Clock(Vec<Step>);

impl Clock {
    /// How far it is ahead now.
    pub fn ahead(&self) -> i64 {
        self.0.last().map_or(0, |step| step.ahead)
    }

    pub fn set(&mut self, step: Step) {
        self.0.push(step);
    }

    /// The last true time, no later than `now`, at which it showed this; had it not been set since, where it never did.
    pub fn showed(&self, millis: i64, now: i64) -> i64 {
        let mut until = now;
        for step in self.0.iter().rev() {
            let at = millis - step.ahead;
            if step.at <= at && at <= until {
                return at;
            }
            until = step.at;
        }
        if millis <= until { millis } else { millis - self.ahead() }
    }
}

/// Whose clocks are set in a history, and when.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// One machine is all there is.
    pub alone: bool,
    /// How many computers there are; all clocks are the first one's where there is one.
    pub computers: usize,
    /// Of which computer, in order; none for all.
    pub steps: Vec<(Option<usize>, Step)>,
}

impl Settings {
    /// Nobody's, ever.
    pub fn none() -> Self {
        Self { alone: false, computers: 1, steps: Vec::new() }
    }

    /// All of them together, forward or back; or one forward, while the others are right. At the end of the span all are right.
    ///
    /// One alone is never behind: what it promises lies in minutes that the others have left, which the protocol does not
    /// withstand beyond half a minute (docs/decisions/0019).
    pub fn drawn(dice: &mut Dice, span: &Range<i64>) -> Self {
        let alone = dice.chance(0.4);
        let one = (!alone && dice.chance(0.4)).then(|| dice.pick(&[0, 1, 2]));
        let (mut steps, mut at) = (Vec::new(), span.start + dice.within(2 * MINUTE..12 * MINUTE));
        for _ in 0..dice.within(1..4) {
            let by = dice.magnitude(4.8, 8.25); // one minute to two days
            let ahead = if one.is_none() && dice.chance(0.4) { -by } else { by };
            let least = if ahead < 0 && !alone { SEEN_BEHIND } else { 20 * SECOND };
            if at + least > span.end {
                break;
            }
            steps.push((one, Step { at, ahead }));
            at = (at + dice.within(least..9 * MINUTE)).min(span.end);
            if dice.chance(0.7) {
                steps.push((one, Step { at, ahead: 0 }));
                at += dice.within(20 * SECOND..5 * MINUTE);
            }
            if at >= span.end {
                break;
            }
        }
        steps.push((one, Step { at: at.min(span.end), ahead: 0 }));
        Self { alone, computers: if one.is_some() { COMPUTERS } else { 1 }, steps }
    }

    /// The spans between the steps in which some clock is wrong.
    pub fn wrong(&self) -> Vec<WrongClocks> {
        let spans = self.steps.windows(2).map(|pair| (pair[0].0, pair[0].1, pair[1].1.at));
        let wrong = spans.filter(|(_, step, until)| step.ahead != 0 && step.at < *until);
        wrong
            .map(|(whose, step, until)| WrongClocks {
                span: step.at..until,
                ahead: step.ahead.max(0),
                behind: (-step.ahead).max(0),
                apart: whose.is_some(),
                alone: self.alone,
            })
            .collect()
    }

    /// The last instant that a clock of this history may have shown before it was set right.
    pub fn reached(&self) -> i64 {
        self.wrong().iter().map(|wrong| wrong.span.end + wrong.ahead).max().unwrap_or(i64::MIN)
    }
}

/// What is counted of a setting.
pub fn words(whose: Option<usize>, ahead: i64) -> Vec<String> {
    let far = match ahead.abs() / (60 * MINUTE) {
        0 => "minutes",
        1..24 => "hours",
        _ => "days",
    };
    let whose = if whose.is_some() { "clock of one" } else { "clocks of all" };
    let which = match ahead.signum() {
        1 => "ahead",
        -1 => "behind",
        _ => return vec![format!("{whose} set right")],
    };
    vec![format!("{whose} set {which}"), format!("a clock {which} by {far}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_clock_showed_is_told_from_the_last_time_it_did() {
        let mut clock = Clock::default();
        clock.set(Step { at: 1_000, ahead: 500 });
        clock.set(Step { at: 2_000, ahead: 0 });

        assert_eq!(clock.showed(900, 3_000), 900, "before it was set");
        assert_eq!(clock.showed(1_600, 1_200), 1_100, "while it was ahead");
        assert_eq!(clock.showed(2_100, 3_000), 2_100, "and again when it was set right");
    }

    /// Tried: with the end of the span cutting short what begins shortly before it. A history lost a run by it.
    #[test]
    fn where_several_write_all_clocks_are_behind_until_a_pass_has_seen_it() {
        let mut behind = 0;
        for seed in 0..2000 {
            let settings = Settings::drawn(&mut Dice::new(seed), &(0..30 * MINUTE));
            let wrong = settings.wrong().into_iter().filter(|wrong| wrong.behind > 0 && !settings.alone);
            for wrong in wrong {
                behind += 1;
                assert!(wrong.span.end - wrong.span.start >= SEEN_BEHIND, "{seed}: {wrong:?}");
            }
        }
        assert!(behind > 100, "{behind}");
    }

    #[test]
    fn at_the_end_of_the_span_all_clocks_are_right() {
        let span = 0..30 * MINUTE;
        for seed in 0..200 {
            let settings = Settings::drawn(&mut Dice::new(seed), &span);
            let (_, last) = *settings.steps.last().expect("one is set at least");

            assert_eq!(last.ahead, 0);
            assert!(settings.steps.windows(2).all(|pair| pair[0].1.at <= pair[1].1.at) && last.at <= span.end);
            assert!(!settings.wrong().is_empty());
        }
    }
}
