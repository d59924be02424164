//! Errors in an expression or a zone, worded so that the user can correct them.

use std::fmt;

use chrono_tz::Tz;

use super::MAX_BYTES;

/// The fields of an expression, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

impl Field {
    const SEVEN: [Self; 7] =
        [Self::Second, Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek, Self::Year];

    /// The fields of an expression with `count` fields; none where there is no such expression.
    pub(super) fn of(count: usize) -> Option<&'static [Self]> {
        match count {
            5 => Some(&Self::SEVEN[1..6]),
            6 => Some(&Self::SEVEN[..6]),
            7 => Some(&Self::SEVEN),
            _ => None,
        }
    }

    /// The fields of `EventBridge`: no seconds, and always the year.
    pub(super) const EVENT_BRIDGE: &'static [Self] = Self::SEVEN.split_at(1).1;
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
            Self::Year => "year",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("{field}: {token:?} {why}{}", guess(suggestion.as_ref()))]
    Field { field: Field, token: String, why: String, suggestion: Option<String> },
    #[error("a cron expression has 5 fields (minute, hour, day of month, month, day of week), 6 with seconds before them, 7 with years behind, {}", counted(*found))]
    FieldCount { found: usize },
    #[error("cron(…) has 6 fields (minute, hour, day of month, month, day of week, year), this one has {found}")]
    EventBridgeFieldCount { found: usize },
    /// A text that is no fields: a shorthand, `@every`, `rate(…)`, `at(…)`.
    #[error("{token:?} {why}{}", guess(suggestion.as_ref()))]
    Form { token: String, why: String, suggestion: Option<String> },
    #[error("a cron expression has at most {MAX_BYTES} bytes, this one has {bytes}")]
    TooLong { bytes: usize },
    #[error("{text:?} never fires: none of its months has such a day")]
    Never { text: String },
    /// The `cron` crate refused what this module accepted: a bug of this module, reported rather than hidden.
    #[error("this cron expression could not be read: {why}")]
    Parser { why: String },
    #[error("{name:?} is not an IANA time zone{}", suggestion.map(|zone| format!(": did you mean {zone}?")).unwrap_or_default())]
    UnknownZone { name: String, suggestion: Option<Tz> },
}

impl CronError {
    /// The field at fault; for too few fields the first that is missing.
    pub fn field(&self) -> Option<Field> {
        match self {
            Self::Field { field, .. } => Some(*field),
            Self::FieldCount { found } => missing(*found),
            Self::EventBridgeFieldCount { found } => Field::EVENT_BRIDGE.get(*found).copied(),
            Self::Form { .. }
            | Self::TooLong { .. }
            | Self::Never { .. }
            | Self::Parser { .. }
            | Self::UnknownZone { .. } => None,
        }
    }

    pub(super) fn in_field(field: Field, token: &str, why: impl Into<String>) -> Self {
        Self::Field { field, token: token.to_owned(), why: why.into(), suggestion: None }
    }

    pub(crate) fn form(token: &str, why: &str) -> Self {
        Self::Form { token: token.to_owned(), why: why.to_owned(), suggestion: None }
    }

    #[must_use]
    pub(crate) fn suggesting(mut self, guess: impl Into<String>) -> Self {
        if let Self::Field { suggestion, .. } | Self::Form { suggestion, .. } = &mut self {
            *suggestion = Some(guess.into());
        }
        self
    }
}

fn missing(found: usize) -> Option<Field> {
    Field::of(5).and_then(|five| five.get(found)).copied()
}

fn counted(found: usize) -> String {
    match missing(found) {
        Some(field) => format!("this one has {found}: the {field} is missing"),
        None => format!("this one has {found}"),
    }
}

fn guess(suggestion: Option<&String>) -> String {
    suggestion.map(|suggestion| format!("; did you mean {suggestion}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_fields_name_the_first_that_is_missing() {
        let error = CronError::FieldCount { found: 3 };
        assert_eq!(error.field(), Some(Field::Month));
        assert!(error.to_string().ends_with("this one has 3: the month is missing"), "{error}");
    }

    #[test]
    fn too_many_fields_name_none() {
        assert_eq!(CronError::FieldCount { found: 8 }.field(), None);
        assert_eq!(CronError::EventBridgeFieldCount { found: 7 }.field(), None);
        assert_eq!(CronError::EventBridgeFieldCount { found: 5 }.field(), Some(Field::Year));
    }
}
