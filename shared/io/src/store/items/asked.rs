//! What an idempotency key was answered with, by the name that the key gives it.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::{Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for Asked {
    const KIND: &'static str = "asked";

    type Key = AskedName;

    fn place(name: &AskedName) -> Place {
        Place::named(name.to_string())
    }

    fn expires_at(&self) -> Option<Moment> {
        self.until
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
    const NEWEST: u8 = 2;

    /// Shape 1 says everything but until when it is answered for.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.until {
            None => writer.shape(1, &Filed { document: in_shape::<AskedV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<AskedV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<AskedV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<AskedV2, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { AskedV1 => Asked, AskedV2 => Asked }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Asked")]
struct AskedV1 {
    name: AskedName,
    fingerprint: Fingerprint,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    #[serde(skip)]
    until: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Asked")]
struct AskedV2 {
    name: AskedName,
    fingerprint: Fingerprint,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    until: Option<Moment>,
}
