//! A tally: counts events for Prometheus, and passes each to the next adapter.

use minutehand_domain::id::Origin;
use minutehand_domain::run::Run;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry};

use super::{Event, Events};

/// Buckets of the lag from when a run was due to its first attempt, in seconds. The promise is one second.
const LAGS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3600.0];

#[derive(Clone, Debug)]
pub struct Tally<E> {
    next: E,
    jobs: IntCounterVec,
    runs: IntCounterVec,
    attempts: IntCounter,
    lag: Histogram,
    stalls: IntCounter,
    slas_missed: IntCounter,
    prevented: IntCounter,
    notifications: IntCounterVec,
}

impl<E: Events> Tally<E> {
    /// Counts into `registry`, which must have no other tally.
    pub fn new(next: E, registry: &Registry) -> Result<Self, prometheus::Error> {
        let jobs = Opts::new("minutehand_job_changes_total", "Jobs created and changed, by what was done.");
        let runs = Opts::new("minutehand_runs_total", "Runs that ended, by the status they ended in.");
        let notifications =
            Opts::new("minutehand_notifications_total", "Messages of notifications, by the status they ended in.");
        let lag = HistogramOpts::new("minutehand_run_lag_seconds", "From when a run was due to its first attempt.");
        let tally = Self {
            next,
            jobs: IntCounterVec::new(jobs, &["what"])?,
            runs: IntCounterVec::new(runs, &["status"])?,
            notifications: IntCounterVec::new(notifications, &["status"])?,
            attempts: IntCounter::new("minutehand_attempts_total", "Attempts that were started.")?,
            lag: Histogram::with_opts(lag.buckets(LAGS.to_vec()))?,
            stalls: IntCounter::new(
                "minutehand_workflow_stalls_total",
                "Runs of workflows found without progress, nothing under way and nothing awaited.",
            )?,
            slas_missed: IntCounter::new(
                "minutehand_sla_missed_total",
                "Runs found not to have ended by when their job says that they are to have.",
            )?,
            prevented: IntCounter::new(
                "minutehand_effects_prevented_total",
                "Effects of runs that somebody was about to make again, and was told of instead.",
            )?,
        };
        registry.register(Box::new(tally.jobs.clone()))?;
        registry.register(Box::new(tally.runs.clone()))?;
        registry.register(Box::new(tally.attempts.clone()))?;
        registry.register(Box::new(tally.lag.clone()))?;
        registry.register(Box::new(tally.stalls.clone()))?;
        registry.register(Box::new(tally.slas_missed.clone()))?;
        registry.register(Box::new(tally.prevented.clone()))?;
        registry.register(Box::new(tally.notifications.clone()))?;
        Ok(tally)
    }

    fn count_run(&self, run: &Run, status: &str) {
        if run.key.origin == Origin::Notification {
            if run.is_finished() {
                self.notifications.with_label_values(&[status]).inc(); // nobody's run: it is among no others
            }
        } else if run.is_finished() {
            self.runs.with_label_values(&[status]).inc();
        } else if run.lease().is_some_and(|lease| !lease.cancelled) {
            self.attempts.inc();
            if let (1, Some(started)) = (run.fence, run.started_at) {
                self.lag.observe(started.since(run.could_begin_at()).as_secs_f64());
            }
        }
    }
}

impl<E: Events> Events for Tally<E> {
    fn emit(&self, event: &Event<'_>) {
        match event {
            Event::Job { what, .. } => self.jobs.with_label_values(&[what]).inc(),
            Event::Run { run, now, .. } => self.count_run(run, run.status(*now)),
            Event::Stalled { .. } => self.stalls.inc(),
            Event::SlaMissed { .. } => self.slas_missed.inc(),
            Event::EffectPrevented { .. } => self.prevented.inc(),
        }
        self.next.emit(event);
    }
}
