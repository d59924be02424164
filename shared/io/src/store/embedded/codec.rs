//! The codec: what a value looks like in bytes. First the format, one byte; then the stamp that guards compare without
//! decoding anything; then the number of the shape, one byte; then the shape in postcard. The first two stay where they are
//! in every format to come.
//!
//! In format 2 there was no number: every shape was the first.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::{Timer, TimerStamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Fault;
use crate::store::item::{Form, Item, Reader, Stored, Writer};
use crate::store::items::TimerBeginning;
use crate::store::{Seen, Version};

const PORT: &str = "the store";

/// The format this version writes.
const FORMAT: u8 = 3;
/// The one before, which it reads for ever.
const FORMAT_WITHOUT_SHAPES: u8 = 2;
const FIRST_SHAPE: u8 = 1;

/// Most items fit; a vector that need not grow is written faster.
const USUAL_BYTES: usize = 512;

/// Whose shapes are written and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// This release's.
    #[default]
    Ours,
    /// A later release's: it writes every shape under a number that this one does not know, and reads both. For tests of
    /// two releases side by side.
    Later,
    /// Nobody's: what it writes is damaged, and nobody can read it. For tests of what becomes of it.
    Damaging,
}

/// Of no shape that there ever was.
const DAMAGED: u8 = 0;
/// What a later release adds to the number of a shape.
const LATER: u8 = 200;

/// What a guard knows an item by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Nobody guards it: it is written once.
    None,
    Version(Version),
    Timer(TimerStamp),
}

impl Codec {
    /// The value of an item at this version.
    pub(in crate::store) fn encode<T: Item>(self, item: &T, version: Version) -> Result<Vec<u8>, Fault> {
        self.encode_stamped(stamp_of::<T>(version), item)
    }

    pub(in crate::store) fn encode_timer(self, timer: &Timer) -> Result<Vec<u8>, Fault> {
        self.encode_stamped(Stamp::Timer(timer.stamp), timer)
    }

    fn encode_stamped<T: Stored>(self, stamp: Stamp, item: &T) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        bytes.push(FORMAT);
        match stamp {
            Stamp::None => {}
            Stamp::Version(version) => bytes.extend_from_slice(&version_bytes(version)),
            Stamp::Timer(stamp) => bytes.extend_from_slice(&timer_stamp_bytes(stamp)),
        }
        item.write(Value { bytes, codec: self })
    }

    pub(in crate::store) fn decode<T: Item>(self, bytes: &[u8]) -> Result<Seen<T>, Fault> {
        if T::IMMUTABLE {
            let ([], shape, payload) = open(bytes)?;
            return Ok(Seen { item: self.read(shape, payload)?, version: Version::ONLY });
        }
        let (version, shape, payload) = open(bytes)?;
        Ok(Seen { item: self.read(shape, payload)?, version: Version(u64::from_be_bytes(*version)) })
    }

    pub(in crate::store) fn decode_timer(self, bytes: &[u8]) -> Result<Timer, Fault> {
        let (_mark, shape, payload) = open::<TIMER_STAMP_BYTES>(bytes)?;
        self.read(shape, payload)
    }

    /// Whose a timer is, as far as that can be told: also of one that is damaged behind its beginning, or whose shape a later release knows.
    pub(in crate::store) fn tenant_of_timer(bytes: &[u8]) -> Option<Tenant> {
        let (_mark, _shape, payload) = open::<TIMER_STAMP_BYTES>(bytes).ok()?;
        let (beginning, _rest) = postcard::take_from_bytes::<TimerBeginning>(payload).ok()?;
        Some(beginning.tenant)
    }

    fn read<T: Stored>(self, shape: u8, payload: &[u8]) -> Result<T, Fault> {
        let shape = match self {
            Self::Later if shape > LATER => shape - LATER,
            Self::Later | Self::Ours | Self::Damaging => shape,
        };
        T::read(shape, Payload(payload))
    }

    fn number(self, shape: u8) -> u8 {
        match self {
            Self::Ours => shape,
            Self::Later => shape + LATER,
            Self::Damaging => DAMAGED,
        }
    }
}

/// A value being written: its format and its stamp stand already.
struct Value {
    bytes: Vec<u8>,
    codec: Codec,
}

impl Writer for Value {
    type Written = Vec<u8>;

    fn form(&self) -> Form {
        Form::Bytes
    }

    fn shape<S: Serialize>(mut self, number: u8, shape: &S) -> Result<Vec<u8>, Fault> {
        self.bytes.push(self.codec.number(number));
        postcard::to_extend(shape, self.bytes).map_err(|error| Fault::unreadable(PORT, error.to_string()))
    }
}

/// What is left of a value behind the number of its shape.
struct Payload<'a>(&'a [u8]);

impl Reader for Payload<'_> {
    fn form(&self) -> Form {
        Form::Bytes
    }

    fn has(&self, _attribute: &str) -> bool {
        false
    }

    fn shape<S: DeserializeOwned>(self) -> Result<S, Fault> {
        postcard::from_bytes(self.0).map_err(|error| Fault::unreadable(PORT, error.to_string()))
    }
}

/// What an item bears at this version; what is written once bears none.
pub(super) fn stamp_of<T: Item>(version: Version) -> Stamp {
    if T::IMMUTABLE { Stamp::None } else { Stamp::Version(version) }
}

impl Stamp {
    /// Whether a value bears it. A value in a format that nobody here reads bears none: nobody can have seen it.
    pub fn is_on(self, value: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Version(seen) => stamped(value).is_ok_and(|(stamp, _)| *stamp == version_bytes(seen)),
            Self::Timer(seen) => stamped(value).is_ok_and(|(stamp, _)| *stamp == timer_stamp_bytes(seen)),
        }
    }
}

