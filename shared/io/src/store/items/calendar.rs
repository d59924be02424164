//! A tenant's calendar, by its place; beside it what its versions say, and who heeds it, a job each.

use minutehand_domain::Moment;
use minutehand_domain::calendar::{CalendarName, CalendarUse, CalendarVersion, Goes, Shared, Walk};
use minutehand_domain::id::{JobId, Tenant};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Maybe, Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, Span};

impl Item for Shared {
    const KIND: &'static str = "calendar";

    type Key = JobId;

    fn place(place: &JobId) -> Place {
        Place::named(place.to_string())
    }
}

/// A tenant's calendars, those that go among them.
impl Listed for Shared {
    type Within = ();

    fn span((): &(), past: Option<&JobId>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Shared {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<SharedV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<SharedV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// What a version says, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRules {
    pub text: String,
}

impl Item for KeptRules {
    const KIND: &'static str = "rules";
    const IMMUTABLE: bool = true;

    type Key = (JobId, CalendarVersion);

    fn place((place, version): &Self::Key) -> Place {
        Place::new(Partition::History(*place), [Part::Word(version.to_string())])
    }
}

impl Stored for KeptRules {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, self)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape(),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

impl Item for CalendarUse {
    const KIND: &'static str = "use";

    /// The calendar's place, and the job.
    type Key = (JobId, JobId);

    fn place((place, job): &Self::Key) -> Place {
        Place::new(Partition::History(*place), [Part::Job(*job)])
    }
}

/// Who heeds a calendar, by their ids.
impl Listed for CalendarUse {
    type Within = JobId;

    fn span(place: &JobId, past: Option<&Self::Key>) -> Option<Span> {
        Some(Span::all(Partition::History(*place), past.map(Self::place)))
    }
}

impl Stored for CalendarUse {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<CalendarUseV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<CalendarUseV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { SharedV1 => Shared, WalkV1 => Walk, GoesV1 => Goes, CalendarUseV1 => CalendarUse }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Shared")]
struct SharedV1 {
    tenant: Tenant,
    name: CalendarName,
    generation: u64,
    version: CalendarVersion,
    created_at: Moment,
    changed_at: Moment,
    #[serde(default, with = "Maybe::<WalkV1>")]
    walk: Option<Walk>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Walk")]
struct WalkV1 {
    past: Option<JobId>,
    #[serde(default, with = "Maybe::<GoesV1>")]
    goes: Option<Goes>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Goes", rename_all = "snake_case")]
enum GoesV1 {
    IfUnused,
    InAnyCase,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CalendarUse")]
struct CalendarUseV1 {
    job: JobId,
    written: Moment,
}
