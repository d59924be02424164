//! The codec: what a value looks like in bytes. First the format, one byte; then the stamp that guards compare without
//! decoding anything; then the item in postcard. The first two stay where they are in every format to come.

use minutehand_domain::Moment;
use minutehand_domain::timer::{Timer, TimerStamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Fault;
use crate::store::{Seen, Version};

const PORT: &str = "the store";

/// The format this version writes, and the only one it reads.
const FORMAT: u8 = 2;

/// Most items fit; a vector that need not grow is written faster.
const USUAL_BYTES: usize = 512;

/// What a guard knows an item by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Nobody guards it: it is written once.
    None,
    Version(Version),
    Timer(TimerStamp),
}

pub(super) fn encode<T: Serialize>(stamp: Stamp, item: &T) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    bytes.push(FORMAT);
    match stamp {
        Stamp::None => {}
        Stamp::Version(version) => bytes.extend_from_slice(&version_bytes(version)),
        Stamp::Timer(stamp) => bytes.extend_from_slice(&timer_stamp_bytes(stamp)),
    }
    postcard::to_extend(item, bytes).map_err(|error| Fault::unreadable(PORT, error.to_string()))
}

pub(super) fn plain<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    let ([], payload) = open(bytes)?;
    decode(payload)
}

pub(super) fn versioned<T: DeserializeOwned>(bytes: &[u8]) -> Result<Seen<T>, Fault> {
    let (version, payload) = open(bytes)?;
    Ok(Seen { item: decode(payload)?, version: Version(u64::from_be_bytes(*version)) })
}

pub(super) fn timer(bytes: &[u8]) -> Result<Timer, Fault> {
    let (_mark, payload) = open::<TIMER_STAMP_BYTES>(bytes)?;
    decode(payload)
}

impl Stamp {
    /// Whether a value bears it. A value in a format that nobody here reads bears none: nobody can have seen it.
    pub fn is_on(self, value: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Version(version) => open(value).is_ok_and(|(stamp, _)| *stamp == version_bytes(version)),
            Self::Timer(timer) => open(value).is_ok_and(|(stamp, _)| *stamp == timer_stamp_bytes(timer)),
        }
    }
}

const TIMER_STAMP_BYTES: usize = 16;

fn version_bytes(version: Version) -> [u8; 8] {
    version.0.to_be_bytes()
}

fn timer_stamp_bytes(stamp: TimerStamp) -> [u8; TIMER_STAMP_BYTES] {
    let mut bytes = [0; TIMER_STAMP_BYTES];
    bytes[..8].copy_from_slice(&stamp.generation.to_be_bytes());
    bytes[8..].copy_from_slice(&Moment::millis(stamp.written).to_be_bytes());
    bytes
}

/// The stamp and the payload of a value, if it is in our format.
fn open<const STAMP: usize>(bytes: &[u8]) -> Result<(&[u8; STAMP], &[u8]), Fault> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => {
            rest.split_first_chunk().ok_or_else(|| Fault::unreadable(PORT, "an item is cut short"))
        }
        Some((format, _)) => {
            Err(Fault::unreadable(PORT, format!("an item has format {format}, this version reads {FORMAT}")))
        }
        None => Err(Fault::unreadable(PORT, "an item is empty")),
    }
}

fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Fault> {
    postcard::from_bytes(payload).map_err(|error| Fault::unreadable(PORT, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Cursor;

    const CURSOR: Cursor = Cursor { hinted_to: Moment::from_secs(3), oldest: 7, swept_at: Moment::from_secs(4) };

    #[test]
    fn an_item_reads_back_with_its_version() {
        let bytes = encode(Stamp::Version(Version(9)), &CURSOR).unwrap();

        assert_eq!(versioned::<Cursor>(&bytes), Ok(Seen { item: CURSOR, version: Version(9) }));
        assert!(Stamp::Version(Version(9)).is_on(&bytes));
        assert!(!Stamp::Version(Version(8)).is_on(&bytes));
    }

    #[test]
    fn a_format_from_a_later_version_is_unreadable_and_bears_no_stamp() {
        let mut bytes = encode(Stamp::Version(Version(1)), &CURSOR).unwrap();
        bytes[0] = FORMAT + 1;

        assert!(matches!(versioned::<Cursor>(&bytes), Err(Fault::Unreadable { .. })));
        assert!(!Stamp::Version(Version(1)).is_on(&bytes));
    }

    #[test]
    fn bytes_cut_short_anywhere_are_unreadable() {
        let bytes = encode(Stamp::Version(Version(1)), &CURSOR).unwrap();

        for end in 0..bytes.len() {
            assert!(matches!(versioned::<Cursor>(&bytes[..end]), Err(Fault::Unreadable { .. })), "{end}");
        }
    }
}
