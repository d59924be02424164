//! Turned: what a turn of the zone's clock makes of an instant that an expression names by that clock.

use chrono::{NaiveDateTime, TimeDelta};

use super::clock::{self, Overlap, Turn, next_turns};
use super::{Cron, DstGap};
use crate::limits::TAKEN_COUNT;
use crate::moment::Moment;

/// No clock was ever turned forward by more than a day.
const LONGEST_GAP: TimeDelta = TimeDelta::days(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// Read without the turn, the clock would show a local time that the expression names and that was skipped. What was to fire in the gap
    /// fires where the clock resumes, or nowhere.
    Skipped { local: NaiveDateTime, resumes: Moment, fires: bool },
    /// The clock resumes here, and what was to fire in the gap before fires now.
    Shifted,
    /// The clock shows the local time twice, and the expression names it.
    Twice { local: NaiveDateTime, pass: Pass },
}

/// What an expression names in a gap of its zone's clock, where gaps are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swallowed {
    /// The last instant before the clock jumps, at which nothing fires: an expression names whole seconds. (Jitter may move one there. The record of
    /// such a gap has no place, and is left out.)
    pub at: Moment,
    /// The first of the local times.
    pub local: NaiveDateTime,
    pub count: u64,
}

/// Which of the two times that a clock shows a local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    First,
    Second,
}

impl Pass {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
        }
    }
}

impl Cron {
    /// None where no turn has a part in whether this fires at `t`.
    pub fn turned_at(&self, t: Moment) -> Option<Turned> {
        let local = clock::local(self.zone(), t.to_utc());
        if let Some(overlap) = Overlap::around(self.zone(), t.to_utc()).filter(|_| self.fields().matches(local)) {
            let pass = if t.to_utc() < overlap.turn { Pass::First } else { Pass::Second };
            return Some(Turned::Twice { local, pass });
        }
        if self.next_after(t.just_before()) == Some(t) {
            return (!self.fields().matches(local)).then_some(Turned::Shifted);
        }
        self.skipped_at(t)
    }

    /// What the first gap between two instants, neither included, swallows of it.
    pub fn swallowed_between(&self, after: Moment, until: Moment) -> Option<Swallowed> {
        if self.manner().gap == DstGap::NextValid || after >= until {
            return None;
        }
        let (after, until) = (after.to_utc(), until.to_utc());
        let turns = next_turns(self.zone(), after, until - after);
        turns.iter().filter(|turn| turn.is_gap()).find_map(|turn| {
            let at = Moment::from(turn.at).just_before();
            self.named_in(turn).filter(|_| after < at.to_utc() && at.to_utc() < until).map(|(local, count)| Swallowed {
                at,
                local,
                count,
            })
        })
    }

    /// The first local time in a gap that it names, and how many there are.
    fn named_in(&self, gap: &Turn) -> Option<(NaiveDateTime, u64)> {
        let (from, until) = gap.local_times();
        let in_it = |local: &NaiveDateTime| *local < until;
        let first = self.fields().at_or_after(from).filter(in_it)?;
        let all = std::iter::successors(Some(first), |local| self.fields().after(*local).filter(in_it));
        Some((first, all.zip(1..=TAKEN_COUNT).count() as u64))
    }

