//! Events: committed changes are published to listeners. Publishing never decides anything and never fails a request.

#[cfg(feature = "aws")]
pub mod bridge;
mod complaints;
pub mod seldom;

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::pool::PoolName;
use minutehand_domain::priority::Priority;
use minutehand_domain::run::Run;
use minutehand_domain::run::effect::Effect;

pub trait Events: Send + Sync + 'static {
    fn emit(&self, event: &Event<'_>);

    /// A run has become another, and may have missed its SLA with that.
    fn changed(&self, before: &Run, run: &Run, now: Moment) {
        self.emit(&Event::Run { run, from: before.status(now), was: Some(before), now });
        if before.sla_missed().is_none() && run.sla_missed().is_some() {
            self.emit(&Event::SlaMissed { run });
        }
    }
}

/// Whoever shares it emits to it.
impl<E: Events> Events for Arc<E> {
    fn emit(&self, event: &Event<'_>) {
        (**self).emit(event);
    }
}

/// What a run was before it was born, where the record of another had spoken for it.
pub const SPOKEN_FOR: &str = "spoken for";

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A job was created or changed.
    Job { job: &'a Job, what: &'static str },
    /// A run was born, or is written anew; `from` is the status it had, and `was` the run as it was, where there was one.
    Run { run: &'a Run, from: &'static str, was: Option<&'a Run>, now: Moment },
    /// Nothing of a workflow's run has changed since then, and nothing will by itself: it waits for this edge, in words.
    Stalled { run: &'a Run, since: Moment, edge: &'a str },
    /// A run has not ended by when it was to have.
    SlaMissed { run: &'a Run },
    /// Somebody was about to make an effect of a run that was claimed before.
    EffectPrevented { effect: &'a Effect },
    /// Somebody has come to a run that could begin since then: it has begun, or what it waits for now is nobody's hands.
    Reached { tenant: &'a Tenant, run: RunKey, priority: Priority, since: Moment, now: Moment },
    /// The target of a run is about to be called, which could have been claimed since `ready`; by a hint that was `sent` then, where it says so.
    Called { run: &'a Run, ready: Option<Moment>, sent: Option<Moment>, now: Moment },
    /// It has answered, or not in time.
    Answered { target: &'static str, outcome: &'static str, took: Duration },
    /// A pass over a shard begins, so long after the last one that came to its end began.
    Sweeping { behind: Duration },
    /// A sweep left something undone, as a shard failed, or the search for timers.
    SweepFailed,
    /// A pass over a shard has met what cannot be read: so much that a later release wrote, and so much that is corrupt.
    Unreadable { later: u64, corrupt: u64 },
    /// Of runs that have expired so many were put into an archive's files, and so many could not be: these stay where they are.
    Archived { archived: u64, refused: u64 },
    /// Something would have been done twice.
    Prevented { by: Layer },
    /// A request was refused, since its tenant has as much as it may have.
    Refused { over: Over },
    /// A run was found waiting for a worker, for so long by now, while one of its pool is alive that could carry it out.
    AwaitsWorker { run: &'a Run, pool: &'a PoolName, waited: Duration, now: Moment },
    /// It waits while none of its pool is alive that could, and for so long no such one was heard of.
    Unattended { run: &'a Run, pool: &'a PoolName, silent: Duration },
    /// A hint is given back, since what says whether it may be carried out, or what its call needs, cannot be reached.
    GivenBack,
}

/// What keeps things from being done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A request that was made before is answered as it was then.
    IdempotencyKey,
    /// A hint came for a run that was begun, or over.
    Claim,
    /// An attempt ended whose run another one has by now.
    Fence,
    /// The ledger of effects.
    Effect,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency_key",
            Self::Claim => "claim",
            Self::Fence => "fence",
            Self::Effect => "effect",
        }
    }
}

/// What somebody has as much of as a tenant, or a stranger, may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    /// Requests in a second.
    Requests,
    /// Requests at a time.
    Connections,
    /// Bytes of bodies at a time.
    Bodies,
    /// One-time runs in a minute.
    Runs,
    /// Jobs that can still fire.
    Jobs,
    /// What schedules may fire in a minute.
    Fires,
    /// Keys that nobody knows.
    UnknownKeys,
}

impl Over {
    pub const ALL: [Self; 7] =
        [Self::Requests, Self::Connections, Self::Bodies, Self::Runs, Self::Jobs, Self::Fires, Self::UnknownKeys];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Connections => "connections",
            Self::Bodies => "bodies",
            Self::Runs => "runs",
            Self::Jobs => "jobs",
            Self::Fires => "fires",
            Self::UnknownKeys => "unknown_keys",
        }
    }
}

/// Where the transitions of runs are logged, so that a filter can name them.
pub const TRANSITIONS: &str = "minutehand::transitions";

