//! One item of a field's list: its meaning, or an error with a suggestion.

use super::{CronError, Dialect, Field};
use crate::schedule::cron::fields::{FIRST_YEAR, LAST_YEAR};
use crate::schedule::spread::Spread;

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Sunday is the first day of the week and its last.
const SUNDAY_AGAIN: u16 = 7;
const SATURDAY: u16 = 6;
/// Every month has these days.
const HASHED_DAYS: u16 = 28;
/// From the last day of a month, counted back, to the first of the longest.
const DAYS_BACK: u16 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Span(Span),
    /// `L`, `L-3`
    FromLast(u16),
    /// `15W`
    Near(u16),
    /// `LW`, `L-3W`
    NearFromLast(u16),
    /// `5L`, `FRIL`
    Last(u16),
    /// `MON#2`
    Nth(u16, u16),
}

/// Plain numbers: from `start` to `end` by `step`, over the field's end where `start` is behind `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u16,
    end: u16,
    step: u16,
    /// A `*`, a range or a step: it makes an interval rather than a fixed time.
    pub(super) is_rhythm: bool,
    /// Chosen by the job's spread.
    pub(super) is_spread: bool,
}

impl Span {
    pub(super) fn for_the_crate(self, field: Field) -> String {
        if field != Field::DayOfWeek && self.start <= self.end {
            return format!("{}-{}/{}", self.start, self.end, self.step);
        }
        let from_one = u16::from(field == Field::DayOfWeek);
        self.members(field).map(|member| (member + from_one).to_string()).collect::<Vec<_>>().join(",")
    }

    pub(super) fn members(self, field: Field) -> impl Iterator<Item = u16> {
        let (first, count) = (field.first(), field.count());
        let start = if self.start > self.end { first + (self.start - first) % count } else { self.start };
        let end = if start > self.end { self.end + count } else { self.end };
        (start..=end).step_by(usize::from(self.step)).map(move |member| first + (member - first) % count)
    }
}

/// One item of a field's list.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) field: Field,
    pub(super) text: &'a str,
    pub(super) list: &'a str,
    pub(super) dialect: Dialect,
    pub(super) spread: Spread,
}