    fn skipped_at(&self, t: Moment) -> Option<Turned> {
        let turns = next_turns(self.zone(), t.to_utc() - LONGEST_GAP, LONGEST_GAP * 2);
        turns.iter().filter(|turn| turn.is_gap()).find_map(|turn| {
            let (from, until) = turn.local_times();
            let is_meant = |local: &NaiveDateTime| (from..until).contains(local) && self.fields().matches(*local);
            let local = turn.readings(t.to_utc()).into_iter().find(is_meant)?;
            let fires = self.manner().gap == DstGap::NextValid;
            Some(Turned::Skipped { local, resumes: Moment::from(turn.at), fires })
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::super::{DstOverlap, Manner};
    use super::*;
    use crate::schedule::Spread;

    fn cron(text: &str, gap: DstGap, overlap: DstOverlap) -> Cron {
        let manner = Manner { gap, overlap, ..Manner::usual(Tz::America__New_York) };
        Cron::parse(text, manner, Spread::default()).unwrap()
    }

    #[test]
    fn what_a_gap_swallows() {
        let at = |text| Moment::parse(text).unwrap();
        let (spring, march) =
            (at("2027-03-14T07:00:00Z").just_before(), ("2027-03-13T12:00:00Z", "2027-03-15T12:00:00Z"));
        let rows = [
            ("30 2 * * *", march, Some((spring, "2027-03-14T02:30:00", 1))),
            ("*/15 2,3 * * *", march, Some((spring, "2027-03-14T02:00:00", 4))),
            ("* * * * * *", march, Some((spring, "2027-03-14T02:00:00", 3600))),
            ("0 3 * * *", march, None),
            ("30 2 * * MON", march, None),
            ("30 2 * * *", ("2027-03-13T12:00:00Z", "2027-03-14T06:59:59.999Z"), None),
            ("30 2 * * *", ("2027-03-14T06:59:59.999Z", "2027-03-16T00:00:00Z"), None),
            ("30 2 14 3 *", ("2026-03-14T07:00:00Z", "2028-03-14T06:30:00Z"), Some((spring, "2027-03-14T02:30:00", 1))),
            ("30 1 * * *", ("2027-11-06T12:00:00Z", "2027-11-08T12:00:00Z"), None),
        ];
        for (text, (after, until), expected) in rows {
            let swallowed = cron(text, DstGap::Skip, DstOverlap::ByKind).swallowed_between(at(after), at(until));
            let expected = expected.map(|(at, local, count)| Swallowed { at, local: local.parse().unwrap(), count });
            assert_eq!(swallowed, expected, "{text} from {after} to {until}");
            let fires_later = cron(text, DstGap::NextValid, DstOverlap::ByKind);
            assert_eq!(fires_later.swallowed_between(at(after), at(until)), None, "{text}");
        }
    }

    #[test]
    fn what_a_turn_makes_of_an_instant() {
        let at = |text| Moment::parse(text).unwrap();
        let wall = |text: &str| text.parse::<NaiveDateTime>().unwrap();
        let resumes = at("2027-03-14T07:00:00Z");
        let skipped = |fires| Some(Turned::Skipped { local: wall("2027-03-14T02:30:00"), resumes, fires });
        let twice = |pass| Some(Turned::Twice { local: wall("2027-11-07T01:30:00"), pass });
        let rows = [
            ("30 2 * * *", DstGap::NextValid, "2027-03-14T02:30:00-05:00", skipped(true)),
            ("30 2 * * *", DstGap::NextValid, "2027-03-14T02:30:00-04:00", skipped(true)),
            ("30 2 * * *", DstGap::Skip, "2027-03-14T02:30:00-05:00", skipped(false)),
            ("30 2 * * *", DstGap::NextValid, "2027-03-14T07:00:00Z", Some(Turned::Shifted)),
            ("30 2 * * *", DstGap::NextValid, "2027-03-15T02:30:00-04:00", None),
            ("0 2 * * *", DstGap::NextValid, "2027-03-14T02:30:00-05:00", None),
            ("30 1 * * *", DstGap::NextValid, "2027-11-07T01:30:00-04:00", twice(Pass::First)),
            ("30 1 * * *", DstGap::NextValid, "2027-11-07T01:30:00-05:00", twice(Pass::Second)),
            ("0 1 * * *", DstGap::NextValid, "2027-11-07T01:30:00-05:00", None),
            ("30 1 * * *", DstGap::NextValid, "2027-11-08T01:30:00-05:00", None),
        ];
        for (text, gap, t, turned) in rows {
            assert_eq!(cron(text, gap, DstOverlap::ByKind).turned_at(at(t)), turned, "{text} at {t}");
        }
    }
}
