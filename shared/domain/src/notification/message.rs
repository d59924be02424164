//! A message: a closed digest as it is told. It names jobs and runs, says when and how often, and has the stable word for an error. It has no
//! payload, no result, no sentence of an error (which may repeat what a target answered) and no address of a target.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Entry, Rule, RuleName, To, When, Window};
use crate::Moment;
use crate::body::Json;
use crate::job::Job;
use crate::limits::NOTIFICATION_SAMPLE;
use crate::run::{Attempt, Run};

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Digest {
        window: Window,
        /// All that is told, oldest first.
        entries: Vec<Entry>,
        /// What is known of the first of them.
        samples: Vec<Sample>,
    },
    /// Somebody tries a rule out.
    Test { at: Moment },
}

/// One of those that a message names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub entry: Entry,
    pub job_name: Option<String>,
    /// The stable word for how it went wrong.
    pub error: Option<String>,
}

impl Sample {
    /// `run` and `job` as they stand by now, where they do.
    pub fn of(entry: Entry, run: Option<&Run>, job: Option<&Job>) -> Self {
        let error = run.and_then(|run| run.attempts.last()).and_then(Attempt::error);
        let reason = || run.and_then(Run::reason).map(ToOwned::to_owned);
        Self {
            entry,
            job_name: job.and_then(|job| job.definition.name.clone()),
            error: match entry.when {
                When::Recovered | When::Late | When::Sla => None,
                When::Failed | When::DeadLetter | When::Missed => {
                    error.map(|error| error.code.clone().into_owned()).or_else(reason)
                }
            },
        }
    }
}

impl Message {
    /// Those that are named of all that are told.
    pub fn named(entries: &[Entry]) -> &[Entry] {
        &entries[..entries.len().min(NOTIFICATION_SAMPLE)]
    }

    /// As it is sent.
    pub fn body(&self, rule: &Rule) -> Json {
        match &rule.to {
            To::Webhook(_) | To::Sns(_) => Json::of(&self.data(&rule.name)),
            To::Slack(_) => Json::of(&json!({ "text": self.text(&rule.name) })),
        }
    }

    fn data(&self, name: &RuleName) -> Value {
        match self {
            Self::Test { at } => json!({
                "type": "notification.test",
                "timestamp": at.to_string(),
                "data": { "notification": name.as_str() },
            }),
            Self::Digest { window, entries, samples } => json!({
                "type": "notification.digest",
                "timestamp": window.end.to_string(),
                "data": {
                    "notification": name.as_str(),
                    "from": window.begin().to_string(),
                    "to": window.end.to_string(),
                    "count": entries.len(),
                    "counts": counts(entries).into_iter().map(|(when, n)| (when.as_str(), n)).collect::<BTreeMap<_, _>>(),
                    "first_at": entries.first().map(|entry| entry.at.to_string()),
                    "last_at": entries.last().map(|entry| entry.at.to_string()),
                    "runs": samples.iter().map(Sample::data).collect::<Vec<_>>(),
                    "more": entries.len() - samples.len(),
                },
            }),
        }
    }

    fn text(&self, name: &RuleName) -> String {
        let (entries, samples) = match self {
            Self::Test { .. } => return format!("Minutehand: a test of the notification {}.", name.as_str()),
            Self::Digest { entries, samples, .. } => (entries, samples),
        };
        let counts: Vec<String> =
            counts(entries).into_iter().map(|(when, n)| format!("{n} {}", when.as_str())).collect();
        let mut text = format!("Minutehand {}: {}", name.as_str(), counts.join(", "));
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            let _infallible = write!(text, " ({} to {})", first.at, last.at);
        }
        for sample in samples {
            let _infallible = write!(text, "\n• {}", sample.line());
        }
        if entries.len() > samples.len() {
            let _infallible = write!(text, "\nand {} more", entries.len() - samples.len());
        }
        text
    }
}

impl Sample {
    fn data(&self) -> Value {
        let Entry { at, when, run } = self.entry;
        json!({
            "what": when.as_str(), "at": at.to_string(), "job_id": run.job.to_string(), "job_name": self.job_name,
            "run_id": run.to_string(), "path": path(self.entry), "error": self.error,
        })
    }

    fn line(&self) -> String {
        let Entry { when, run, .. } = self.entry;
        let job = self.job_name.as_deref().map_or_else(|| run.job.to_string(), escaped);
        let error = self.error.as_deref().map(|error| format!(": {}", escaped(error))).unwrap_or_default();
        format!("{} {job}{error} {}", when.as_str(), path(self.entry))
    }
}

fn path(entry: Entry) -> String {
    format!("/v1/runs/{}", entry.run)
}

fn counts(entries: &[Entry]) -> BTreeMap<When, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.when).or_default() += 1;
    }
    counts
}

/// A name that people gave mentions nobody, and links nowhere, in a chat that reads marks in a text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
