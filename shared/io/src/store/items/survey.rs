//! The survey of a deployment: how far the search for the first bucket of each shard has come. It lies beside the cursors.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::survey::{Segment, Survey};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place};

impl Item for Survey {
    const KIND: &'static str = "survey";

    /// There is one.
    type Key = ();

    fn place(_one: &()) -> Place {
        Place::new(Partition::Shard(0), [])
    }
}

impl Stored for Survey {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &SurveyV1::of(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<SurveyV1>().map(SurveyV1::survey),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct SurveyV1 {
    began: Moment,
    segments: Vec<SegmentV1>,
    first: Vec<(u16, i64)>,
    timers: u64,
}

#[derive(Serialize, Deserialize)]
struct SegmentV1 {
    done: bool,
    behind: Option<String>,
}

impl SurveyV1 {
    fn of(survey: &Survey) -> Self {
        let segment = |segment: &Segment| match segment {
            Segment::Done => SegmentV1 { done: true, behind: None },
            Segment::Behind(past) => SegmentV1 { done: false, behind: past.clone() },
        };
        let Survey { began, segments, first, timers } = survey;
        Self {
            began: *began,
            segments: segments.iter().map(segment).collect(),
            first: first.iter().map(|(shard, minute)| (*shard, *minute)).collect(),
            timers: *timers,
        }
    }

    fn survey(self) -> Survey {
        let segment = |SegmentV1 { done, behind }| if done { Segment::Done } else { Segment::Behind(behind) };
        Survey {
            began: self.began,
            segments: self.segments.into_iter().map(segment).collect(),
            first: BTreeMap::from_iter(self.first),
            timers: self.timers,
        }
    }
}
