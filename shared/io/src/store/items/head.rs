//! The head of a job: the job, or the tombstone that stands in its place.

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::store::item::{Form, Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, Span};

impl Item for Head {
    const KIND: &'static str = "head";

    type Key = JobId;

    fn place(job: &JobId) -> Place {
        Place::new(Partition::Jobs, [Part::Job(*job)])
    }
}

/// A tenant's jobs by id; tombstones are left out.
impl Listed for Head {
    type Within = ();

    fn span((): &(), past: Option<&JobId>) -> Option<Span> {
        Some(Span::all(Partition::Jobs, past.map(Self::place)))
    }

    fn counts(&self) -> bool {
        self.job().is_some()
    }
}

impl Stored for Head {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match (writer.form(), self) {
            (Form::Bytes, head) => writer.shape(1, head),
            (Form::Attributes, Self::Job(job)) => writer.shape(1, job),
            (Form::Attributes, Self::Tombstone { tenant, id, epoch }) => {
                writer.shape(1, &Tombstone { dead: true, tenant: tenant.clone(), id: *id, epoch: *epoch })
            }
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape(),
            (1, Form::Attributes) if reader.has("tombstone") => {
                let Tombstone { tenant, id, epoch, .. } = reader.shape()?;
                Ok(Self::Tombstone { tenant, id, epoch })
            }
            (1, Form::Attributes) => reader.shape::<Job>().map(Self::Job),
            (later, _) => Err(later_shape::<Self>(later)),
        }
    }
}

/// What tells it from a job is `tombstone`.
#[derive(Serialize, Deserialize)]
struct Tombstone {
    #[serde(rename = "tombstone")]
    dead: bool,
    tenant: Tenant,
    id: JobId,
    epoch: u32,
}
