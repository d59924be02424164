//! A schedule: the when of a job.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::schedule::cron::{Cron, Manner};
use minutehand_domain::schedule::{Jitter, Schedule, ShortForm, When};
use minutehand_domain::workflow::edge::On;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cron::{CronV1, MannerV1};
use super::definition::OnV1;
use super::span::SpanV1;
use super::{Maybe, Shape, shapes};

shapes! {
    ScheduleV1 => Schedule,
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
