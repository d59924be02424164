//! What a version of a calendar says.

use chrono_tz::Tz;
use minutehand_domain::Moment;
use minutehand_domain::calendar::{Date, ExcludedDate, Maintenance, Rules, Time, WeekDays};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Many, Maybe, Shape, shapes};

shapes! {
    RulesV1 => Rules,
    ExcludedDateV1 => ExcludedDate,
    TimeV1 => Time,
    MaintenanceV1 => Maintenance,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Rules")]
pub(crate) struct RulesV1 {
    description: Option<String>,
    #[serde(with = "ZoneV1")]
    zone: Tz,
    #[serde(with = "Many::<ExcludedDateV1>")]
    dates: Vec<ExcludedDate>,
    #[serde(with = "Many::<TimeV1>")]
    excluded: Vec<Time>,
    #[serde(with = "Many::<TimeV1>")]
    allowed: Vec<Time>,
    #[serde(with = "Maybe::<DaysV1>")]
    business_days: Option<WeekDays>,
    #[serde(with = "Many::<MaintenanceV1>")]
    maintenance: Vec<Maintenance>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ExcludedDate")]
struct ExcludedDateV1 {
    #[serde(with = "DateV1")]
    date: Date,
    reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Time")]
struct TimeV1 {
    #[serde(with = "DaysV1")]
    days: WeekDays,
    from: u16,
    until: u16,
    reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Maintenance")]
struct MaintenanceV1 {
    from: Moment,
    until: Moment,
    reason: Option<String>,
}

struct ZoneV1;

impl ZoneV1 {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field itself")]
    fn serialize<S: Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(zone.name())
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tz, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|_| D::Error::custom("this is no zone"))
    }
}

struct DateV1;

impl DateV1 {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn serialize<S: Serializer>(date: &Date, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(date)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        Date::parse(&String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("this is no date"))
    }
}

/// A bit for each day, Monday's the lowest.
struct DaysV1;

impl Shape<WeekDays> for DaysV1 {
    fn serialize<S: Serializer>(days: &WeekDays, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(days.bits())
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<WeekDays, D::Error> {
        u8::deserialize(deserializer).map(WeekDays::from_bits)
    }
}
