//! An attempt that no longer stands inside its run.

use std::borrow::Cow;

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Worker};
use minutehand_domain::run::attempt::Ended;
use minutehand_domain::run::{Attempt, AttemptError, Ending};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Maybe, Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};

/// Found by its run and its number.
impl Item for Attempt {
    const KIND: &'static str = "attempt";
    const IMMUTABLE: bool = true;

    type Key = (RunKey, u32);

    fn place((run, number): &(RunKey, u32)) -> Place {
        let mut sort = parts_of(*run).to_vec();
        sort.push(Part::Number(*number));
        Place::new(Partition::History(run.job), sort)
    }
}

/// A run's attempts, oldest first.
impl Listed for Attempt {
    type Within = RunKey;

    fn span(run: &RunKey, past: Option<&(RunKey, u32)>) -> Option<Span> {
        let (partition, within) = (Partition::History(run.job), parts_of(*run).to_vec());
        let past = past.map(|key| Self::place(key).sort);
        Some(Span { partition, within, from: None, to: None, past, order: Order::Forward })
    }
}

impl Stored for Attempt {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<AttemptV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<AttemptV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    AttemptV1 => Attempt,
    EndedV1 => Ended,
    EndingV1 => Ending,
    AttemptErrorV1 => AttemptError,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Attempt")]
pub(super) struct AttemptV1 {
    number: u32,
    worker: Worker,
    started_at: Moment,
    #[serde(default, with = "Maybe::<EndedV1>")]
    ended: Option<Ended>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ended")]
struct EndedV1 {
    at: Moment,
    #[serde(with = "EndingV1")]
    how: Ending,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ending", rename_all = "snake_case")]
enum EndingV1 {
    Succeeded,
    Failed(#[serde(with = "AttemptErrorV1")] AttemptError),
    TimedOut(#[serde(with = "AttemptErrorV1")] AttemptError),
    Lost,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AttemptError")]
struct AttemptErrorV1 {
    code: Cow<'static, str>,
    message: String,
    retryable: bool,
    reached: bool,
}
