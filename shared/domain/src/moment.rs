//! A moment: one instant in time, to the millisecond, with no clock attached.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::spelled::spelled_for_people;

/// Milliseconds since 1970-01-01T00:00:00Z. The wire shows it as RFC 3339 in UTC with milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Moment(i64);

spelled_for_people!(Moment);

/// Between a request's look at the clock and what is made of that, another may have looked.
const OVERTAKEN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is not an instant of RFC 3339 from 1970 to 9999")]
pub struct NotAMoment;

impl Moment {
    pub const EPOCH: Self = Self(0);
    /// The last moment: RFC 3339 can only write four-digit years.
    pub const END: Self = Self(253_402_300_799_999);

    /// Clamped to `EPOCH..=END`, so that arithmetic on moments never leaves the range that can be written.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < 0 {
            Self::EPOCH
        } else if millis > Self::END.0 {
            Self::END
        } else {
            Self(millis)
        }
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self::from_millis(secs.saturating_mul(1000))
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Parses RFC 3339 with any offset; fractions of a millisecond are cut off.
    pub fn parse(text: &str) -> Option<Self> {
        let millis = DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis();
        (0..=Self::END.0).contains(&millis).then_some(Self(millis))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// Whether this is less than `span` after what was noted at `noted`, or before that by as much as requests overtake each other. What a clock
    /// noted that was ahead is not within anything, once it is set back.
    pub fn is_within(self, span: Duration, noted: Self) -> bool {
        self.since(noted) < span && noted.since(self) <= OVERTAKEN
    }

    /// The moment one millisecond earlier: `next_after(t.just_before())` means "at or after t".
    #[must_use]
    pub fn just_before(self) -> Self {
        Self::from_millis(self.0 - 1)
    }

    /// The moment one millisecond later.
    #[must_use]
    pub fn just_after(self) -> Self {
        Self::from_millis(self.0 + 1)
    }

    pub fn to_utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).expect("moments are held inside years 1970 to 9999")
    }
}

impl FromStr for Moment {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        Self::parse(text).ok_or(NotAMoment)
    }
}

impl From<DateTime<Utc>> for Moment {
    fn from(time: DateTime<Utc>) -> Self {
        Self::from_millis(time.timestamp_millis())
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(span))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(span))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_utc().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_as_it_was_written() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-11-20T12:30:00.250Z", "9999-12-31T23:59:59.999Z"] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_offset_is_understood_and_written_as_utc() {
        let moment = Moment::parse("2026-11-20T07:30:00-05:00").unwrap();
        assert_eq!(moment.to_string(), "2026-11-20T12:30:00.000Z");
    }

    #[test]
    fn a_time_that_cannot_be_written_back_is_not_a_moment() {
        for text in
            ["", "yesterday", "2026-11-20", "2026-11-20T12:30:00", "1969-12-31T23:59:59Z", "+10000-01-01T00:00:00Z"]
        {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn arithmetic_stays_inside_the_range_that_can_be_written() {
        assert_eq!(Moment::EPOCH - Duration::from_secs(1), Moment::EPOCH);
        assert_eq!(Moment::END + Duration::MAX, Moment::END);
        assert_eq!(Moment::from_secs(5).since(Moment::from_secs(9)), Duration::ZERO);
    }
}
