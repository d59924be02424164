//! An item: what a store keeps. Its kind says where it lies, in which lists it stands, until when it is of use, and in
//! which shapes it was ever stored; all of it in the one file of the kind, in `items/`. The stores know no kinds.

use std::fmt;

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::place::{Place, Span};
use crate::Fault;

/// What is kept in a shape. A shape never changes: what must change is another shape, with the next number.
pub trait Stored: Clone + Send + Sync + Sized + 'static {
    /// The newest shape that this release reads.
    const NEWEST: u8 = 1;

    /// Hands the writer the shape that it is stored in, and that shape's number.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault>;

    /// What a shape of this number means.
    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault>;
}

pub trait Item: Stored {
    /// The word it lies under: letters of the alphabet only, no two kinds the same.
    const KIND: &'static str;
    /// Which of its attributes are sets of words, so that one can be put in or taken out without reading the others. An
    /// empty one is no attribute: its shape says `#[serde(default)]`.
    const SETS: &'static [&'static str] = &[];
    /// Written once, as it is for ever: it bears no version, so that keeping it costs no byte of one. Whoever has seen it may write it again as it
    /// is: until when it is of use may be another.
    const IMMUTABLE: bool = false;

    /// What tells it from its tenant's others of its kind.
    type Key: Clone + fmt::Debug + Send + Sync;

    fn place(key: &Self::Key) -> Place;

    /// Where the list of all a tenant's runs leads to it.
    fn index(&self) -> Option<Indexed> {
        None
    }

    /// From when on it is of no use to anybody, and may be gone. Until it is swept it may still be read, on DynamoDB for days:
    /// nothing may be decided by whether it is still there.
    fn expires_at(&self) -> Option<Moment> {
        None
    }

    /// The same where one cannot tell, since it lies beneath a run that is not over: by which a store goes that deletes by the clock alone. One
    /// that deletes it with its run does not.
    fn given_up_at(&self) -> Option<Moment> {
        self.expires_at()
    }
}

/// An item that can be listed.
pub trait Listed: Item {
    /// What one list is about.
    type Within: Clone + fmt::Debug + Send + Sync;

    /// What stands in the list, after the last one seen; none where nothing can.
    fn span(within: &Self::Within, past: Option<&Self::Key>) -> Option<Span>;

    /// Whether it counts: what does not fills no page.
    fn counts(&self) -> bool {
        true
    }

    /// Told the number that the key ends with which it was listed under, where that is one: an item that is one of several does not say which it is.
    #[must_use]
    fn numbered(self, _number: u32) -> Self {
        self
    }
}

/// What the list of all a tenant's runs says of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexed {
    pub run: RunKey,
    /// It stands in the short list of what failed too, and how.
    pub attention: Option<Attention>,
}

impl Indexed {
    /// Whether nobody has done anything about what it came to.
    pub fn is_letter(self) -> bool {
        self.attention == Some(Attention::Letter)
    }
}

/// How a run stands in the short list of what failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Nobody has done anything about it.
    Letter,
    /// It was tried again, or dismissed.
    SeenTo,
}

/// In which form a store keeps its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One after the other, without names. One process writes them: in the newest shape.
    Bytes,
    /// Each under its name, for people as well. Releases write side by side: in the oldest shape that says it all.
    Attributes,
}

pub trait Writer: Sized {
    type Written;

    fn form(&self) -> Form;
    fn shape<S: Serialize>(self, number: u8, shape: &S) -> Result<Self::Written, Fault>;
}

pub trait Reader: Sized {
    fn form(&self) -> Form;
    /// Whether it has an attribute of this name; in bytes there are no names.
    fn has(&self, attribute: &str) -> bool;
    fn shape<S: DeserializeOwned>(self) -> Result<S, Fault>;
}

/// A shape that a later release wrote.
pub fn later_shape<T: Item>(shape: u8) -> Fault {
    unknown_shape(T::KIND, shape, T::NEWEST)
}

pub fn unknown_shape(kind: &str, shape: u8, newest: u8) -> Fault {
    let why = format!("a {kind} has shape {shape}, this release reads up to {newest}");
    if shape > newest { Fault::later("the store", why) } else { Fault::unreadable("the store", why) }
}
