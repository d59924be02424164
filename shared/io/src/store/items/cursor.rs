//! The cursor of a shard: how far its sweeping has come. It is the deployment's, whatever tenant is named with it.

use minutehand_domain::Moment;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Up to when hints were given.
    pub hinted_to: Moment,
    /// The oldest bucket not yet left.
    pub oldest: i64,
    /// When the last pass began.
    pub swept_at: Moment,
}

impl Item for Cursor {
    const KIND: &'static str = "cursor";

    type Key = u16;

    fn place(shard: &u16) -> Place {
        Place::new(Partition::Shard(*shard), [])
    }
}

impl Stored for Cursor {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<CursorV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<CursorV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { CursorV1 => Cursor }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Cursor")]
struct CursorV1 {
    hinted_to: Moment,
    oldest: i64,
    swept_at: Moment,
}
