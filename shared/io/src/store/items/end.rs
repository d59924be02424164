//! The end of a run that is counted, among those of its job by when each was.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::health::day::{End, EndKey, How};
use minutehand_domain::id::{JobId, RunKey};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::{Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};

impl Item for End {
    const KIND: &'static str = "end";
    const IMMUTABLE: bool = true;

    type Key = EndKey;

    fn place(EndKey { at, run }: &EndKey) -> Place {
        let mut sort = vec![Part::Instant(*at)];
        sort.extend(parts_of(*run));
        Place::new(Partition::History(run.job), sort)
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.expires_at())
    }
}

/// The ends of a job's runs in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndsOf {
    pub job: JobId,
    pub window: Range<Moment>,
}

/// Oldest first.
impl Listed for End {
    type Within = EndsOf;

    fn span(EndsOf { job, window }: &EndsOf, past: Option<&EndKey>) -> Option<Span> {
        let past = past.map(|key| Self::place(key).sort);
        Span::between(Partition::History(*job), window, past, Order::Forward)
    }
}

impl Stored for End {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<EndV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<EndV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { EndV1 => End, EndKeyV1 => EndKey, HowV1 => How }

#[derive(Serialize, Deserialize)]
#[serde(remote = "End")]
struct EndV1 {
    #[serde(with = "EndKeyV1")]
    key: EndKey,
    #[serde(with = "HowV1")]
    how: How,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EndKey")]
struct EndKeyV1 {
    at: Moment,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "How", rename_all = "snake_case")]
enum HowV1 {
    Succeeded,
    Failed,
    TimedOut,
}
