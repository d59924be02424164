//! The end of a run whose tasks have ended: `finally` begins, or the run succeeds or fails.
//!
//! Each of these writes is the run's as it was seen; whoever was slower finds it done, and goes on from what stands.

use minutehand_domain::body::Body;
use minutehand_domain::limits::{INLINE_RESULT_BYTES, PAYLOAD_BYTES};
use minutehand_domain::run::{Event as RunEvent, Failure, Run, Stop, TaskPlace, Tasks, TasksEnded, Tending};
use minutehand_domain::workflow::edge::{Closed, Ended};
use minutehand_domain::workflow::join::Of;
use minutehand_domain::workflow::path::Root;
use minutehand_domain::workflow::plan::Phase;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Events as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::family::Family;
use super::settle::{Due, Work};
use super::stop::{promise_look_at, tell_of_its_end};
use crate::bodies::{self, BodyOf};

/// All tasks of a phase have ended, as the join of its virtual end says.
pub(super) async fn end_of_phase<D: Ports>(
    family: &mut Family<'_, D>,
    of: Of,
    closed: Closed,
    work: &mut Work,
) -> Result<(), Fault> {
    let failed = if family.graph.each.is_some() { too_many_failed(family, closed).await? } else { closed.tainted };
    let phase = if of == Of::FinallyEnd { Phase::Finally } else { Phase::Main };
    end(family, phase, failed.then_some(Stop::Failed), work).await
}

/// Ends a phase of the run, or finds it ended. `how`: none where all went well.
pub(super) async fn end<D: Ports>(
    family: &mut Family<'_, D>,
    phase: Phase,
    how: Option<Stop>,
    work: &mut Work,
) -> Result<(), Fault> {
    loop {
        let Seen { item: run, version } = family.parent.clone();
        let Some(tasks) = run.tasks().copied() else {
            if run.is_finished() {
                work.settle(run);
            }
            return Ok(());
        };
        if tasks.phase != phase {
            // The next one has begun; whoever began it may have died there.
            if tasks.phase == Phase::Finally {
                work.add(Due::Begin(run.key));
            }
            return Ok(());
        }
        let tending = tending(family, &tasks, how).await?;
        let now = family.ports.clock().now();
        let Ok(next) = run.after(&RunEvent::Tend(&tending), now) else { return Ok(()) };
        if let Tending::Finally { deadline, .. } = &tending {
            // The look that stands is for the end of what was before.
            promise_look_at(family.ports, &run, *deadline).await?;
            tell_of_its_end(family.ports, &run, *deadline).await;
        }
        match family.ports.store().put(&next.tenant, next.key, &next, Guard::Seen(version)).await? {
            Put::Written(version) => {
                family.ports.events().changed(&run, &next, now);
                work.step();
                family.parent = Seen { item: next, version };
            }
            Put::Conflict(Some(seen)) => family.parent = seen,
            Put::Conflict(None) => return Ok(()),
        }
    }
}

/// What comes of it: a word that stops the run is how it ends.
async fn tending<D: Ports>(family: &mut Family<'_, D>, tasks: &Tasks, how: Option<Stop>) -> Result<Tending, Fault> {
    let stop = tasks.stop.or(how);
    match tasks.phase {
        Phase::Main if family.graph.each.is_none() && family.plan.has_finally() => {
            let deadline = family.ports.clock().now() + family.plan.policy().finally_timeout;
            Ok(Tending::Finally { outcome: stop, deadline })
        }
        Phase::Main => ended(family, stop).await,
        Phase::Finally => ended(family, tasks.outcome.or(stop)).await,
    }
}

async fn ended<D: Ports>(family: &mut Family<'_, D>, how: Option<Stop>) -> Result<Tending, Fault> {
    Ok(Tending::End(match how {
        None => match output(family).await? {
            Ok(result) => TasksEnded::Succeeded { result },
            Err(told) => TasksEnded::Failed { why: Failure::Unmade, told: Some(told) },
        },
        Some(Stop::Failed) => TasksEnded::Failed { why: Failure::Task, told: None },
        Some(Stop::Cancelled) => TasksEnded::Cancelled,
        Some(Stop::TimedOut) => TasksEnded::TimedOut,
    }))
}

/// The run's own result.
async fn output<D: Ports>(family: &mut Family<'_, D>) -> Result<Result<Body, String>, Fault> {
    let plan = family.plan.clone();
    let Some(template) = plan.policy().output.as_ref().filter(|_| family.graph.each.is_none()) else {
        return Ok(Ok(Body::Empty));
    };
    let roots: Vec<Root> = template.roots().into_iter().cloned().collect();
    if !family.read(roots).await? {
        return Ok(Err("output: what it speaks of is too much to be read at once".to_owned()));
    }
    let json = match template.fill(|root| family.values.get(root).cloned()) {
        Ok(json) => json,
        Err(nothing) => return Ok(Err(format!("output: {nothing}"))),
    };
    if json.len() > PAYLOAD_BYTES {
        return Ok(Err(format!("output: it has {} bytes, and a result has at most {PAYLOAD_BYTES}", json.len())));
    }
    let run = &family.parent.item;
    let of = BodyOf::run(run, family.ports.clock().now());
    bodies::keep_of(family.ports, of, Some(json), INLINE_RESULT_BYTES).await.map(Ok)
}

/// Whether more branches failed than their `for_each` tolerates. They are counted only where some did and some may.
async fn too_many_failed<D: Ports>(family: &Family<'_, D>, closed: Closed) -> Result<bool, Fault> {
    let node = family.plan.node(family.each_node());
    let Some(each) = node.and_then(|node| node.task.for_each.as_ref()) else {
        return Ok(closed.any_failed);
    };
    if !closed.any_failed {
        return Ok(false);
    }
    let holds = family.plan.holds_failures(TaskPlace::branch(family.each_node(), 0));
    let failed = |run: &&Run| run.ended(holds) == Some(Ended::Failed);
    let count = family.children().await?.iter().filter(failed).count();
    Ok(each.tolerate.is_exceeded(count, family.branches().into()))
}
