//! A slot, and the line of those who wait for it.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::slot::{Slot, SlotId, SlotKey, Waiter};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::{Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, Span, parts_of};
use crate::store::update::{Action, Condition, Expression, Update};

impl Item for Slot {
    const KIND: &'static str = "slot";
    const SETS: &'static [&'static str] = &["holders"];

    type Key = SlotKey;

    fn place(key: &SlotKey) -> Place {
        Place::new(Partition::History(key.slot.job()), [Part::Number(key.number)])
    }
}

impl Stored for Slot {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<SlotV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<SlotV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// One of a slot's items, as a list shows it: with its number, which only its key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotItem {
    pub number: u32,
    pub slot: Slot,
}

impl Item for SlotItem {
    const KIND: &'static str = Slot::KIND;
    const SETS: &'static [&'static str] = Slot::SETS;

    type Key = SlotKey;

    fn place(key: &SlotKey) -> Place {
        Slot::place(key)
    }
}

impl Listed for SlotItem {
    type Within = SlotId;

    fn span(slot: &SlotId, past: Option<&SlotKey>) -> Option<Span> {
        Some(Span::all(Partition::History(slot.job()), past.map(Self::place)))
    }

    fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }
}

impl Stored for SlotItem {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        self.slot.write(writer)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        Ok(Self { number: 0, slot: Slot::read(shape, reader)? })
    }
}

/// A line is walked from its head.
impl Item for Waiter {
    const KIND: &'static str = "waiter";

    type Key = (SlotId, Waiter);

    fn place((slot, Waiter { since, run }): &Self::Key) -> Place {
        let mut sort = vec![Part::Instant(*since), Part::Job(run.job)];
        sort.extend(parts_of(*run));
        Place::new(Partition::History(slot.job()), sort)
    }
}

impl Listed for Waiter {
    type Within = SlotId;

    fn span(slot: &SlotId, past: Option<&Self::Key>) -> Option<Span> {
        Some(Span::all(Partition::History(slot.job()), past.map(Self::place)))
    }
}

impl Stored for Waiter {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<WaiterV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<WaiterV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    SlotV1 => Slot,
    WaiterV1 => Waiter,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Slot")]
struct SlotV1 {
    #[serde(default)]
    holders: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Waiter")]
struct WaiterV1 {
    since: Moment,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
}

/// Takes a place, where there is room and it is not taken already. Whoever is refused sees who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    pub run: RunKey,
    pub room: u64,
}

impl Update for Take {
    type Item = Slot;

    fn begin(&self) -> Option<Slot> {
        Some(Slot::default())
    }

    fn apply(&self, slot: &Slot) -> Option<Slot> {
        let mut next = slot.clone();
        let has_room = u64::try_from(slot.holders.len()).is_ok_and(|holders| holders < self.room);
        (has_room && next.holders.insert(self.run.to_string())).then_some(next)
    }

    fn expression(&self) -> Expression {
        let word = self.run.to_string();
        Expression {
            conditions: vec![
                Condition::HoldsNot(&["holders"], word.clone()),
                Condition::HoldsFewerThan(&["holders"], self.room),
            ],
            actions: vec![Action::Insert("holders", word)],
        }
    }
}

/// Gives a place back, of a run that was seen over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    pub run: RunKey,
}

impl Update for Release {
    type Item = Slot;

    fn apply(&self, slot: &Slot) -> Option<Slot> {
        let mut next = slot.clone();
        next.holders.remove(&self.run.to_string()).then_some(next)
    }

    fn expression(&self) -> Expression {
        let word = self.run.to_string();
        Expression {
            conditions: vec![Condition::Holds(&["holders"], word.clone())],
            actions: vec![Action::Remove("holders", word)],
        }
    }
}
