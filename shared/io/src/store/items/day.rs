//! What was counted of the ends of a job's runs.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::health::day::{Day, Ends};
use minutehand_domain::id::JobId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place};

impl Item for Day {
    const KIND: &'static str = "day";

    type Key = JobId;

    fn place(job: &JobId) -> Place {
        Place::new(Partition::History(*job), [Part::Number(0)])
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.expires_at())
    }
}

impl Stored for Day {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<DayV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<DayV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { DayV1 => Day }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Day")]
struct DayV1 {
    #[serde(with = "HoursV1")]
    hours: BTreeMap<u32, Ends>,
    until: Moment,
}

/// The hour, and how many succeeded, failed and timed out in it.
struct HoursV1;

impl HoursV1 {
    fn serialize<S: Serializer>(hours: &BTreeMap<u32, Ends>, serializer: S) -> Result<S::Ok, S::Error> {
        let each = hours.iter().map(|(hour, ends)| (*hour, ends.succeeded, ends.failed, ends.timed_out));
        serializer.collect_seq(each)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u32, Ends>, D::Error> {
        let each = Vec::<(u32, u64, u64, u64)>::deserialize(deserializer)?.into_iter();
        Ok(each.map(|(hour, succeeded, failed, timed_out)| (hour, Ends { succeeded, failed, timed_out })).collect())
    }
}
