//! An instant on the wire: RFC 3339, read with any offset, written in UTC with milliseconds.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use minutehand_domain::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant(pub Moment);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment = Moment::parse(&text).ok_or_else(|| {
            D::Error::custom(format_args!(
                "`{text:.64}` is not an instant from 1970 to 9999 as RFC 3339 writes it: 2026-11-20T12:30:00Z"
            ))
        })?;
        Ok(Self(moment))
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
