//! The clock of a zone: the local time at an instant, and the instants of a local time.
//!
//! An instant always has exactly one local time; a local time has none, one or two instants.

use chrono::{DateTime, FixedOffset, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// No zone since 1970 has been further from UTC than this.
const FURTHEST_FROM_UTC: TimeDelta = TimeDelta::hours(16);

/// The instants at which a clock shows a local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Once(DateTime<Utc>),
    /// Never: the clock jumps over it, and resumes at this instant.
    Skipped {
        resumes: DateTime<Utc>,
    },
    Twice {
        first: DateTime<Utc>,
        second: DateTime<Utc>,
    },
}

/// The local times that a clock shows twice because it is turned back once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    /// The instant at which the clock is turned back: the second pass begins.
    pub(super) turn: DateTime<Utc>,
    pub(super) begin: NaiveDateTime,
    /// The first local time after them, which is shown once again.
    pub(super) end: NaiveDateTime,
}

/// A clock change: the local time jumps at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) at: DateTime<Utc>,
    before: FixedOffset,
    after: FixedOffset,
}

impl Turn {
    /// Local times are skipped, rather than repeated.
    pub(super) fn is_gap(&self) -> bool {
        self.after.local_minus_utc() > self.before.local_minus_utc()
    }

    /// The local times that are skipped or repeated: from the first to the one after the last.
    pub(super) fn local_times(&self) -> (NaiveDateTime, NaiveDateTime) {
        let (one, other) = (self.at.naive_utc() + self.before, self.at.naive_utc() + self.after);
        (one.min(other), one.max(other))
    }

    /// What the clock would show at `at` by the offset before the turn, and by the one after it.
    pub(super) fn readings(&self, at: DateTime<Utc>) -> [NaiveDateTime; 2] {
        [at.naive_utc() + self.before, at.naive_utc() + self.after]
    }
}

/// The turns of a clock in `span` from `at` on. A clock that is turned and turned back within a day is not seen.
pub(super) fn next_turns(zone: Tz, at: DateTime<Utc>, span: TimeDelta) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut day = at;
    while day < at + span {
        let next = day + TimeDelta::days(1);
        let (before, after) = (offset(zone, day), offset(zone, next));
        if before != after {
            let turned = first_instant(day, next, |at| offset(zone, at) != before);
            turns.push(Turn { at: turned, before, after });
        }
        day = next;
    }
    turns
}

impl Shown {
    pub(crate) fn at(zone: Tz, local: NaiveDateTime) -> Self {
        match zone.offset_from_local_datetime(&local) {
            LocalResult::Single(offset) => Self::Once(minus(local, offset.fix())),
            LocalResult::Ambiguous(before, after) => {
                Self::Twice { first: minus(local, before.fix()), second: minus(local, after.fix()) }
            }
            LocalResult::None => Self::Skipped { resumes: end_of_gap(zone, local) },
        }
    }

    pub(crate) fn first(self) -> DateTime<Utc> {
        match self {
            Self::Once(at) | Self::Skipped { resumes: at } | Self::Twice { first: at, .. } => at,
        }
    }

    pub(crate) fn last(self) -> DateTime<Utc> {
        match self {
            Self::Once(at) | Self::Skipped { resumes: at } | Self::Twice { second: at, .. } => at,
        }
    }
}

impl Overlap {
    /// The overlap that `at` lies in, in its first pass or in its second.
    pub(super) fn around(zone: Tz, at: DateTime<Utc>) -> Option<Self> {
        let Shown::Twice { first, second } = Shown::at(zone, local(zone, at)) else {
            return None;
        };
        let before = offset(zone, first);
        let turn = first_instant(first, second, |at| offset(zone, at) != before);
        Some(Self { turn, begin: local(zone, turn), end: turn.naive_utc() + before })
    }
}

pub(crate) fn local(zone: Tz, at: DateTime<Utc>) -> NaiveDateTime {
    at.naive_utc() + offset(zone, at)
}

fn offset(zone: Tz, at: DateTime<Utc>) -> FixedOffset {
    zone.offset_from_utc_datetime(&at.naive_utc()).fix()
}

fn minus(local: NaiveDateTime, offset: FixedOffset) -> DateTime<Utc> {
    (local - offset).and_utc()
}

fn end_of_gap(zone: Tz, skipped: NaiveDateTime) -> DateTime<Utc> {
    let surely_before = skipped.and_utc() - FURTHEST_FROM_UTC;
    let surely_after = skipped.and_utc() + FURTHEST_FROM_UTC;
    first_instant(surely_before, surely_after, |at| local(zone, at) > skipped)
}

/// The first second in `(no, yes]` at which `is_so`, by bisection.
fn first_instant(no: DateTime<Utc>, yes: DateTime<Utc>, is_so: impl Fn(DateTime<Utc>) -> bool) -> DateTime<Utc> {
    let (mut no, mut yes) = (no.timestamp(), yes.timestamp());
    while yes - no > 1 {
        let middle = no.midpoint(yes);
        match DateTime::from_timestamp(middle, 0) {
            Some(at) if !is_so(at) => no = middle,
            _ => yes = middle,
        }
    }
    DateTime::from_timestamp(yes, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn wall(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn a_skipped_time_resumes_at_the_first_instant_after_the_gap() {
        let gaps = [
            (Tz::America__New_York, "2016-03-13T02:30:00", "2016-03-13T07:00:00Z"),
            (Tz::Australia__Lord_Howe, "2017-10-01T02:00:00", "2017-09-30T15:30:00Z"),
            (Tz::America__Sao_Paulo, "2018-11-04T00:00:00", "2018-11-04T03:00:00Z"),
            (Tz::Pacific__Apia, "2011-12-30T00:00:00", "2011-12-30T10:00:00Z"),
            (Tz::Pacific__Apia, "2011-12-30T23:59:59", "2011-12-30T10:00:00Z"),
            (Tz::Africa__Casablanca, "2024-04-14T02:59:00", "2024-04-14T02:00:00Z"),
            (Tz::Africa__Monrovia, "1972-01-07T00:00:00", "1972-01-07T00:44:30Z"),
        ];
        for (zone, skipped, resumes) in gaps {
            assert_eq!(Shown::at(zone, wall(skipped)), Shown::Skipped { resumes: at(resumes) }, "{zone} {skipped}");
        }
    }

    #[test]
    fn an_overlap_is_seen_from_both_of_its_passes_and_from_nowhere_else() {
        let zone = Tz::America__New_York;
        let overlap = Overlap {
            turn: at("2016-11-06T06:00:00Z"),
            begin: wall("2016-11-06T01:00:00"),
            end: wall("2016-11-06T02:00:00"),
        };
        for inside in
            ["2016-11-06T05:00:00Z", "2016-11-06T05:59:59.999Z", "2016-11-06T06:00:00Z", "2016-11-06T06:59:59.999Z"]
        {
            assert_eq!(Overlap::around(zone, at(inside)), Some(overlap), "{inside}");
        }
        for outside in ["2016-11-06T04:59:59.999Z", "2016-11-06T07:00:00Z", "2016-03-13T07:00:00Z"] {
            assert_eq!(Overlap::around(zone, at(outside)), None, "{outside}");
        }
    }

    #[test]
    fn lord_howe_repeats_half_an_hour() {
        let overlap = Overlap::around(Tz::Australia__Lord_Howe, at("2017-04-01T14:45:00Z")).unwrap();
        assert_eq!((overlap.begin, overlap.end), (wall("2017-04-02T01:30:00"), wall("2017-04-02T02:00:00")));
    }
}
