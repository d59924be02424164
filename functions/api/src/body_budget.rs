//! The budget of bodies: the memory that all requests being read or answered share.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Kind, Problem};

/// The memory of all bodies being read or answered together. A slow client takes only what it has sent.
const BUDGET_BYTES: usize = 64 * 1024 * 1024;
const PERMIT_BYTES: usize = 1024;

/// A body reserves its bytes here while it is read and answered.
pub(crate) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET_BYTES / PERMIT_BYTES)))
    }
}

impl BodyBudget {
    pub(crate) fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let reserved = Arc::clone(&self.0).try_acquire_many_owned(permits);
        reserved.map_err(|_| Problem::new(Kind::Unavailable, "too much is being sent at once; ask again"))
    }
}
