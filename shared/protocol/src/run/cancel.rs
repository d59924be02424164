//! Cancelling a run: one that waits is ended, one that runs is not tried again, an occurrence nobody has claimed gets
//! its record now, after the timer of its successor. One that waits for its tasks has them ended first.
//!
//! Rule **nudge**: where an end owes anything, its look is promised before it is written.

use minutehand_domain::access::By;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::{Event as RunEvent, Refusal, Remark, Remarked, Run};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::quota_bound;
use crate::chain::standing::{Asked, Standing, standing};
use crate::chain::successor::first_record;
use crate::contention::Contention;
use crate::graph::owed::owes;
use crate::graph::stop::{after_a_cancel, promise_look, promise_look_at};
use crate::run::entry::leave_all_lines;
use crate::run::withdrawal::withdraw_called_off;

/// Tries against an executor that claims or finishes the same run.
const TRIES: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    Done(Run),
    Refused(Refusal, Run),
    NotFound,
}

pub async fn cancel<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, by: &By) -> Result<Cancelled, Fault> {
    cancel_with(ports, tenant, key, by, None).await
}

/// The same, with a note of who asks. The run remembers the first who asked; of another, and of a note, it has a remark.
pub async fn cancel_with<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    by: &By,
    note: Option<&str>,
) -> Result<Cancelled, Fault> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let read_at = ports.clock().now(); // before the read: its answer may have been long on its way
        let (run, guard) = match standing(ports, tenant, key, Asked::ByAnyone).await? {
            Standing::Recorded(seen) => {
                let guard = seen.guard();
                (seen.item, guard)
            }
            Standing::Unborn(job) => {
                let first = quota_bound(ports, &first_record(ports, &job, key, read_at).await?).await;
                (first.sampled_by(ports.sampling()), Guard::Absent)
            }
            Standing::Covered(job, coverage) => {
                let run = coverage.as_of(&job, key);
                return Ok(Cancelled::Refused(Refusal::Finished, run));
            }
            Standing::NotAdmitted(_) | Standing::NoJob | Standing::NoRecord => return Ok(Cancelled::NotFound),
        };
        let now = ports.clock().now();
        let next = match run.after(&RunEvent::Cancel { by: Some(by) }, now) {
            Ok(next) => next,
            Err(refusal) => return Ok(Cancelled::Refused(refusal, run)),
        };
        let next = if note.is_some() || run.cancel.is_some() {
            let note = note.map(ToOwned::to_owned);
            next.remarked(Remark { at: now, by: Some(by.clone()), what: Remarked::CancelAsked, note })
        } else {
            next
        };
        if let Some(end) = next.grace_ends(&run) {
            promise_look_at(ports, &run, end).await?;
        }
        let look = if owes(&run) || owes(&next) || run.tasks().is_some() {
            Some(promise_look(ports, &run).await?)
        } else {
            None
        };
        if ports.store().put(&next.tenant, next.key, &next, guard).await?.is_written() {
            ports.events().changed(&run, &next, now);
            let _whoever_walks_its_lines_passes_it_over = Box::pin(leave_all_lines(ports, &run)).await;
            let _whoever_takes_it_finds_it_over = Box::pin(withdraw_called_off(ports, &run)).await;
            // The cancel stands. A client that is told of a fault cancels again, and that stops a `finally` that has begun meanwhile.
            let _its_look_does_the_rest = after_a_cancel(ports, &next, look.as_ref()).await;
            return Ok(Cancelled::Done(next));
        }
    }
    Err(Fault::unavailable("run", "it is being changed by too many at once"))
}
