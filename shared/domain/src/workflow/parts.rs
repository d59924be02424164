//! Parts: where the tasks of a run lie. Each run of a task is named by an id that is derived from its parent run and stands in a
//! job's place, so that partitions and the shards of timers spread without a layout of their own. A small graph lies in one part,
//! a large one in sixteen: which is pinned when the run unfolds.

use sha2::{Digest as _, Sha256};

use crate::id::{JobId, RunKey};

/// Up to so many possible runs of tasks lie in one part.
const SMALL: usize = 64;
const MANY: u8 = 16;

/// Into how many parts the tasks of a run are divided that may have so many.
pub fn parts_for(tasks: usize) -> u8 {
    if tasks <= SMALL { 1 } else { MANY }
}

/// The id that stands for a part of this run's tasks.
pub fn place(run: RunKey, part: u8) -> JobId {
    let digest = Sha256::new()
        .chain_update(b"minutehand tasks 1\0")
        .chain_update(run.to_bytes())
        .chain_update([part])
        .finalize();
    JobId::from_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
}

/// The part that a task lies in; a branch of a `for_each` by its number.
pub fn part_of(task: u16, branch: Option<u16>, parts: u8) -> u8 {
    let digest = Sha256::new()
        .chain_update(task.to_be_bytes())
        .chain_update([u8::from(branch.is_some())])
        .chain_update(branch.unwrap_or_default().to_be_bytes())
        .finalize();
    digest[0] % parts.max(1)
}

/// Every part of a run's tasks.
pub fn places(run: RunKey, parts: u8) -> impl Iterator<Item = JobId> {
    (0..parts.max(1)).map(move |part| place(run, part))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Moment;

    #[test]
    fn ten_thousand_branches_lie_evenly_in_sixteen_parts() {
        let mut counts = [0; 16];
        for branch in 0..10_000 {
            counts[usize::from(part_of(3, Some(branch), parts_for(10_000)))] += 1;
        }
        assert!(counts.iter().all(|count| (500..=750).contains(count)), "{counts:?}");
        assert_eq!((parts_for(64), parts_for(65)), (1, 16));
    }

    #[test]
    fn each_run_has_places_of_its_own() {
        let runs = [1, 2].map(|second| RunKey::occurrence(JobId::from_bytes([9; 16]), Moment::from_secs(second)));

        let places: BTreeSet<_> = runs.into_iter().flat_map(|run| places(run, 16)).collect();

        assert_eq!(places.len(), 32);
    }
}