impl Item<'_> {
    pub(super) fn part(self) -> Result<Part, CronError> {
        let special = match self.field {
            Field::DayOfMonth => self.special_day()?,
            Field::DayOfWeek => self.special_weekday()?,
            Field::Second | Field::Minute | Field::Hour | Field::Month | Field::Year => None,
        };
        special.map_or_else(|| self.span().map(Part::Span), Ok)
    }

    /// `L`, `L-3`, `LW`, `L-3W`, `15W`.
    fn special_day(self) -> Result<Option<Part>, CronError> {
        let (day, near) = match cut_end(self.text, 'W') {
            Some(day) => (day, true),
            None => (self.text, false),
        };
        if near && self.list != self.text {
            return Err(self.refused("stands in a list: W goes with one day alone"));
        }
        if let Some(back) = cut_start(day, 'L') {
            let back = self.days_back(back)?;
            return Ok(Some(if near { Part::NearFromLast(back) } else { Part::FromLast(back) }));
        }
        match number(day).filter(|day| self.field.holds(*day)) {
            _ if !near => Ok(None),
            Some(day) => Ok(Some(Part::Near(day))),
            None => Err(self.refused("is no weekday near a day: W goes with one day alone, like 15W, or LW")),
        }
    }

    fn days_back(self, text: &str) -> Result<u16, CronError> {
        if text.is_empty() {
            return Ok(0);
        }
        let back = text.strip_prefix('-').and_then(number).filter(|back| (0..=DAYS_BACK).contains(back));
        back.ok_or_else(|| self.refused("is not counted back from the last day: L is that, and L-1 to L-30 before it"))
    }

    /// `5L`, `FRIL`, `MON#2`; and for `EventBridge` `L` is the week's last day.
    fn special_weekday(self) -> Result<Option<Part>, CronError> {
        if let Some((day, nth)) = self.text.split_once('#') {
            let day = self.value(day)? % SUNDAY_AGAIN;
            let nth = Some(nth).filter(|nth| nth.len() == 1).and_then(number).filter(|nth| (1..=5).contains(nth));
            let nth = nth.ok_or_else(|| self.refused("is no weekday of a month: # goes from 1 to 5"))?;
            return Ok(Some(Part::Nth(day, nth)));
        }
        let Some(day) = cut_end(self.text, 'L') else { return Ok(None) };
        match (day, self.dialect) {
            ("", Dialect::EventBridge) => Ok(Some(Part::Span(plain(SATURDAY)))),
            ("", Dialect::Ours) => {
                Err(self.refused("needs its weekday, like FRIL for the last Friday of a month").suggesting("SATL"))
            }
            _ => Ok(Some(Part::Last(self.value(day)? % SUNDAY_AGAIN))),
        }
    }

    fn span(self) -> Result<Span, CronError> {
        let (range, step) = match self.text.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (self.text, None),
        };
        if let Some(inside) = cut_start(range, 'H').filter(|rest| rest.is_empty() || rest.starts_with('(')) {
            return self.spread_over(inside, step);
        }
        let (start, end) = self.range(range)?;
        let last = if step.is_some() { self.last() } else { start };
        Ok(Span {
            start,
            end: end.unwrap_or(last),
            step: step.map_or(Ok(1), |step| self.step(step, self.field.last()))?,
            is_rhythm: end.is_some() || step.is_some(),
            is_spread: false,
        })
    }

    /// `H`, `H(0-29)`, `H/10`, `H(0-29)/10`.
    fn spread_over(self, inside: &str, step: Option<&str>) -> Result<Span, CronError> {
        let (first, last) = self.hashed_range(inside)?;
        let width = last - first + 1;
        let step = step.map(|step| self.step(step, width.min(self.field.last()))).transpose()?;
        let place = self.spread.below(&self.field.to_string(), step.unwrap_or(width).into());
        let start = first + u16::try_from(place).unwrap_or(0);
        let end = if step.is_some() { last } else { start };
        Ok(Span { start, end, step: step.unwrap_or(1), is_rhythm: step.is_some(), is_spread: true })
    }

    fn hashed_range(self, inside: &str) -> Result<(u16, u16), CronError> {
        if self.field == Field::Year {
            return Err(self.refused("would put the year anywhere"));
        }
        if inside.is_empty() {
            return Ok((self.field.first(), self.field.last_hashed()));
        }
        let range = inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')'));
        let (start, end) = self.range(range.ok_or_else(|| self.refused("is not complete: H(0-29) is"))?)?;
        match end {
            Some(end) if start <= end && end <= self.field.last().min(self.field.first() + self.field.count() - 1) => {
                Ok((start, end))
            }
            _ => Err(self.refused("needs a range that runs forward, like H(0-29)")),
        }
    }

    /// Start and end; no end where the item is one value, which a step would take as "from here on".
    fn range(self, text: &str) -> Result<(u16, Option<u16>), CronError> {
        if text == "*" || text == "?" && self.field.is_of_days() {
            return Ok((self.field.first(), Some(self.field.last())));
        }
        let Some((start, end)) = text.split_once('-') else {
            return Ok((self.value(text)?, None));
        };
        let (start, end) = (self.value(start)?, self.value(end)?);
        if start > end && self.field == Field::Year {
            return Err(self.refused("runs backwards, and years do not come round again"));
        }
        Ok((start, Some(end)))
    }

    fn step(self, text: &str, most: u16) -> Result<u16, CronError> {
        let step = number(text).filter(|step| (1..=most).contains(step));
        step.ok_or_else(|| {
            let refused = self.refused(format!("needs a step from 1 to {most}"));
            match (number(text).filter(|step| *step > most), self.field.unit()) {
                (Some(step), Some(unit)) if self.text.starts_with("*/") => {
                    refused.suggesting(format!("@every {step}{unit}"))
                }
                _ => refused,
            }
        })
    }

    fn value(self, text: &str) -> Result<u16, CronError> {
        let counted = number(text).and_then(|number| self.counted(number));
        let value = counted.filter(|value| self.field.holds(*value)).or_else(|| self.named(text));
        value.ok_or_else(|| self.no_value(text))
    }

    /// `EventBridge` counts weekdays from 1 = Sunday to 7.
    fn counted(self, number: u16) -> Option<u16> {
        match (self.dialect, self.field) {
            (Dialect::EventBridge, Field::DayOfWeek) => number.checked_sub(1).filter(|day| *day <= SATURDAY),
            _ => Some(number),
        }
    }

    fn named(self, name: &str) -> Option<u16> {
        let place = self.field.names().iter().position(|known| known.eq_ignore_ascii_case(name))?;
        u16::try_from(place).ok().map(|place| self.field.first() + place)
    }

    fn no_value(self, text: &str) -> CronError {
        if self.text.is_empty() {
            return self.refused("has nothing before or after a comma");
        }
        if text.is_empty() {
            return self.refused("is not complete");
        }
        let error = self.refused(self.takes());
        match self.suggestion_for(text) {
            Some(guess) => error.suggesting(guess),
            None => error,
        }
    }

    /// A suggestion for an invalid `text`.
    fn suggestion_for(self, text: &str) -> Option<String> {
        match (self.field, text) {
            (Field::Second | Field::Minute, "60") | (Field::Hour, "24") => Some(self.without_one_too_many(text)),
            (_, "?") => Some("*".to_owned()),
            _ => {
                let short = text.get(..3).filter(|_| text.bytes().all(|byte| byte.is_ascii_alphabetic()))?;
                let known = self.field.names().iter().find(|name| name.eq_ignore_ascii_case(short))?;
                Some(self.text.replacen(text, known, 1))
            }
        }
    }

    /// Sixty begins the next hour; as the end of a range it meant fifty-nine.
    fn without_one_too_many(self, text: &str) -> String {
        let as_an_end = format!("-{text}");
        if self.text.contains(&as_an_end) {
            return self.text.replacen(&as_an_end, &format!("-{}", self.field.last()), 1);
        }
        self.text.replacen(text, "0", 1)
    }

    /// The end of a step's range: for `EventBridge` Sunday does not recur at the week's end.
    fn last(self) -> u16 {
        match (self.dialect, self.field) {
            (Dialect::EventBridge, Field::DayOfWeek) => SATURDAY,
            _ => self.field.last(),
        }
    }

    fn takes(self) -> String {
        let (first, last) = match (self.dialect, self.field) {
            (Dialect::EventBridge, Field::DayOfWeek) => (1, SUNDAY_AGAIN),
            _ => (self.field.first(), self.field.last()),
        };
        let numbers = format!("is not one of its values: the field takes numbers from {first} to {last}");
        match self.field.names() {
            [first, .., last] => format!("{numbers} and names from {first} to {last}"),
            _ => numbers,
        }
    }

    fn refused(self, why: impl Into<String>) -> CronError {
        let token = if self.text.is_empty() { self.list } else { self.text };
        CronError::in_field(self.field, token, why)
    }
}

