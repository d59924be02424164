//! A node of a join, in the part of its run's tasks that it is spread to.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::workflow::edge::Closed;
use minutehand_domain::workflow::join::{Join, JoinKey};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place};
use crate::store::update::{Action, Condition, Expression, Update};

impl Item for Join {
    const KIND: &'static str = "join";
    const SETS: &'static [&'static str] = &["closed"];

    type Key = JoinKey;

    fn place(key: &JoinKey) -> Place {
        let (of, node) = (Part::Number(key.of.code().into()), key.node);
        Place::new(Partition::History(key.part), [of, Part::Number(node.level.into()), Part::Number(node.index.into())])
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.expires_at)
    }
}

impl Stored for Join {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<JoinV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<JoinV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { JoinV1 => Join }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Join")]
struct JoinV1 {
    #[serde(default)]
    closed: BTreeSet<String>,
    /// Beside what the table itself keeps of it, which is in seconds.
    #[serde(rename = "until")]
    expires_at: Moment,
}

/// Closes an edge: says how it ended, once however often it is said. Whoever is refused sees what stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseEdge {
    /// Which of the node's edges.
    pub edge: u16,
    pub how: Closed,
    /// When nobody can need the join any more: the same for whoever closes an edge of it.
    pub expires_at: Moment,
}

impl Update for CloseEdge {
    type Item = Join;

    fn begin(&self) -> Option<Join> {
        Some(Join { closed: BTreeSet::new(), expires_at: self.expires_at })
    }

    fn apply(&self, join: &Join) -> Option<Join> {
        let mut next = join.clone();
        next.closed.insert(Join::word(self.edge, self.how)).then_some(next)
    }

    fn expression(&self) -> Expression {
        let word = Join::word(self.edge, self.how);
        Expression {
            conditions: vec![Condition::HoldsNot(&["closed"], word.clone())],
            actions: vec![Action::Insert("closed", word)],
        }
    }
}
