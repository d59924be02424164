//! A timer. It is no item: it bears its own stamp in place of a version, and lies in minutes rather than with its tenant.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::timer::{ObligationV1, TimerKeyV1, TimerStampV1};
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Form, Reader, Stored, Writer, unknown_shape};

impl Stored for Timer {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match writer.form() {
            Form::Bytes => writer.shape(1, &in_shape::<TimerV1, _>(self)),
            Form::Attributes => writer.shape(1, &AttributesV1::of(self)),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape::<Of<TimerV1, _>>().map(|of| of.0),
            (1, Form::Attributes) => reader.shape::<AttributesV1>().map(AttributesV1::timer),
            (later, _) => Err(unknown_shape("timer", later, Self::NEWEST)),
        }
    }
}

shapes! { TimerV1 => Timer }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Timer")]
struct TimerV1 {
    #[serde(with = "TimerKeyV1")]
    key: TimerKey,
    tenant: Tenant,
    #[serde(with = "TimerStampV1")]
    stamp: TimerStamp,
}

/// A timer whose stamp and key are attributes of their own: its eraser's condition names those of the stamp.
#[derive(Serialize, Deserialize)]
struct AttributesV1 {
    tenant: Tenant,
    due: Moment,
    #[serde(with = "ObligationV1")]
    thing: Obligation,
    generation: u64,
    written: Moment,
}

impl AttributesV1 {
    fn of(timer: &Timer) -> Self {
        let Timer { key: TimerKey { due, obligation }, tenant, stamp: TimerStamp { generation, written } } =
            timer.clone();
        Self { tenant, due, thing: obligation, generation, written }
    }

    fn timer(self) -> Timer {
        let Self { tenant, due, thing: obligation, generation, written } = self;
        Timer { key: TimerKey { due, obligation }, tenant, stamp: TimerStamp { generation, written } }
    }
}
