//! Which hints wait in a queue, by what they say: a hint that waits already is not queued twice. What is kept of each is a
//! hash and its place, whatever the hint's length.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;

use super::packed::Packed;
use super::queue::Position;
use super::tenants::TenantNumber;

/// Kept free for a quiet queue, so that it does not allocate again and again.
const KEPT: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Doubles {
    /// Keyed by chance: nobody can send hints that all have one hash.
    hashing: RandomState,
    places: HashMap<Said, Place, BuildHasherDefault<Hashed>>,
}

/// A position without its tenant, which is part of the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: Moment,
    number: u64,
}

/// What a hint and its tenant come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Said(u64);

/// Of what is a hash already there is nothing to hash.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Doubles {
    pub(super) fn said(&self, tenant: TenantNumber, packed: &Packed) -> Said {
        Said(self.hashing.hash_one((tenant, packed)))
    }

    /// Of any hint of a run that could be taken when it was sent.
    pub(super) fn of_run(&self, tenant: TenantNumber, run: RunKey) -> Said {
        Said(self.hashing.hash_one((tenant, run)))
    }

    /// Where the one may wait that says the same. The caller compares the two: hashes may collide.
    pub(super) fn candidate(&self, said: Said, tenant: TenantNumber) -> Option<Position> {
        self.places.get(&said).map(|place| Position { tenant, at: place.at, number: place.number })
    }

    pub(super) fn waits(&mut self, said: Said, position: Position) {
        self.places.insert(said, Place::of(position));
    }

    pub(super) fn waits_no_more(&mut self, said: Said, position: Position) {
        if self.places.get(&said) == Some(&Place::of(position)) {
            self.places.remove(&said);
            self.give_room_back();
        }
    }

    /// After a flood; so seldom that each removal pays for little of it.
    fn give_room_back(&mut self) {
        if self.places.capacity() > KEPT.max(self.places.len() * 8) {
            self.places.shrink_to(KEPT.max(self.places.len() * 2));
        }
    }
}

impl Place {
    fn of(position: Position) -> Self {
        Self { at: position.at, number: position.number }
    }
}

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, said: u64) {
        self.0 = said;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}
