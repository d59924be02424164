//! Operations: what is done to many things at once. Whoever asks promises a timer first and writes the operation then; the sweeper's looks at that
//! timer carry it on, a bounded number of steps each, until it is over.
//!
//! A step acts on the batch that the step before pinned, finds the next one, and writes both as one guarded write: what was done and what comes next.
//! Whoever dies in between leaves a batch that is acted on once more, and each act is one for which twice is once: a job is changed only as it was
//! seen, a run is made under a key that follows from what it is made for.

pub mod acts;
pub mod ask;
pub mod carry;
pub mod doors;
pub mod erase;
pub mod find;
pub mod making;

/// Things acted on at once: a step of fifty takes as long as seven of them.
const AT_ONCE: usize = 8;
