//! An instant on the wire: RFC 3339, read with any offset, written in UTC with milliseconds.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use minutehand_domain::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub Moment);

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

impl From<Moment> for Instant {
    fn from(moment: Moment) -> Self {
        Self(moment)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for Instant {
    fn schema_name() -> Cow<'static, str> {
        "Instant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "date-time", "pattern": "^(19[7-9]|[2-9][0-9]{2})[0-9]-",
            "examples": ["2027-01-15T08:00:00.000Z"],
            "description": "An instant as RFC 3339 writes it, from 1970 to 9999. Read with any offset and to the millisecond; \
                always shown in UTC.",
        })
    }
}
