//! Throughput: from single submissions to recorded success, durably; and what survives a SIGKILL.

use std::time::{Duration, Instant};

use minutehand_domain::Moment;
use minutehand_io::clock::{Clock as _, SystemClock};

use super::breakdown::Taken;
use super::noop_job;
use crate::client::{Accepted, Pace};
use crate::failure::{Outcome, ensure};
use crate::lag::{Lags, count, millis, millis_from};
use crate::runs::{Run, all_succeeded, last_succeeded};
use crate::sheet::{Must, Reading};
use crate::stage::{Server, Stage};

const LEAST: f64 = 3_000.0;
/// Jobs submitted in addition for each measured job, so that the process dies at work.
const UNFINISHED_SHARE: usize = 4;
/// The time for a restart to take over running attempts and retry them with the default backoff.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn meaning(stage: &Stage) -> String {
    format!(
        "{} jobs without a schedule (due now, no-op target), one POST each, over {} kept-alive connections. From the first\n  \
         byte sent to the last run read back as succeeded: after the last 201 the last {} runs are read one at a time until\n  \
         they have, so that nothing is polled while jobs are submitted; a run that finished later than that would count.\n  \
         Then {} jobs more, SIGKILL at their last 201, restart: all of them must read back, succeeded, with their attempts.",
        stage.jobs,
        stage.connections,
        stage.connections,
        stage.jobs / UNFINISHED_SHARE
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let begin = Taken::now(&server)?;
    let jobs = client.submit(stage.jobs, &noop_job("null"), Pace::Flat).await?;
    let end = last_succeeded(&mut client, &jobs, stage.connections).await?;
    let taken = begin.until_now(&server)?;

    let unfinished = client.submit(stage.jobs / UNFINISHED_SHARE, &noop_job("null"), Pace::Flat).await?;
    let (server, kept) = kill_and_read_back(stage, server, &jobs, &unfinished).await?;
    let end = end + late_by(&jobs, &kept.measured, end)?;
    let mut readings = readings_of(&jobs, end, &kept)?;
    readings.extend(taken.readings(jobs.len(), end - jobs_begin(&jobs)));
    drop(server);
    Ok(readings)
}

/// The jobs read back after the kill.
struct Kept {
    measured: Vec<Run>,
    /// The jobs submitted in addition.
    others: Vec<Run>,
    restarted: Moment,
    restart: Duration,
}

async fn kill_and_read_back(
    stage: &Stage,
    server: Server,
    jobs: &[Accepted],
    unfinished: &[Accepted],
) -> Outcome<(Server, Kept)> {
    let restarted = SystemClock.now();
    let server = stage.kill_and_restart(server)?;
    let mut client = stage.client(&server).await?;
    let measured = all_succeeded(&mut client, jobs, PATIENCE).await?;
    let others = all_succeeded(&mut client, unfinished, PATIENCE).await?;
    ensure(measured.iter().all(|run| run.attempts.len() == 1), || "a finished run was tried again".to_owned())?;
    let restart = server.ready_after;
    Ok((server, Kept { measured, others, restarted, restart }))
}

impl Kept {
    /// Runs that were acknowledged and had not succeeded when the process died.
    fn interrupted(&self) -> Outcome<usize> {
        let finished = self.others.iter().map(Run::finished_at).collect::<Outcome<Vec<_>>>()?;
        Ok(finished.into_iter().filter(|at| *at >= self.restarted).count())
    }

    /// Runs whose first attempt was lost with the process.
    fn tried_again(&self) -> usize {
        self.others.iter().filter(|run| run.attempts.len() > 1).count()
    }
}

/// How much later than estimated the last run finished, by the server's own record.
fn late_by(jobs: &[Accepted], runs: &[Run], end: Instant) -> Outcome<Duration> {
    let mut last = f64::NEG_INFINITY;
    for run in runs {
        last = last.max(millis_from(jobs[0].sent, run.finished_at()?));
    }
    let believed = millis(end - jobs[0].sent_at);
    Ok(Duration::from_secs_f64((last - believed).max(0.0) / 1000.0))
}

fn jobs_begin(jobs: &[Accepted]) -> Instant {
    jobs.iter().map(|job| job.sent_at).min().expect("there are jobs")
}

fn readings_of(jobs: &[Accepted], end: Instant, kept: &Kept) -> Outcome<Vec<Reading>> {
    let read_back = kept.measured.len() + kept.others.len();
    let (begin, last) = (jobs_begin(jobs), jobs.last().expect("there are jobs").answered_at);
    let took = Lags::of(jobs.iter().map(|job| millis(job.took())));
    Ok(vec![
        Reading::new("runs, submitted to succeeded", "/s", count(jobs.len()) / (end - begin).as_secs_f64())
            .must_be(Must::AtLeast(LEAST)),
        Reading::new("submissions alone", "/s", count(jobs.len()) / (last - begin).as_secs_f64()),
        Reading::new("last 201 to last success", "ms", millis(end - last)),
        Reading::new("a submission, p50", "ms", took.percentile(50)),
        Reading::new("a submission, p99", "ms", took.percentile(99)),
        Reading::new("killed: acknowledged, read back as succeeded", "runs", count(read_back)),
        Reading::new("killed: of these unfinished when it died", "runs", count(kept.interrupted()?)),
        Reading::new("killed: of these begun, tried again", "runs", count(kept.tried_again())),
        Reading::new("killed: ready again after", "ms", millis(kept.restart)),
    ])
}
