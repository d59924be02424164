//! The figures. Each is measured several times, each time on fresh data, and has a description.

pub mod breakdown;
pub mod burst;
pub mod calendar;
pub mod graphs;
pub mod held;
pub mod immediate;
pub mod later;
pub mod leases;
pub mod sweep;
pub mod throughput;

use crate::failure::Outcome;
use crate::lag::{Lags, millis_from};
use crate::runs::Run;
use crate::sheet::Reading;
use crate::stage::Stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Throughput,
    Burst,
    Immediate,
    Later,
    Sweep,
    Held,
    Calendar,
    Graphs,
    Leases,
}

impl Figure {
    pub const ALL: [Self; 9] = [
        Self::Throughput,
        Self::Burst,
        Self::Immediate,
        Self::Later,
        Self::Sweep,
        Self::Held,
        Self::Calendar,
        Self::Graphs,
        Self::Leases,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Burst => "burst",
            Self::Immediate => "immediate",
            Self::Later => "later",
            Self::Sweep => "sweep",
            Self::Held => "held",
            Self::Calendar => "calendar",
            Self::Graphs => "graphs",
            Self::Leases => "leases",
        }
    }

    pub fn meaning(self, stage: &Stage) -> String {
        match self {
            Self::Throughput => throughput::meaning(stage),
            Self::Burst => burst::meaning(stage),
            Self::Immediate => immediate::meaning(),
            Self::Later => later::meaning(),
            Self::Sweep => sweep::meaning(),
            Self::Held => held::meaning(stage),
            Self::Calendar => calendar::meaning(),
            Self::Graphs => graphs::meaning(),
            Self::Leases => leases::meaning(),
        }
    }

    /// One repetition.
    pub async fn measure(self, stage: &Stage) -> Outcome<Vec<Reading>> {
        match self {
            Self::Throughput => throughput::measure(stage).await,
            Self::Burst => burst::measure(stage).await,
            Self::Immediate => immediate::measure(stage).await,
            Self::Later => later::measure(stage).await,
            Self::Sweep => sweep::measure(stage).await,
            Self::Held => held::measure(stage).await,
            Self::Calendar => calendar::measure(),
            Self::Graphs => graphs::measure(stage).await,
            Self::Leases => leases::measure(stage).await,
        }
    }
}

/// The target of the jobs: it does nothing and succeeds.
fn noop_job(schedule: &str) -> String {
    format!(r#"{{"name":"bench","schedule":{schedule},"target":{{"noop":{{}}}}}}"#)
}

/// When attempts started and when their calls had ended, each against the instant its run was due.
fn lags_of(runs: &[Run]) -> Outcome<[Lags; 2]> {
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for run in runs {
        starts.push(millis_from(run.scheduled_at, run.good_attempt()?.started_at));
        ends.push(millis_from(run.scheduled_at, run.finished_at()?));
    }
    Ok([Lags::of(starts), Lags::of(ends)])
}
