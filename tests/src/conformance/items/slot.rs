//! A slot, as a kind of item that no store knows of: at most so many hold it, and it is of no use long after the last one
//! took it. All of it is in this file.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_io::Fault;
use minutehand_io::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use minutehand_io::store::place::{Partition, Place, Span};
use minutehand_io::store::update::{Action, Condition, Expression, Update, Value};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub name: String,
    #[serde(default)]
    pub holders: BTreeSet<String>,
    /// Until when its last taker needs it at the most.
    pub until: Moment,
}

impl Item for Slot {
    const KIND: &'static str = "slot";
    const SETS: &'static [&'static str] = &["holders"];

    type Key = String;

    fn place(name: &String) -> Place {
        Place::named(name)
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.until)
    }
}

impl Listed for Slot {
    type Within = ();

    fn span((): &(), past: Option<&String>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Slot {
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

/// Takes a slot that has room for one more; the first taker makes it.
#[derive(Clone, Debug)]
pub struct Take {
    pub name: String,
    pub holder: String,
    pub limit: u64,
    pub until: Moment,
}

impl Update for Take {
    type Item = Slot;

    fn begin(&self) -> Option<Slot> {
        Some(Slot { name: self.name.clone(), holders: BTreeSet::new(), until: self.until })
    }

    fn apply(&self, slot: &Slot) -> Option<Slot> {
        let mut holders = slot.holders.clone();
        let has_room = (holders.len() as u64) < self.limit && holders.insert(self.holder.clone());
        has_room.then(|| Slot { holders, until: self.until, ..slot.clone() })
    }

    fn expression(&self) -> Expression {
        Expression {
            conditions: vec![
                Condition::HoldsNot(&["holders"], self.holder.clone()),
                Condition::HoldsFewerThan(&["holders"], self.limit),
            ],
            actions: vec![
                Action::Insert("holders", self.holder.clone()),
                Action::Set(&["until"], Value::Text(self.until.to_string())),
                Action::ExpireAt(self.until),
            ],
        }
    }
}

/// Gives back a slot that is held.
#[derive(Clone, Debug)]
pub struct Release {
    pub holder: String,
}

impl Update for Release {
    type Item = Slot;

    fn apply(&self, slot: &Slot) -> Option<Slot> {
        let mut slot = slot.clone();
        slot.holders.remove(&self.holder).then_some(slot)
    }

    fn expression(&self) -> Expression {
        Expression {
            conditions: vec![Condition::Holds(&["holders"], self.holder.clone())],
            actions: vec![Action::Remove("holders", self.holder.clone())],
        }
    }
}
