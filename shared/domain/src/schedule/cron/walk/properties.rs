//! The walk against an oracle without masks: it visits every minute of a few days, takes the zone's local time, and tests
//! whether the expression's parts match it.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::*;
use crate::schedule::spread::Spread;

/// A zone and an instant near which its clock jumps, both ways in turn.
const TURNS: [(Tz, &str); 22] = [
    (Tz::America__New_York, "2016-03-13T07:00:00Z"),
    (Tz::America__New_York, "2016-11-06T06:00:00Z"),
    (Tz::Australia__Lord_Howe, "2017-04-01T15:00:00Z"),
    (Tz::Australia__Lord_Howe, "2017-09-30T15:30:00Z"),
    (Tz::America__Sao_Paulo, "2018-02-18T02:00:00Z"),
    (Tz::America__Sao_Paulo, "2018-11-04T03:00:00Z"),
    (Tz::Pacific__Apia, "2011-12-30T10:00:00Z"),
    (Tz::Pacific__Kwajalein, "1993-08-21T12:00:00Z"),
    (Tz::Africa__Casablanca, "2024-03-10T02:00:00Z"),
    (Tz::Africa__Casablanca, "2024-04-14T02:00:00Z"),
    (Tz::Europe__Berlin, "2026-03-29T01:00:00Z"),
    (Tz::Europe__Berlin, "2026-10-25T01:00:00Z"),
    (Tz::Europe__Dublin, "2026-10-25T01:00:00Z"),
    (Tz::Antarctica__Troll, "2023-03-26T01:00:00Z"),
    (Tz::Antarctica__Troll, "2023-10-29T01:00:00Z"),
    (Tz::America__Havana, "2024-03-10T05:00:00Z"),
    (Tz::America__Havana, "2024-11-03T05:00:00Z"),
    (Tz::Africa__Cairo, "2024-10-31T21:00:00Z"),
    (Tz::Asia__Pyongyang, "2018-05-04T15:00:00Z"),
    (Tz::America__Caracas, "2007-12-09T07:00:00Z"),
    (Tz::Antarctica__Casey, "2018-03-10T17:00:00Z"),
    (Tz::UTC, "2026-01-01T00:00:00Z"),
];

#[derive(Clone, Debug)]
enum Part {
    Every(u32),
    One(u32),
    Span { start: u32, end: u32, step: u32 },
    From { start: u32, step: u32 },
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Every(1) => "*".to_owned(),
            Self::Every(step) => format!("*/{step}"),
            Self::One(value) => value.to_string(),
            Self::Span { start, end, step: 1 } => format!("{start}-{end}"),
            Self::Span { start, end, step } => format!("{start}-{end}/{step}"),
            Self::From { start, step } => format!("{start}/{step}"),
        }
    }

    fn holds(&self, first: u32, value: u32) -> bool {
        match *self {
            Self::Every(step) => (value - first).is_multiple_of(step),
            Self::One(one) => value == one,
            Self::Span { start, end, step } => start <= value && value <= end && (value - start).is_multiple_of(step),
            Self::From { start, step } => start <= value && (value - start).is_multiple_of(step),
        }
    }

    fn is_rhythm(&self) -> bool {
        !matches!(self, Self::One(_))
    }
}

#[derive(Clone, Debug)]
struct List {
    first: u32,
    parts: Vec<Part>,
}

impl List {
    fn text(&self) -> String {
        self.parts.iter().map(Part::text).collect::<Vec<_>>().join(",")
    }

    fn holds(&self, value: u32) -> bool {
        self.parts.iter().any(|part| part.holds(self.first, value))
    }

    fn is_restricted(&self) -> bool {
        !matches!(self.parts[0], Part::Every(_))
    }
}

#[derive(Clone, Debug)]
struct Expression {
    lists: [List; 5],
}

impl Expression {
    fn text(&self) -> String {
        self.lists.each_ref().map(List::text).join(" ")
    }

    fn is_interval(&self) -> bool {
        self.lists[..2].iter().any(|list| list.parts.iter().any(Part::is_rhythm))
    }

    fn holds(&self, local: NaiveDateTime) -> bool {
        let [minute, hour, day, month, weekday] = &self.lists;
        let sunday_is_also_7 = local.weekday().number_from_monday();
        let on_date = day.holds(local.day());
        let on_weekday = weekday.holds(sunday_is_also_7) || weekday.holds(sunday_is_also_7 % 7);
        let either = day.is_restricted() && weekday.is_restricted();
        let on_day = if either { on_date || on_weekday } else { on_date && on_weekday };
        local.second() == 0
            && minute.holds(local.minute())
            && hour.holds(local.hour())
            && month.holds(local.month())
            && on_day
    }

