//! Burst: many jobs due at one instant, as at :00.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_io::clock::{Clock as _, SystemClock};

use super::{lags_of, noop_job};
use crate::client::Pace;
use crate::failure::{Outcome, ensure};
use crate::runs::all_succeeded;
use crate::sheet::{Must, Reading};
use crate::stage::Stage;

const JOBS: usize = 10_000;
/// From the first submission to the instant: all jobs must be submitted well before.
const LEAD: Duration = Duration::from_secs(12);
const CALM: Duration = Duration::from_secs(2);
/// No request is sent for this long after the instant, so that only the burst itself is measured.
const HANDS_OFF: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn meaning(stage: &Stage) -> String {
    format!(
        "{JOBS} no-op jobs due at one instant, created before over {} connections. Lag: the attempt's started_at (the claim)\n  \
         and its finished_at (after the call, so the call was not later), less that instant, as read back {HANDS_OFF:?} after it.",
        stage.connections
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let due = whole_second(SystemClock.now() + LEAD);
    let jobs = client.submit(JOBS, &noop_job(&format!(r#"{{"at":"{due}"}}"#)), Pace::Flat).await?;
    let in_time = SystemClock.now() + CALM < due;
    ensure(in_time, || "the jobs were not submitted in time: the machine is too slow for this lead".to_owned())?;
    SystemClock.sleep_until(due + HANDS_OFF).await;

    let runs = all_succeeded(&mut client, &jobs, PATIENCE).await?;

    ensure(runs.iter().all(|run| run.attempts.len() == 1), || "a run was tried twice".to_owned())?;
    let [starts, ends] = lags_of(&runs)?;
    Ok(vec![
        Reading::new("start lag, p50", "ms", starts.percentile(50)),
        Reading::new("start lag, p99", "ms", starts.percentile(99)).must_be(Must::AtMost(1000.0)),
        Reading::new("start lag, max", "ms", starts.max()),
        Reading::new("call ended, p50", "ms", ends.percentile(50)),
        Reading::new("call ended, p99", "ms", ends.percentile(99)),
        Reading::new("call ended, max", "ms", ends.max()),
        Reading::new("early", "runs", starts.early()).must_be(Must::AtMost(0.0)),
    ])
}

fn whole_second(t: Moment) -> Moment {
    Moment::from_secs(t.millis() / 1000)
}
