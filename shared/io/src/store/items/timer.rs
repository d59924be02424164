//! A timer. It is no item: it bears its own stamp in place of a version, and lies in minutes rather than with its tenant.

use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, RunKey, Tenant};
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::timer::{ObligationV1, TimerKeyV1, TimerStampV1};
use crate::shapes::{Maybe, Of, in_shape, shapes};
use crate::store::item::{Form, Reader, Stored, Writer, unknown_shape};

impl Stored for Timer {
    const NEWEST: u8 = 3;

    /// Shape 1 says everything but what workflows brought: runs of tasks, whose parents are named, and runs that go on with others. A
    /// message of a notification came with shape 3.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        let origin = self.key.run_key().origin;
        let shape = match origin {
            Origin::Notification => 3,
            Origin::Task | Origin::Resume => 2,
            Origin::Schedule | Origin::Manual | Origin::Redrive => 1 + u8::from(self.parent.is_some()),
        };
        match writer.form() {
            Form::Bytes if shape >= 2 => writer.shape(shape, &in_shape::<TimerV2, _>(self)),
            Form::Bytes => writer.shape(1, &in_shape::<TimerV1, _>(self)),
            Form::Attributes => writer.shape(shape, &AttributesV2::of(self)),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape::<Of<TimerV1, _>>().map(|of| of.0),
            (2 | 3, Form::Bytes) => reader.shape::<Of<TimerV2, _>>().map(|of| of.0),
            (1..=3, Form::Attributes) => reader.shape::<AttributesV2>().map(AttributesV2::timer),
            (later, _) => Err(unknown_shape("timer", later, Self::NEWEST)),
        }
    }
}

shapes! {
    TimerV1 => Timer,
    TimerV2 => Timer,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Timer")]
struct TimerV1 {
    #[serde(with = "TimerKeyV1")]
    key: TimerKey,
    tenant: Tenant,
    #[serde(with = "TimerStampV1")]
    stamp: TimerStamp,
    #[serde(skip)]
    parent: Option<RunKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Timer")]
struct TimerV2 {
    #[serde(with = "TimerKeyV1")]
    key: TimerKey,
    tenant: Tenant,
    #[serde(with = "TimerStampV1")]
    stamp: TimerStamp,
    #[serde(with = "Maybe::<RunKeyV1>")]
    parent: Option<RunKey>,
}

/// A timer whose stamp and key are attributes of their own: its eraser's condition names those of the stamp.
#[derive(Serialize, Deserialize)]
struct AttributesV2 {
    tenant: Tenant,
    due: Moment,
    #[serde(with = "ObligationV1")]
    thing: Obligation,
    generation: u64,
    written: Moment,
    /// Shape 1 has none.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<RunKeyV1>")]
    parent: Option<RunKey>,
}

impl AttributesV2 {
    fn of(timer: &Timer) -> Self {
        let Timer { key: TimerKey { due, obligation }, tenant, stamp: TimerStamp { generation, written }, parent } =
            timer.clone();
        Self { tenant, due, thing: obligation, generation, written, parent }
    }

    fn timer(self) -> Timer {
        let Self { tenant, due, thing: obligation, generation, written, parent } = self;
        Timer { key: TimerKey { due, obligation }, tenant, stamp: TimerStamp { generation, written }, parent }
    }
}
