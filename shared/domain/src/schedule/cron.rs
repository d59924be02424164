//! Cron: the civil times an expression names, and the instants at which a zone's clock shows them.
//!
//! The rooms: `parse` reads the text, `fields` knows the calendar, `clock` knows the zone, `walk` puts them together.

mod clock;
mod describe;
mod error;
mod fields;
mod parse;
mod walk;
mod zone;

use std::borrow::Cow;

use chrono::SecondsFormat;
use chrono_tz::Tz;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::error::{CronError, Field};
use self::fields::Fields;
pub use self::zone::zone;
use crate::moment::Moment;

/// The longest text that is read at all: no sensible expression needs more, and the work of reading is bounded by it.
pub const MAX_BYTES: usize = 256;

/// A cron expression in a zone. It carries what the text meant, so that reading a stored job does not parse again.
///
/// In a format that people read it is its text and its zone, and is parsed again: there it would be bits otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Cron {
    text: String,
    zone: Tz,
    fields: Fields,
    kind: Kind,
}

#[derive(Serialize, Deserialize)]
struct Written<'a> {
    text: Cow<'a, str>,
    zone: Tz,
}

impl Serialize for Cron {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            Written { text: Cow::Borrowed(&self.text), zone: self.zone }.serialize(serializer)
        } else {
            Self::serialize(self, serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let written = Written::deserialize(deserializer)?;
            Self::parse(&written.text, written.zone).map_err(D::Error::custom)
        } else {
            Self::deserialize(deserializer)
        }
    }
}

/// How the expression speaks of the time of day, which decides what a repeated hour means to it.
/// (`dst_overlap: by_kind`; a job's own `dst_gap` and `dst_overlap` will stand beside it.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Minutes and hours are numbers and lists only: a time of day, which comes once a day.
    Fixed,
    /// A `*`, a range or a step in minute or hour: a rhythm, which goes on in both passes of an overlap.
    Interval,
}

/// What a preview says about an occurrence that daylight saving touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Its local time does not exist that day: it fires at the first instant after the gap.
    Shifted,
    /// Its local time comes twice that day, and this is the second.
    Repeated,
}

impl Cron {
    pub fn parse(text: &str, zone: Tz) -> Result<Self, CronError> {
        let (fields, kind) = parse::expression(text)?;
        if !fields.ever() {
            return Err(CronError::Never { text: text.to_owned() });
        }
        Ok(Self { text: text.to_owned(), zone, fields, kind })
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// What the zone's clock shows at `t`, with the offset that tells the two passes of an overlap apart.
    pub fn local(&self, t: Moment) -> String {
        t.to_utc().with_timezone(&self.zone).to_rfc3339_opts(SecondsFormat::AutoSi, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_expression_reads_back_equal_and_fires_the_same() {
        let cron = Cron::parse("*/5 9-17 1,15 * MON", Tz::Europe__Berlin).unwrap();

        let stored = serde_json::to_string(&cron).unwrap();
        let read: Cron = serde_json::from_str(&stored).unwrap();

        assert_eq!(read, cron);
        assert_eq!(read.next_after(Moment::EPOCH), cron.next_after(Moment::EPOCH));
    }

    #[test]
    fn the_text_is_kept_as_it_was_written() {
        let cron = Cron::parse(" 0  2 * *\tmon ", Tz::UTC).unwrap();
        assert_eq!((cron.text(), cron.zone()), (" 0  2 * *\tmon ", Tz::UTC));
    }

    #[test]
    fn the_local_time_tells_the_two_passes_of_an_overlap_apart() {
        let cron = Cron::parse("30 * * * *", Tz::America__New_York).unwrap();
        let first = Moment::parse("2016-11-06T05:30:00Z").unwrap();
        let second = Moment::parse("2016-11-06T06:30:00Z").unwrap();
        assert_eq!(cron.local(first), "2016-11-06T01:30:00-04:00");
        assert_eq!(cron.local(second), "2016-11-06T01:30:00-05:00");
    }

    #[test]
    fn an_expression_that_never_fires_is_refused() {
        for text in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 30-31 FEB *", "0 0 31 2 */2"] {
            let refused = Cron::parse(text, Tz::UTC);
            assert_eq!(refused, Err(CronError::Never { text: text.to_owned() }));
        }
        for text in ["0 0 29 2 *", "0 0 29 2 */6", "0 0 30 2 MON", "0 0 31 * */7"] {
            assert!(Cron::parse(text, Tz::UTC).is_ok(), "{text}");
        }
    }
}
