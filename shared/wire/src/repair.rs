//! Repair on the wire: what it is asked for, and what it found.

use std::fmt;

use minutehand_domain::repair::{Finding, Found, Subject, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::texts::{CursorText, TenantText};
use crate::word::Word;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepairRequest {
    /// List what would be done, and change nothing.
    #[serde(default)]
    pub check: bool,
    /// Where the call before came to, which asked for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

/// What one call looked at and found. The numbers are of this call alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairView {
    pub jobs: u64,
    /// That are not over.
    pub runs: u64,
    /// Nothing would have looked at them any more.
    pub without_timer: u64,
    /// Their time is past: they wait elsewhere for their next hint, or were lost.
    pub overdue: u64,
    /// Runs of tasks and workflows that are over, and whose end has not brought about all that it should.
    pub unsettled: u64,
    /// Jobs that count from an instant that has not come: a clock was ahead.
    pub ahead: u64,
    /// Items of a later release.
    pub later: u64,
    /// Items that nobody can read.
    pub corrupt: u64,
    pub findings: Vec<FindingView>,
    /// The next call goes on with it; null at the end, and no sooner is all of it repaired.
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    #[schemars(with = "FoundWord")]
    pub found: Word<FoundWord>,
    #[schemars(with = "Option<TenantText>")]
    pub tenant: Option<String>,
    pub job_id: Option<String>,
    pub run_id: Option<String>,
    /// The instant that a timer should stand at, that it is over since, or that it counts from.
    pub at: Option<Instant>,
    /// Of an item, the key that it lies under and what is wrong with it.
    pub detail: Option<String>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundWord {
    WithoutTimer,
    Overdue,
    Unsettled,
    Ahead,
    Later,
    Corrupt,
}

impl RepairView {
    pub fn of(summary: &Summary, findings: &[Finding], next_cursor: Option<String>) -> Self {
        let Summary { jobs, runs, without_timer, overdue, unsettled, ahead, later, corrupt } = *summary;
        let findings = findings.iter().map(FindingView::of).collect();
        Self { jobs, runs, without_timer, overdue, unsettled, ahead, later, corrupt, findings, next_cursor }
    }

    /// This call and the one that went on with it.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        Self {
            jobs: self.jobs + next.jobs,
            runs: self.runs + next.runs,
            without_timer: self.without_timer + next.without_timer,
            overdue: self.overdue + next.overdue,
            unsettled: self.unsettled + next.unsettled,
            ahead: self.ahead + next.ahead,
            later: self.later + next.later,
            corrupt: self.corrupt + next.corrupt,
            findings: [self.findings, next.findings].concat(),
            next_cursor: next.next_cursor,
        }
    }
}

impl FindingView {
    fn of(Finding { subject, found }: &Finding) -> Self {
        let (word, at, why) = match found {
            Found::WithoutTimer(at) => (FoundWord::WithoutTimer, Some(*at), None),
            Found::Overdue(at) => (FoundWord::Overdue, Some(*at), None),
            Found::Unsettled(at) => (FoundWord::Unsettled, Some(*at), None),
            Found::Ahead(at) => (FoundWord::Ahead, Some(*at), None),
            Found::Later(why) => (FoundWord::Later, None, Some(why.clone())),
            Found::Corrupt(why) => (FoundWord::Corrupt, None, Some(why.clone())),
        };
        let (found, at) = (word.into(), at.map(Instant));
        let (tenant, job_id, run_id, detail) = match subject {
            Subject::Job(tenant, job) => (Some(tenant), Some(job.to_string()), None, why),
            Subject::Run(tenant, run) => (Some(tenant), Some(run.job.to_string()), Some(run.to_string()), why),
            Subject::Item(key) => (None, None, None, why.map(|why| format!("{key}: {why}"))),
        };
        Self { found, tenant: tenant.map(|tenant| tenant.as_str().to_owned()), job_id, run_id, at, detail }
    }
}

/// A line of it, for people.
impl fmt::Display for FindingView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.run_id, &self.job_id) {
            (Some(run), _) => write!(f, "run {run}: ")?,
            (None, Some(job)) => write!(f, "job {job}: ")?,
            (None, None) => {}
        }
        let at = self.at.map(|Instant(at)| at.to_string()).unwrap_or_default();
        match self.found.to_string().as_str() {
            "without_timer" => write!(f, "no timer at {at}")?,
            "overdue" => write!(f, "overdue since {at}, and no timer there")?,
            "unsettled" => write!(f, "over since {at}, and what its end owes is not all paid")?,
            "ahead" => write!(f, "counts from {at}")?,
            "later" if self.job_id.is_some() => f.write_str("points at what a later release wrote: ")?,
            "corrupt" if self.job_id.is_some() => f.write_str("points at what nobody can read: ")?,
            _ => {}
        }
        f.write_str(self.detail.as_deref().unwrap_or_default())
    }
}
