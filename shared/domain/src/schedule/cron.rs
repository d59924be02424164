//! Cron: the civil times an expression names, and the instants at which a zone's clock shows them.
//!
//! The modules: `parse` reads the text, `fields` holds the calendar masks, `clock` handles the zone, `walk` combines them,
//! and `describe` puts an expression into words.

pub(crate) mod clock;
mod describe;
mod error;
mod fields;
mod parse;
mod turned;
mod walk;
mod zone;

use chrono::{NaiveDateTime, SecondsFormat};
use chrono_tz::Tz;

pub use self::error::{CronError, Field};
pub use self::fields::{DaysMatch, DaysOfMonth, DaysOfWeek, Fields, Years};
use self::parse::Meaning;
pub use self::turned::{Pass, Swallowed, Turned};
pub use self::zone::{EDITION, zone};
use super::spread::Spread;
use crate::moment::Moment;
use serde::{Deserialize, Serialize};

/// The longest text that is parsed: no sensible expression needs more, and it bounds the work.
pub const MAX_BYTES: usize = 256;

/// A cron expression in a zone, with what it means: a store may keep that, so that reading a job does not parse again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    manner: Manner,
    /// The job's spread, if the text has an `H`.
    spread: Option<Spread>,
    fields: Fields,
    kind: Kind,
}

/// The zone of an expression, and the choices that its text leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    pub zone: Tz,
    pub days: DayRule,
    pub gap: DstGap,
    pub overlap: DstOverlap,
}

/// The meaning of restricting both the day of the month and the day of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DayRule {
    /// One of them is enough, as in Vixie's cron. A field that starts with `*` does not count as restricted.
    #[default]
    Either,
    Both,
}

/// How a local time fires that the clock jumps over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// It fires once, at the first instant after the gap.
    #[default]
    NextValid,
    Skip,
}

/// In which pass a local time fires that the clock shows twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// A fixed time in the first pass; an interval in both.
    #[default]
    ByKind,
    First,
    Second,
    Both,
}

/// Whether an expression gives fixed times of day or an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Seconds, minutes and hours are numbers and lists only: a fixed time, once a day.
    Fixed,
    /// A `*`, a range or a step in one of them: an interval.
    Interval,
}

/// A preview's note on an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Its local time does not exist that day: it fires at the first instant after the gap.
    Shifted,
    /// Its local time comes twice that day, and this is the second.
    Repeated,
    /// A calendar took its instant, and it fires when the calendars allow it next.
    Moved,
    /// It has jitter: it starts somewhat later.
    Jittered,
}

/// The instant at which a zone's clock shows this, such as `2027-01-15T22:00`; the first of two, and what comes after a gap.
pub fn instant_shown(zone: Tz, text: &str) -> Option<Moment> {
    let shown = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
    let at = Moment::from(clock::Shown::at(zone, shown).first());
    (at > Moment::EPOCH && at < Moment::END).then_some(at)
}

impl Manner {
    /// This zone, with the defaults.
    pub fn usual(zone: Tz) -> Self {
        Self { zone, days: DayRule::default(), gap: DstGap::default(), overlap: DstOverlap::default() }
    }
}

impl Cron {
    pub fn parse(text: &str, manner: Manner, spread: Spread) -> Result<Self, CronError> {
        let Meaning { fields, kind, is_spread } = parse::expression(text, manner.days, spread)?;
        if !fields.ever() {
            return Err(CronError::Never { text: text.to_owned() });
        }
        Ok(Self { text: text.to_owned(), manner, spread: is_spread.then_some(spread), fields, kind })
    }

    /// An expression that was parsed before, from what it meant then.
    pub fn parsed(text: String, manner: Manner, spread: Option<Spread>, fields: Fields, kind: Kind) -> Self {
        Self { text, manner, spread, fields, kind }
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Whose it is, if the text has to know.
    pub fn spread(&self) -> Option<Spread> {
        self.spread
    }

    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn zone(&self) -> Tz {
        self.manner.zone
    }
}

/// A zone's local time at `t`, with the offset that distinguishes the two passes of an overlap.
pub(super) fn local(zone: Tz, t: Moment) -> String {
    t.to_utc().with_timezone(&zone).to_rfc3339_opts(SecondsFormat::AutoSi, false)
}

#[cfg(test)]
impl Cron {
    fn usual(text: &str, zone: Tz) -> Result<Self, CronError> {
        Self::parse(text, Manner::usual(zone), Spread::default())
    }

    fn local(&self, t: Moment) -> String {
        local(self.zone(), t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    #[test]
    fn what_was_parsed_is_what_parsing_its_parts_again_gives() {
        let spread = Spread::of(JobId::from_bytes([7; 16]));
        for text in ["*/5 9-17 1,15 * MON", "H H(1-5) LW * *", "0 0 0 ? JAN 5L 2027-2030/2"] {
            for overlap in [DstOverlap::ByKind, DstOverlap::Both] {
                let manner = Manner { days: DayRule::Both, overlap, ..Manner::usual(Tz::Europe__Berlin) };
                let cron = Cron::parse(text, manner, spread).unwrap();

                let again = Cron::parse(cron.text(), cron.manner(), cron.spread().unwrap_or_default()).unwrap();
                let kept = Cron::parsed(text.to_owned(), manner, cron.spread(), *cron.fields(), cron.kind());

                assert_eq!((&again, &kept), (&cron, &cron));
                assert_eq!(cron.spread().is_some(), text.contains('H'), "{text}");
            }
        }
    }

    #[test]
    fn the_text_is_kept_as_written() {
        let cron = Cron::usual(" 0  2 * *\tmon ", Tz::UTC).unwrap();
        assert_eq!((cron.text(), cron.zone()), (" 0  2 * *\tmon ", Tz::UTC));
    }

    #[test]
    fn the_local_time_distinguishes_the_two_passes_of_an_overlap() {
        let cron = Cron::usual("30 * * * *", Tz::America__New_York).unwrap();
        let first = Moment::parse("2016-11-06T05:30:00Z").unwrap();
        let second = Moment::parse("2016-11-06T06:30:00Z").unwrap();
        assert_eq!(cron.local(first), "2016-11-06T01:30:00-04:00");
        assert_eq!(cron.local(second), "2016-11-06T01:30:00-05:00");
    }

    #[test]
    fn an_expression_that_never_fires_is_refused() {
        for text in
            ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 30-31 FEB *", "0 0 31 2 */2", "0 0 0 29 2 * 2027", "* * L-30 2 *"]
        {
            let refused = Cron::usual(text, Tz::UTC);
            assert_eq!(refused, Err(CronError::Never { text: text.to_owned() }));
        }
        for text in ["0 0 29 2 *", "0 0 29 2 */6", "0 0 30 2 MON", "0 0 31 * */7"] {
            assert!(Cron::usual(text, Tz::UTC).is_ok(), "{text}");
        }
    }
}
