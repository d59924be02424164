//! A body kept apart: a payload or a result too long for its record, under the name that its content gives it.

use minutehand_domain::body::{Digest, Json};
use minutehand_domain::id::JobId;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBody {
    pub json: Json,
}

impl Item for KeptBody {
    const KIND: &'static str = "body";
    const IMMUTABLE: bool = true;

    type Key = (JobId, Digest);

    fn place((job, digest): &(JobId, Digest)) -> Place {
        Place::new(Partition::History(*job), [Part::Digest(*digest)])
    }
}

impl Stored for KeptBody {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<KeptBodyV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<KeptBodyV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { KeptBodyV1 => KeptBody }

#[derive(Serialize, Deserialize)]
#[serde(remote = "KeptBody")]
struct KeptBodyV1 {
    json: Json,
}
