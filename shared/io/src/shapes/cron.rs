//! A cron expression. For people it is its text and its manner, and is parsed again when it is read; in bytes it also says
//! what the text meant, so that reading a job parses nothing.

use std::borrow::Cow;

use chrono_tz::Tz;
use minutehand_domain::schedule::Spread;
use minutehand_domain::schedule::cron::{
    Cron, DayRule, DaysMatch, DaysOfMonth, DaysOfWeek, DstGap, DstOverlap, Fields, Kind, Manner, Years,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Shape, shapes};

shapes! {
    MannerV1 => Manner,
    DayRuleV1 => DayRule,
    DstGapV1 => DstGap,
    DstOverlapV1 => DstOverlap,
    FieldsV1 => Fields,
    DaysOfMonthV1 => DaysOfMonth,
    DaysOfWeekV1 => DaysOfWeek,
    YearsV1 => Years,
    DaysMatchV1 => DaysMatch,
    KindV1 => Kind,
}

pub(crate) struct CronV1;

impl Shape<Cron> for CronV1 {
    fn serialize<S: Serializer>(cron: &Cron, serializer: S) -> Result<S::Ok, S::Error> {
        let (text, manner, spread) = (Cow::Borrowed(cron.text()), cron.manner(), cron.spread());
        if serializer.is_human_readable() {
            return TextV1 { text, manner, spread }.serialize(serializer);
        }
        let (fields, kind) = (*cron.fields(), cron.kind());
        ParsedV1 { text, manner, spread, fields, kind }.serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cron, D::Error> {
        if deserializer.is_human_readable() {
            let TextV1 { text, manner, spread } = TextV1::deserialize(deserializer)?;
            return Cron::parse(&text, manner, spread.unwrap_or_default()).map_err(D::Error::custom);
        }
        let ParsedV1 { text, manner, spread, fields, kind } = ParsedV1::deserialize(deserializer)?;
        Ok(Cron::parsed(text.into_owned(), manner, spread, fields, kind))
    }
}

#[derive(Serialize, Deserialize)]
struct TextV1<'a> {
    text: Cow<'a, str>,
    #[serde(flatten, with = "MannerV1")]
    manner: Manner,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
}

#[derive(Serialize, Deserialize)]
struct ParsedV1<'a> {
    text: Cow<'a, str>,
    #[serde(with = "MannerV1")]
    manner: Manner,
    spread: Option<Spread>,
    #[serde(with = "FieldsV1")]
    fields: Fields,
    #[serde(with = "KindV1")]
    kind: Kind,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Manner")]
pub(crate) struct MannerV1 {
    zone: Tz,
    #[serde(with = "DayRuleV1")]
    days: DayRule,
    #[serde(with = "DstGapV1")]
    gap: DstGap,
    #[serde(with = "DstOverlapV1")]
    overlap: DstOverlap,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DayRule", rename_all = "snake_case")]
enum DayRuleV1 {
    Either,
    Both,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DstGap", rename_all = "snake_case")]
enum DstGapV1 {
    NextValid,
    Skip,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DstOverlap", rename_all = "snake_case")]
enum DstOverlapV1 {
    ByKind,
    First,
    Second,
    Both,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Kind")]
enum KindV1 {
    Fixed,
    Interval,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Fields")]
struct FieldsV1 {
    seconds: u64,
    minutes: u64,
    hours: u32,
    #[serde(with = "DaysOfMonthV1")]
    days: DaysOfMonth,
    months: u16,
    #[serde(with = "DaysOfWeekV1")]
    weekdays: DaysOfWeek,
    #[serde(with = "YearsV1")]
    years: Years,
    #[serde(with = "DaysMatchV1")]
    days_match: DaysMatch,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DaysOfMonth")]
struct DaysOfMonthV1 {
    dates: u32,
    from_last: u32,
    near: u32,
    near_from_last: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DaysOfWeek")]
struct DaysOfWeekV1 {
    weekly: u8,
    last: u8,
    nth: [u8; 5],
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Years")]
struct YearsV1([u64; 4]);

#[derive(Serialize, Deserialize)]
#[serde(remote = "DaysMatch")]
enum DaysMatchV1 {
    Both,
    Either,
}
