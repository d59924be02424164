//! A group: neighbouring shards that one invocation sweeps. A message carries nothing else, and nothing depends on it: a
//! group swept twice, late or never is swept again with the next tick.

use std::ops::Range;

use serde::Deserialize;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    first: u16,
    count: u16,
}

/// Why a message names no group.
#[derive(Debug, Error)]
pub enum NoGroup {
    #[error("it does not read as a group: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{count} shards from {first} on are not among the {shards} there are")]
    Outside { first: u16, count: u16, shards: u16 },
}

/// All shards, cut into groups of `shards_per_sweep`; the last one takes what is left. A setting of none means one.
pub fn groups(shards: u16, shards_per_sweep: u16) -> impl Iterator<Item = Group> {
    let each = shards_per_sweep.max(1);
    (0..shards).step_by(usize::from(each)).map(move |first| Group { first, count: each.min(shards - first) })
}

impl Group {
    /// Reads a group as another invocation wrote it; that one may have been deployed with other settings.
    pub fn parse(message: &[u8], shards: u16) -> Result<Self, NoGroup> {
        let group: Self = serde_json::from_slice(message)?;
        let Self { first, count } = group;
        let inside = count > 0 && first.checked_add(count).is_some_and(|end| end <= shards);
        if inside { Ok(group) } else { Err(NoGroup::Outside { first, count, shards }) }
    }

    /// `{"first":16,"count":16}`
    pub fn to_message(self) -> String {
        let Self { first, count } = self;
        format!(r#"{{"first":{first},"count":{count}}}"#)
    }

    pub fn of_one(shard: u16) -> Self {
        Self { first: shard, count: 1 }
    }

    pub fn shards(self) -> Range<u16> {
        self.first..self.first.saturating_add(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_is_in_exactly_one_group_and_no_group_is_larger_than_asked() {
        for (shards, each) in
            [(64, 64), (64, 16), (64, 5), (64, 1), (5, 2), (1, 9), (64, 0), (64, u16::MAX), (u16::MAX, 7)]
        {
            let cut: Vec<Group> = groups(shards, each).collect();

            assert!(cut.iter().all(|group| (1..=each.max(1)).contains(&group.count)), "{shards} by {each}");
            assert!(cut.iter().flat_map(|group| group.shards()).eq(0..shards), "{shards} by {each}");
        }
    }

    #[test]
    fn a_group_is_read_as_it_was_written() {
        for group in groups(64, 5) {
            assert_eq!(Group::parse(group.to_message().as_bytes(), 64).unwrap(), group);
        }
    }

    #[test]
    fn nonsense_is_no_group() {
        let nonsense = [
            "",
            "null",
            "64",
            "[0]",
            "{}",
            r#"{"first":0}"#,
            r#"{"count":1}"#,
            r#"{"first":-1,"count":1}"#,
            r#"{"first":0,"count":1.5}"#,
            r#"{"first":0,"count":65536}"#,
            r#"{"first":0,"count":1,"shards":64}"#,
        ];
        for message in nonsense {
            assert!(matches!(Group::parse(message.as_bytes(), 64), Err(NoGroup::Unreadable(_))), "{message}");
        }
        for (first, count) in [(0, 0), (64, 1), (0, 65), (63, 2), (u16::MAX, 1), (u16::MAX, u16::MAX)] {
            let message = Group { first, count }.to_message();
            assert!(matches!(Group::parse(message.as_bytes(), 64), Err(NoGroup::Outside { .. })), "{message}");
        }
    }
}
