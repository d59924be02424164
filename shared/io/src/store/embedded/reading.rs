//! Reading: whether what lies under a key can be read, of any kind.

use super::codec::Codec;
use super::engine::Table;
use super::keys;
use crate::Fault;
use crate::store::item::Item;
use crate::store::items::{OfKind, of_kind, unknown};

/// None where it only leads to an item.
pub(super) fn read(codec: Codec, table: Table, key: &[u8], value: &[u8]) -> Option<Result<(), Fault>> {
    match table {
        Table::Timers => Some(codec.decode_timer(value).map(drop)),
        _ => keys::kind_of(table, key).map(|word| read_as(word, Reading { codec, value })),
    }
}

fn read_as(word: &str, reading: Reading<'_>) -> Result<(), Fault> {
    of_kind(word, reading).unwrap_or_else(|| Err(unknown(word)))
}

struct Reading<'a> {
    codec: Codec,
    value: &'a [u8],
}

impl OfKind for Reading<'_> {
    type Done = Result<(), Fault>;

    fn of<T: Item>(self) -> Result<(), Fault> {
        self.codec.decode::<T>(self.value).map(drop)
    }
}
