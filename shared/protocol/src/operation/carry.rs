//! Carrying on: the look at an operation's timer, and the steps that it makes.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::job::{Job, Status};
use minutehand_domain::limits::OPERATION_STEPS;
use minutehand_domain::operation::{
    Acted, Found, Operation, OperationHead, OperationId, Position, State, Subject, Work,
};
use minutehand_domain::pace;
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::AT_ONCE;
use super::acts::{act_on_job, act_on_run};
use super::erase as erasing;
use super::find::find;
use super::making::{make, withdraw};
use crate::chain::followed::Followed;
use crate::lookup::{job_of, know};
use crate::timers::promise::{erase, move_to};

/// How long one look goes on with one operation: others of its shard wait for it, and a sweep that begins it at its end leaves twenty seconds for it,
/// the last step among them.
const LOOK_LASTS: Duration = Duration::from_secs(10);

/// How far an operation was carried on.
pub struct Carried {
    /// As it was written last; none where another carries it on as well, and was faster.
    pub seen: Option<Seen<Operation>>,
    /// When it is to be looked at again, where it goes on.
    pub again: Moment,
}

/// The look at an operation's timer: so many steps, and then the timer moves on, or goes where nothing is left to do. When it is looked at
/// again.
pub async fn look<D: Ports>(ports: &D, timer: &Timer, id: OperationId) -> Result<Option<Moment>, Fault> {
    let Some(seen) = ports.store().get::<OperationHead>(&timer.tenant, id).await? else {
        return inspect_orphan(ports, timer, id).await.map(|()| None);
    };
    let Seen { item: OperationHead::Operation(operation), version } = seen else {
        return erase(ports, timer).await.map(|()| None);
    };
    let until = ports.clock().now() + LOOK_LASTS;
    let carried = carry(ports, Seen { item: *operation, version }, OPERATION_STEPS, until).await?;
    match carried.seen {
        Some(seen) if !seen.item.goes_on() => let_go(ports, timer, &seen).await.map(|()| None),
        Some(_) | None => move_to(ports, timer, whole_second(carried.again)).await.map(|moved| Some(moved.key.due)),
    }
}

/// Two looks at once move it to one place.
fn whole_second(at: Moment) -> Moment {
    Moment::from_millis((at.millis() + 999) / 1000 * 1000)
}

/// Erases the timer of what does not go on. Rule **touch**: one that would by somebody's word is written unchanged first, so that whoever
/// promised a look before this, to resume or cancel it after this, is refused and promises again.
pub async fn let_go<D: Ports>(ports: &D, timer: &Timer, seen: &Seen<Operation>) -> Result<(), Fault> {
    if seen.item.may_go_on_again() && !written(ports, &seen.item, seen.guard()).await?.is_written() {
        return Ok(()); // the next look sees what became of it
    }
    erase(ports, timer).await
}

/// An operation that was promised and is not there: its asker may be slow. At the second look it is refused by a tombstone.
async fn inspect_orphan<D: Ports>(ports: &D, timer: &Timer, id: OperationId) -> Result<(), Fault> {
    let now = ports.clock().now();
    if now.since(timer.stamp.written) < pace::ORPHAN {
        return move_to(ports, timer, now + pace::ORPHAN).await.map(|_moved| ());
    }
    let tombstone = OperationHead::Tombstone { tenant: timer.tenant.clone(), id };
    match ports.store().put(&timer.tenant, id, &tombstone, Guard::Absent).await? {
        Put::Written(_) => erase(ports, timer).await,
        Put::Conflict(_) => Ok(()), // the next look carries it on
    }
}

/// So many steps at most, none of which begins from `until` on. It rests where its pace or an occurrence that is waited for lets it do no more.
pub async fn carry<D: Ports>(ports: &D, seen: Seen<Operation>, steps: usize, until: Moment) -> Result<Carried, Fault> {
    let mut seen = seen;
    if seen.item.state == State::Running {
        know_its_calendars(ports, &mut seen.item).await?; // to be cancelled it needs none, and one that cannot be read must not hold that up
    }
    for _ in 0..steps {
        let now = ports.clock().now();
        if !seen.item.goes_on() || rests(&seen.item, now) || now >= until {
            break;
        }
        let next = step(ports, &seen.item).await?;
        match written(ports, &next, seen.guard()).await? {
            Put::Written(version) => seen = Seen { item: next, version },
            Put::Conflict(_) => return Ok(Carried { seen: None, again: now + pace::PROMISE_AGAIN }),
        }
        if seen.item.held_since.is_some() {
            break;
        }
    }
    let again = seen.item.looks_again(ports.clock().now());
    Ok(Carried { seen: Some(seen), again })
}

