//! A tenant's signing secrets: one document.

use minutehand_domain::signing::SigningSecrets;

use super::document::Filed;
use crate::Fault;
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for SigningSecrets {
    const KIND: &'static str = "signing";

    type Key = ();

    fn place((): &()) -> Place {
        Place::named(Self::NAME)
    }
}

/// The one there is.
impl Listed for SigningSecrets {
    type Within = ();

    fn span((): &(), past: Option<&()>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for SigningSecrets {
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
