//! Notifications: a tenant's rules for which ends of runs somebody is told of. An end that a rule is about is put into the digest of the rule's
//! window, once for each thing that it is told as; when the window is over the digest is closed and told in one message, which is a run
//! of its own. Nothing is ever told of such a run, nor of a callback: what tells of failures would tell of itself.

pub mod digest;
pub mod message;
#[cfg(test)]
mod tests;
pub mod window;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use self::digest::{Digest, DigestKey, Entry, Node, each_failure_once};
pub use self::message::{Message, Sample};
pub use self::window::Window;
use crate::Moment;
use crate::body::Body;
use crate::health;
use crate::id::{JobId, Origin, RunKey, Tenant};
use crate::job::Job;
use crate::limits::{NOTIFICATION_TIMEOUT_SECONDS, WORD_CHARS};
use crate::order::{Order, Terms};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::run::{Run, Skip, State};
use crate::spelled::spelled_as_text;
use crate::target::{AliasName, Asks, HttpTarget, Method, ServiceTarget, Target, Timeouts};

/// What a rule is called, by its tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RuleName(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the name of a notification has from 1 to {WORD_CHARS} of A-Z, a-z, 0-9, _ and -")]
pub struct NotARuleName;

spelled_as_text!(RuleName);

impl FromStr for RuleName {
    type Err = NotARuleName;

    fn from_str(text: &str) -> Result<Self, NotARuleName> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_name = (1..=WORD_CHARS).contains(&text.len()) && text.bytes().all(legal);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotARuleName) }
    }
}

/// A rule: what is told, of which jobs, how often at most, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub tenant: Tenant,
    pub name: RuleName,
    /// Whose history its digests and messages are: another where a rule of that name is made again after it was deleted, so that it tells
    /// nothing of what the one before had gathered.
    pub id: JobId,
    pub when: BTreeSet<When>,
    pub whose: Whose,
    /// Failures of a job in a row before anything is told of them, or of its recovery.
    pub in_a_row: u16,
    /// How much later than it was due a run begins that is told of as late.
    pub late: Duration,
    /// How long a window is, whose ends are told of in one message.
    pub digest: Duration,
    /// For how long after a message that was received nothing more is told.
    pub cooldown: Duration,
    pub to: To,
    pub enabled: bool,
    pub created_at: Moment,
    pub changed_at: Moment,
    /// It is written over, not taken away, so that nobody needs to be allowed to delete.
    pub deleted_at: Option<Moment>,
}

/// What somebody may be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// It failed or timed out for good, as often in a row as the rule says.
    Failed,
    /// It lies with the dead letters: each that failed or timed out, however often in a row.
    DeadLetter,
    /// It did not fire, since it was too late when somebody looked, or a later one fired in its stead.
    Missed,
    /// It began later than the rule allows.
    Late,
    /// It has missed its SLA.
    Sla,
    /// It succeeded, after as many failures in a row as the rule says.
    Recovered,
}

/// The runs that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    All,
    Jobs(BTreeSet<JobId>),
    /// Of jobs that have one of these.
    Tags(BTreeSet<String>),
}

/// Who is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// The digest as JSON, signed as calls are.
    Webhook(HttpTarget),
    /// A text, as chats take it. The address is itself a secret.
    Slack(SlackUrl),
    /// A topic that the operator has declared.
    Sns(AliasName),
}

/// The address of a chat's incoming webhook. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SlackUrl(pub String);

impl fmt::Debug for SlackUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlackUrl")
    }
}

impl When {
    pub const ALL: [Self; 6] = [Self::Failed, Self::DeadLetter, Self::Missed, Self::Late, Self::Sla, Self::Recovered];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::DeadLetter => "dead_letter",
            Self::Missed => "missed",
            Self::Late => "late",
            Self::Sla => "sla",
            Self::Recovered => "recovered",
        }
    }

    /// Which letter an entry of a digest says it with.
    pub const fn letter(self) -> char {
        match self {
            Self::Failed => 'f',
            Self::DeadLetter => 'd',
            Self::Missed => 'm',
            Self::Late => 'l',
            Self::Sla => 's',
            Self::Recovered => 'r',
        }
    }

    pub fn of_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.letter() == letter)
    }

    /// Whether the runs of its job before this one decide too.
    const fn asks_for_a_row(self) -> bool {
        match self {
            Self::Failed | Self::Recovered => true,
            Self::DeadLetter | Self::Missed | Self::Late | Self::Sla => false,
        }
    }
}

/// What a run may be told as, by itself: whether its job's other runs agree is asked apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub when: When,
    /// When it came to be: the same whoever looks, so that it lies in one window.
    pub at: Moment,
    /// So many of its job's runs before it must have failed, one after the other.
    pub failures_before: u16,
}

impl Told {
    /// As a digest holds it, of a run whose job's other runs agree.
    pub fn entry(self, run: RunKey) -> Entry {
        Entry { at: self.at, when: self.when, run }
    }
}

/// Whether anybody may be told of this run, whatever the rules say: it is one of a job, and has ended or is late.
pub fn may_be_told_of(run: &Run) -> bool {
    let of_a_job = match run.key.origin {
        Origin::Schedule | Origin::Manual | Origin::Backfill | Origin::Redrive | Origin::Resume | Origin::Follow => {
            run.task.is_none()
        }
        // A task's end is told of as its workflow's run.
        Origin::Task | Origin::Callback | Origin::Notification => false,
    };
    of_a_job && (run.is_finished() || run.sla_missed().is_some())
}

