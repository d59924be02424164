//! What an expression says about the calendar, as bit masks, and the walk over civil time that they allow.
//!
//! A month is one mask of days: the walk asks `days_in` for it, which is where `L`, `W` and `#` will be worked out.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use serde::{Deserialize, Serialize};

/// One more than a moment can have: a clock east of UTC may already show it.
const LAST_YEAR: i32 = 10_000;

/// After this many years every date falls on the same weekday again: what did not fire in them never will.
const CALENDAR_CYCLE: i32 = 400;

pub(super) const EVERY_MINUTE: u64 = (1 << 60) - 1;
pub(super) const EVERY_HOUR: u32 = (1 << 24) - 1;
/// Bit 1 is the first.
pub(super) const EVERY_DAY: u32 = !1;
/// Bit 1 is January.
pub(super) const EVERY_MONTH: u16 = (1 << 13) - 2;
/// Bit 0 is Sunday.
pub(super) const EVERY_WEEKDAY: u8 = (1 << 7) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fields {
    pub(super) minutes: u64,
    pub(super) hours: u32,
    pub(super) days: u32,
    pub(super) months: u16,
    pub(super) weekdays: u8,
    pub(super) days_match: DaysMatch,
}

/// How day of month and day of week go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DaysMatch {
    /// At least one of the fields starts with `*`: a day has to be in both sets (and `*` alone holds every day).
    Both,
    /// Both fields are restricted: one of them is enough, as in Vixie's cron.
    Either,
}

impl Fields {
    /// Whether there is any day on which to fire.
    pub(super) fn ever(&self) -> bool {
        let start = NaiveDate::from_ymd_opt(2000, 1, 1);
        start.and_then(|start| self.day_from(start, start.year() + CALENDAR_CYCLE)).is_some()
    }

    pub(super) fn matches(&self, local: NaiveDateTime) -> bool {
        self.at_or_after(local) == Some(local)
    }

    pub(super) fn after(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        self.at_or_after(local.checked_add_signed(TimeDelta::nanoseconds(1))?)
    }

    pub(super) fn at_or_after(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let from = next_whole_minute(local)?;
        let today = self.fires_on(from.date()).then(|| self.time_from(from.time())).flatten();
        if let Some(time) = today {
            return Some(from.date().and_time(time));
        }
        let day = self.day_from(from.date().succ_opt()?, LAST_YEAR)?;
        Some(day.and_time(self.time_from(NaiveTime::MIN)?))
    }

    fn time_from(&self, from: NaiveTime) -> Option<NaiveTime> {
        let (hours, minutes) = (u64::from(self.hours), self.minutes);
        if has(hours, from.hour())
            && let Some(minute) = lowest(from_bit(minutes, from.minute()))
        {
            return NaiveTime::from_hms_opt(from.hour(), minute, 0);
        }
        let hour = lowest(from_bit(hours, from.hour() + 1))?;
        NaiveTime::from_hms_opt(hour, lowest(minutes)?, 0)
    }

    fn fires_on(&self, date: NaiveDate) -> bool {
        has(self.days_in(date), date.day())
    }

    fn day_from(&self, from: NaiveDate, last_year: i32) -> Option<NaiveDate> {
        let mut open = from;
        while open.year() <= last_year {
            if let Some(day) = lowest(from_bit(self.days_in(open), open.day())) {
                return open.with_day(day);
            }
            open = self.month_after(open)?;
        }
        None
    }

    /// The days on which to fire in the month of `date`, bit 1 being the first.
    fn days_in(&self, date: NaiveDate) -> u64 {
        if !has(u64::from(self.months), date.month()) {
            return 0;
        }
        let by_date = u64::from(self.days);
        let by_weekday = self.weekdays_in(date);
        let days = match self.days_match {
            DaysMatch::Both => by_date & by_weekday,
            DaysMatch::Either => by_date | by_weekday,
        };
        days & days_of_the_month(date)
    }

    /// The week's mask, turned so that it starts with the weekday of the first, five times over.
    fn weekdays_in(&self, date: NaiveDate) -> u64 {
        let first = (date.weekday().num_days_from_sunday() + 35 - date.day0()) % 7;
        let week = u64::from(self.weekdays);
        let turned = (week >> first | week << (7 - first)) & u64::from(EVERY_WEEKDAY);
        (0..5).map(|nth| turned << (7 * nth + 1)).sum()
    }

