//! What people decide: an approval is answered, a failure that is held gets its verdict, a run that failed is gone on with.
//!
//! Rule **nudge**: whoever judges a run whose lease is not his reads it, promises its look, and writes it as he read it; then what it owes is
//! settled.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::access::{By, Role};
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Status;
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{
    Event as RunEvent, Judgement, Refusal, Remark, Remarked, Run, Said, State, TaskPlace, Waiting, Word,
};
use minutehand_domain::target::Target;
use minutehand_domain::timer::TimerKey;
use minutehand_domain::trace::Traced;
use minutehand_domain::workflow::Workflow;
use minutehand_domain::workflow::plan::Node;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::attend::{approval_of, is_held};
use super::family::Family;
use super::settle::{Settled, settle};
use super::unfold::graph_before;
use crate::aftermath::{Try, mark};
use crate::born::born;
use crate::lookup::job_of;
use crate::timers::hinting::hint;
use crate::timers::promise::{erase, promise_task};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    Done(Run),
    Refused(Refusal, Run),
    /// The approval is not this role's to answer.
    NotYours,
    NotFound,
}

/// Writes down what somebody decided about the run of a task.
pub async fn judge<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    judgement: &Judgement,
    role: Role,
) -> Result<Judged, Fault> {
    loop {
        let Some(seen) = ports.store().get::<Run>(tenant, key).await? else { return Ok(Judged::NotFound) };
        let (guard, run) = (seen.guard(), seen.item);
        let Some(task) = run.task.clone() else { return Ok(Judged::NotFound) };
        // Whoever lets a rejected approval pass answers it, and so does whoever lets all of it pass that it was asked in.
        let lets_pass = matches!(judgement.word, Word::Succeed | Word::Skip);
        if !may_answer(ports, &run, role).await? || (lets_pass && !may_answer_beneath(ports, &run, role).await?) {
            return Ok(Judged::NotYours);
        }
        if !judgement.word.is_answer() && !is_held(ports, &run).await? {
            return Ok(Judged::Refused(Refusal::NotAsked, run));
        }
        let now = ports.clock().now();
        let next = match run.after(&RunEvent::Judge(judgement), now) {
            Ok(next) => next,
            Err(refusal) => return Ok(Judged::Refused(refusal, run)),
        };
        let timer = promise_task(ports, tenant, TimerKey::run(key, now), task.parent).await?;
        if ports.store().put(tenant, key, &next, guard).await?.is_written() {
            ports.events().changed(&run, &next, now);
            if settle(ports, &next).await? == Settled::Paid {
                erase(ports, &timer).await?;
            }
            return Ok(Judged::Done(next));
        }
    }
}

async fn may_answer<D: Ports>(ports: &D, run: &Run, role: Role) -> Result<bool, Fault> {
    Ok(approval_of(ports, run).await?.is_none_or(|approval| approval.may(role)))
}

