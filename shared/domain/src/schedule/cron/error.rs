//! What is wrong with an expression or a zone, said so that its writer can mend it.

use std::fmt;

use chrono_tz::Tz;

use super::MAX_BYTES;

/// The fields of an expression, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
}

impl Field {
    pub const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("{field}: {token:?} {why}")]
    Field { field: Field, token: String, why: String },
    #[error("a cron expression has 5 fields (minute, hour, day of month, month, day of week), {}", counted(*found))]
    FieldCount { found: usize },
    #[error(
        "{token:?} is not a shorthand: there are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
    )]
    Shorthand { token: String },
    #[error("a cron expression has at most {MAX_BYTES} bytes, this one has {bytes}")]
    TooLong { bytes: usize },
    #[error("{text:?} never fires: none of its months has such a day")]
    Never { text: String },
    /// Ours let through what the `cron` crate refuses: a mistake of this module, answered rather than hidden.
    #[error("this cron expression could not be read: {why}")]
    Parser { why: String },
    #[error("{name:?} is not an IANA time zone{}", meant.map(|zone| format!(": did you mean {zone}?")).unwrap_or_default())]
    UnknownZone { name: String, meant: Option<Tz> },
}

impl CronError {
    /// The field at fault; for too few fields the first that is missing.
    pub fn field(&self) -> Option<Field> {
        match self {
            Self::Field { field, .. } => Some(*field),
            Self::FieldCount { found } => Field::ALL.get(*found).copied(),
            Self::Shorthand { .. }
            | Self::TooLong { .. }
            | Self::Never { .. }
            | Self::Parser { .. }
            | Self::UnknownZone { .. } => None,
        }
    }
}

fn counted(found: usize) -> String {
    match Field::ALL.get(found) {
        Some(missing) => format!("this one has {found}: the {missing} is missing"),
        None if found <= 7 => {
            format!("this one has {found}: seconds and years are not understood yet")
        }
        None => format!("this one has {found}"),
    }
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
        assert_eq!(CronError::FieldCount { found: 6 }.field(), None);
        assert_eq!(CronError::FieldCount { found: 8 }.field(), None);
    }
}
