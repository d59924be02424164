//! Runs, read back over HTTP with their instants.

use std::time::{Duration, Instant};

use minutehand_domain::Moment;
use serde::{Deserialize, Deserializer};

use crate::client::{Accepted, Client};
use crate::failure::{Failure, Outcome, ensure};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Run {
    pub status: String,
    #[serde(deserialize_with = "instant")]
    pub scheduled_at: Moment,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Attempt {
    /// When the claim was decided.
    #[serde(deserialize_with = "instant")]
    pub started_at: Moment,
    /// When the call had ended.
    #[serde(deserialize_with = "instant_or_null")]
    pub finished_at: Option<Moment>,
    pub outcome: Option<String>,
}

/// Between two reads of unfinished runs.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two reads of the run that is waited for.
const SHORT_PAUSE: Duration = Duration::from_millis(1);

impl Run {
    pub fn parse(body: &[u8]) -> Outcome<Self> {
        Ok(serde_json::from_slice(body)?)
    }

    pub fn succeeded(&self) -> bool {
        self.status == "succeeded"
    }

    /// The attempt that succeeded.
    pub fn good_attempt(&self) -> Outcome<&Attempt> {
        let good = self.attempts.iter().find(|attempt| attempt.outcome.as_deref() == Some("succeeded"));
        good.ok_or_else(|| Failure::Said(format!("a run without a succeeded attempt: {self:?}")))
    }

    pub fn finished_at(&self) -> Outcome<Moment> {
        let finished = self.good_attempt()?.finished_at;
        finished.ok_or_else(|| Failure::Said(format!("an attempt that never finished: {self:?}")))
    }
}

/// Reads the runs of these jobs until each has succeeded; a run that has succeeded is not read again.
pub async fn all_succeeded(client: &mut Client, jobs: &[Accepted], patience: Duration) -> Outcome<Vec<Run>> {
    let (mut done, mut left) = (Vec::with_capacity(jobs.len()), jobs.iter().map(path_of).collect::<Vec<_>>());
    let begin = Instant::now();
    loop {
        let read = client.get_all(&left, |body| Run::parse(body).map(Some)).await?;
        let mut still = Vec::new();
        for (path, run) in left.into_iter().zip(read) {
            match run {
                Some(run) if run.succeeded() => done.push(run),
                _ => still.push(path),
            }
        }
        if still.is_empty() {
            return Ok(done);
        }
        ensure(begin.elapsed() < patience, || {
            format!("{} of {} runs have not succeeded after {patience:?}, as {}", still.len(), jobs.len(), still[0])
        })?;
        left = still;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until the last of these jobs have succeeded, by reading one run at a time, from the last on.
pub async fn last_succeeded(client: &mut Client, jobs: &[Accepted], last: usize) -> Outcome<Instant> {
    for job in jobs.iter().rev().take(last) {
        while !client.get(path_of(job), |body| Run::parse(body).map(Some)).await?.is_some_and(|run| run.succeeded()) {
            tokio::time::sleep(SHORT_PAUSE).await;
        }
    }
    Ok(Instant::now())
}

fn path_of(job: &Accepted) -> String {
    format!("/v1/runs/{}", job.run)
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
    instant_or_null(deserializer)?.ok_or_else(|| serde::de::Error::custom("null where an instant belongs"))
}

pub(crate) fn instant_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Moment>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    Moment::parse(&text).map(Some).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an instant")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_the_server_writes_it() {
        let body = br#"{"run_id": "r", "status": "succeeded", "scheduled_at": "2026-11-20T12:30:00.000Z", "started_at": null,
            "attempts": [{"number": 1, "started_at": "2026-11-20T12:30:00.002Z", "finished_at": null, "worker": "w",
                          "outcome": "lost", "error": {"code": "lost", "message": "", "retryable": true}},
                         {"number": 2, "started_at": "2026-11-20T12:30:01.000Z", "finished_at": "2026-11-20T12:30:01.004Z",
                          "worker": "w", "outcome": "succeeded", "error": null}]}"#;

        let run = Run::parse(body).unwrap();

        assert!(run.succeeded());
        assert_eq!(run.finished_at().unwrap().since(run.scheduled_at), Duration::from_millis(1004));
    }

    #[test]
    fn a_run_without_its_instant_is_a_failure() {
        assert!(Run::parse(br#"{"status": "queued", "scheduled_at": null, "attempts": []}"#).is_err());
        assert!(Run::parse(br#"{"status": "queued", "scheduled_at": "noon", "attempts": []}"#).is_err());
    }
}
