//! A place: where an item lies, said once for all stores. Each store packs it in its own way: the embedded one into bytes
//! that sort, DynamoDB into a partition and a sort key that can be read.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::body::Digest;
use minutehand_domain::id::{JobId, RunKey};

/// Where one item lies among its tenant's of the same kind. In its partition it sorts by its parts, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub partition: Partition,
    pub sort: Vec<Part>,
}

/// What lies together, and is listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// A tenant's jobs, spread by the job that is the first part.
    Jobs,
    /// What belongs to one job.
    History(JobId),
    /// A tenant's items of one kind. Never on the hot path: they share what one partition can take.
    Kind,
    /// One shard of the timers. It is no tenant's.
    Shard(u16),
}

/// One part of what an item sorts by. Items of one kind have parts of the same kinds in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Job(JobId),
    Instant(Moment),
    /// A code below ten.
    Code(u8),
    /// What tells apart what is otherwise the same.
    Discriminator(u64),
    /// From 0, in its order.
    Number(u32),
    Digest(Digest),
    /// Visible ASCII without `#`.
    Word(String),
}

/// Some of a partition's items of one kind, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub partition: Partition,
    /// The parts that all of them begin with.
    pub within: Vec<Part>,
    /// The next part is at least this.
    pub from: Option<Part>,
    /// The next part is less than this.
    pub to: Option<Part>,
    /// The last one seen already: what comes after it in this order.
    pub past: Option<Vec<Part>>,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
}

impl Place {
    pub fn new(partition: Partition, sort: impl Into<Vec<Part>>) -> Self {
        Self { partition, sort: sort.into() }
    }

    /// With a tenant's others of its kind, by this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(Partition::Kind, [Part::Word(name.into())])
    }
}

impl Span {
    /// What begins with an instant of this window, after the last one seen; none where nothing can.
    pub fn between(
        partition: Partition,
        window: &Range<Moment>,
        past: Option<Vec<Part>>,
        order: Order,
    ) -> Option<Self> {
        let (from, to) = (Some(Part::Instant(window.start)), Some(Part::Instant(window.end)));
        (window.start < window.end).then(|| Self { partition, within: Vec::new(), from, to, past, order })
    }

    /// All of a partition's items of the kind, after the last one seen.
    pub fn all(partition: Partition, past: Option<Place>) -> Self {
        let past = past.map(|place| place.sort);
        Self { partition, within: Vec::new(), from: None, to: None, past, order: Order::Forward }
    }
}

/// What a run, and all that belongs to it, sorts by among its job's.
pub fn parts_of(run: RunKey) -> [Part; 3] {
    [Part::Instant(run.at), Part::Code(run.origin.code()), Part::Discriminator(run.discriminator)]
}