    /// The first day of the next month in which to fire at all.
    fn month_after(&self, date: NaiveDate) -> Option<NaiveDate> {
        let months = u64::from(self.months);
        match lowest(from_bit(months, date.month() + 1)) {
            Some(month) => NaiveDate::from_ymd_opt(date.year(), month, 1),
            None => NaiveDate::from_ymd_opt(date.year() + 1, lowest(months)?, 1),
        }
    }
}

fn next_whole_minute(local: NaiveDateTime) -> Option<NaiveDateTime> {
    let minute = local.with_second(0)?.with_nanosecond(0)?;
    if minute == local { Some(local) } else { minute.checked_add_signed(TimeDelta::minutes(1)) }
}

fn days_of_the_month(date: NaiveDate) -> u64 {
    (1 << (date.num_days_in_month() + 1)) - 2
}

fn has(mask: u64, bit: u32) -> bool {
    mask >> bit & 1 == 1
}

fn from_bit(mask: u64, bit: u32) -> u64 {
    mask & (u64::MAX << bit)
}

fn lowest(mask: u64) -> Option<u32> {
    (mask != 0).then(|| mask.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_minute() -> Fields {
        Fields {
            minutes: EVERY_MINUTE,
            hours: EVERY_HOUR,
            days: EVERY_DAY,
            months: EVERY_MONTH,
            weekdays: EVERY_WEEKDAY,
            days_match: DaysMatch::Both,
        }
    }

    fn midnight() -> Fields {
        Fields { minutes: 1, hours: 1, ..every_minute() }
    }

    fn at(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn a_whole_minute_matches_itself_and_the_next_one_comes_after_it() {
        let noon = at("2026-11-20T12:00:00");
        assert_eq!(every_minute().at_or_after(noon), Some(noon));
        assert_eq!(every_minute().after(noon), Some(at("2026-11-20T12:01:00")));
        assert_eq!(every_minute().at_or_after(at("2026-11-20T12:00:00.001")), Some(at("2026-11-20T12:01:00")));
    }

    #[test]
    fn the_weekdays_of_a_month_are_those_of_its_calendar() {
        let fridays = Fields { weekdays: 1 << 5, ..midnight() };
        let start = NaiveDate::from_ymd_opt(2023, 1, 1).unwrap();
        for date in start.iter_days().take(2_000) {
            assert_eq!(fridays.fires_on(date), date.weekday() == chrono::Weekday::Fri, "{date}");
        }
    }

    #[test]
    fn both_means_in_both_sets_and_either_means_in_one() {
        let both = Fields { days: 1 << 13, weekdays: 1 << 5, ..midnight() };
        let either = Fields { days_match: DaysMatch::Either, ..both };
        let from = at("2026-11-01T00:00:00");
        assert_eq!(both.at_or_after(from), Some(at("2026-11-13T00:00:00")));
        assert_eq!(both.after(at("2026-11-13T00:00:00")), Some(at("2027-08-13T00:00:00")));
        assert_eq!(either.at_or_after(from), Some(at("2026-11-06T00:00:00")));
    }

    #[test]
    fn a_leap_day_waits_for_its_year_even_over_the_century() {
        let leap_day = Fields { days: 1 << 29, months: 1 << 2, ..midnight() };
        assert_eq!(leap_day.at_or_after(at("2026-01-01T00:00:00")), Some(at("2028-02-29T00:00:00")));
        assert_eq!(leap_day.after(at("2096-02-29T00:00:00")), Some(at("2104-02-29T00:00:00")));
    }

    #[test]
    fn the_walk_ends_where_moments_end() {
        let leap_day = Fields { days: 1 << 29, months: 1 << 2, ..midnight() };
        assert_eq!(
            leap_day.after(at("9996-02-29T00:00:00")),
            Some(NaiveDate::from_ymd_opt(10_000, 2, 29).unwrap().into())
        );
        assert_eq!(leap_day.after(NaiveDate::from_ymd_opt(10_000, 2, 29).unwrap().into()), None);
    }

    #[test]
    fn masks_that_no_parse_would_make_are_never_rather_than_a_panic() {
        let nothing = Fields { minutes: 0, ..every_minute() };
        let too_much = Fields { minutes: 1 << 63, hours: 1 << 31, ..every_minute() };
        assert_eq!(nothing.at_or_after(at("2026-01-01T00:00:00")), None);
        assert_eq!(too_much.at_or_after(at("2026-01-01T00:00:00")), None);
    }
}