impl Rule {
    /// Whose history a rule's messages are that is made now.
    pub fn id_of(tenant: &Tenant, name: &RuleName, now: Moment) -> JobId {
        let digest = Sha256::new()
            .chain_update(b"minutehand notification 1\0")
            .chain_update(tenant.as_str())
            .chain_update(b"\0")
            .chain_update(name.as_str())
            .chain_update(now.millis().to_be_bytes())
            .finalize();
        JobId::from_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
    }

    /// Whether it tells of anything.
    pub fn is_in_force(&self) -> bool {
        self.enabled && self.deleted_at.is_none()
    }

    /// What it may tell of this run, as far as the run itself says: of a failure both things, of which [`each_failure_once`] leaves one when it is
    /// known whether the runs before it failed too.
    pub fn tells(&self, run: &Run) -> Vec<Told> {
        if !self.is_in_force() || !may_be_told_of(run) || !self.whose.may_be(run.key.job) {
            return Vec::new();
        }
        let told = self.when.iter().filter_map(|when| self.told_as(*when, run));
        // What was before it is nobody's to be told of, however late it is settled.
        told.filter(|told| told.at >= self.created_at).collect()
    }

    fn told_as(&self, when: When, run: &Run) -> Option<Told> {
        let at = match when {
            When::Failed | When::DeadLetter => failed_at(run)?,
            When::Missed => missed_at(run)?,
            When::Late => self.late_at(run)?,
            When::Sla => run.sla_missed()?,
            When::Recovered => succeeded_at(run)?,
        };
        let failures_before = match when {
            When::Failed => self.in_a_row.saturating_sub(1),
            When::Recovered => self.in_a_row.max(1),
            When::DeadLetter | When::Missed | When::Late | When::Sla => 0,
        };
        debug_assert!(when.asks_for_a_row() || failures_before == 0, "only a row asks for those before");
        Some(Told { when, at, failures_before })
    }

    fn late_at(&self, run: &Run) -> Option<Moment> {
        let began = run.started_at?;
        (began.since(run.could_begin_at()) > self.late).then(|| run.finished_at()).flatten()
    }

    /// What its messages carry out: three tries within minutes.
    pub fn order(&self) -> Order {
        let timeout = Duration::from_secs(NOTIFICATION_TIMEOUT_SECONDS);
        let retry = RetryPolicy { max_retries: 2, initial_delay: Duration::from_secs(10), ..RetryPolicy::default() };
        let terms = Terms { timeout, retry, ..Terms::default() };
        // Ahead of the backlog that it may be telling of.
        let priority = Priority::High;
        Order { target: self.to.target(), terms, payload: Body::Empty, priority, task: None, before: None }
    }

    /// This rule without effect.
    #[must_use]
    pub fn deleted(&self, now: Moment) -> Self {
        Self { enabled: false, deleted_at: Some(now), changed_at: now, ..self.clone() }
    }
}

impl Whose {
    /// Whether it may be about a job, as far as is known by its id.
    pub fn may_be(&self, job: JobId) -> bool {
        match self {
            Self::All | Self::Tags(_) => true,
            Self::Jobs(jobs) => jobs.contains(&job),
        }
    }

    /// Whether only the job itself can tell.
    pub const fn asks_the_job(&self) -> bool {
        match self {
            Self::All | Self::Jobs(_) => false,
            Self::Tags(_) => true,
        }
    }

    pub fn is(&self, job: &Job) -> bool {
        match self {
            Self::All => true,
            Self::Jobs(jobs) => jobs.contains(&job.id),
            Self::Tags(tags) => tags.iter().any(|tag| job.definition.tags.contains(tag)),
        }
    }
}

impl To {
    pub fn target(&self) -> Target {
        match self {
            Self::Webhook(http) => Target::Http(http.clone()),
            Self::Slack(SlackUrl(url)) => Target::Http(HttpTarget {
                url: url.clone(),
                method: Method::Post,
                headers: std::collections::BTreeMap::new(),
                timeouts: Timeouts::default(),
            }),
            Self::Sns(alias) => {
                Target::Service(ServiceTarget { alias: alias.clone(), asks: Asks::Sns { group: None } })
            }
        }
    }
}

/// Whether so many of a job's newest runs failed, one after the other, without one that succeeded between. None where these runs do not decide
/// it: too few of them came to an end that is one or the other. `newest`: newest first.
pub fn are_failures_in_a_row<'a>(newest: impl IntoIterator<Item = &'a Run>, wanted: usize) -> Option<bool> {
    let decided: Vec<bool> = newest.into_iter().filter_map(health::succeeded).take(wanted).collect();
    if decided.contains(&true) {
        return Some(false);
    }
    (decided.len() == wanted).then_some(true)
}

fn failed_at(run: &Run) -> Option<Moment> {
    match run.state {
        State::Failed { at, .. } | State::TimedOut { at } => Some(at),
        State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Succeeded { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}

fn succeeded_at(run: &Run) -> Option<Moment> {
    match run.state {
        State::Succeeded { at, .. } => Some(at),
        State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}

/// One that another record speaks for too is told of by that one.
fn missed_at(run: &Run) -> Option<Moment> {
    match run.state {
        State::Skipped { at, why: Skip::Missed, .. } | State::Skipped { at, why: Skip::Coalesced, span: Some(_) } => {
            Some(at)
        }
        State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. }
        | State::Skipped { .. } => None,
    }
}
