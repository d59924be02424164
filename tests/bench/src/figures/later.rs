//! Later: a steady stream of jobs, each due a little after its submission.

use std::time::Duration;

use super::{lags_of, noop_job};
use crate::client::Pace;
use crate::failure::Outcome;
use crate::runs::all_succeeded;
use crate::sheet::{Must, Reading};
use crate::stage::Stage;

const PER_SECOND: usize = 200;
const SECONDS: usize = 10;
const DUE_AFTER_SECONDS: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn meaning() -> String {
    format!(
        "{PER_SECOND} no-op jobs a second for {SECONDS} s, each due {DUE_AFTER_SECONDS} s after its submission. Lag: the attempt's started_at (the\n  \
         claim) and its finished_at (after the call), less the instant it was due."
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let job = noop_job(&format!(r#"{{"after_seconds":{DUE_AFTER_SECONDS}}}"#));
    let pace = Pace::Every(Duration::from_secs(1) / u32::try_from(PER_SECOND).unwrap_or(u32::MAX));
    let jobs = client.submit(PER_SECOND * SECONDS, &job, pace).await?;
    tokio::time::sleep(Duration::from_secs(DUE_AFTER_SECONDS + 1)).await;

    let runs = all_succeeded(&mut client, &jobs, PATIENCE).await?;

    let [starts, ends] = lags_of(&runs)?;
    Ok(vec![
        Reading::new("start lag, p50", "ms", starts.percentile(50)),
        Reading::new("start lag, p99", "ms", starts.percentile(99)),
        Reading::new("start lag, max", "ms", starts.max()),
        Reading::new("call ended, p50", "ms", ends.percentile(50)),
        Reading::new("call ended, p99", "ms", ends.percentile(99)),
        Reading::new("early", "runs", starts.early()).must_be(Must::AtMost(0.0)),
    ])
}
