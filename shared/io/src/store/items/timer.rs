//! A timer. It is no item: it bears a mark in place of a version, and lies in minutes rather than with its tenant.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::store::item::{Form, Reader, Stored, Writer, unknown_shape};

impl Stored for Timer {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        let TimerStamp { generation, written } = self.stamp;
        match writer.form() {
            Form::Bytes => writer.shape(1, self),
            Form::Attributes => {
                let (tenant, key) = (self.tenant.clone(), self.key);
                writer.shape(1, &TimerItem { tenant, key, generation, written })
            }
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape(),
            (1, Form::Attributes) => {
                let TimerItem { tenant, key, generation, written } = reader.shape()?;
                Ok(Self { key, tenant, stamp: TimerStamp { generation, written } })
            }
            (later, _) => Err(unknown_shape("timer", later, Self::NEWEST)),
        }
    }
}

/// A timer with its mark spread out, since that is what its eraser's condition names.
#[derive(Serialize, Deserialize)]
struct TimerItem {
    tenant: Tenant,
    #[serde(flatten)]
    key: TimerKey,
    generation: u64,
    written: Moment,
}