impl Field {
    fn first(self) -> u16 {
        match self {
            Self::Second | Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
            Self::Year => FIRST_YEAR,
        }
    }

    fn last(self) -> u16 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => SUNDAY_AGAIN,
            Self::Year => LAST_YEAR,
        }
    }

    /// The number of values before they wrap around.
    fn count(self) -> u16 {
        match self {
            Self::DayOfWeek => 7,
            _ => self.last() - self.first() + 1,
        }
    }

    fn last_hashed(self) -> u16 {
        match self {
            Self::DayOfMonth => HASHED_DAYS,
            Self::DayOfWeek => SATURDAY,
            _ => self.last(),
        }
    }

    fn holds(self, value: u16) -> bool {
        (self.first()..=self.last()).contains(&value)
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
            Self::Second | Self::Minute | Self::Hour | Self::DayOfMonth | Self::Year => &[],
        }
    }

    fn is_of_days(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    /// The unit letter of `@every`.
    fn unit(self) -> Option<char> {
        match self {
            Self::Second => Some('s'),
            Self::Minute => Some('m'),
            Self::Hour => Some('h'),
            Self::DayOfMonth | Self::Month | Self::DayOfWeek | Self::Year => None,
        }
    }
}

fn plain(value: u16) -> Span {
    Span { start: value, end: value, step: 1, is_rhythm: false, is_spread: false }
}

fn cut_start(text: &str, letter: char) -> Option<&str> {
    text.strip_prefix([letter, letter.to_ascii_lowercase()])
}

fn cut_end(text: &str, letter: char) -> Option<&str> {
    text.strip_suffix([letter, letter.to_ascii_lowercase()])
}

/// Digits only: `u16`'s own reading would let a sign through.
fn number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
