//! From text to masks: tokens are checked here, and then the `cron` crate computes the sets.
//!
//! The crate is lenient (`* ** * *`, `SUNDAY`), counts weekdays from 1, knows no `L W # H`, and has terse errors, so it
//! gets only plain numbers that were checked, rewritten into its dialect.

mod item;

use std::ops::{BitOr, Shl};
use std::str::FromStr;

use cron::{Schedule, TimeUnitSpec};

use self::item::{Item, Part, Span};
use super::fields::{DaysMatch, DaysOfMonth, DaysOfWeek, Fields, Years};
use super::{CronError, DayRule, Field, Kind, MAX_BYTES};
use crate::schedule::spread::Spread;

const SHORTHANDS: [(&str, &str); 9] = [
    ("@every_second", "* * * * * *"),
    ("@every_minute", "* * * * *"),
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// The parsed form of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) fields: Fields,
    pub(super) kind: Kind,
    /// Whether a part depends on the job's spread.
    pub(super) is_spread: bool,
}

/// The numbering: `EventBridge` starts the week with 1 and has no seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Ours,
    EventBridge,
}

/// Each field with the items of its list.
struct Lists<'a>(Vec<(Field, &'a str, Vec<Part>)>);

pub(super) fn expression(text: &str, days: DayRule, spread: Spread) -> Result<Meaning, CronError> {
    if text.len() > MAX_BYTES {
        return Err(CronError::TooLong { bytes: text.len() });
    }
    let text = text.trim_matches(is_blank);
    if let Some(inside) = event_bridge(text) {
        let lists = Lists::of(inside, Dialect::EventBridge, spread)?;
        lists.leave_one_day_field_open()?;
        return lists.meaning(DayRule::Both);
    }
    Lists::of(written_out(text)?, Dialect::Ours, spread)?.meaning(days)
}

fn is_blank(letter: char) -> bool {
    letter == ' ' || letter == '\t'
}

fn event_bridge(text: &str) -> Option<&str> {
    let (name, rest) = text.split_at_checked("cron(".len())?;
    rest.strip_suffix(')').filter(|_| name.eq_ignore_ascii_case("cron("))
}

fn written_out(text: &str) -> Result<&str, CronError> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    let known = SHORTHANDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|(_, fields)| *fields).ok_or_else(|| no_shorthand(text))
}

fn no_shorthand(text: &str) -> CronError {
    let lower = text.to_ascii_lowercase();
    if lower == "@reboot" {
        return CronError::form(text, "does not exist here: a schedule is never rebooted");
    }
    let error = CronError::form(
        text,
        "is not a shorthand: there are @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every_minute, \
         @every_second, and @every with a span, like @every 90s",
    );
    match SHORTHANDS.iter().find(|(name, _)| strsim::osa_distance(name, &lower) <= 2) {
        Some((near, _)) => error.suggesting(*near),
        None => error,
    }
}

impl<'a> Lists<'a> {
    fn of(text: &'a str, dialect: Dialect, spread: Spread) -> Result<Self, CronError> {
        let texts: Vec<&str> = text.split(is_blank).filter(|text| !text.is_empty()).collect();
        let fields = fields_of(&texts, dialect)?;
        let lists = fields.iter().zip(texts).map(|(field, list)| {
            let items = list.split(',').map(|text| Item { field: *field, text, list, dialect, spread });
            Ok((*field, list, items.map(Item::part).collect::<Result<_, _>>()?))
        });
        Ok(Self(lists.collect::<Result<_, _>>()?))
    }

    fn meaning(&self, days: DayRule) -> Result<Meaning, CronError> {
        let is_spread = self.spans().any(|(_, span)| span.is_spread);
        Ok(Meaning { fields: self.fields(days)?, kind: self.kind(), is_spread })
    }

    fn fields(&self, rule: DayRule) -> Result<Fields, CronError> {
        let plain = self.plain()?;
        let mut days = DaysOfMonth::default();
        let mut weekdays = DaysOfWeek::default();
        days.dates = self.mask(Field::DayOfMonth, plain.days_of_month());
        weekdays.weekly = self.mask::<u8>(Field::DayOfWeek, plain.days_of_week()) >> 1;
        for part in self.parts() {
            match *part {
                Part::Span(_) => {}
                Part::FromLast(back) => days.from_last |= 1 << back,
                Part::Near(day) => days.near |= 1 << day,
                Part::NearFromLast(back) => days.near_from_last |= 1 << back,
                Part::Last(weekday) => weekdays.last |= 1 << weekday,
                Part::Nth(weekday, nth) => weekdays.nth[usize::from(nth - 1)] |= 1 << weekday,
            }
        }
        Ok(Fields {
            seconds: if self.list(Field::Second).is_some() { self.mask(Field::Second, plain.seconds()) } else { 1 },
            minutes: self.mask(Field::Minute, plain.minutes()),
            hours: self.mask(Field::Hour, plain.hours()),
            days,
            months: self.mask(Field::Month, plain.months()),
            weekdays,
            years: self.years(),
            days_match: self.days_match(rule),
        })
    }