/// Of a backfill as it was read from the store: what the calendars say that its schedule is pinned to.
async fn know_its_calendars<D: Ports>(ports: &D, operation: &mut Operation) -> Result<(), Fault> {
    match &mut operation.work {
        Work::Backfill(backfill) => know(ports, &operation.tenant, backfill.job, &mut backfill.schedule).await,
        Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => Ok(()),
    }
}

/// Whether a step would do nothing.
fn rests(operation: &Operation, now: Moment) -> bool {
    if let Work::Erase(erasure) = &operation.work {
        return now < erasure.rests_until();
    }
    operation.state == State::Running
        && operation.batch.is_empty()
        && operation.position != Position::End
        && operation.may_find(0, now) == 0
}

async fn written<D: Ports>(ports: &D, operation: &Operation, guard: Guard) -> Result<Put<OperationHead>, Fault> {
    let head = OperationHead::Operation(Box::new(operation.clone()));
    ports.store().put(&operation.tenant, operation.id, &head, guard).await
}

/// What a step makes of it: acts on its batch, and finds the next. Nothing of it is written yet.
async fn step<D: Ports>(ports: &D, operation: &Operation) -> Result<Operation, Fault> {
    if let Work::Erase(erasure) = &operation.work {
        return erasing::step(ports, operation, erasure).await;
    }
    if operation.state == State::Cancelling {
        let (withdrawn, position) = withdraw(ports, operation).await?;
        return Ok(operation.withdrew(withdrawn, position, ports.clock().now()));
    }
    let job = match &operation.work {
        Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => None,
        Work::Backfill(backfill) => match job_of(ports, &operation.tenant, backfill.job).await? {
            Some(job) if job.status != Status::Cancelled => Some(job),
            _ => return Ok(operation.given_up("its job was deleted", ports.clock().now())),
        },
    };
    let acted = act_on_all(ports, operation, job.as_ref()).await?;
    let held = acted.iter().filter(|(_, acted)| *acted == Acted::Held).count();
    let now = ports.clock().now();
    if let Some(found) = find(ports, operation, operation.may_find(held, now)).await? {
        return Ok(operation.stepped(&acted, found, now));
    }
    let nothing = Found { subjects: Vec::new(), position: operation.position };
    Ok(operation.stepped(&acted, nothing, now).given_up("the list of all runs is not kept any more", now))
}

async fn act_on_all<D: Ports>(
    ports: &D,
    operation: &Operation,
    job: Option<&Job>,
) -> Result<Vec<(Subject, Acted)>, Fault> {
    let followed = &Followed::default();
    let each = |subject: Subject| {
        Box::pin(async move {
            match act(ports, operation, job, subject, followed).await {
                Ok(acted) => Ok((subject, acted)),
                // What is wrong with one item stops nothing beside it.
                Err(fault) if fault.is_of_an_item() => Ok((subject, Acted::Refused(fault.to_string()))),
                Err(fault) => Err(fault),
            }
        })
    };
    stream::iter(operation.batch.iter().copied().map(each)).buffered(AT_ONCE).try_collect().await
}

async fn act<D: Ports>(
    ports: &D,
    operation: &Operation,
    job: Option<&Job>,
    subject: Subject,
    followed: &Followed,
) -> Result<Acted, Fault> {
    match (&operation.work, subject, job) {
        (Work::Jobs { act, .. }, Subject::Job(id, generation), _) => {
            act_on_job(ports, &operation.tenant, *act, id, generation).await
        }
        (Work::Runs { act, filter }, Subject::Run(key), _) => act_on_run(ports, operation, (*act, filter), key).await,
        (Work::Backfill(backfill), Subject::Occurrence(at), Some(job)) => {
            make(ports, operation, backfill, (job, at), followed).await
        }
        _ => Ok(Acted::Refused("it is none of what the operation is about".to_owned())),
    }
}
