//! The days of a month: by date, counted back from its end, by weekday, or a weekday near a date. All of them become one
//! mask for a month.

use chrono::{Datelike, NaiveDate};

/// Bit 1 is the first.
const EVERY_DATE: u32 = !1;
/// Bit 0 is Sunday.
const EVERY_WEEKDAY: u8 = (1 << 7) - 1;

const SATURDAY: u32 = 6;
const SUNDAY: u32 = 0;

/// The properties of a month that decide which of its days fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Month {
    days: u32,
    /// The weekday of its first day, from Sunday.
    first_weekday: u32,
}

impl Month {
    pub(super) fn of(date: NaiveDate) -> Self {
        let first_weekday = (date.weekday().num_days_from_sunday() + 35 - date.day0()) % 7;
        Self { days: u32::from(date.num_days_in_month()), first_weekday }
    }

    fn all(self) -> u64 {
        (2 << self.days) - 2
    }

    fn weekday_of(self, day: u32) -> u32 {
        (self.first_weekday + day + 6) % 7
    }

    /// The days on one of these weekdays: the week rotated to the month's first day, repeated five times.
    fn falling_on(self, weekdays: u8) -> u64 {
        let week = u64::from(weekdays);
        let turned = (week >> self.first_weekday | week << (7 - self.first_weekday)) & u64::from(EVERY_WEEKDAY);
        (0..5).map(|nth| turned << (7 * nth + 1)).sum::<u64>() & self.all()
    }

    /// Monday to Friday, nearest to this day, inside the month. None where the month has no such day.
    fn weekday_near(self, day: u32) -> u64 {
        if day == 0 || day > self.days {
            return 0;
        }
        let near = match self.weekday_of(day) {
            SATURDAY if day == 1 => day + 2,
            SATURDAY => day - 1,
            SUNDAY if day == self.days => day - 2,
            SUNDAY => day + 1,
            _ => day,
        };
        1 << near
    }
}

/// The field of the day of the month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaysOfMonth {
    /// By date: bit 1 is the first.
    pub dates: u32,
    /// Counted back: bit 0 is the last day (`L`), bit 3 the third before it (`L-3`).
    pub from_last: u32,
    /// Weekdays near a date (`15W`).
    pub near: u32,
    /// Weekdays near a day counted back (`LW`, `L-3W`).
    pub near_from_last: u32,
}

impl DaysOfMonth {
    pub(in super::super) const EVERY: Self = Self { dates: EVERY_DATE, from_last: 0, near: 0, near_from_last: 0 };

    pub(super) fn of(&self, month: Month) -> u64 {
        let counted_back = u64::from(self.from_last.reverse_bits() >> (31 - month.days));
        let mut days = u64::from(self.dates) | counted_back;
        if self.near | self.near_from_last != 0 {
            let back = bits(self.near_from_last).map(|back| month.days.saturating_sub(back));
            days |= bits(self.near).chain(back).fold(0, |days, day| days | month.weekday_near(day));
        }
        days & month.all()
    }
}

/// The field of the day of the week. Bit 0 of each mask is Sunday.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaysOfWeek {
    /// Each week.
    pub weekly: u8,
    /// The last of a month (`5L`).
    pub last: u8,
    /// The first to the fifth of a month (`MON#2`).
    pub nth: [u8; 5],
}

impl DaysOfWeek {
    pub(in super::super) const EVERY: Self = Self { weekly: EVERY_WEEKDAY, last: 0, nth: [0; 5] };

    pub(super) fn of(self, month: Month) -> u64 {
        let mut days = month.falling_on(self.weekly);
        if self.last != 0 {
            let last_week = month.all() & (u64::MAX << (month.days - 6));
            days |= month.falling_on(self.last) & last_week;
        }
        for (week, weekdays) in (0..).zip(self.nth).filter(|(_, weekdays)| *weekdays != 0) {
            let nth_week = u64::from(EVERY_WEEKDAY) << (7 * week + 1);
            days |= month.falling_on(weekdays) & nth_week;
        }
        days
    }

