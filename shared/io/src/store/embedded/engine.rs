//! An engine: byte tables that can be looked into, walked, and written under a guard. It knows nothing of what the bytes
//! mean; [`super::Embedded`] does, once for both engines.

use std::future::Future;
use std::ops::ControlFlow;

use super::codec::{Stamp, generation_of_timer};
use crate::Fault;
use crate::store::Version;
use crate::store::place::Order;

pub trait Engine: Send + Sync + 'static {
    /// Shows `see` the value under `key`. It sees the engine's own bytes, so that nothing is copied only to be decoded.
    fn get<T>(&self, table: Table, key: &[u8], see: impl FnOnce(&[u8]) -> Result<T, Fault>)
    -> Result<Option<T>, Fault>;

    /// Shows `see` the keys and values of a span one after the other, until it has seen enough.
    fn walk(
        &self,
        table: Table,
        span: &Span,
        see: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault>;

    /// Makes one write, if what stands there admits it. That is decided where the write is made: nothing comes between.
    fn apply(&self, write: Write) -> impl Future<Output = Result<Applied, Fault>> + Send;

    /// How many times something was made durable.
    fn commits(&self) -> u64;

    /// Where the versions of an item's new life begin: at none that a former life had.
    fn first_version(&self) -> Version;
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
    /// Whatever has no table of its own.
    Items,
    /// By instant, what expires then: written with the item.
    Expiring,
    /// By instant, which run is a dead letter, whosever it is: written with the run, and erased when somebody sees to it.
    Letters,
}

/// The keys from `from` up to, not including, `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub order: Order,
}

/// One item, and what becomes of it.
pub struct Write {
    pub table: Table,
    pub key: Vec<u8>,
    pub change: Change,
}

pub enum Change {
    /// What is known before: made if the guard admits it.
    Guarded(Guard, Made),
    /// What depends on what stands there: none leaves it as it is.
    Computed(Compute),
}

pub(super) type Compute = Box<dyn FnOnce(Option<&[u8]>) -> Result<Option<Made>, Fault> + Send>;

/// What comes to stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// None erases.
    pub value: Option<Vec<u8>>,
    /// What leads to the item from elsewhere: written with it, or not at all.
    pub entries: Vec<Entry>,
}

/// An entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub table: Table,
    pub key: Vec<u8>,
    /// None erases.
    pub value: Option<Vec<u8>>,
}

/// What must stand under a key for a write to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Anything,
    Nothing,
    /// Whatever it is: what is written once bears no stamp.
    Something,
    Stamped(Stamp),
    /// Nothing, or a timer of this generation or an earlier one.
    NothingLater(u64),
}

/// How a write went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    Done,
    /// This was computed, and stands there now; none where it was erased.
    Computed(Option<Vec<u8>>),
    /// It was not admitted: this is what stands there.
    Conflict(Option<Vec<u8>>),
}

impl Table {
    pub const ALL: [Self; 11] = [
        Self::Heads,
        Self::Runs,
        Self::Attempts,
        Self::Bodies,
        Self::Timers,
        Self::Cursors,
        Self::Documents,
        Self::RunsByTime,
        Self::Items,
        Self::Expiring,
        Self::Letters,
    ];

    /// Its place in `ALL`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// What it is called in an index. For ever: a table that is added comes last.
    pub const fn number(self) -> u8 {
        self as u8
    }

    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
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
            Self::Items => "items",
            Self::Expiring => "expiring",
            Self::Letters => "letters",
        }
    }
}

impl Span {
    /// No key can lie in it. Both B-trees panic or err when asked for the keys between an end and its beginning.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

impl Change {
    /// What comes to stand there; none where what stands there does not admit it.
    pub fn decide(self, standing: Option<&[u8]>) -> Result<Option<Made>, Fault> {
        match self {
            // Without this check, every one of 64 claims wins: `of_64_claims_exactly_one_wins`.
            Self::Guarded(guard, made) => Ok(guard.admits(standing).then_some(made)),
            Self::Computed(compute) => compute(standing),
        }
    }
}

impl Applied {
    /// Whether anything was written.
    pub fn is_made(&self) -> bool {
        match self {
            Self::Done | Self::Computed(_) => true,
            Self::Conflict(_) => false,
        }
    }
}

impl Guard {
    pub fn admits(self, standing: Option<&[u8]>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => standing.is_none(),
            Self::Something => standing.is_some(),
            Self::Stamped(stamp) => standing.is_some_and(|value| stamp.is_on(value)),
            Self::NothingLater(generation) => {
                standing.is_none_or(|value| generation_of_timer(value).is_some_and(|standing| standing <= generation))
            }
        }
    }
}