    /// The sets of the plain numbers, computed by the crate.
    fn plain(&self) -> Result<Schedule, CronError> {
        let fields = Field::of(6).into_iter().flatten().map(|field| self.translated(*field));
        let translated = fields.collect::<Vec<_>>().join(" ");
        Schedule::from_str(&translated).map_err(|error| CronError::Parser { why: error.to_string() })
    }

    /// A field's text for the crate; a field without plain numbers becomes `*`, whose set is not used.
    fn translated(&self, field: Field) -> String {
        let spans = self.spans().filter(|(of, _)| *of == field).map(|(_, span)| span.for_the_crate(field));
        let spans = spans.collect::<Vec<_>>().join(",");
        if spans.is_empty() { "*".to_owned() } else { spans }
    }

    fn mask<M>(&self, field: Field, set: &impl TimeUnitSpec) -> M
    where
        M: From<u8> + Shl<u32, Output = M> + BitOr<Output = M>,
    {
        let is_plain = self.spans().any(|(of, _)| of == field);
        let members = set.iter().filter(|_| is_plain);
        members.fold(M::from(0), |mask, member| mask | M::from(1) << member)
    }

    fn years(&self) -> Years {
        match self.list(Field::Year) {
            None | Some("*") => Years::EVERY,
            Some(_) => {
                let spans = self.spans().filter(|(field, _)| *field == Field::Year);
                Years::of(spans.flat_map(|(field, span)| span.members(field)))
            }
        }
    }

    fn days_match(&self, rule: DayRule) -> DaysMatch {
        match rule {
            DayRule::Either if self.both_day_fields_are_restricted() => DaysMatch::Either,
            DayRule::Either | DayRule::Both => DaysMatch::Both,
        }
    }

    fn both_day_fields_are_restricted(&self) -> bool {
        let days = [Field::DayOfMonth, Field::DayOfWeek].into_iter().filter_map(|field| self.list(field));
        days.filter(|list| !list.starts_with(['*', '?'])).count() == 2
    }

    fn leave_one_day_field_open(&self) -> Result<(), CronError> {
        if !self.both_day_fields_are_restricted() {
            return Ok(());
        }
        let token = self.list(Field::DayOfWeek).unwrap_or_default();
        let why = "stands beside a day of the month: EventBridge wants a ? in one of the two";
        Err(CronError::in_field(Field::DayOfWeek, token, why))
    }

    fn kind(&self) -> Kind {
        let is_of_the_day = |field: Field| matches!(field, Field::Second | Field::Minute | Field::Hour);
        let has_rhythm = self.spans().any(|(field, span)| is_of_the_day(field) && span.is_rhythm);
        if has_rhythm { Kind::Interval } else { Kind::Fixed }
    }

    fn list(&self, field: Field) -> Option<&'a str> {
        self.0.iter().find(|(of, ..)| *of == field).map(|(_, list, _)| *list)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.iter().flat_map(|(.., parts)| parts)
    }

    fn spans(&self) -> impl Iterator<Item = (Field, Span)> {
        let parts = self.0.iter().flat_map(|(field, _, parts)| parts.iter().map(|part| (*field, part)));
        parts.filter_map(|(field, part)| match part {
            Part::Span(span) => Some((field, *span)),
            _special => None,
        })
    }
}

/// The fields of an expression, by their number.
fn fields_of(texts: &[&str], dialect: Dialect) -> Result<&'static [Field], CronError> {
    let found = texts.len();
    if dialect == Dialect::EventBridge {
        let fields = Field::EVENT_BRIDGE;
        return if found == fields.len() { Ok(fields) } else { Err(CronError::EventBridgeFieldCount { found }) };
    }
    let fields = Field::of(found).ok_or(CronError::FieldCount { found })?;
    match texts {
        [.., last] if found == 6 && is_a_year(last) => Err(year_without_seconds(last, &texts.join(" "))),
        _ => Ok(fields),
    }
}

fn is_a_year(text: &str) -> bool {
    text.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
}

fn year_without_seconds(year: &str, text: &str) -> CronError {
    let why = "is where the day of week stands: of six fields the first is the second, and a year comes seventh";
    CronError::in_field(Field::DayOfWeek, year, why).suggesting(format!("{:?}", format!("0 {text}")))
}

#[cfg(test)]
mod facts;
