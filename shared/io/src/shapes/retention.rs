//! A retention: its days; and that it was less long before.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::keeping::{Keeping, Lengthened};
use minutehand_domain::retention::Retention;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::span::SpanV1;
use super::{Maybe, Shape, shapes};

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

shapes! {
    LengthenedV1 => Lengthened,
    KeepingV1 => Keeping,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lengthened")]
pub(crate) struct LengthenedV1 {
    at: Moment,
    #[serde(with = "KeepingV1")]
    from: Keeping,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Keeping")]
struct KeepingV1 {
    #[serde(default, with = "Maybe::<RetentionV1>")]
    retention: Option<Retention>,
    #[serde(with = "SpanV1")]
    window: Duration,
}
