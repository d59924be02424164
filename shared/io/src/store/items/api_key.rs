//! A key, by its id.

use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, Former, KeyId, Role, SecretHash};
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Maybe, Of, in_shape, shapes};
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
    const NEWEST: u8 = 2;

    /// Shape 1 says everything but that a key ends. It is written for one that does not, so that a release that knows of no end can be
    /// gone back to.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.expires_at {
            None => writer.shape(1, &Filed { document: in_shape::<ApiKeyV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<ApiKeyV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<ApiKeyV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<ApiKeyV2, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    ApiKeyV1 => ApiKey,
    ApiKeyV2 => ApiKey,
    RoleV1 => Role,
    FormerV1 => Former,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ApiKey")]
struct ApiKeyV1 {
    tenant: Tenant,
    id: KeyId,
    name: String,
    #[serde(with = "RoleV1")]
    role: Role,
    created_at: Moment,
    revoked_at: Option<Moment>,
    secret: SecretHash,
    #[serde(default, with = "Maybe::<FormerV1>")]
    former: Option<Former>,
    fingerprint: Option<Fingerprint>,
    /// No key ended.
    #[serde(skip)]
    expires_at: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ApiKey")]
struct ApiKeyV2 {
    tenant: Tenant,
    id: KeyId,
    name: String,
    #[serde(with = "RoleV1")]
    role: Role,
    created_at: Moment,
    revoked_at: Option<Moment>,
    secret: SecretHash,
    #[serde(default, with = "Maybe::<FormerV1>")]
    former: Option<Former>,
    fingerprint: Option<Fingerprint>,
    expires_at: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Role", rename_all = "snake_case")]
enum RoleV1 {
    Viewer,
    Operator,
    Admin,
    Host,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Former")]
struct FormerV1 {
    secret: SecretHash,
    until: Moment,
}
