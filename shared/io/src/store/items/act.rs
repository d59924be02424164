//! An act of an admin, by its instant.

use std::borrow::Cow;
use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::audit::{Act, ActKey, Outcome};
use minutehand_domain::id::Tenant;
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::{Maybe, Of, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span};

impl Item for Act {
    const KIND: &'static str = "act";

    type Key = ActKey;

    fn place(key: &ActKey) -> Place {
        Place::new(Partition::Kind, [Part::Instant(key.at), Part::Discriminator(key.number)])
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.kept_until())
    }
}

/// A tenant's acts of a window, newest first.
impl Listed for Act {
    type Within = Range<Moment>;

    fn span(window: &Range<Moment>, past: Option<&ActKey>) -> Option<Span> {
        let (from, to) = (Some(Part::Instant(window.start)), Some(Part::Instant(window.end)));
        let past = past.map(|key| Self::place(key).sort);
        let span = Span { partition: Partition::Kind, within: Vec::new(), from, to, past, order: Order::Backward };
        (window.start < window.end).then_some(span)
    }
}

impl Stored for Act {
    const NEWEST: u8 = 2;

    /// Shape 1 says everything but a note.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match &self.note {
            None => writer.shape(1, &Filed { document: in_shape::<ActV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<ActV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<ActV1, _>>>().map(|filed| filed.document.0),
            2 => reader.shape::<Filed<Of<ActV2, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { ActV1 => Act, ActV2 => Act, ActKeyV1 => ActKey, OutcomeV1 => Outcome }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Act")]
struct ActV1 {
    tenant: Tenant,
    #[serde(with = "ActKeyV1")]
    key: ActKey,
    by: By,
    by_name: Option<String>,
    deed: Cow<'static, str>,
    subject: String,
    request_id: String,
    #[serde(default, with = "Maybe::<OutcomeV1>")]
    outcome: Option<Outcome>,
    #[serde(skip)]
    note: Option<String>,
}

/// Who did it said why.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Act")]
struct ActV2 {
    tenant: Tenant,
    #[serde(with = "ActKeyV1")]
    key: ActKey,
    by: By,
    by_name: Option<String>,
    deed: Cow<'static, str>,
    subject: String,
    request_id: String,
    #[serde(default, with = "Maybe::<OutcomeV1>")]
    outcome: Option<Outcome>,
    note: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ActKey")]
struct ActKeyV1 {
    at: Moment,
    number: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Outcome", rename_all = "snake_case")]
enum OutcomeV1 {
    Done,
    NotDone,
}
