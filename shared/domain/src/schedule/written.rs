//! The texts of the field `cron`: the fields of an expression, or a short form for an interval or an instant.

use chrono::{Datelike, NaiveDateTime};

use super::cron::{CronError, MAX_BYTES, Manner};
use crate::limits::SPAN_SECONDS;

/// A short form as written; its meaning is an interval or an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortForm {
    pub text: String,
    pub manner: Manner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Fields,
    /// `@every 90s`, `rate(5 minutes)`
    Every {
        seconds: u64,
    },
    /// `at(2026-12-24T18:00:00)`
    At {
        local: NaiveDateTime,
    },
}

/// Moments have four digits.
const FIRST_YEAR: i32 = 1970;
const LAST_YEAR: i32 = 9999;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Written {
    pub(super) fn of(text: &str) -> Result<Self, CronError> {
        if text.len() > MAX_BYTES {
            return Err(CronError::TooLong { bytes: text.len() });
        }
        let trimmed = text.trim_matches([' ', '\t']);
        if let Some(span) = behind(trimmed, "@every").filter(|span| span.starts_with([' ', '\t']) || span.is_empty()) {
            return every(trimmed, span.trim_matches([' ', '\t']));
        }
        if let Some(inside) = behind(trimmed, "rate(") {
            return rate(trimmed, inside);
        }
        if let Some(inside) = behind(trimmed, "at(") {
            return at(trimmed, inside);
        }
        Ok(Self::Fields)
    }
}

/// Numbers with their units, as Go writes durations.
fn every(text: &str, span: &str) -> Result<Written, CronError> {
    if !span.is_empty() && span.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CronError::form(text, "does not say of what").suggesting(format!("@every {span}s")));
    }
    let (mut sum, mut rest) = (Some(0_u64), span);
    while let Some((number, size, more)) = counted_unit(rest) {
        let part = number.parse().ok().and_then(|number: u64| number.checked_mul(size));
        sum = sum.zip(part).and_then(|(sum, part)| sum.checked_add(part));
        rest = more;
    }
    if span.is_empty() || !rest.is_empty() {
        let why = "is not understood: @every takes whole days, hours, minutes and seconds, like @every 1h30m";
        return Err(CronError::form(text, why));
    }
    bounded(text, sum)
}

/// A number, the seconds of its unit, and the rest of the text.
fn counted_unit(text: &str) -> Option<(&str, u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at(digits);
    let unit = behind.chars().next().filter(|_| digits > 0)?;
    let size = match unit {
        'd' => DAY,
        'h' => HOUR,
        'm' => MINUTE,
        's' => 1,
        _ => return None,
    };
    Some((number, size, &behind[unit.len_utf8()..]))
}

fn rate(text: &str, inside: &str) -> Result<Written, CronError> {
    let words: Vec<&str> = inside.strip_suffix(')').unwrap_or_default().split_whitespace().collect();
    let size = match &words[..] {
        [_, unit] => match unit.to_ascii_lowercase().as_str() {
            "minute" | "minutes" => Some(MINUTE),
            "hour" | "hours" => Some(HOUR),
            "day" | "days" => Some(DAY),
            _ => None,
        },
        _ => None,
    };
    let Some(size) = size else {
        return Err(CronError::form(
            text,
            "is not understood: rate takes a number of minutes, hours or days, like rate(5 minutes)",
        ));
    };
    let digits = Some(words[0]).filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    bounded(text, digits.and_then(|word| word.parse().ok()).and_then(|number: u64| number.checked_mul(size)))
}

fn bounded(text: &str, seconds: Option<u64>) -> Result<Written, CronError> {
    match seconds.filter(|seconds| (1..=SPAN_SECONDS).contains(seconds)) {
        Some(seconds) => Ok(Written::Every { seconds }),
        None => Err(CronError::form(text, "is not a span from a second to a hundred years")),
    }
}

/// An instant in the schedule's zone.
fn at(text: &str, inside: &str) -> Result<Written, CronError> {
    let local =
        inside.strip_suffix(')').and_then(|inside| NaiveDateTime::parse_from_str(inside, "%Y-%m-%dT%H:%M:%S").ok());
    match local.filter(|local| (FIRST_YEAR..=LAST_YEAR).contains(&local.year())) {
        Some(local) => Ok(Written::At { local }),
        None => Err(CronError::form(text, "is not an instant of the zone's clock, like at(2026-12-24T18:00:00)")),
    }
}

/// The text after a name, in any case.
fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> u64 {
        match Written::of(text) {
            Ok(Written::Every { seconds }) => seconds,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn spans_are_sums_of_whole_units() {
        let spans = [
            ("@every 90s", 90),
            ("@EVERY 1h30m", 5_400),
            (" @every\t2d ", 172_800),
            ("@every 1d2h3m4s", 93_784),
            ("@every 0h1s", 1),
            ("rate(1 minute)", 60),
            ("rate(5 minutes)", 300),
            ("RATE( 12  Hours )", 43_200),
            ("rate(1 day)", 86_400),
        ];
        for (text, expected) in spans {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn an_instant_is_one_of_the_zones_clock() {
        let local = "2026-12-24T18:00:00".parse().unwrap();
        assert_eq!(Written::of("at(2026-12-24T18:00:00)"), Ok(Written::At { local }));
    }

    #[test]
    fn a_text_that_is_no_short_form_is_left_to_the_fields() {
        for text in ["* * * * *", "@daily", "@everything", "cron(0 2 * * ? *)", "", "rated", "é", "@every_minute"] {
            assert_eq!(Written::of(text), Ok(Written::Fields), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_not_read() {
        let long = format!("rate({}5 minutes)", " ".repeat(300));
        assert_eq!(Written::of(&long), Err(CronError::TooLong { bytes: long.len() }));
        assert!(Written::of(&format!("@every 1s{}", "0s".repeat(100))).is_ok());
    }

    #[test]
    fn an_invalid_short_form_is_refused_by_name() {
        let refused = [
            ("@every", "is not understood"),
            ("@every 5", "does not say of what; did you mean @every 5s?"),
            ("@every 1.5h", "is not understood"),
            ("@every 500ms", "is not understood"),
            ("@every -5s", "is not understood"),
            ("@every 5 s", "is not understood"),
            ("@every 0s", "is not a span"),
            ("@every 99999999999999999999s", "is not a span"),
            ("@every 9999999999999999d", "is not a span"),
            ("rate(5 fortnights)", "is not understood"),
            ("rate(5)", "is not understood"),
            ("rate(5 minutes", "is not understood"),
            ("rate(0 minutes)", "is not a span"),
            ("rate(-1 minutes)", "is not a span"),
            ("at(tomorrow)", "is not an instant"),
            ("at(2026-02-30T00:00:00)", "is not an instant"),
            ("at(+262142-12-31T23:59:59)", "is not an instant"),
            ("at(-262143-01-01T00:00:00)", "is not an instant"),
            ("at(1969-12-31T23:59:59)", "is not an instant"),
            ("at(2026-12-24T18:00:00", "is not an instant"),
        ];
        for (text, why) in refused {
            let said = Written::of(text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
