//! Slots: how many runs of a workflow are under way at once. An item names the few runs that hold it; a wider one is several
//! items, and is full when all were found full. Whoever finds it full stands in its line, and looks at it once more.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::WorkflowId;
use crate::Moment;
use crate::id::RunKey;

/// How many holders one item takes: it stays under 1 KB.
pub const HOLDERS: u32 = 24;

/// One of the items of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotKey {
    pub workflow: WorkflowId,
    pub number: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The runs that hold it, by their ids. It is theirs until they were seen over.
    pub holders: BTreeSet<String>,
}

/// A run that stands in the line of a slot. Whoever came first is hinted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub since: Moment,
    pub run: RunKey,
}

/// Which items a slot of this width is made of, the one first that this run tries first: so that runs spread over them.
pub fn items(workflow: WorkflowId, width: u32, run: RunKey) -> impl Iterator<Item = (SlotKey, u64)> {
    let count = width.div_ceil(HOLDERS).max(1);
    let digest = Sha256::digest(run.to_bytes());
    let first = u32::from_be_bytes([0, digest[0], digest[1], digest[2]]) % count;
    (0..count).map(move |step| {
        let number = (first + step) % count;
        (SlotKey { workflow, number }, u64::from(room(width, number)))
    })
}

/// How many holders the item of this number takes.
fn room(width: u32, number: u32) -> u32 {
    width.saturating_sub(number * HOLDERS).min(HOLDERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    #[test]
    fn the_items_of_a_slot_take_as_many_holders_as_it_is_wide() {
        let (workflow, run) =
            (WorkflowId::from_bytes([1; 16]), RunKey::occurrence(JobId::from_bytes([2; 16]), Moment::EPOCH));
        for width in [1, 23, 24, 25, 48, 49, 1000] {
            let items: Vec<_> = items(workflow, width, run).collect();
            let keys: BTreeSet<_> = items.iter().map(|(key, _)| *key).collect();

            assert_eq!(items.iter().map(|(_, room)| room).sum::<u64>(), u64::from(width));
            assert!(items.iter().all(|(_, room)| (1..=24).contains(room)), "{width}");
            assert_eq!(keys.len(), items.len());
        }
    }
}
