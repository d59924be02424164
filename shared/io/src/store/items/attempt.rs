//! An attempt that no longer stands inside its run.

use minutehand_domain::id::RunKey;
use minutehand_domain::run::Attempt;

use crate::Fault;
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
        writer.shape(1, self)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape(),
            later => Err(later_shape::<Self>(later)),
        }
    }
}
