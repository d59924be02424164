//! Who holds a lease: a process that carries runs out itself, or a worker elsewhere that took the run through the API.

use super::Claimant;
use crate::id::Worker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// One of ours; made anew at each start.
    Process(Worker),
    /// It lives on whatever becomes of our processes.
    Remote(Worker),
    /// Whom this process of ours called has taken the run on: it too lives on.
    Target(Worker),
}

impl Holder {
    pub fn worker(self) -> Worker {
        match self {
            Self::Process(worker) | Self::Remote(worker) | Self::Target(worker) => worker,
        }
    }

    /// Whether `by` knows that this holder is gone: a process that has the store to itself is the only one alive.
    pub fn cannot_be_alive(self, by: Claimant) -> bool {
        match self {
            Self::Process(worker) => by.exclusive_store && worker != by.worker,
            Self::Remote(_) | Self::Target(_) => false,
        }
    }
}