const TIMER_STAMP_BYTES: usize = 16;

pub(super) fn version_bytes(version: Version) -> [u8; 8] {
    version.0.to_be_bytes()
}

fn timer_stamp_bytes(stamp: TimerStamp) -> [u8; TIMER_STAMP_BYTES] {
    let mut bytes = [0; TIMER_STAMP_BYTES];
    bytes[..8].copy_from_slice(&stamp.generation.to_be_bytes());
    bytes[8..].copy_from_slice(&Moment::millis(stamp.written).to_be_bytes());
    bytes
}

/// The generation that a timer was made from; none of a value in a format that nobody here reads.
pub(super) fn generation_of_timer(value: &[u8]) -> Option<u64> {
    let (stamp, _) = stamped::<TIMER_STAMP_BYTES>(value).ok()?;
    stamp.first_chunk().map(|generation| u64::from_be_bytes(*generation))
}

/// The stamp, the number of the shape and the shape of a value, if it is in a format of ours.
fn open<const STAMP: usize>(bytes: &[u8]) -> Result<(&[u8; STAMP], u8, &[u8]), Fault> {
    let (stamp, rest) = stamped(bytes)?;
    if bytes.first() == Some(&FORMAT_WITHOUT_SHAPES) {
        return Ok((stamp, FIRST_SHAPE, rest));
    }
    let (shape, payload) = rest.split_first().ok_or_else(cut_short)?;
    Ok((stamp, *shape, payload))
}

/// The stamp of a value, and what is behind it.
fn stamped<const STAMP: usize>(bytes: &[u8]) -> Result<(&[u8; STAMP], &[u8]), Fault> {
    match bytes.split_first() {
        Some((&(FORMAT | FORMAT_WITHOUT_SHAPES), rest)) => rest.split_first_chunk().ok_or_else(cut_short),
        Some((format, _)) => {
            let why = format!("an item has format {format}, this version reads up to {FORMAT}");
            Err(if *format > FORMAT { Fault::later(PORT, why) } else { Fault::unreadable(PORT, why) })
        }
        None => Err(Fault::unreadable(PORT, "an item is empty")),
    }
}

fn cut_short() -> Fault {
    Fault::unreadable(PORT, "an item is cut short")
}

/// What leads from the list of what expires to an item: which writing of it, and where it and what lists it lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expiring {
    pub(super) version: Version,
    pub(super) table: u8,
    pub(super) key: Vec<u8>,
    /// Its entry in the list of all a tenant's runs; empty where it stands in none.
    pub(super) listed: Vec<u8>,
}

impl Expiring {
    /// It bears its item's version where an item does, so that the same guards know it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let keys = (self.table, &self.key, &self.listed);
        let head = [&[FORMAT][..], &version_bytes(self.version), &[FIRST_SHAPE]].concat();
        postcard::to_extend(&keys, head).expect("bytes can be written into bytes")
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let (version, _shape, payload) = open(bytes)?;
        let (table, key, listed) = Payload(payload).shape()?;
        Ok(Self { version: Version(u64::from_be_bytes(*version)), table, key, listed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minutehand_domain::cursor::Cursor;

    const CURSOR: Cursor = Cursor {
        hinted_to: Moment::from_secs(3),
        swept_at: Moment::from_secs(4),
        oldest: 7,
        steps: Vec::new(),
        searching: None,
    };

    fn encoded(version: u64) -> Vec<u8> {
        Codec::Ours.encode(&CURSOR, Version(version)).unwrap()
    }

    #[test]
    fn an_item_reads_back_with_its_version() {
        let bytes = encoded(9);

        assert_eq!(Codec::Ours.decode::<Cursor>(&bytes), Ok(Seen { item: CURSOR, version: Version(9) }));
        assert!(Stamp::Version(Version(9)).is_on(&bytes));
        assert!(!Stamp::Version(Version(8)).is_on(&bytes));
    }

    #[test]
    fn what_was_written_before_shapes_had_numbers_is_the_first_shape() {
        let mut bytes = encoded(9);
        bytes[0] = FORMAT_WITHOUT_SHAPES;
        assert_eq!(bytes.remove(9), FIRST_SHAPE);

        assert_eq!(Codec::Ours.decode::<Cursor>(&bytes), Ok(Seen { item: CURSOR, version: Version(9) }));
        assert!(Stamp::Version(Version(9)).is_on(&bytes));
    }

    #[test]
    fn a_later_format_is_a_later_releases_and_bears_no_stamp() {
        let mut bytes = encoded(1);
        bytes[0] = FORMAT + 1;

        assert!(matches!(Codec::Ours.decode::<Cursor>(&bytes), Err(Fault::Later { .. })));
        assert!(!Stamp::Version(Version(1)).is_on(&bytes));
    }

    #[test]
    fn a_later_shape_is_a_later_releases_and_bears_its_stamp() {
        let bytes = Codec::Later.encode(&CURSOR, Version(1)).unwrap();

        assert!(matches!(Codec::Ours.decode::<Cursor>(&bytes), Err(Fault::Later { .. })));
        assert!(Stamp::Version(Version(1)).is_on(&bytes));
        for bytes in [bytes, encoded(1)] {
            assert_eq!(Codec::Later.decode(&bytes), Ok(Seen { item: CURSOR, version: Version(1) }), "it reads both");
        }
    }

    #[test]
    fn bytes_cut_short_anywhere_are_unreadable() {
        let bytes = encoded(1);

        for end in 0..bytes.len() {
            let read = Codec::Ours.decode::<Cursor>(&bytes[..end]);
            assert!(matches!(read, Err(Fault::Unreadable { .. })), "{end}");
        }
    }
}
