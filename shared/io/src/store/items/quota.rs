//! A quota, by its tenant's name among the deployment's own.

use minutehand_domain::id::Tenant;
use minutehand_domain::quota::Quota;

use super::document::Filed;
use crate::Fault;
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for Quota {
    const KIND: &'static str = "quota";

    type Key = Tenant;

    fn place(tenant: &Tenant) -> Place {
        Place::named(tenant.as_str())
    }
}

/// Quotas by tenant.
impl Listed for Quota {
    type Within = ();

    fn span((): &(), past: Option<&Tenant>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Quota {
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
