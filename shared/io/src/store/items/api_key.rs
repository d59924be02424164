//! A key, by its id.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, Former, KeyId, Role, SecretHash};
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::pool::PoolName;
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
    const NEWEST: u8 = 3;

    /// Shape 1 says everything but that a key ends, shape 2 but the pools of a worker's. The oldest that says it all is written, so that
    /// a release that knows no more can be gone back to.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match (&self.pools, self.expires_at) {
            (None, None) => writer.shape(1, &Filed { document: in_shape::<ApiKeyV1, _>(self) }),
            (None, Some(_)) => writer.shape(2, &Filed { document: in_shape::<ApiKeyV2, _>(self) }),
            (Some(_), _) => writer.shape(3, &Filed { document: in_shape::<ApiKeyV3, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<ApiKeyV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<ApiKeyV2, _>>>().map(|filed| filed.document.0),
            3 => reader.shape::<Filed<Of<ApiKeyV3, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    ApiKeyV1 => ApiKey,
    ApiKeyV2 => ApiKey,
    ApiKeyV3 => ApiKey,
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
    #[serde(skip)]
    pools: Option<BTreeSet<PoolName>>,
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
    #[serde(skip)]
    pools: Option<BTreeSet<PoolName>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ApiKey")]
struct ApiKeyV3 {
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
    pools: Option<BTreeSet<PoolName>>,
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
