//! A retention: its days.

use minutehand_domain::retention::Retention;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

use super::Shape;

pub(crate) struct RetentionV1;

impl Shape<Retention> for RetentionV1 {
    fn serialize<S: Serializer>(retention: &Retention, serializer: S) -> Result<S::Ok, S::Error> {
        retention.days().serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Retention, D::Error> {
        let days = u16::deserialize(deserializer)?;
        Retention::of_days(days).ok_or_else(|| D::Error::custom("nothing is kept for so many days"))
    }
}
