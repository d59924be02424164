//! The week of a calendar: at which times of it nothing fires, in minutes from Monday's midnight, merged and in order.

use chrono::{Datelike as _, NaiveDateTime, NaiveTime, TimeDelta, Timelike as _, Weekday};
use chrono_tz::Tz;

use super::{Exclusion, Rules, letters_of};
use crate::Moment;
use crate::schedule::cron::clock::{Shown, local};

pub const MINUTES_OF_A_DAY: u16 = 24 * 60;
const DAY: u32 = MINUTES_OF_A_DAY as u32;
const WEEK: u32 = 7 * DAY;

/// Days of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Days(u8);

/// A time of some days: from one minute of the day to another, which is the next day's where it is not later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    pub days: Days,
    /// Below 1,440.
    pub from: u16,
    /// From 1 to 1,440.
    pub until: u16,
    pub reason: Option<String>,
}

/// Merged: they neither touch nor overlap, and none goes on past the end of the week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Week(Vec<(u32, u32)>);

impl Days {
    pub const ALL: [Weekday; 7] =
        [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];

    /// From its bits, Monday's the lowest.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x7f)
    }

    pub const fn bits(self) -> u8 {
        self.0
    }

    pub fn has(self, day: Weekday) -> bool {
        self.0 & (1 << day.num_days_from_monday()) != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Weekday> {
        Self::ALL.into_iter().filter(move |day| self.has(*day))
    }

    fn all_but(self) -> Self {
        Self::from_bits(!self.0)
    }
}

impl FromIterator<Weekday> for Days {
    fn from_iter<I: IntoIterator<Item = Weekday>>(days: I) -> Self {
        Self(days.into_iter().fold(0, |bits, day| bits | (1 << day.num_days_from_monday())))
    }
}

impl Time {
    /// The whole of these days.
    fn whole(days: Days) -> Self {
        Self { days, from: 0, until: MINUTES_OF_A_DAY, reason: None }
    }

    fn minutes(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (from, until) = (u32::from(self.from), u32::from(self.until));
        let until = if until <= from { until + DAY } else { until };
        self.days.iter().map(move |day| {
            let midnight = day.num_days_from_monday() * DAY;
            (midnight + from, midnight + until)
        })
    }

    fn holds(&self, minute: u32) -> bool {
        self.minutes().any(|(from, until)| (from..until).contains(&minute) || (from..until).contains(&(minute + WEEK)))
    }
}

impl Week {
    pub(super) fn of(rules: &Rules) -> Self {
        let not_on = rules.business_days.map(|days| Time::whole(days.all_but()));
        let excluded: Vec<_> = rules.excluded.iter().chain(&not_on).flat_map(Time::minutes).collect();
        let allowed: Vec<_> = rules.allowed.iter().flat_map(Time::minutes).collect();
        let outside = if rules.allowed.is_empty() { Vec::new() } else { all_but(&merged(allowed)) };
        Self(merged([excluded, outside].concat()))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.0 == [(0, WEEK)]
    }

    /// Each of its times is from when the clock first shows its begin to when it last shows its end; so that a turn of the clock inside
    /// of one does not cut it in two. Near a turn the clock may lie in one whose begin it does not show yet, or any more: its neighbours
    /// are asked as well.
    pub(super) fn exclusion_at(&self, zone: Tz, t: Moment) -> Option<Exclusion> {
        let count = i64::try_from(self.0.len()).ok().filter(|count| *count > 0)?;
        let shown = local(zone, t.to_utc());
        let (week, minute) = (monday_of(shown)?, minute_of(shown));
        let after = i64::try_from(self.0.partition_point(|(from, _)| *from <= minute)).ok()?;
        (after - 2..=after + 1).rev().find_map(|number| {
            let (from, until) = self.0[usize::try_from(number.rem_euclid(count)).ok()?];
            let week = week.checked_add_signed(TimeDelta::weeks(number.div_euclid(count)))?;
            let at = |minute: u32| Some(Shown::at(zone, week.checked_add_signed(TimeDelta::minutes(minute.into()))?));
            let exclusion = Exclusion { from: at(from)?.first().into(), until: at(until)?.last().into() };
            (exclusion.from <= t && t < exclusion.until).then_some(exclusion)
        })
    }

    /// Which of the rules it is, by what the clock shows.
    #[expect(clippy::unused_self, reason = "the rules tell of what was merged here")]
    pub(super) fn reason_at(&self, rules: &Rules, shown: NaiveDateTime) -> String {
        let minute = minute_of(shown);
        if let Some(time) = rules.excluded.iter().find(|time| time.holds(minute)) {
            return time.reason.clone().unwrap_or_else(|| "a time of the week that it excludes".to_owned());
        }
        let day = shown.weekday();
        if rules.business_days.is_some_and(|days| !days.has(day)) {
            return format!("{} is no business day", letters_of(day));
        }
        "outside the times of the week that it allows".to_owned()
    }
}

fn monday_of(shown: NaiveDateTime) -> Option<NaiveDateTime> {
    let days = TimeDelta::days(shown.weekday().num_days_from_monday().into());
    Some(shown.date().checked_sub_signed(days)?.and_time(NaiveTime::MIN))
}

fn minute_of(shown: NaiveDateTime) -> u32 {
    shown.weekday().num_days_from_monday() * DAY + shown.hour() * 60 + shown.minute()
}

/// In order, what touches in one, and what goes on past the end of the week at its begin.
fn merged(spans: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut spans: Vec<_> = spans.into_iter().flat_map(wrapped).collect();
    spans.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(spans.len());
    for (from, until) in spans {
        match merged.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(until),
            None => merged.push((from, until)),
        }
    }
    merged
}

fn wrapped((from, until): (u32, u32)) -> Vec<(u32, u32)> {
    if until <= WEEK { vec![(from, until)] } else { vec![(from, WEEK), (0, until - WEEK)] }
}

fn all_but(merged: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let ends = std::iter::once(0).chain(merged.iter().map(|span| span.1));
    let begins = merged.iter().map(|span| span.0).chain([WEEK]);
    ends.zip(begins).filter(|(from, until)| from < until).collect()
}
