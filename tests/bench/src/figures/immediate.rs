//! Immediate: one job at a time on an idle machine.

use std::time::Duration;

use super::noop_job;
use crate::client::{Accepted, Pace};
use crate::failure::Outcome;
use crate::lag::{Lags, millis, millis_from};
use crate::runs::{Run, all_succeeded};
use crate::sheet::{Must, Reading};
use crate::stage::Stage;

const JOBS: u64 = 200;
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn meaning() -> String {
    format!(
        "{JOBS} no-op jobs without a schedule, one at a time, 20 to 60 ms apart. Lag: the attempt's started_at (the claim) and\n  \
         its finished_at (after the call), less the moment before the request's first byte was sent; whole milliseconds."
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let (mut jobs, mut runs) = (Vec::new(), Vec::new());
    for number in 0..JOBS {
        let job = client.submit(1, &noop_job("null"), Pace::Flat).await?;
        // Not read before it is over, so that reading wakes no thread.
        tokio::time::sleep(Duration::from_millis(20 + number * 7 % 40)).await;
        runs.extend(all_succeeded(&mut client, &job, PATIENCE).await?);
        jobs.extend(job);
    }
    let starts = lags(&jobs, &runs, |run| Ok(run.good_attempt()?.started_at))?;
    let ends = lags(&jobs, &runs, Run::finished_at)?;
    let took = Lags::of(jobs.iter().map(|job| millis(job.took())));
    Ok(vec![
        Reading::new("start lag, p50", "ms", starts.percentile(50)),
        Reading::new("start lag, p99", "ms", starts.percentile(99)).must_be(Must::AtMost(50.0)),
        Reading::new("start lag, max", "ms", starts.max()),
        Reading::new("call ended, p50", "ms", ends.percentile(50)),
        Reading::new("call ended, p99", "ms", ends.percentile(99)),
        Reading::new("the submission itself, p50", "ms", took.percentile(50)),
        Reading::new("the submission itself, p99", "ms", took.percentile(99)),
    ])
}

fn lags(jobs: &[Accepted], runs: &[Run], at: impl Fn(&Run) -> Outcome<minutehand_domain::Moment>) -> Outcome<Lags> {
    let lags = jobs.iter().zip(runs).map(|(job, run)| Ok(millis_from(job.sent, at(run)?)));
    lags.collect::<Outcome<Vec<_>>>().map(Lags::of)
}