    /// Whether some weekday is given by its position in the month.
    pub(in super::super) fn is_monthly(self) -> bool {
        self.last != 0 || self.nth != [0; 5]
    }
}

fn bits(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |bit| mask >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn month(year: i32, month: u32) -> Month {
        Month::of(NaiveDate::from_ymd_opt(year, month, 17).unwrap())
    }

    fn days(mask: u64) -> Vec<u32> {
        (0..64).filter(|bit| mask >> bit & 1 == 1).collect()
    }

    #[test]
    fn the_weekdays_of_a_month_are_those_of_its_calendar() {
        let start = NaiveDate::from_ymd_opt(2023, 1, 1).unwrap();
        for date in start.iter_days().take(2_000) {
            let fridays = Month::of(date).falling_on(1 << 5);
            assert_eq!(fridays >> date.day() & 1 == 1, date.weekday() == chrono::Weekday::Fri, "{date}");
        }
    }

    #[test]
    fn days_are_counted_back_from_the_last_of_any_month() {
        let back = |mask| DaysOfMonth { from_last: mask, ..DaysOfMonth::default() };
        assert_eq!(days(back(1).of(month(2026, 2))), [28]);
        assert_eq!(days(back(1).of(month(2028, 2))), [29]);
        assert_eq!(days(back(1 << 3).of(month(2026, 11))), [27]);
        assert_eq!(days(back(1 << 30).of(month(2026, 1))), [1]);
        assert!(days(back(1 << 30).of(month(2026, 4))).is_empty());
        assert_eq!(days(back(u32::MAX).of(month(2026, 4))), (1..=30).collect::<Vec<_>>());
    }

    #[test]
    fn the_weekday_near_a_date_stays_inside_its_month() {
        let near = |day: u32| DaysOfMonth { near: 1 << day, ..DaysOfMonth::default() };
        let back = |back: u32| DaysOfMonth { near_from_last: 1 << back, ..DaysOfMonth::default() };
        // August 2026 begins on a Saturday, November and February on a Sunday.
        assert_eq!(days(near(1).of(month(2026, 8))), [3], "a Saturday that is the first goes forward");
        assert_eq!(days(near(15).of(month(2026, 8))), [14], "another goes back");
        assert_eq!(days(near(16).of(month(2026, 8))), [17], "a Sunday goes forward");
        assert_eq!(days(near(31).of(month(2027, 1))), [29], "unless it is the last");
        assert_eq!(days(near(4).of(month(2026, 11))), [4], "a weekday stays");
        assert!(days(near(30).of(month(2026, 2))).is_empty(), "there is no such day");
        assert_eq!(days(back(0).of(month(2026, 2))), [27], "the last weekday");
        assert_eq!(days(back(3).of(month(2027, 1))), [28]);
        assert!(days(back(28).of(month(2026, 2))).is_empty());
    }

    #[test]
    fn the_nth_and_the_last_of_a_weekday_are_counted_in_the_month() {
        let second_monday = DaysOfWeek { nth: [0, 1 << 1, 0, 0, 0], ..DaysOfWeek::default() };
        let fifth_sunday = DaysOfWeek { nth: [0, 0, 0, 0, 1], ..DaysOfWeek::default() };
        let last_friday = DaysOfWeek { last: 1 << 5, ..DaysOfWeek::default() };
        assert_eq!(days(second_monday.of(month(2026, 11))), [9]);
        assert_eq!(days(fifth_sunday.of(month(2026, 11))), [29]);
        assert!(days(fifth_sunday.of(month(2026, 12))).is_empty());
        assert_eq!(days(last_friday.of(month(2026, 11))), [27]);
        assert_eq!(days(last_friday.of(month(2027, 2))), [26], "of four weeks exactly");
    }
}
