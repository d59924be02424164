//! Spread: a position derived from a job's id, for `H` and jitter. It never changes, and differs between jobs.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::id::JobId;

/// The default belongs to no job: a preview uses it for a job that does not exist yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread(u64);

impl Spread {
    pub fn of(job: JobId) -> Self {
        let digest = Sha256::new().chain_update(b"minutehand spread 1\0").chain_update(job.as_bytes()).finalize();
        Self(u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes")))
    }

    /// A number below `count`, different for each `what`. A count of zero gives zero.
    pub(super) fn below(self, what: &str, count: u64) -> u64 {
        let digest = Sha256::new().chain_update(self.0.to_be_bytes()).chain_update(what).finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes")) % count.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: u8) -> Spread {
        Spread::of(JobId::from_bytes([n; 16]))
    }

    #[test]
    fn jobs_are_spread_over_all_positions_and_each_keeps_its_own() {
        let mut places = [0_u32; 10];
        for n in 0..=255 {
            places[usize::try_from(spread(n).below("minute", 10)).unwrap()] += 1;
            assert_eq!(spread(n).below("minute", 10), spread(n).below("minute", 10));
        }
        assert!(places.iter().all(|jobs| (10..=45).contains(jobs)), "{places:?}");
    }

    #[test]
    fn a_job_has_another_position_for_each_use() {
        let differs = (0..=255).filter(|n| spread(*n).below("minute", 24) != spread(*n).below("hour", 24)).count();
        assert!(differs > 230, "{differs}");
    }

    /// A job's minute must not move with a release.
    #[test]
    fn the_position_of_a_job_never_changes() {
        assert_eq!([1, 2, 3].map(|n| spread(n).below("minute", 60)), PLACES);
    }

    const PLACES: [u64; 3] = [27, 43, 3];
}
