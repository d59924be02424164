//! That a tenant is being erased, by its name among the deployment's own.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::operation::{Erasing, OperationId};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::Place;

impl Item for Erasing {
    const KIND: &'static str = "erasing";

    type Key = Tenant;

    fn place(tenant: &Tenant) -> Place {
        Place::named(tenant.as_str())
    }
}

impl Stored for Erasing {
    const NEWEST: u8 = 1;

    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<ErasingV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<ErasingV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { ErasingV1 => Erasing }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Erasing")]
struct ErasingV1 {
    tenant: Tenant,
    of: Tenant,
    operation: OperationId,
    since: Moment,
}
