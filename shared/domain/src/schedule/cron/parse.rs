//! From text to masks: tokens are checked here, and then the `cron` crate works out the sets.
//!
//! The crate is lenient (`* ** * *`, `SUNDAY`), counts weekdays from 1 and says little about what is wrong, so it is
//! given only what was checked, rewritten into its dialect: spans `start-end/step`, weekdays as a list from 1 = SUN.

use std::ops::{BitOr, Shl};
use std::str::FromStr;

use cron::{Schedule, TimeUnitSpec};

use super::fields::{DaysMatch, Fields};
use super::{CronError, Field, Kind, MAX_BYTES};

const SHORTHANDS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Sunday is the first day of the week and its last.
const SUNDAY: u8 = 0;
const SUNDAY_AGAIN: u8 = 7;

pub(super) fn expression(text: &str) -> Result<(Fields, Kind), CronError> {
    if text.len() > MAX_BYTES {
        return Err(CronError::TooLong { bytes: text.len() });
    }
    let text = written_out(text.trim_matches(is_blank))?;
    let fields: Vec<&str> = text.split(is_blank).filter(|field| !field.is_empty()).collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(CronError::FieldCount { found: fields.len() });
    };
    let schedule = schedule([minute, hour, day, month, weekday])?;
    Ok((masks(&schedule, days_match(day, weekday)), kind(minute, hour)))
}

fn is_blank(letter: char) -> bool {
    letter == ' ' || letter == '\t'
}

fn written_out(text: &str) -> Result<&str, CronError> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    let known = SHORTHANDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|(_, fields)| *fields).ok_or_else(|| CronError::Shorthand { token: text.to_owned() })
}

fn schedule(texts: [&str; 5]) -> Result<Schedule, CronError> {
    let mut translated = String::from("0");
    for (field, text) in Field::ALL.into_iter().zip(texts) {
        translated.push(' ');
        translated.push_str(&translated_field(field, text)?);
    }
    Schedule::from_str(&translated).map_err(|error| CronError::Parser { why: error.to_string() })
}

fn translated_field(field: Field, text: &str) -> Result<String, CronError> {
    let mut items = Vec::new();
    for item in text.split(',') {
        let span = Item { field, text: item, list: text }.span()?;
        items.push(if field == Field::DayOfWeek { span.as_weekdays() } else { span.as_range() });
    }
    Ok(items.join(","))
}

fn masks(schedule: &Schedule, days_match: DaysMatch) -> Fields {
    Fields {
        minutes: mask(schedule.minutes()),
        hours: mask(schedule.hours()),
        days: mask(schedule.days_of_month()),
        months: mask(schedule.months()),
        weekdays: mask::<u8>(schedule.days_of_week()) >> 1,
        days_match,
    }
}

fn mask<M>(set: &impl TimeUnitSpec) -> M
where
    M: From<u8> + Shl<u32, Output = M> + BitOr<Output = M>,
{
    set.iter().fold(M::from(0), |mask, member| mask | M::from(1) << member)
}

fn days_match(day: &str, weekday: &str) -> DaysMatch {
    let restricted = |text: &str| !text.starts_with(['*', '?']);
    if restricted(day) && restricted(weekday) { DaysMatch::Either } else { DaysMatch::Both }
}

fn kind(minute: &str, hour: &str) -> Kind {
    let has_rhythm = |text: &str| text.contains(['*', '-', '/']);
    if has_rhythm(minute) || has_rhythm(hour) { Kind::Interval } else { Kind::Fixed }
}

/// What one item of a list means: from `start` to `end` by `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u8,
    end: u8,
    step: u8,
}

impl Span {
    fn as_range(self) -> String {
        format!("{}-{}/{}", self.start, self.end, self.step)
    }

    fn as_weekdays(self) -> String {
        let days = (self.start..=self.end).step_by(usize::from(self.step));
        days.map(|day| (day % 7 + 1).to_string()).collect::<Vec<_>>().join(",")
    }
}

