//! A join, as a kind of item that no store knows of: some open edges, each closed once. All of it is in this file.

use std::collections::BTreeSet;

use minutehand_domain::id::JobId;
use minutehand_io::Fault;
use minutehand_io::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use minutehand_io::store::place::{Part, Partition, Place, Span};
use minutehand_io::store::update::{Action, Condition, Expression, Update};
use serde::{Deserialize, Serialize};

/// Which edges are open, and which of the closed ones ended badly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    pub name: String,
    #[serde(default)]
    pub open: BTreeSet<String>,
    #[serde(default)]
    pub failed: BTreeSet<String>,
}

impl Join {
    pub fn of(name: &str, open: impl IntoIterator<Item = String>) -> Self {
        Self { name: name.to_owned(), open: open.into_iter().collect(), failed: BTreeSet::new() }
    }
}

impl Item for Join {
    const KIND: &'static str = "join";
    const SETS: &'static [&'static str] = &["open", "failed"];

    type Key = (JobId, String);

    fn place((job, name): &(JobId, String)) -> Place {
        Place::new(Partition::History(*job), [Part::Word(name.clone())])
    }
}

impl Listed for Join {
    type Within = JobId;

    fn span(job: &JobId, past: Option<&(JobId, String)>) -> Option<Span> {
        Some(Span::all(Partition::History(*job), past.map(Self::place)))
    }
}

impl Stored for Join {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, self)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape(),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// Closes an edge that is open, and says how it ended.
#[derive(Clone, Debug)]
pub struct Close {
    pub edge: String,
    pub failed: bool,
}

impl Update for Close {
    type Item = Join;

    fn apply(&self, join: &Join) -> Option<Join> {
        let mut join = join.clone();
        let was_open = join.open.remove(&self.edge);
        join.failed.extend(self.failed.then(|| self.edge.clone()));
        was_open.then_some(join)
    }

    fn expression(&self) -> Expression {
        let mut actions = vec![Action::Remove("open", self.edge.clone())];
        actions.extend(self.failed.then(|| Action::Insert("failed", self.edge.clone())));
        Expression { conditions: vec![Condition::Holds(&["open"], self.edge.clone())], actions }
    }
}
