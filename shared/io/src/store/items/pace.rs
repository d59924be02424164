//! The pace of a rate's key: when the next attempt of all that share it may begin.

use minutehand_domain::Moment;
use minutehand_domain::slot::{Pace, SlotId};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place};

/// It lies as the things of a job do, of which no other has this id: each key by itself, since each attempt writes it.
impl Item for Pace {
    const KIND: &'static str = "pace";

    type Key = SlotId;

    fn place(rate: &SlotId) -> Place {
        Place::new(Partition::History(rate.job()), [Part::Number(0)])
    }
}

impl Stored for Pace {
    const NEWEST: u8 = 2;

    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.written {
            WRITTEN_IN_SHAPE_1 => writer.shape(1, &in_shape::<PaceV1, _>(self)),
            _ => writer.shape(2, &in_shape::<PaceV2, _>(self)),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<PaceV1, _>>().map(|of| of.0),
            2 => reader.shape::<Of<PaceV2, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    PaceV1 => Pace,
    PaceV2 => Pace,
}

/// It says nothing of when it was written, and is believed.
const WRITTEN_IN_SHAPE_1: Moment = Moment::EPOCH;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Pace")]
struct PaceV1 {
    next: Moment,
    next_late: Moment,
    #[serde(skip, default = "written_in_shape_1")]
    written: Moment,
}

fn written_in_shape_1() -> Moment {
    WRITTEN_IN_SHAPE_1
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Pace")]
struct PaceV2 {
    next: Moment,
    next_late: Moment,
    written: Moment,
}
