//! An engine: byte tables that can be looked into, walked, and written under a guard. It knows nothing of what the bytes
//! mean; [`super::Embedded`] does, once for both engines.

use std::future::Future;
use std::ops::ControlFlow;

use super::codec::Stamp;
use crate::Fault;

pub trait Engine: Send + Sync + 'static {
    /// Shows `see` the value under `key`. It sees the engine's own bytes, so that nothing is copied only to be decoded.
    fn get<T>(&self, table: Table, key: &[u8], see: impl FnOnce(&[u8]) -> Result<T, Fault>)
    -> Result<Option<T>, Fault>;

    /// Shows `see` the values of a span one after the other, until it has seen enough.
    fn walk(
        &self,
        table: Table,
        span: &Span,
        see: impl FnMut(&[u8]) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault>;

    /// Makes one write, if its guard admits it. The guard is checked where the write is made: nothing comes between.
    fn apply(&self, write: Write) -> impl Future<Output = Result<Applied, Fault>> + Send;

    /// How many times something was made durable.
    fn commits(&self) -> u64;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Heads,
    Runs,
    Attempts,
    Bodies,
    Timers,
    Cursors,
    Documents,
    /// By instant, which run: written with the run.
    RunsByTime,
}

/// The keys from `from` up to, not including, `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
}

/// One item, and under which condition it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub table: Table,
    pub key: Vec<u8>,
    pub guard: Guard,
    /// None erases.
    pub value: Option<Vec<u8>>,
    /// What leads to the item from elsewhere: written with it, or not at all.
    pub entry: Option<Entry>,
}

/// An entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub table: Table,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// What must stand under a key for a write to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Anything,
    Nothing,
    Stamped(Stamp),
}

/// How a write went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    Done,
    /// The guard did not admit it: this is what stands there.
    Conflict(Option<Vec<u8>>),
}

impl Table {
    pub const ALL: [Self; 8] = [
        Self::Heads,
        Self::Runs,
        Self::Attempts,
        Self::Bodies,
        Self::Timers,
        Self::Cursors,
        Self::Documents,
        Self::RunsByTime,
    ];

    /// Its place in `ALL`.
    pub const fn index(self) -> usize {
        self as usize
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::Runs => "runs",
            Self::Attempts => "attempts",
            Self::Bodies => "bodies",
            Self::Timers => "timers",
            Self::Cursors => "cursors",
            Self::Documents => "documents",
            Self::RunsByTime => "runs_by_time",
        }
    }
}

impl Span {
    /// No key can lie in it. Both B-trees panic or err when asked for the keys between an end and its beginning.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

impl Guard {
    pub fn admits(self, standing: Option<&[u8]>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => standing.is_none(),
            Self::Stamped(stamp) => standing.is_some_and(|value| stamp.is_on(value)),
        }
    }
}
