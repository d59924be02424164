//! Lateness: what comes before the claim of an occurrence that nobody began in time. It begins in its turn among what is made up for, behind
//! what is more urgent; what came in time asks nothing and costs nothing.

use minutehand_domain::hint::Hint;
use minutehand_domain::owner::RunOwner;
use minutehand_domain::run::made_up::Late;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Guard;
use minutehand_io::{Fault, Ports};

use super::claim::{Dropped, Ready};
use super::entry::NotIn;
use crate::chain::putting_off::write;
use crate::slots::turns::{TooLate, Turns, is_behind_others, turn};

/// The run, if it may begin now; or why not.
pub(super) async fn in_turn<D: Ports>(ports: &D, told: &Hint, ready: Ready) -> Result<Result<Ready, NotIn>, Fault> {
    match lateness(ports, &ready) {
        Late::Not => Ok(Ok(ready)),
        late @ (Late::Asks | Late::InTurn) => Box::pin(behind_others(ports, told, ready, late)).await, // apart: few are late
    }
}

fn lateness<D: Ports>(ports: &D, ready: &Ready) -> Late {
    match &ready.owner {
        RunOwner::Job(job) => job.late(&ready.run, matches!(ready.guard, Guard::Seen(_)), ports.clock().now()),
        RunOwner::Parent(_) | RunOwner::Told(_) => Late::Not,
    }
}

async fn behind_others<D: Ports>(
    ports: &D,
    told: &Hint,
    ready: Ready,
    late: Late,
) -> Result<Result<Ready, NotIn>, Fault> {
    let (RunOwner::Job(job), t) = (&ready.owner, ready.run.key.at) else { return Ok(Ok(ready)) };
    if late == Late::InTurn && !is_behind_others(ports, job).await? {
        return Ok(ready.if_fresh(ports.clock()));
    }
    if ready.guard == Guard::Absent && told.stamp.generation < job.generation {
        // Given before its job was changed: the look makes sure of what comes after it first.
        return Ok(Err(NotIn::Dropped(Dropped::TooSoon)));
    }
    // Its timer stays where no turn is left for it: the look that finds it writes the record, or it asks again.
    let turn = match turn(ports, job, t, &Turns::default()).await? {
        Ok(turn) => turn,
        Err(TooLate(_)) => return Ok(Err(NotIn::Dropped(Dropped::PastCatchUpWindow))),
    };
    let now = ports.clock().now();
    if turn.at <= now {
        return Ok(ready.if_fresh(ports.clock()));
    }
    let ready = match ready.if_fresh(ports.clock()) {
        Ok(ready) => ready,
        Err(stale) => return Ok(Err(stale)),
    };
    let RunOwner::Job(job) = &ready.owner else { return Ok(Ok(ready)) };
    let written = write(ports, told, job, (&ready.run, ready.guard), turn, ready.read_at).await;
    Ok(Err(NotIn::Dropped(postponed(told, written))))
}

/// What becomes of a hint whose run has a turn. One that could not be written down is lost, and a hint that is given back comes every few seconds
/// for as long as the table refuses writes: a quarter of an hour of that took the turns of four hours. A look comes once a minute.
pub(super) fn postponed(told: &Hint, written: Result<bool, Fault>) -> Dropped {
    match written {
        Ok(true) => Dropped::Postponed,
        Ok(false) => Dropped::Faster,
        Err(fault) => {
            tracing::warn!(run = %told.run, %fault, "a turn is lost: it could not be written down");
            Dropped::TurnLost
        }
    }
}