/// One item of a field's list.
#[derive(Clone, Copy)]
struct Item<'a> {
    field: Field,
    text: &'a str,
    list: &'a str,
}

impl Item<'_> {
    fn span(self) -> Result<Span, CronError> {
        let Some((range, step)) = self.text.split_once('/') else {
            let (start, end) = self.range(self.text)?;
            return Ok(Span { start, end: end.unwrap_or(start), step: 1 });
        };
        let (start, end) = self.range(range)?;
        Ok(Span { start, end: end.unwrap_or(self.field.last()), step: self.step(step)? })
    }

    /// Start and end; no end where the item is one value, which a step would take as "from here on".
    fn range(self, text: &str) -> Result<(u8, Option<u8>), CronError> {
        if text == "*" || text == "?" && self.field.is_of_days() {
            return Ok((self.field.first(), Some(self.field.last())));
        }
        let Some((start, end)) = text.split_once('-') else {
            return Ok((self.value(text)?, None));
        };
        let (start, end) = (self.value(start)?, self.value(end)?);
        let week_ends = self.field == Field::DayOfWeek && start > SUNDAY && end == SUNDAY;
        let end = if week_ends { SUNDAY_AGAIN } else { end };
        if start > end {
            return Err(self.refused("runs backwards, and ranges that wrap around are not understood yet"));
        }
        Ok((start, Some(end)))
    }

    fn step(self, text: &str) -> Result<u8, CronError> {
        let steps = 1..=self.field.last();
        let step = number(text).filter(|step| steps.contains(step));
        step.ok_or_else(|| self.refused(&format!("needs a step from 1 to {}", self.field.last())))
    }

    fn value(self, text: &str) -> Result<u8, CronError> {
        let values = self.field.first()..=self.field.last();
        let value = number(text).filter(|value| values.contains(value)).or_else(|| self.named(text));
        value.ok_or_else(|| self.refused(&self.why_no_value(text)))
    }

    fn named(self, name: &str) -> Option<u8> {
        let place = self.field.names().iter().position(|known| known.eq_ignore_ascii_case(name))?;
        u8::try_from(place).ok().map(|place| self.field.first() + place)
    }

    fn why_no_value(self, text: &str) -> String {
        if self.text.is_empty() {
            "has nothing before or after a comma".to_owned()
        } else if text.is_empty() {
            "is not complete".to_owned()
        } else if is_of_the_later_dialect(text) {
            format!("is not plain: L, W, # and H are not understood yet; {}", self.field.takes())
        } else {
            self.field.takes()
        }
    }

    fn refused(self, why: &str) -> CronError {
        let token = if self.text.is_empty() { self.list } else { self.text };
        CronError::Field { field: self.field, token: token.to_owned(), why: why.to_owned() }
    }
}

impl Field {
    fn first(self) -> u8 {
        match self {
            Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
        }
    }

    fn last(self) -> u8 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => SUNDAY_AGAIN,
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Minute | Self::Hour | Self::DayOfMonth => &[],
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
        }
    }

    fn is_of_days(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    fn takes(self) -> String {
        let numbers = format!("the field takes numbers from {} to {}", self.first(), self.last());
        match self.names() {
            [first, .., last] => format!("{numbers} and names from {first} to {last}"),
            _ => numbers,
        }
    }
}

/// `H`, `H(1-5)`, `MON#2`, `L`, `LW`, `15W`, `5L`, `FRIL`: what other crons have and this one will.
fn is_of_the_later_dialect(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let day = text.trim_end_matches(['L', 'W']);
    let is_a_day = day.is_empty() || number(day).is_some() || WEEKDAYS.contains(&day);
    text == "H" || text.starts_with("H(") || text.contains('#') || day.len() < text.len() && is_a_day
}

/// Digits only: `u8`'s own reading would let a sign through.
fn number(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod facts;
