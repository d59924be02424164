//! A body of one run, kept apart: what it was given, or what came of it, too long for its record. It lies beneath the run, and goes with it.

use minutehand_domain::Moment;
use minutehand_domain::body::{Digest, Json};
use minutehand_domain::id::RunKey;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, parts_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBody {
    pub json: Json,
    /// Until when a store keeps it that does not delete it with the run.
    pub until: Moment,
}

/// Found by its run, and by the name that its content gives it: two writers can never overwrite each other's.
impl Item for RunBody {
    const KIND: &'static str = "runbody";

    type Key = (RunKey, Digest);

    fn place((run, digest): &Self::Key) -> Place {
        let mut sort = parts_of(*run).to_vec();
        sort.push(Part::Digest(*digest));
        Place::new(Partition::History(run.job), sort)
    }

    fn given_up_at(&self) -> Option<Moment> {
        Some(self.until)
    }
}

impl Stored for RunBody {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<RunBodyV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<RunBodyV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { RunBodyV1 => RunBody }

#[derive(Serialize, Deserialize)]
#[serde(remote = "RunBody")]
struct RunBodyV1 {
    json: Json,
    until: Moment,
}
