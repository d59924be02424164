//! A tenant's secret, by its name: what it says is sealed.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::secret::{Sealed, Secret, SecretName, State};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for Secret {
    const KIND: &'static str = "secret";

    type Key = SecretName;

    fn place(name: &SecretName) -> Place {
        Place::named(name.as_str())
    }

    /// What was deleted is looked at by nobody.
    fn expires_at(&self) -> Option<Moment> {
        match self.state {
            State::Kept(_) => None,
            State::Deleted { at } => Some(at),
        }
    }
}

/// A tenant's secrets by name; deleted ones are left out.
impl Listed for Secret {
    type Within = ();

    fn span((): &(), past: Option<&SecretName>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }

    fn counts(&self) -> bool {
        self.sealed().is_some()
    }
}

impl Stored for Secret {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<SecretV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<SecretV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { SecretV1 => Secret, StateV1 => State, SealedV1 => Sealed }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Secret")]
struct SecretV1 {
    tenant: Tenant,
    name: SecretName,
    version: u32,
    created_at: Moment,
    rotated_at: Option<Moment>,
    #[serde(with = "StateV1")]
    state: State,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV1 {
    Kept(#[serde(with = "SealedV1")] Sealed),
    Deleted { at: Moment },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Sealed")]
struct SealedV1 {
    by: String,
    #[serde(with = "bytes")]
    bytes: Vec<u8>,
}

/// Bytes as bytes: a list of numbers would be several times as long.
mod bytes {
    use std::fmt;

    use serde::de::{Error, SeqAccess, Visitor};

    use super::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        from.deserialize_byte_buf(Bytes)
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}
