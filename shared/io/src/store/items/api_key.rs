//! A key, by its id.

use minutehand_domain::access::{ApiKey, KeyId};

use super::document::Filed;
use crate::Fault;
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for ApiKey {
    const KIND: &'static str = "key";

    type Key = KeyId;

    fn place(id: &KeyId) -> Place {
        Place::named(id.to_string())
    }
}

/// A tenant's keys by id.
impl Listed for ApiKey {
    type Within = ();

    fn span((): &(), past: Option<&KeyId>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for ApiKey {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: self })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape().map(|Filed { document }| document),
            later => Err(later_shape::<Self>(later)),
        }
    }
}
