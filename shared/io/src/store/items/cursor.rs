//! The cursor of a shard: how far its sweeping has come. It is the deployment's, whatever tenant is named with it.

use minutehand_domain::Moment;
use minutehand_domain::cursor::{Cursor, Step};
use minutehand_domain::timer::TimerKey;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::timer::TimerKeyV1;
use crate::shapes::{Many, shapes};
use crate::store::item::{Form, Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place};

impl Item for Cursor {
    const KIND: &'static str = "cursor";

    type Key = u16;

    fn place(shard: &u16) -> Place {
        Place::new(Partition::Shard(*shard), [])
    }
}

impl Stored for Cursor {
    const NEWEST: u8 = 2;

    /// Shape 1 says everything but what a pass in the middle knows; so a release that knows no other reads whatever a quiet
    /// sweep left. As attributes what is more stands beside it: a release that passes it over gives some hints again, and sweeps
    /// an hour where a search was under way.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match writer.form() {
            Form::Bytes if self.steps.is_empty() && self.searching.is_none() => writer.shape(1, &CursorV1::of(self)),
            Form::Bytes => writer.shape(2, &CursorV2::of(self)),
            Form::Attributes => writer.shape(1, &AttributesV1::of(self)),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape::<CursorV1>().map(CursorV1::cursor),
            (1, Form::Attributes) => reader.shape::<AttributesV1>().map(AttributesV1::cursor),
            (2, Form::Bytes) => reader.shape::<CursorV2>().map(CursorV2::cursor),
            (later, _) => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { StepV2 => Step }

#[derive(Serialize, Deserialize)]
struct CursorV1 {
    hinted_to: Moment,
    oldest: i64,
    swept_at: Moment,
}

#[derive(Serialize, Deserialize)]
struct CursorV2 {
    hinted_to: Moment,
    oldest: i64,
    swept_at: Moment,
    #[serde(with = "Many::<StepV2>")]
    steps: Vec<Step>,
    searching: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
struct AttributesV1 {
    hinted_to: Moment,
    oldest: i64,
    swept_at: Moment,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Many::<StepV2>")]
    steps: Vec<Step>,
    searching: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Step")]
struct StepV2 {
    #[serde(with = "TimerKeyV1")]
    through: TimerKey,
    began: Moment,
}

impl CursorV1 {
    fn of(cursor: &Cursor) -> Self {
        Self { hinted_to: cursor.hinted_to, oldest: cursor.oldest, swept_at: cursor.swept_at }
    }

    fn cursor(self) -> Cursor {
        let Self { hinted_to, oldest, swept_at } = self;
        Cursor { hinted_to, swept_at, ..Cursor::starting_at(oldest) }
    }
}

impl CursorV2 {
    fn of(cursor: &Cursor) -> Self {
        let Cursor { hinted_to, oldest, swept_at, steps, searching } = cursor.clone();
        Self { hinted_to, oldest, swept_at, steps, searching }
    }

    fn cursor(self) -> Cursor {
        let Self { hinted_to, oldest, swept_at, steps, searching } = self;
        Cursor { hinted_to, oldest, swept_at, steps, searching }
    }
}

impl AttributesV1 {
    fn of(cursor: &Cursor) -> Self {
        let Cursor { hinted_to, oldest, swept_at, steps, searching } = cursor.clone();
        Self { hinted_to, oldest, swept_at, steps, searching }
    }

    fn cursor(self) -> Cursor {
        let Self { hinted_to, oldest, swept_at, steps, searching } = self;
        Cursor { hinted_to, oldest, swept_at, steps, searching }
    }
}
