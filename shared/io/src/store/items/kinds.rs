//! Every kind of item, by the word that it lies under: for who finds an item by its key alone.

use minutehand_domain::access::{ApiKey, KeyUse};
use minutehand_domain::audit::Act;
use minutehand_domain::calendar::{CalendarUse, Shared};
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::health::day::{Day, End};
use minutehand_domain::idempotency::Asked;
use minutehand_domain::notification::{Digest, Rule};
use minutehand_domain::operation::{Erasing, OperationHead};
use minutehand_domain::pool::presence::Presence;
use minutehand_domain::pool::{Offer, Pool};
use minutehand_domain::quota::Quota;
use minutehand_domain::run::effect::Effect;
use minutehand_domain::run::logbook::{Checkpoint, LogPiece, Logbook};
use minutehand_domain::run::{Attempt, Run};
use minutehand_domain::secret::Secret;
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::slot::{Pace, Slot, Waiter};
use minutehand_domain::survey::Survey;
use minutehand_domain::workflow::Workflow;
use minutehand_domain::workflow::join::Join;

use super::{DefinitionPiece, KeptBody, KeptRules, RunBody};
use crate::Fault;
use crate::store::item::Item;

/// What is done with an item whose kind is known by a word only.
pub(in crate::store) trait OfKind {
    type Done;

    fn of<T: Item>(self) -> Self::Done;
}

/// A word that no kind has here may be that of a later release's kind.
pub(in crate::store) fn unknown(word: &str) -> Fault {
    Fault::later("the store", format!("this release knows no kind {word:?}"))
}

macro_rules! kinds {
    ($($kind:ty,)+) => {
        /// None where this release knows no kind of this word.
        pub(in crate::store) fn of_kind<D: OfKind>(word: &str, act: D) -> Option<D::Done> {
            match word {
                $(<$kind>::KIND => Some(act.of::<$kind>()),)+
                _ => None,
            }
        }
    };
}

kinds! {
    Act,
    ApiKey,
    Asked,
    Attempt,
    CalendarUse,
    Checkpoint,
    Cursor,
    Day,
    DefinitionPiece,
    Digest,
    Effect,
    End,
    Erasing,
    Head,
    Join,
    KeptBody,
    KeptRules,
    KeyUse,
    LogPiece,
    Logbook,
    Offer,
    OperationHead,
    Pace,
    Pool,
    Presence,
    Quota,
    Rule,
    Run,
    RunBody,
    Secret,
    Shared,
    SigningSecrets,
    Slot,
    Survey,
    Waiter,
    Workflow,
}