/// The same of all approvals beneath a run that were not given, as their last try stands.
async fn may_answer_beneath<D: Ports>(ports: &D, run: &Run, role: Role) -> Result<bool, Fault> {
    if run.graph.is_none() {
        return Ok(true);
    }
    let Some(family) = Family::of(ports, &run.tenant, run.key).await? else { return Ok(true) };
    let children = family.children().await?;
    let last: BTreeMap<_, _> = children
        .iter()
        .filter_map(|child| TaskPlace::of(child.key).map(|place| ((place.node, place.branch), child)))
        .collect();
    for ((node, _branch), child) in last {
        if matches!(child.state, State::Succeeded { .. }) {
            continue;
        }
        let approval = family.plan.node(node).and_then(Node::approval);
        if approval.is_some_and(|approval| !approval.may(role))
            || !Box::pin(may_answer_beneath(ports, child, role)).await?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether somebody of this role may end a run by itself: where it asks for an approval, that is to answer it.
pub async fn may_end<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, role: Role) -> Result<bool, Fault> {
    match ports.store().get::<Run>(tenant, key).await? {
        Some(seen) if matches!(seen.item.waiting(), Some(Waiting::Answer { .. })) => {
            may_answer(ports, &seen.item, role).await
        }
        Some(_) | None => Ok(true),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumed {
    Queued(Run),
    /// Somebody asked before: it is this one.
    Already(Run),
    /// It has not ended, or well, or is no workflow's run.
    Refused(Run),
    /// Nobody can tell by now what of it was done.
    Forgotten,
    NotFound,
}

/// Goes on with a run of a workflow that did not end well, under a key of its own: whatever succeeded is not done again. Rule **once**:
/// however often somebody asks, it is one run. Rule **derive**: its timer says what it goes on with, so that a look which finds that
/// alone makes the run; given up, it could never be asked for again. `note`: of who asks, which the new run has.
pub async fn resume<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    by: &By,
    note: Option<&str>,
) -> Result<Resumed, Fault> {
    loop {
        let Some(seen) = ports.store().get::<Run>(tenant, key).await? else { return Ok(Resumed::NotFound) };
        let before = &seen.item;
        // Of what was skipped only what goes on with another run has unfolded, there.
        let is_undone = match before.state {
            State::Failed { .. } | State::TimedOut { .. } | State::Cancelled { .. } | State::Skipped { .. } => true,
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) | State::Succeeded { .. } => false,
        };
        if (before.aftermath.is_some() && before.task.is_none())
            && let Some(there) = ports.store().get::<Run>(tenant, RunKey::resuming(key)).await?
        {
            return Ok(Resumed::Already(there.item));
        }
        if !is_undone || before.task.is_some() || !still_carries_it_out(ports, before).await? {
            return Ok(Resumed::Refused(seen.item));
        }
        if let Some(resumed) = resume_as_seen(ports, &seen, Said { by: Some(by), note }).await? {
            return Ok(resumed);
        }
    }
}

/// The old run says that it is gone on with, unless it says already what became of it. None where somebody was faster.
async fn resume_as_seen<D: Ports>(ports: &D, seen: &Seen<Run>, said: Said<'_>) -> Result<Option<Resumed>, Fault> {
    let (before, now) = (&seen.item, ports.clock().now());
    let run = going_on_with(before, said.by, now);
    let (by, note) = (said.by.cloned(), said.note.map(ToOwned::to_owned));
    let run = run.remarked(Remark { at: now, by, what: Remarked::Resumed, note });
    if !what_was_done_is_on_record(ports, before, now).await? {
        return Ok(Some(Resumed::Forgotten));
    }
    let timer = promise_task(ports, &run.tenant, TimerKey::run(run.key, now), before.key).await?;
    let lane = Lane::look(run.priority);
    let other = Try { key: run.key, payload: None, said, operation: None, lane };
    if mark(ports, seen, other).await?.is_none() {
        return Ok(None);
    }
    match born(ports, &run, "none", now).await? {
        Put::Written(_) => {
            let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), now).await;
            Ok(Some(Resumed::Queued(run)))
        }
        Put::Conflict(Some(there)) => Ok(Some(Resumed::Already(there.item))),
        Put::Conflict(None) => Ok(Some(Resumed::NotFound)),
    }
}

/// Whether nobody who goes on with a run would do again what was done, in it or in those that it went on with: where a store deletes by the clock alone
/// their tasks go before they do.
async fn what_was_done_is_on_record<D: Ports>(ports: &D, run: &Run, now: Moment) -> Result<bool, Fault> {
    let mut next = Some(run.clone());
    while let Some(run) = next {
        if run.graph.is_some() && !run.remembers_its_tasks(now) {
            return Ok(false);
        }
        let Some(before) = run.before() else { return Ok(true) };
        next = ports.store().get::<Run>(&run.tenant, before).await?.map(|seen| seen.item);
    }
    Ok(false)
}

/// Whether a run has unfolded, or one that it went on with, and its job still carries out the same workflow; neither of them is deleted.
async fn still_carries_it_out<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    let graph = if run.graph.is_some() { run.graph.clone() } else { graph_before(ports, run).await? };
    let (Some(graph), Some(job)) = (graph, job_of(ports, &run.tenant, run.key.job).await?) else {
        return Ok(false);
    };
    let is_its_own = matches!(job.definition.target, Target::Workflow(called) if called.id == graph.workflow);
    if job.status == Status::Cancelled || !is_its_own {
        return Ok(false);
    }
    let workflow = ports.store().get::<Workflow>(&run.tenant, graph.workflow).await?;
    Ok(workflow.is_some_and(|workflow| !workflow.item.deleted))
}

/// The run that goes on with another. `by`: who asked for it, where that is known.
pub(super) fn going_on_with(before: &Run, by: Option<&By>, now: Moment) -> Run {
    Run {
        // A schedule's own has none, and its job's may be another by now.
        payload: before.payload.clone().or_else(|| before.graph.as_ref().map(|graph| graph.given.clone())),
        redrive_of: Some(before.key),
        asked_by: by.cloned(),
        state: State::Scheduled { due: now },
        sla: before.sla_from(now),
        follows: before.follows,
        followers: before.followers.clone(),
        callbacks: before.callbacks.clone(),
        is_counted: before.is_counted,
        kept: before.kept.outlasting(before),
        trace: Traced::after(before),
        ..Run::new(before.tenant.clone(), RunKey::resuming(before.key), before.priority)
    }
}
