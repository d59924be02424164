//! A quota, by its tenant's name among the deployment's own.

use minutehand_domain::id::Tenant;
use minutehand_domain::keeping::Lengthened;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::retention::Retention;
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::retention::{LengthenedV1, RetentionV1};
use crate::shapes::{Maybe, Of, in_shape, shapes};
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
    const NEWEST: u8 = 4;

    /// Shape 1 says everything but how much is made up for in a minute, shape 2 but for how long runs are kept, and shape 3 but that this was less long.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.limits.max_catch_up_per_minute {
            _ if self.lengthened.is_some() => writer.shape(4, &Filed { document: in_shape::<QuotaV4, _>(self) }),
            _ if self.limits.retention.is_some() => writer.shape(3, &Filed { document: in_shape::<QuotaV3, _>(self) }),
            None => writer.shape(1, &Filed { document: in_shape::<QuotaV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<QuotaV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<QuotaV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<QuotaV2, _>>>().map(|filed| filed.document.0),
            3 => reader.shape::<Filed<Of<QuotaV3, _>>>().map(|filed| filed.document.0),
            4 => reader.shape::<Filed<Of<QuotaV4, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    QuotaV1 => Quota,
    QuotaV2 => Quota,
    QuotaV3 => Quota,
    QuotaV4 => Quota,
    LimitsV1 => Limits,
    LimitsV2 => Limits,
    LimitsV3 => Limits,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV1 {
    tenant: Tenant,
    #[serde(with = "LimitsV1")]
    limits: Limits,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
struct LimitsV1 {
    max_jobs: Option<u32>,
    max_fires_per_minute: Option<u32>,
    max_concurrent_runs: Option<u32>,
    max_requests_per_second: Option<u32>,
    #[serde(skip)]
    max_catch_up_per_minute: Option<u32>,
    #[serde(skip)]
    retention: Option<Retention>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV2 {
    tenant: Tenant,
    #[serde(with = "LimitsV2")]
    limits: Limits,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
struct LimitsV2 {
    max_jobs: Option<u32>,
    max_fires_per_minute: Option<u32>,
    max_concurrent_runs: Option<u32>,
    max_requests_per_second: Option<u32>,
    max_catch_up_per_minute: Option<u32>,
    #[serde(skip)]
    retention: Option<Retention>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV3 {
    tenant: Tenant,
    #[serde(with = "LimitsV3")]
    limits: Limits,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
struct LimitsV3 {
    max_jobs: Option<u32>,
    max_fires_per_minute: Option<u32>,
    max_concurrent_runs: Option<u32>,
    max_requests_per_second: Option<u32>,
    max_catch_up_per_minute: Option<u32>,
    #[serde(default, with = "Maybe::<RetentionV1>")]
    retention: Option<Retention>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV4 {
    tenant: Tenant,
    #[serde(with = "LimitsV3")]
    limits: Limits,
    #[serde(default, with = "Maybe::<LengthenedV1>")]
    lengthened: Option<Lengthened>,
}
