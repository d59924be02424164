//! The effect of the next clock changes on a time of day, in words.

use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Utc};

use super::super::clock::{Turn, next_turns};
use super::super::{Cron, DstGap, DstOverlap};
use super::MONTHS;
use crate::Moment;

/// A zone with clock changes has one within a year.
const LOOKED_AHEAD: TimeDelta = TimeDelta::days(366);

impl Cron {
    /// Empty where no clock change of the coming year affects one of the expression's times.
    pub(super) fn turns_in_words(&self, now: Moment) -> String {
        let turns = next_turns(self.zone(), now.to_utc(), LOOKED_AHEAD);
        let gap = turns.iter().find(|turn| turn.is_gap() && self.meets(turn)).map(|turn| self.gap_in_words(turn));
        let overlap =
            turns.iter().find(|turn| !turn.is_gap() && self.meets(turn)).map(|turn| self.overlap_in_words(turn));
        gap.into_iter().chain(overlap).collect()
    }

    /// Whether the clock skips or repeats any of the expression's times of day.
    fn meets(&self, turn: &Turn) -> bool {
        let (from, until) = turn.local_times();
        self.fields.any_time_in(from.time(), until.time())
    }

    fn gap_in_words(&self, turn: &Turn) -> String {
        let gap = format!("in the {} gap", season(turn.at, "spring"));
        match self.manner.gap {
            DstGap::NextValid => format!("; {gap} at {}", clock_time(turn.local_times().1.time())),
            DstGap::Skip => format!("; not {gap}"),
        }
    }

    fn overlap_in_words(&self, turn: &Turn) -> String {
        let overlap = format!("; in the {} overlap", season(turn.at, "autumn"));
        match self.manner.overlap {
            DstOverlap::ByKind | DstOverlap::First => format!("{overlap} the first time"),
            DstOverlap::Second => format!("{overlap} the second time"),
            DstOverlap::Both => format!("{overlap} both times"),
        }
    }
}

/// The season by which people know this clock change, or its month if it has none.
fn season(at: DateTime<Utc>, usual: &'static str) -> &'static str {
    match at.month() {
        3..=5 | 9..=11 => usual,
        month => MONTHS[usize::try_from(month).unwrap_or_default()],
    }
}

fn clock_time(time: NaiveTime) -> String {
    let text = time.format("%H:%M:%S").to_string();
    text.strip_suffix(":00").map(ToOwned::to_owned).unwrap_or(text)
}
