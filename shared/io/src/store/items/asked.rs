//! What an idempotency key was answered with, by the name that the key gives it.

use minutehand_domain::idempotency::{Asked, AskedName};

use super::document::Filed;
use crate::Fault;
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for Asked {
    const KIND: &'static str = "asked";

    type Key = AskedName;

    fn place(name: &AskedName) -> Place {
        Place::named(name.to_string())
    }
}

/// By name.
impl Listed for Asked {
    type Within = ();

    fn span((): &(), past: Option<&AskedName>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Asked {
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
