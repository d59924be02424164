//! One item of a digest, in the history of its rule, by its window.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::notification::digest::WIDTH;
use minutehand_domain::notification::{Digest, DigestKey, Entry};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place};
use crate::store::update::{Action, Condition, Expression, Update};

impl Item for Digest {
    const KIND: &'static str = "digest";
    const SETS: &'static [&'static str] = &["told", "marks"];

    type Key = DigestKey;

    fn place(DigestKey { rule, window, node }: &DigestKey) -> Place {
        let length = Part::Discriminator(window.length.as_secs());
        Place::new(
            Partition::History(*rule),
            [Part::Instant(window.end), length, Part::Code(node.level), Part::Number(node.index)],
        )
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.expires_at)
    }
}

impl Stored for Digest {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<DigestV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<DigestV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { DigestV1 => Digest }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Digest")]
struct DigestV1 {
    #[serde(default)]
    told: BTreeSet<String>,
    #[serde(default)]
    marks: BTreeSet<String>,
    /// Beside what the table itself keeps of it, which is in seconds.
    #[serde(rename = "until")]
    expires_at: Moment,
}

/// Puts an entry in, once however often. Refused where the item is full or closed: whoever is refused sees what stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TellOf {
    pub entry: Entry,
    pub expires_at: Moment,
}

impl Update for TellOf {
    type Item = Digest;

    fn begin(&self) -> Option<Digest> {
        Some(Digest::empty(self.expires_at))
    }

    fn apply(&self, digest: &Digest) -> Option<Digest> {
        let mut next = digest.clone();
        let goes_in = !digest.is_closed() && !digest.is_full() && next.told.insert(self.entry.to_string());
        goes_in.then_some(next)
    }

    fn expression(&self) -> Expression {
        let word = self.entry.to_string();
        Expression {
            conditions: vec![
                Condition::HoldsNot(&["marks"], Digest::closing_word().to_owned()),
                Condition::HoldsNot(&["told"], word.clone()),
                Condition::HoldsFewerThan(&["told"], WIDTH),
            ],
            actions: vec![Action::Insert("told", word)],
        }
    }
}

/// Closes an item: from then on nothing goes in. Refused where it is closed: whoever is refused sees what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseDigest {
    pub expires_at: Moment,
}

impl Update for CloseDigest {
    type Item = Digest;

    fn begin(&self) -> Option<Digest> {
        Some(Digest::empty(self.expires_at))
    }

    fn apply(&self, digest: &Digest) -> Option<Digest> {
        let mut next = digest.clone();
        next.marks.insert(Digest::closing_word().to_owned()).then_some(next)
    }

    fn expression(&self) -> Expression {
        let word = Digest::closing_word().to_owned();
        Expression {
            conditions: vec![Condition::HoldsNot(&["marks"], word.clone())],
            actions: vec![Action::Insert("marks", word)],
        }
    }
}
