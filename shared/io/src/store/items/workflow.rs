//! A workflow, a document of its tenant's by its id: beside its own job it would lie under the same key; and what its versions say, in
//! pieces.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::{Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, Span};

impl Item for Workflow {
    const KIND: &'static str = "workflow";

    type Key = WorkflowId;

    fn place(id: &WorkflowId) -> Place {
        Place::named(id.to_string())
    }
}

/// A tenant's workflows by id, deleted ones among them.
impl Listed for Workflow {
    type Within = ();

    fn span((): &(), past: Option<&WorkflowId>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Workflow {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<WorkflowV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<WorkflowV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { WorkflowV1 => Workflow }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Workflow")]
struct WorkflowV1 {
    tenant: Tenant,
    id: WorkflowId,
    name: String,
    /// Each item has an attribute `version`, which says how often it was written.
    #[serde(rename = "newest")]
    version: u32,
    deleted: bool,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
}

/// A piece of what a version says, written once and before whatever names the version. An item of the table has at most 400 KB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionPiece {
    /// How many there are.
    pub of: u32,
    /// When its version was made, and by whom.
    pub at: Moment,
    pub by: String,
    pub text: String,
}

impl Item for DefinitionPiece {
    const KIND: &'static str = "definition";
    const IMMUTABLE: bool = true;

    /// The workflow, the version from 1, the piece from 0.
    type Key = (WorkflowId, u32, u32);

    fn place((workflow, version, piece): &Self::Key) -> Place {
        Place::new(Partition::History(workflow.job()), [Part::Number(*version), Part::Number(*piece)])
    }
}

/// The pieces of one version, in order.
impl Listed for DefinitionPiece {
    type Within = (WorkflowId, u32);

    fn span((workflow, version): &Self::Within, past: Option<&Self::Key>) -> Option<Span> {
        let all = Span::all(Partition::History(workflow.job()), past.map(Self::place));
        Some(Span { within: vec![Part::Number(*version)], ..all })
    }
}

impl Stored for DefinitionPiece {
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
