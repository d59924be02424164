//! Shares: of something that all use, what one of them may hold at a time. Who holds nothing takes no memory.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many pieces for each of those who ask.
pub struct Shares<K> {
    most: usize,
    holders: Holders<K>,
}

type Holders<K> = Arc<Mutex<HashMap<K, Arc<Semaphore>>>>;

/// Pieces that are held until this is dropped.
pub struct Share<K: Eq + Hash> {
    key: K,
    /// None only while it is being dropped.
    pieces: Option<OwnedSemaphorePermit>,
    holders: Holders<K>,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub fn new(most: usize) -> Self {
        Self { most, holders: Arc::default() }
    }

    /// None where so many pieces are not left of the share.
    pub fn try_take(&self, key: &K, pieces: u32) -> Option<Share<K>> {
        let left = self.of(key);
        let taken = Arc::clone(&left).try_acquire_many_owned(pieces).ok();
        drop(left);
        if taken.is_none() {
            forget_if_unused(&self.holders, key);
        }
        taken.map(|taken| self.share(key, taken))
    }

    /// Waits, first come first served, until a piece of the share is left.
    pub async fn take(&self, key: &K) -> Share<K> {
        let left = Asked { key: key.clone(), left: Some(self.of(key)), holders: Arc::clone(&self.holders) };
        let waiting = Arc::clone(left.left.as_ref().expect("it is not being dropped")).acquire_owned();
        let taken = waiting.await.expect("nobody closes it");
        self.share(key, taken)
    }

    /// Those who hold something or wait for it.
    pub fn holders(&self) -> usize {
        locked(&self.holders).len()
    }

    fn share(&self, key: &K, taken: OwnedSemaphorePermit) -> Share<K> {
        Share { key: key.clone(), pieces: Some(taken), holders: Arc::clone(&self.holders) }
    }

    fn of(&self, key: &K) -> Arc<Semaphore> {
        let new = || Arc::new(Semaphore::new(self.most));
        Arc::clone(locked(&self.holders).entry(key.clone()).or_insert_with(new))
    }
}

impl<K: Eq + Hash> Share<K> {
    /// Holds the pieces of another share of the same holder too.
    pub fn merge(&mut self, mut other: Self) {
        if let (Some(pieces), Some(more)) = (&mut self.pieces, other.pieces.take()) {
            pieces.merge(more);
        }
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        drop(self.pieces.take());
        forget_if_unused(&self.holders, &self.key);
    }
}

/// One who waits, and may give up waiting.
struct Asked<K: Eq + Hash> {
    key: K,
    left: Option<Arc<Semaphore>>,
    holders: Holders<K>,
}

impl<K: Eq + Hash> Drop for Asked<K> {
    fn drop(&mut self) {
        drop(self.left.take());
        forget_if_unused(&self.holders, &self.key);
    }
}

/// A holder of a piece, and one who waits for it, holds the semaphore too, and nobody takes it out of the map but under its lock.
fn forget_if_unused<K: Eq + Hash>(holders: &Holders<K>, key: &K) {
    let mut holders = locked(holders);
    if holders.get(key).is_some_and(|left| Arc::strong_count(left) == 1) {
        holders.remove(key);
    }
}

fn locked<K>(holders: &Holders<K>) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
    holders.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> fmt::Debug for Shares<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shares of {}", self.most)
    }
}

impl<K: Eq + Hash> fmt::Debug for Share<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.pieces.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        write!(f, "Share of {pieces}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn each_has_a_share_of_its_own_and_gets_back_what_it_gives_back() {
        let shares = Shares::new(3);

        let mut one = shares.try_take(&"one", 2).unwrap();
        assert!(shares.try_take(&"one", 2).is_none());
        one.merge(shares.try_take(&"one", 1).unwrap());
        assert!(shares.try_take(&"one", 1).is_none());
        assert!(shares.try_take(&"two", 3).is_some());

        drop(one);
        assert!(shares.try_take(&"one", 3).is_some());
    }

    #[test]
    fn nothing_is_kept_of_those_who_hold_nothing() {
        let shares = Shares::new(1);

        for number in 0..1_000 {
            let held = shares.try_take(&number, 1);
            assert!(shares.try_take(&number, 1).is_none());
            assert_eq!((held.is_some(), shares.holders()), (true, 1));
        }
        assert!(shares.try_take(&0, 2).is_none(), "more than there is");

        assert_eq!(shares.holders(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_gets_the_next_piece_and_who_gives_up_leaves_nothing() {
        let shares = Shares::new(1);
        let held = shares.take(&"one").await;

        assert!(timeout(Duration::from_secs(1), shares.take(&"one")).await.is_err());
        let (waited, ()) = tokio::join!(timeout(Duration::from_secs(1), shares.take(&"one")), async { drop(held) });

        assert_eq!((waited.is_ok(), shares.holders()), (true, 1));
        drop(waited);
        assert_eq!(shares.holders(), 0);
    }
}