    /// Every instant of `from..until` at which this fires, found by looking at each minute.
    fn fires(&self, manner: Manner, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<Moment> {
        let zone = manner.zone;
        let shows = |at: DateTime<Utc>| zone.from_utc_datetime(&at.naive_utc()).naive_local();
        let minute = TimeDelta::minutes(1);
        let mut found = Vec::new();
        let (mut at, mut seen) = (from, shows(from - minute));
        while at < until {
            let local = shows(at);
            let mut skipped = std::iter::successors(Some(seen + minute), |skipped| Some(*skipped + minute));
            let in_gap = skipped.by_ref().take_while(|skipped| *skipped < local).any(|skipped| self.holds(skipped));
            let in_gap = in_gap && manner.gap == DstGap::NextValid;
            let is_first = local > seen;
            let comes_again = || (1..=4 * 60).any(|later| shows(at + minute * later) == local);
            let may_fire = || match manner.overlap {
                DstOverlap::ByKind => is_first || self.is_interval(),
                DstOverlap::First => is_first,
                DstOverlap::Second => !comes_again(),
                DstOverlap::Both => true,
            };
            if in_gap || self.holds(local) && may_fire() {
                found.push(Moment::from(at));
            }
            seen = seen.max(local);
            at += minute;
        }
        found
    }
}

fn part(first: u32, last: u32) -> impl Strategy<Value = Part> {
    let steps = 1..=last;
    prop_oneof![
        1 => steps.clone().prop_map(Part::Every),
        4 => (first..=last).prop_map(Part::One),
        1 => (first..=last, first..=last, steps.clone())
            .prop_map(|(a, b, step)| Part::Span { start: a.min(b), end: a.max(b), step }),
        1 => (first..=last, steps).prop_map(|(start, step)| Part::From { start, step }),
    ]
}

fn list(first: u32, last: u32) -> impl Strategy<Value = List> {
    prop::collection::vec(part(first, last), 1..4).prop_map(move |parts| List { first, parts })
}

/// Mostly `*`, so that days on which nothing happens do not fill the window.
fn mostly_star(first: u32, last: u32) -> impl Strategy<Value = List> {
    prop_oneof![
        3 => Just(List { first, parts: vec![Part::Every(1)] }),
        1 => list(first, last),
    ]
}

/// Hours near clock changes are generated more often than others.
fn hours() -> impl Strategy<Value = List> {
    prop_oneof![list(0, 3), list(0, 23)].prop_map(|list| List { first: 0, ..list })
}

fn expressions() -> impl Strategy<Value = Expression> {
    let lists = (list(0, 59), hours(), mostly_star(1, 31), mostly_star(1, 12), mostly_star(0, 7));
    lists.prop_map(|(minute, hour, day, month, weekday)| Expression { lists: [minute, hour, day, month, weekday] })
}

fn turns() -> impl Strategy<Value = (Tz, DateTime<Utc>)> {
    prop::sample::select(&TURNS[..]).prop_map(|(zone, at)| (zone, at.parse().unwrap()))
}

fn manners(zone: Tz) -> impl Strategy<Value = Manner> {
    use {DstGap as G, DstOverlap as O};
    let gaps = prop::sample::select(&[G::NextValid, G::NextValid, G::Skip][..]);
    let overlaps = prop::sample::select(&[O::ByKind, O::ByKind, O::First, O::Second, O::Both][..]);
    (gaps, overlaps).prop_map(move |(gap, overlap)| Manner { gap, overlap, ..Manner::usual(zone) })
}

/// An instant near a clock change, with any manner.
fn near_turns() -> impl Strategy<Value = (Manner, DateTime<Utc>)> {
    turns().prop_flat_map(|(zone, turn)| (manners(zone), Just(turn)))
}

fn parsed(expression: &Expression, manner: Manner) -> Option<Cron> {
    Cron::parse(&expression.text(), manner, Spread::default()).ok()
}

fn walked(cron: &Cron, from: Moment, until: Moment) -> Vec<Moment> {
    let first = cron.next_after(from.just_before());
    std::iter::successors(first, |t| cron.next_after(*t)).take_while(|t| *t < until).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_walk_agrees_with_looking_at_every_minute((manner, turn) in near_turns(), expression in expressions()) {
        let Some(cron) = parsed(&expression, manner) else { return Ok(()) };
        let (from, until) = (turn - TimeDelta::hours(40), turn + TimeDelta::hours(40));

        let expected = expression.fires(manner, from, until);

        prop_assert_eq!(walked(&cron, from.into(), until.into()), expected, "{} {:?}", cron.text(), manner);
    }

    #[test]
    fn any_instant_near_a_turn_leads_to_the_same_occurrences(
        (manner, turn) in near_turns(), expression in expressions(), off_millis in -20_000_000_i64..20_000_000,
    ) {
        let Some(cron) = parsed(&expression, manner) else { return Ok(()) };
        let (from, until) = (turn - TimeDelta::hours(40), turn + TimeDelta::hours(40));
        let t = Moment::from(turn + TimeDelta::milliseconds(off_millis));

        let next = cron.next_after(t).filter(|next| *next < until.into());

        let expected = walked(&cron, from.into(), until.into()).into_iter().find(|walked| *walked > t);
        prop_assert_eq!(next, expected, "{} {:?} after {}", cron.text(), manner, t);
    }

    #[test]
    fn every_occurrence_is_strictly_after_and_is_found_again(
        manner in prop::sample::select(&chrono_tz::TZ_VARIANTS[..]).prop_flat_map(manners),
        expression in expressions(),
        from in 0..=Moment::END.millis(),
    ) {
        let Some(cron) = parsed(&expression, manner) else { return Ok(()) };
        let from = Moment::from_millis(from);
        for next in std::iter::successors(cron.next_after(from), |t| cron.next_after(*t)).take(5) {
            prop_assert!(next > from);
            prop_assert_eq!(cron.next_after(next.just_before()), Some(next));
            let _ = (cron.note_at(next), cron.local(next), cron.describe(from));
        }
    }
}

/// A day given relative to its month, and a check by counting whether a date is one.
#[derive(Clone, Copy, Debug)]
enum Special {
    BeforeLast(u32),
    Near(u32),
    NearBeforeLast(u32),
    Last(u32),
    Nth(u32, u32),
}

impl Special {
    fn text(self) -> String {
        match self {
            Self::BeforeLast(0) => "0 0 L * *".to_owned(),
            Self::BeforeLast(back) => format!("0 0 L-{back} * *"),
            Self::Near(day) => format!("0 0 {day}W * *"),
            Self::NearBeforeLast(0) => "0 0 LW * *".to_owned(),
            Self::NearBeforeLast(back) => format!("0 0 L-{back}W * *"),
            Self::Last(weekday) => format!("0 0 * * {weekday}L"),
            Self::Nth(weekday, nth) => format!("0 0 * * {weekday}#{nth}"),
        }
    }

