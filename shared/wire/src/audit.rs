//! The audit on the wire: what admins did.

use minutehand_domain::audit::{Act, Deed, Outcome};
use minutehand_domain::limits::PAGE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::component::component;
use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::texts::{CursorText, TenantText};
use crate::word::Word;

component!(
    DeedText = "Deed",
    schemars::json_schema!({ "type": "string", "enum": Deed::ALL.map(Deed::as_str).as_slice(), "description": "What was done." })
);

/// An act of an admin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActView {
    pub at: Instant,
    /// The id of the key that did it, or `deployment`, whose key has no id.
    pub by: String,
    /// What that key was called then.
    pub by_name: Option<String>,
    #[schemars(with = "DeedText")]
    pub deed: String,
    /// What it was done to: a key's id, a secret's name, a tenant.
    pub subject: String,
    #[schemars(with = "ActOutcome")]
    pub outcome: Word<ActOutcome>,
    /// The request that asked for it, as in its answer and in the log.
    pub request_id: String,
    /// Why, where who did it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What came of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActOutcome {
    Done,
    /// It was refused after all; nothing was changed.
    NotDone,
    /// It is being done, or its process went away while it was: look at what it was done to.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Those of then or later: all that are kept if it is not given.
    pub from: Option<Instant>,
    /// Those before: without an end if it is not given, since a clock that was ahead leaves acts later than now.
    pub to: Option<Instant>,
    /// Whose: only the deployment's own key may ask for another tenant's than its own.
    #[schemars(with = "Option<TenantText>")]
    pub tenant: Option<String>,
}

impl ActView {
    pub fn of(act: &Act) -> Self {
        Self {
            at: Instant(act.key.at),
            by: act.by.as_str().to_owned(),
            by_name: act.by_name.clone(),
            deed: act.deed.clone().into_owned(),
            subject: act.subject.clone(),
            outcome: ActOutcome::of(act.outcome).into(),
            request_id: act.request_id.clone(),
            note: act.note.clone(),
        }
    }
}

impl ActOutcome {
    const fn of(outcome: Option<Outcome>) -> Self {
        match outcome {
            Some(Outcome::Done) => Self::Done,
            Some(Outcome::NotDone) => Self::NotDone,
            None => Self::Unknown,
        }
    }
}
