//! When a key was last used, to a coarse grain. It lies beside the key and not inside of it: a rotation or revocation must not
//! be refused because somebody used it.

use minutehand_domain::Moment;
use minutehand_domain::access::{KeyId, KeyUse};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for KeyUse {
    const KIND: &'static str = "keyuse";

    type Key = KeyId;

    fn place(id: &KeyId) -> Place {
        Place::named(id.to_string())
    }
}

/// As the keys are listed.
impl Listed for KeyUse {
    type Within = ();

    fn span((): &(), past: Option<&KeyId>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for KeyUse {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<KeyUseV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<KeyUseV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { KeyUseV1 => KeyUse }

#[derive(Serialize, Deserialize)]
#[serde(remote = "KeyUse")]
struct KeyUseV1 {
    id: KeyId,
    last_used_at: Moment,
}
