//! Who holds a lease: a process that carries runs out itself, or a worker elsewhere that took the run through the API.
//!
//! Stored, a process is the worker's number as it was before there were others; a remote one is marked beyond its 64 bits.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Claimant;
use crate::id::Worker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// One of ours; made anew at each start.
    Process(Worker),
    /// It lives on whatever becomes of our processes.
    Remote(Worker),
}

impl Holder {
    /// Whether `by` knows that this holder is gone: a process that has the store to itself is the only one alive.
    pub fn cannot_be_alive(self, by: Claimant) -> bool {
        match self {
            Self::Process(worker) => by.exclusive_store && worker != by.worker,
            Self::Remote(_) => false,
        }
    }
}

const REMOTE_WORD: &str = "remote_";
const REMOTE_BIT: u128 = 1 << 64;

impl Serialize for Holder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self, serializer.is_human_readable()) {
            (Self::Process(worker), true) => serializer.collect_str(worker),
            (Self::Remote(worker), true) => serializer.collect_str(&format_args!("{REMOTE_WORD}{worker}")),
            // A number in as many bytes as it needs: one of 64 bits is written as it always was.
            (Self::Process(Worker(number)), false) => serializer.serialize_u128(u128::from(*number)),
            (Self::Remote(Worker(number)), false) => serializer.serialize_u128(REMOTE_BIT | u128::from(*number)),
        }
    }
}

impl<'de> Deserialize<'de> for Holder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            return match text.strip_prefix(REMOTE_WORD) {
                Some(worker) => worker.parse().map(Self::Remote),
                None => text.parse().map(Self::Process),
            }
            .map_err(D::Error::custom);
        }
        let number = u128::deserialize(deserializer)?;
        match u64::try_from(number & !REMOTE_BIT) {
            Ok(worker) if number & REMOTE_BIT == 0 => Ok(Self::Process(Worker(worker))),
            Ok(worker) => Ok(Self::Remote(Worker(worker))),
            Err(_) => Err(D::Error::custom("this is no holder of a lease")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What commit dc7fa05 stored was the worker alone.
        #[test]
        fn a_process_is_stored_as_its_worker_was(number in any::<u64>()) {
            let (holder, worker) = (Holder::Process(Worker(number)), Worker(number));

            prop_assert_eq!(postcard::to_stdvec(&holder).unwrap(), postcard::to_stdvec(&worker).unwrap());
            prop_assert_eq!(serde_json::to_string(&holder).unwrap(), serde_json::to_string(&worker).unwrap());
        }

        #[test]
        fn a_holder_is_read_as_it_was_stored(number in any::<u64>()) {
            for holder in [Holder::Process(Worker(number)), Holder::Remote(Worker(number))] {
                let (bytes, text) = (postcard::to_stdvec(&holder).unwrap(), serde_json::to_string(&holder).unwrap());

                prop_assert_eq!(postcard::from_bytes::<Holder>(&bytes).unwrap(), holder);
                prop_assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder);
            }
        }
    }
}
