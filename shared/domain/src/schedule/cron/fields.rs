//! The calendar of an expression as bit masks, and the walk over civil time with them.
//!
//! A month is one mask of days, computed when the walk reaches it: `days` holds the days of months and of weeks.

mod days;
mod years;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};

use self::days::Month;
pub use self::days::{DaysOfMonth, DaysOfWeek};
pub use self::years::Years;
pub(super) use self::years::{FIRST_YEAR, LAST_YEAR};

/// One year more than a moment can have: zones east of UTC may already be in it.
const END_OF_TIME: i32 = 10_000;

/// In 28 years in a row without a skipped leap year every date falls on every weekday it can.
const CALENDARS: std::ops::Range<i32> = 2000..2028;

pub(super) const EVERY_SECOND: u64 = (1 << 60) - 1;
pub(super) const EVERY_MINUTE: u64 = (1 << 60) - 1;
pub(super) const EVERY_HOUR: u32 = (1 << 24) - 1;
/// Bit 1 is January.
pub(super) const EVERY_MONTH: u16 = (1 << 13) - 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    pub seconds: u64,
    pub minutes: u64,
    pub hours: u32,
    pub days: DaysOfMonth,
    pub months: u16,
    pub weekdays: DaysOfWeek,
    pub years: Years,
    pub days_match: DaysMatch,
}

/// How day of month and day of week go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaysMatch {
    /// A day has to be in both sets (and `*` alone holds every day).
    Both,
    /// Both fields are restricted: one of them is enough, as in Vixie's cron.
    Either,
}

impl Fields {
    /// Whether there is any day on which it fires.
    pub(super) fn ever(&self) -> bool {
        match self.years.listed() {
            Some(years) => one_of_each_kind(years).any(|year| self.fires_in(year)),
            None => CALENDARS.into_iter().any(|year| self.fires_in(year)),
        }
    }

    fn fires_in(&self, year: i32) -> bool {
        let months = (1..=12).filter(|month| has(self.months.into(), *month));
        months.filter_map(|month| NaiveDate::from_ymd_opt(year, month, 1)).any(|first| self.days_in(first) != 0)
    }

    pub(super) fn matches(&self, local: NaiveDateTime) -> bool {
        self.at_or_after(local) == Some(local)
    }

    pub(super) fn after(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        self.at_or_after(local.checked_add_signed(TimeDelta::nanoseconds(1))?)
    }

    pub(super) fn at_or_after(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let from = next_whole_second(local)?;
        let today = self.fires_on(from.date()).then(|| self.time_from(from.time())).flatten();
        if let Some(time) = today {
            return Some(from.date().and_time(time));
        }
        let day = self.day_from(from.date().succ_opt()?)?;
        Some(day.and_time(self.time_from(NaiveTime::MIN)?))
    }

    /// Whether any of its times of day lies in `from..until`, which may go over midnight.
    pub(super) fn any_time_in(&self, from: NaiveTime, until: NaiveTime) -> bool {
        let any_before = |from, until| self.time_from(from).is_some_and(|time| time < until);
        if from < until {
            return any_before(from, until);
        }
        self.time_from(from).is_some() || any_before(NaiveTime::MIN, until)
    }

    fn time_from(&self, from: NaiveTime) -> Option<NaiveTime> {
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        let hours = u64::from(self.hours);
        if has(hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = lowest(from_bit(self.seconds, second))
            {
                return NaiveTime::from_hms_opt(hour, minute, second);
            }
            if let Some(minute) = lowest(from_bit(self.minutes, minute + 1)) {
                return NaiveTime::from_hms_opt(hour, minute, lowest(self.seconds)?);
            }
        }
        let hour = lowest(from_bit(hours, hour + 1))?;
        NaiveTime::from_hms_opt(hour, lowest(self.minutes)?, lowest(self.seconds)?)
    }

    fn fires_on(&self, date: NaiveDate) -> bool {
        self.years.hold(date.year()) && has(self.months.into(), date.month()) && has(self.days_in(date), date.day())
    }

    fn day_from(&self, from: NaiveDate) -> Option<NaiveDate> {
        let mut open = self.open_month(from)?;
        loop {
            if let Some(day) = lowest(from_bit(self.days_in(open), open.day())) {
                return open.with_day(day);
            }
            open = self.open_month(first_of_next_month(open)?)?;
        }
    }

    /// This day, if its month is one in which to fire, or else the first day of the next such month.
    fn open_month(&self, from: NaiveDate) -> Option<NaiveDate> {
        let months = u64::from(self.months);
        match lowest(from_bit(months, from.month())).filter(|_| self.years.hold(from.year())) {
            Some(month) if month == from.month() => Some(from),
            Some(month) => NaiveDate::from_ymd_opt(from.year(), month, 1),
            None => {
                let year = self.years.from(from.year() + 1).filter(|year| *year <= END_OF_TIME)?;
                NaiveDate::from_ymd_opt(year, lowest(months)?, 1)
            }
        }
    }

    /// The days on which to fire in the month of `date`, bit 1 being the first.
    fn days_in(&self, date: NaiveDate) -> u64 {
        let month = Month::of(date);
        let (by_date, by_weekday) = (self.days.of(month), self.weekdays.of(month));
        match self.days_match {
            DaysMatch::Both => by_date & by_weekday,
            DaysMatch::Either => by_date | by_weekday,
        }
    }
}

/// Years of one kind have the same calendar: there are fourteen, by the weekday of their first day and the leap day.
fn one_of_each_kind(years: impl Iterator<Item = i32>) -> impl Iterator<Item = i32> {
    let mut seen = 0_u32;
    years.filter(move |year| {
        let Some(first) = NaiveDate::from_ymd_opt(*year, 1, 1) else { return false };
        let kind = 1 << (first.weekday().num_days_from_sunday() + 7 * u32::from(first.leap_year()));
        let is_new = seen & kind == 0;
        seen |= kind;
        is_new
    })
}

fn next_whole_second(local: NaiveDateTime) -> Option<NaiveDateTime> {
    let second = local.with_nanosecond(0)?;
    if second == local { Some(local) } else { second.checked_add_signed(TimeDelta::seconds(1)) }
}

fn first_of_next_month(date: NaiveDate) -> Option<NaiveDate> {
    match date.month() {
        12 => NaiveDate::from_ymd_opt(date.year() + 1, 1, 1),
        month => NaiveDate::from_ymd_opt(date.year(), month + 1, 1),
    }
}

fn has(mask: u64, bit: u32) -> bool {
    mask >> bit & 1 == 1
}

fn from_bit(mask: u64, bit: u32) -> u64 {
    mask & u64::MAX.checked_shl(bit).unwrap_or(0)
}

fn lowest(mask: u64) -> Option<u32> {
    (mask != 0).then(|| mask.trailing_zeros())
}

#[cfg(test)]
impl Fields {
    pub(super) const EVERY_SECOND: Self = Self {
        seconds: EVERY_SECOND,
        minutes: EVERY_MINUTE,
        hours: EVERY_HOUR,
        days: DaysOfMonth::EVERY,
        months: EVERY_MONTH,
        weekdays: DaysOfWeek::EVERY,
        years: Years::EVERY,
        days_match: DaysMatch::Both,
    };
}

#[cfg(test)]
mod tests;
