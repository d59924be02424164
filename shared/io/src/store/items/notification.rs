//! A rule of notifications, by its name.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::notification::{Rule, RuleName, SlackUrl, To, When, Whose};
use minutehand_domain::target::{AliasName, HttpTarget};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::span::SpanV1;
use crate::shapes::target::HttpTargetV3;
use crate::shapes::{Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Partition, Place, Span};

impl Item for Rule {
    const KIND: &'static str = "notification";

    type Key = RuleName;

    fn place(name: &RuleName) -> Place {
        Place::named(name.as_str())
    }

    /// What was deleted is looked at by nobody.
    fn expires_at(&self) -> Option<Moment> {
        self.deleted_at
    }
}

/// A tenant's rules by name; deleted ones are left out.
impl Listed for Rule {
    type Within = ();

    fn span((): &(), past: Option<&RuleName>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }

    fn counts(&self) -> bool {
        self.deleted_at.is_none()
    }
}

impl Stored for Rule {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<RuleV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<RuleV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { RuleV1 => Rule, WhoseV1 => Whose, ToV1 => To }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Rule")]
struct RuleV1 {
    tenant: Tenant,
    name: RuleName,
    id: JobId,
    when: BTreeSet<When>,
    #[serde(with = "WhoseV1")]
    whose: Whose,
    in_a_row: u16,
    #[serde(with = "SpanV1")]
    late: Duration,
    #[serde(with = "SpanV1")]
    digest: Duration,
    #[serde(with = "SpanV1")]
    cooldown: Duration,
    #[serde(with = "ToV1")]
    to: To,
    enabled: bool,
    created_at: Moment,
    changed_at: Moment,
    deleted_at: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Whose", rename_all = "snake_case")]
enum WhoseV1 {
    All,
    Jobs(BTreeSet<JobId>),
    Tags(BTreeSet<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "To", rename_all = "snake_case")]
enum ToV1 {
    Webhook(#[serde(with = "HttpTargetV3")] HttpTarget),
    Slack(#[serde(with = "SlackUrlV1")] SlackUrl),
    Sns(AliasName),
}

shapes! { SlackUrlV1 => SlackUrl }

#[derive(Serialize, Deserialize)]
#[serde(remote = "SlackUrl", transparent)]
struct SlackUrlV1(String);