    /// The day of the month that matches, if there is one.
    fn day_of(self, month: &[NaiveDate]) -> Option<NaiveDate> {
        let of_weekday =
            |weekday: u32| month.iter().filter(move |day| day.weekday().num_days_from_sunday() == weekday % 7);
        let last = month.len();
        match self {
            Self::BeforeLast(back) => month.get(last.checked_sub(back as usize + 1)?).copied(),
            Self::Near(day) => nearest_weekday(month, day),
            Self::NearBeforeLast(back) => nearest_weekday(month, u32::try_from(last).ok()?.checked_sub(back)?),
            Self::Last(weekday) => of_weekday(weekday).next_back().copied(),
            Self::Nth(weekday, nth) => of_weekday(weekday).nth(nth as usize - 1).copied(),
        }
    }
}

/// Tries the days around a day, nearest first.
fn nearest_weekday(month: &[NaiveDate], day: u32) -> Option<NaiveDate> {
    let wanted = month.iter().find(|date| date.day() == day)?;
    let is_weekday = |date: &&NaiveDate| date.weekday().number_from_monday() < 6;
    month.iter().filter(is_weekday).min_by_key(|date| (**date - *wanted).num_days().abs()).copied()
}

fn specials() -> impl Strategy<Value = Special> {
    prop_oneof![
        (0..31_u32).prop_map(Special::BeforeLast),
        (1..32_u32).prop_map(Special::Near),
        (0..31_u32).prop_map(Special::NearBeforeLast),
        (0..8_u32).prop_map(Special::Last),
        (0..8_u32, 1..6_u32).prop_map(|(weekday, nth)| Special::Nth(weekday, nth)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn special_days_are_those_that_counting_finds(special in specials(), year in 1971..2300_i32) {
        let cron = Cron::usual(&special.text(), Tz::UTC).unwrap();
        let midnight = |day: NaiveDate| Moment::from(day.and_hms_opt(0, 0, 0).unwrap().and_utc());
        let first = NaiveDate::from_ymd_opt(year, 1, 1).unwrap();
        let days: Vec<NaiveDate> = first.iter_days().take_while(|day| day.year() == year).collect();

        let expected: Vec<Moment> =
            days.chunk_by(|one, other| one.month() == other.month()).filter_map(|month| special.day_of(month)).map(midnight).collect();

        let until = midnight(NaiveDate::from_ymd_opt(year + 1, 1, 1).unwrap());
        prop_assert_eq!(walked(&cron, midnight(first), until), expected, "{}", cron.text());
    }
}
