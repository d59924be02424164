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

    /// Shape 1 says everything but what workflows brought: runs of tasks, whose parents are named, and runs that go on with others. Shape 3 is
    /// shape 2 with what a release of shape 2 knows nothing of: operations and calendars, runs of backfills, runs that follow others, runs of
    /// callbacks, messages of notifications, and another try at a run that failed, whose maker it would take for one that goes on with it.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        let shape = shape_of(self);
        match writer.form() {
            Form::Bytes if shape == 1 => writer.shape(1, &in_shape::<TimerV1, _>(self)),
            Form::Bytes => writer.shape(shape, &in_shape::<TimerV2, _>(self)),
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

/// The oldest that says it all.
fn shape_of(timer: &Timer) -> u8 {
    let is_new =
        |key: RunKey| matches!(key.origin, Origin::Backfill | Origin::Follow | Origin::Callback | Origin::Notification);
    match (timer.key.obligation, timer.key.run_key().origin, timer.parent) {
        (Obligation::Operation(_) | Obligation::Calendar(_), ..) | (_, Origin::Redrive, Some(_)) => 3,
        _ if is_new(timer.key.run_key()) || timer.parent.is_some_and(is_new) => 3,
        (_, Origin::Task | Origin::Resume, _) | (.., Some(_)) => 2,
        (.., None) => 1,
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

/// What every shape begins with in bytes: whose a timer is can be told where the rest of it cannot be read.
#[derive(Deserialize)]
pub(in crate::store) struct TimerBeginning {
    #[serde(rename = "key", with = "TimerKeyV1")]
    _key: TimerKey,
    pub(in crate::store) tenant: Tenant,
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
