//! Spread: where something that may be anywhere is put, by a job's identity. The same place for ever, and another for
//! each job.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::id::JobId;

/// The default is nobody's: what a preview shows for a job that is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread(u64);

impl Spread {
    pub fn of(job: JobId) -> Self {
        let digest = Sha256::new().chain_update(b"minutehand spread 1\0").chain_update(job.as_bytes()).finalize();
        Self(u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes")))
    }

    /// A number below `count`, another for each `what`. None is below zero.
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
    fn jobs_are_spread_over_all_places_and_each_stays_at_its_own() {
        let mut places = [0_u32; 10];
        for n in 0..=255 {
            places[usize::try_from(spread(n).below("minute", 10)).unwrap()] += 1;
            assert_eq!(spread(n).below("minute", 10), spread(n).below("minute", 10));
        }
        assert!(places.iter().all(|jobs| (10..=45).contains(jobs)), "{places:?}");
    }

    #[test]
    fn one_job_is_put_elsewhere_for_each_thing() {
        let differs = (0..=255).filter(|n| spread(*n).below("minute", 24) != spread(*n).below("hour", 24)).count();
        assert!(differs > 230, "{differs}");
    }

    /// A job's minute must not move with a release.
    #[test]
    fn the_place_of_a_job_is_for_ever() {
        assert_eq!([1, 2, 3].map(|n| spread(n).below("minute", 60)), PLACES);
    }

    const PLACES: [u64; 3] = [27, 43, 3];
}
