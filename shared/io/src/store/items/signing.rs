//! A tenant's signing secrets: one document.

use minutehand_domain::Moment;
use minutehand_domain::signing::{FormerSecret, SigningSecret, SigningSecrets};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Maybe, Of, in_shape, shapes};
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
        writer.shape(1, &Filed { document: in_shape::<SigningSecretsV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<SigningSecretsV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { SigningSecretsV1 => SigningSecrets, FormerSecretV1 => FormerSecret }

#[derive(Serialize, Deserialize)]
#[serde(remote = "SigningSecrets")]
struct SigningSecretsV1 {
    current: SigningSecret,
    created_at: Moment,
    #[serde(default, with = "Maybe::<FormerSecretV1>")]
    former: Option<FormerSecret>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FormerSecret")]
struct FormerSecretV1 {
    secret: SigningSecret,
    until: Moment,
}
