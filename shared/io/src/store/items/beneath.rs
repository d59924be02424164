//! What lies beneath a run, as it is written: with until when it is of use, for a store that deletes by the clock alone. That is no part of the
//! item, and nobody who reads it is told: whoever deletes it with its run needs no such instant. The same of what lies beneath a job.

use minutehand_domain::Moment;
use minutehand_domain::run::Run;

use crate::Fault;
use crate::store::Seen;
use crate::store::item::{Item, Reader, Stored, Writer};
use crate::store::place::Place;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beneath<T> {
    pub item: T,
    /// None of what was read.
    until: Option<Moment>,
}

impl<T> Beneath<T> {
    pub fn of(run: &Run, item: T, now: Moment) -> Self {
        Self { item, until: Some(run.needs_until(now)) }
    }

    /// Beneath a job that was deleted.
    pub fn until(item: T, until: Moment) -> Self {
        Self { item, until: Some(until) }
    }
}

impl<T> Seen<Beneath<T>> {
    pub fn alone(self) -> Seen<T> {
        Seen { item: self.item.item, version: self.version }
    }
}

impl<T: Item> Item for Beneath<T> {
    const KIND: &'static str = T::KIND;
    const SETS: &'static [&'static str] = T::SETS;
    const IMMUTABLE: bool = T::IMMUTABLE;

    type Key = T::Key;

    fn place(key: &Self::Key) -> Place {
        T::place(key)
    }

    fn given_up_at(&self) -> Option<Moment> {
        self.until
    }
}

impl<T: Stored> Stored for Beneath<T> {
    const NEWEST: u8 = T::NEWEST;

    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        self.item.write(writer)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        Ok(Self { item: T::read(shape, reader)?, until: None })
    }
}
