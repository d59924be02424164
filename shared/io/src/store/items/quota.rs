//! A quota, by its tenant's name among the deployment's own.

use minutehand_domain::id::Tenant;
use minutehand_domain::quota::{Limits, Quota};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
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
    const NEWEST: u8 = 2;

    /// Shape 1 says everything but how much is made up for in a minute.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.limits.max_catch_up_per_minute {
            None => writer.shape(1, &Filed { document: in_shape::<QuotaV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<QuotaV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<QuotaV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<QuotaV2, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { QuotaV1 => Quota, QuotaV2 => Quota, LimitsV1 => Limits, LimitsV2 => Limits }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV1 {
    tenant: Tenant,
    #[serde(with = "LimitsV1")]
    limits: Limits,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
#[expect(clippy::struct_field_names, reason = "they are what is stored")]
struct LimitsV1 {
    max_jobs: Option<u32>,
    max_fires_per_minute: Option<u32>,
    max_concurrent_runs: Option<u32>,
    max_requests_per_second: Option<u32>,
    #[serde(skip)]
    max_catch_up_per_minute: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Quota")]
struct QuotaV2 {
    tenant: Tenant,
    #[serde(with = "LimitsV2")]
    limits: Limits,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
#[expect(clippy::struct_field_names, reason = "they are what is stored")]
struct LimitsV2 {
    max_jobs: Option<u32>,
    max_fires_per_minute: Option<u32>,
    max_concurrent_runs: Option<u32>,
    max_requests_per_second: Option<u32>,
    max_catch_up_per_minute: Option<u32>,
}