/// One structured line for each committed change. A run's says which attempt of which run went from what to what.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Events for Log {
    fn emit(&self, event: &Event<'_>) {
        complaints::complain(event);
        match *event {
            Event::Job { job, what } => {
                tracing::debug!(tenant = job.tenant.as_str(), job = %job.id, generation = job.generation, what, "job");
            }
            Event::Run { run, from, now, .. } => log_transition(run, from, run.status(now)),
            Event::EffectPrevented { effect } => {
                tracing::info!(tenant = effect.tenant.as_str(), run = %effect.run, effect = %effect.name, "an effect was claimed before");
            }
            // Measured, and said by what comes of it.
            Event::Reached { .. }
            | Event::Called { .. }
            | Event::Answered { .. }
            | Event::Sweeping { .. }
            | Event::SweepFailed
            | Event::Unreadable { .. }
            | Event::Archived { .. }
            | Event::Prevented { .. }
            | Event::Refused { .. }
            | Event::AwaitsWorker { .. }
            | Event::GivenBack => {}
            Event::Unattended { run, pool, .. } => {
                tracing::warn!(
                    tenant = run.tenant.as_str(), job = %run.key.job, run = %run.key, pool = pool.as_str(),
                    "a run waits for a worker, and its pool has none for it"
                );
            }
            Event::SlaMissed { run } => {
                let until = run.sla.map(|sla| sla.until.to_string());
                tracing::warn!(
                    tenant = run.tenant.as_str(), job = %run.key.job, run = %run.key, until,
                    "a run has missed its SLA"
                );
            }
            Event::Stalled { run, since, edge } => {
                tracing::warn!(
                    tenant = run.tenant.as_str(), job = %run.key.job, run = %run.key, %since, edge,
                    "a workflow's run has stalled"
                );
            }
        }
    }
}

fn log_transition(run: &Run, from: &'static str, to: &'static str) {
    let Run { tenant, key, fence, .. } = run;
    let attempt = run.attempts.last().map_or(0, |attempt| attempt.number);
    let span = tracing::info_span!(
        target: TRANSITIONS, "run", tenant = tenant.as_str(), job = %key.job, run = %key, attempt, fence, from, to
    );
    span.in_scope(|| tracing::info!(target: TRANSITIONS, "{from} -> {to}"));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use minutehand_domain::id::{JobId, Worker};
    use minutehand_domain::order::Terms;
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::{Claimant, Event as RunEvent, Sla};

    use super::*;
    use crate::logged::Logged;

    fn run(due: Moment) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), due);
        Run::new(Tenant::new("acme").unwrap(), key, Priority::Normal)
    }

    #[test]
    fn a_stall_is_a_warning_that_says_which_edge_is_waited_for() {
        let (lines, since) = (Logged::default(), Moment::from_secs(1_800_000_000));
        let run = run(since);

        lines.see(|| Log.emit(&Event::Stalled { run: &run, since, edge: "`join` has not begun" }));

        let told = lines.text();
        assert!(told.starts_with(" WARN ") && told.contains("a workflow's run has stalled"), "{told}");
        assert!(told.contains(&format!("run={}", run.key)) && told.contains("`join` has not begun"), "{told}");
    }

    #[test]
    fn a_missed_sla_is_a_warning_once() {
        let (lines, due) = (Logged::default(), Moment::from_secs(1_800_000_000));
        let unborn = Run { sla: Some(Sla { until: due + Duration::from_secs(60), missed: None }), ..run(due) };
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        let late = due + Duration::from_secs(61);
        let claimed = unborn.after(&RunEvent::Claim { by, terms: &Terms::default() }, late).unwrap();
        let cancelled = claimed.after(&RunEvent::Cancel { by: None }, late).unwrap();

        lines.see(|| Log.changed(&unborn, &claimed, late));
        lines.see(|| Log.changed(&claimed, &cancelled, late));

        let told = lines.text();
        assert_eq!(told.matches("a run has missed its SLA").count(), 1, "{told}");
        assert!(told.contains(" WARN ") && told.contains("until=\"2027-01-15T08:01:00.000Z\""), "{told}");
    }

    #[test]
    fn a_transition_is_one_line_at_info_that_says_which_attempt_went_from_what_to_what() {
        let (lines, due) = (Logged::default(), Moment::from_secs(1_800_000_000));
        let run = run(due);
        let key = run.key;
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        let claimed = run.after(&RunEvent::Claim { by, terms: &Terms::default() }, due).unwrap();

        lines.see(|| Log.emit(&Event::Run { run: &claimed, from: run.status(due), was: Some(&run), now: due }));

        let told = lines.text();
        let fields =
            format!("tenant=\"acme\" job={} run={key} attempt=1 fence=1 from=\"queued\" to=\"running\"", key.job);
        assert_eq!(told, format!(" INFO run{{{fields}}}: minutehand::transitions: queued -> running\n"));
    }
}
