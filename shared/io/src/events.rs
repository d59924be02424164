//! Events: committed changes are published to listeners. Publishing never decides anything and never fails a request.

#[cfg(feature = "aws")]
pub mod bridge;
#[cfg(feature = "metrics")]
pub mod tally;

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::run::Run;

pub trait Events: Send + Sync + 'static {
    fn emit(&self, event: &Event<'_>);
}

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A job was created or changed.
    Job { job: &'a Job, what: &'static str },
    /// A run's state changed; `from` is the status it had.
    Run { run: &'a Run, from: &'static str, now: Moment },
}

/// One structured line for each committed change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Events for Log {
    fn emit(&self, event: &Event<'_>) {
        match event {
            Event::Job { job, what } => {
                tracing::debug!(tenant = job.tenant.as_str(), job = %job.id, generation = job.generation, what, "job");
            }
            Event::Run { run, from, now } => {
                let (to, fence) = (run.status(*now), run.fence);
                tracing::debug!(tenant = run.tenant.as_str(), job = %run.key.job, run = %run.key, fence, from, to, "run");
            }
        }
    }
}
