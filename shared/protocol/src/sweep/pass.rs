//! What a pass did, in numbers, and what it failed with.

use minutehand_domain::Moment;
use minutehand_io::Fault;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    pub buckets: u64,
    pub timers_read: u64,
    pub hinted: u64,
    pub looked_at: u64,
    pub moved: u64,
    /// What a later release wrote: it is put off by no more than a pass sees ahead, and met again by each.
    pub later: u64,
    /// What nobody can read: once it is overdue it is put off by an hour.
    pub corrupt: u64,
    /// Shards with more to do than there was time for.
    pub unfinished: u64,
    /// Shards that were left to another pass.
    pub overtaken: u64,
    /// Since when the first bucket of a shard is searched for.
    pub searching: Option<Moment>,
    /// When the first operation is to be carried on that was met: nobody is hinted of it.
    pub carries_on: Option<Moment>,
}

/// How it went with a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub pass: Pass,
    /// The first of them. What failed waits where it was for the next pass, and nothing beside it does.
    pub fault: Option<Fault>,
}

impl Swept {
    pub(super) fn searching(since: Option<Moment>) -> Self {
        Self { pass: Pass { searching: since, ..Pass::default() }, fault: None }
    }

    /// True for a fault.
    pub(super) fn note(&mut self, done: Result<(), Fault>) -> bool {
        let fault = done.err();
        let failed = fault.is_some();
        self.fault = self.fault.take().or(fault);
        failed
    }

    /// For whoever wants all of it done.
    pub fn whole(self) -> Result<Pass, Fault> {
        self.fault.map_or(Ok(self.pass), Err)
    }
}

impl Pass {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            buckets: self.buckets + other.buckets,
            timers_read: self.timers_read + other.timers_read,
            hinted: self.hinted + other.hinted,
            looked_at: self.looked_at + other.looked_at,
            moved: self.moved + other.moved,
            later: self.later + other.later,
            corrupt: self.corrupt + other.corrupt,
            unfinished: self.unfinished + other.unfinished,
            overtaken: self.overtaken + other.overtaken,
            searching: self.searching.max(other.searching),
            carries_on: [self.carries_on, other.carries_on].into_iter().flatten().min(),
        }
    }

    /// Timers that something was done about.
    pub fn worked(&self) -> u64 {
        self.hinted + self.looked_at + self.moved + self.corrupt
    }
}
