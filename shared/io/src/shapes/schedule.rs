//! A schedule: the when of a job.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::calendar::{Calendar, CalendarName, CalendarVersion};
use minutehand_domain::id::JobId;
use minutehand_domain::schedule::cron::{Cron, Manner};
use minutehand_domain::schedule::{Heeded, Jitter, Observance, OnExcluded, Schedule, ShortForm, When};
use minutehand_domain::workflow::edge::On;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cron::{CronV1, MannerV1};
use super::definition::OnV1;
use super::span::SpanV1;
use super::{Many, Maybe, Shape, shapes};

shapes! {
    ScheduleV1 => Schedule,
    ScheduleV2 => Schedule,
    ObservanceV2 => Observance,
    HeededV2 => Heeded,
    OnExcludedV2 => OnExcluded,
    WhenV1 => When,
    ShortFormV1 => ShortForm,
    JitterV1 => Jitter,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Schedule")]
pub(crate) struct ScheduleV1 {
    #[serde(with = "WhenV1")]
    when: When,
    #[serde(default, with = "Maybe::<ShortFormV1>")]
    short_form: Option<ShortForm>,
    start_at: Option<Moment>,
    end_at: Option<Moment>,
    max_fires: Option<u32>,
    last: Option<Moment>,
    #[serde(default, with = "Maybe::<JitterV1>")]
    jitter: Option<Jitter>,
    #[serde(skip)]
    observance: Option<Box<Observance>>,
}

/// It heeds calendars.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Schedule")]
pub(crate) struct ScheduleV2 {
    #[serde(with = "WhenV1")]
    when: When,
    #[serde(default, with = "Maybe::<ShortFormV1>")]
    short_form: Option<ShortForm>,
    start_at: Option<Moment>,
    end_at: Option<Moment>,
    max_fires: Option<u32>,
    last: Option<Moment>,
    #[serde(default, with = "Maybe::<JitterV1>")]
    jitter: Option<Jitter>,
    #[serde(default, with = "Maybe::<BoxedObservanceV2>")]
    observance: Option<Box<Observance>>,
}

struct BoxedObservanceV2;

impl Shape<Box<Observance>> for BoxedObservanceV2 {
    fn serialize<S: Serializer>(observance: &Box<Observance>, serializer: S) -> Result<S::Ok, S::Error> {
        ObservanceV2::serialize(observance, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Observance>, D::Error> {
        ObservanceV2::deserialize(deserializer).map(Box::new)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Observance")]
struct ObservanceV2 {
    #[serde(with = "Many::<HeededV2>")]
    calendars: Vec<Heeded>,
    #[serde(with = "OnExcludedV2")]
    on_excluded: OnExcluded,
    from: Moment,
}

/// What the version says is an item of its own.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Heeded")]
struct HeededV2 {
    name: CalendarName,
    version: Option<CalendarVersion>,
    #[serde(skip)]
    known: Option<Arc<Calendar>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OnExcluded", rename_all = "snake_case")]
enum OnExcludedV2 {
    Skip,
    Move,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "When", rename_all = "snake_case")]
enum WhenV1 {
    Now {
        at: Moment,
    },
    At {
        at: Moment,
    },
    After {
        seconds: u64,
        at: Moment,
    },
    Every {
        seconds: u64,
        from: Moment,
    },
    Cron(#[serde(with = "BoxedCronV1")] Box<Cron>),
    OnDemand,
    /// From shape 7 of a job on.
    Follows {
        job: JobId,
        #[serde(with = "OnV1")]
        on: On,
    },
}

struct BoxedCronV1;

impl Shape<Box<Cron>> for BoxedCronV1 {
    fn serialize<S: Serializer>(cron: &Box<Cron>, serializer: S) -> Result<S::Ok, S::Error> {
        CronV1::serialize(cron, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Cron>, D::Error> {
        CronV1::deserialize(deserializer).map(Box::new)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ShortForm")]
struct ShortFormV1 {
    text: String,
    #[serde(with = "MannerV1")]
    manner: Manner,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Jitter")]
struct JitterV1 {
    most_seconds: u32,
    #[serde(with = "SpanV1")]
    by: Duration,
    from: Moment,
}
