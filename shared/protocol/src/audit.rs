//! The audit: an act of an admin is on record before it is done. Promise, act, and say what came of it.
//!
//! A crash before the act leaves a record of an act that was not done, one after it a record of an act that was: both without an
//! outcome, which is what "nobody knows" looks like. An act without a record cannot be.

use std::future::Future;

use minutehand_domain::audit::{Act, Outcome};
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// Does what the act says, on record. `outcome_of` says what came of it, where that is known. Where it cannot be recorded the act
/// is not done.
pub async fn on_record<D, T, E>(
    ports: &D,
    act: Act,
    doing: impl Future<Output = Result<T, E>>,
    outcome_of: impl FnOnce(&Result<T, E>) -> Option<Outcome>,
) -> Result<T, E>
where
    D: Ports,
    E: From<Fault>,
{
    // Before the act: `an_act_is_on_record_before_it_is_done` looks from inside of it.
    let promised = promise(ports, act).await?;
    let done = doing.await;
    if let Some(outcome) = outcome_of(&done) {
        settle(ports, &promised, outcome).await;
    }
    done
}

async fn promise<D: Ports>(ports: &D, act: Act) -> Result<Seen<Act>, Fault> {
    match ports.store().put(&act.tenant, act.key, &act, Guard::Absent).await? {
        Put::Written(version) => Ok(Seen { item: act, version }),
        // The same instant and the same number of chance: ask again.
        Put::Conflict(_) => Err(Fault::unavailable("store", "another act is on record in this one's place")),
    }
}

/// The act is done, and its doer is told so, also where this fails: the record then says that nobody knows.
async fn settle<D: Ports>(ports: &D, promised: &Seen<Act>, outcome: Outcome) {
    let Seen { item: act, .. } = promised;
    match ports.store().put(&act.tenant, act.key, &act.ended(outcome), promised.guard()).await {
        Ok(Put::Written(_)) => {}
        Ok(Put::Conflict(_)) => tracing::warn!(deed = &*act.deed, "somebody else changed the record of an act"),
        Err(fault) => tracing::warn!(deed = &*act.deed, %fault, "what came of an act is not on record"),
    }
}
