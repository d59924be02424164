//! An operation: what somebody asked to have done to many things at once, and how far it has come. It is carried on by looks, in steps that may each
//! be done twice: a step pins what it is about to act on before it acts, so that whoever repeats it counts nothing twice and leaves alone what has
//! been changed since.
//!
//! [`backfill`] is the one that makes runs, [`erasure`] the one that leaves nothing of a tenant, [`filter`] says which jobs or runs the others are about.

pub mod backfill;
pub mod erasure;
pub mod filter;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use self::backfill::{Backfill, Fires, NoBackfill};
pub use self::erasure::{Erasing, Erasure, Looked, Marked};
pub use self::filter::{JobFilter, RunFilter};
use crate::Moment;
use crate::access::By;
use crate::id::{JobId, NotAnId, Origin, RunKey, Tenant, base32, from_base32, time_first};
use crate::idempotency::Fingerprint;
use crate::limits::{BACKFILL_RUNS_PER_MINUTE, OPERATION_BATCH, OPERATION_REASONS};
use crate::pace;
use crate::run::Run;
use crate::spelled::spelled_for_people;
use crate::trace::TraceContext;

/// The part of a minute that each run of a backfill takes.
const PER_RUN: Duration = Duration::from_millis(60_000 / BACKFILL_RUNS_PER_MINUTE as u64);

/// Which operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct OperationId([u8; 16]);

spelled_for_people!(OperationId);

/// What stands under the id of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationHead {
    Operation(Box<Operation>),
    /// It was promised and never written: its asker is refused, should he wake up after all.
    Tombstone {
        tenant: Tenant,
        id: OperationId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub tenant: Tenant,
    pub id: OperationId,
    pub work: Work,
    pub note: Option<String>,
    pub by: By,
    pub state: State,
    pub asked_at: Moment,
    /// When its last step was written, or it was paused, resumed or cancelled.
    pub changed_at: Moment,
    pub finished_at: Option<Moment>,
    pub progress: Progress,
    /// Up to where it has looked.
    pub position: Position,
    /// What the next step acts on, as it was seen.
    pub batch: Vec<Subject>,
    /// Up to when the pace of a backfill is used up: each run that it makes takes its part of a minute.
    pub paced_to: Moment,
    /// Since when a backfill waits for an occurrence that its schedule may still start.
    pub held_since: Option<Moment>,
    /// Of the request that asked for it, where that carried an idempotency key.
    pub fingerprint: Option<Fingerprint>,
    /// Of a backfill: the trace of the request that asked for it, which its runs link to.
    pub trace: Option<TraceContext>,
}

/// What an operation does, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Jobs {
        act: JobAct,
        filter: JobFilter,
    },
    Runs {
        act: RunAct,
        filter: RunFilter,
    },
    Backfill(Backfill),
    /// Of another tenant than the one that the operation is of.
    Erase(Erasure),
}

/// What can be done to many jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobAct {
    Pause,
    Resume,
    /// What deleting a job does: nothing of it starts any more, and its record stays.
    Cancel,
}

/// What can be done to many runs. Another act is a row here, its word, what it can be done to, and an arm of the protocol's `act_on_run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunAct {
    Cancel,
    Retry,
    /// Of dead letters.
    Dismiss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Running,
    Paused,
    /// Nothing more is begun; of a backfill, what it has made and nobody has begun is being cancelled.
    Cancelling,
    Cancelled,
    Done,
}

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many it is about, where that was known from the start.
    pub expected: Option<u64>,
    /// How many it has come to: the sum of the next three.
    pub seen: u64,
    pub done: u64,
    /// That were as they were to be before: of a backfill, occurrences that had their run.
    pub already: u64,
    /// That could not be done, or not any more.
    pub refused: u64,
    /// Runs of it that were cancelled with it.
    pub withdrawn: u64,
    /// The first that were refused.
    pub reasons: Vec<Reason>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The id of the job or run, or the instant.
    pub subject: String,
    pub why: String,
}

/// Up to where it has looked; what is looked at lies in one order from the start to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Past this job.
    Jobs {
        past: Option<JobId>,
    },
    /// Before this run, of those whose instant lies before `end`.
    Runs {
        end: Moment,
        before: Option<RunKey>,
    },
    /// Past this instant.
    Instants {
        past: Moment,
    },
    /// Past this run, of those that it has made: they are being cancelled.
    Made {
        before: Option<RunKey>,
    },
    End,
}

/// One thing that a step acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A job as it was seen: it is left alone when it has been changed since.
    Job(JobId, u64),
    Run(RunKey),
    Occurrence(Moment),
}

/// What came of acting on one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    Done,
    Already,
    Refused(String),
    /// Not decided yet: it is looked at again.
    Held,
}

/// What a step has found to act on next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub subjects: Vec<Subject>,
    pub position: Position,
}

/// What somebody wants of an operation as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Pause,
    Resume,
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OperationRefusal {
    #[error("the operation is done")]
    Done,
    #[error("the operation was cancelled")]
    Cancelled,
    #[error("what is being erased of a tenant is erased to its end")]
    Erasing,
}

impl OperationId {
    /// Time first, so that a list of operations is sorted by age.
    pub fn new(now: Moment, chance: [u8; 16]) -> Self {
        Self(time_first(now, chance))
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// By what its timers are spread over the shards.
    pub const fn place(self) -> JobId {
        JobId::from_bytes(self.0)
    }

    /// A key in the place of a run's that no run has: its job would be an operation.
    pub const fn no_run(self) -> RunKey {
        RunKey { job: self.place(), at: Moment::EPOCH, origin: Origin::Manual, discriminator: 0 }
    }

    /// The operation that [`Self::no_run`] stands for.
    pub const fn of_no_run(key: RunKey) -> Self {
        Self(*key.job.as_bytes())
    }
}

impl OperationHead {
    pub fn id(&self) -> OperationId {
        match self {
            Self::Operation(operation) => operation.id,
            Self::Tombstone { id, .. } => *id,
        }
    }

    pub fn operation(self) -> Option<Operation> {
        match self {
            Self::Operation(operation) => Some(*operation),
            Self::Tombstone { .. } => None,
        }
    }

    pub fn as_operation(&self) -> Option<&Operation> {
        match self {
            Self::Operation(operation) => Some(operation),
            Self::Tombstone { .. } => None,
        }
    }
}

impl Operation {
    /// One that nobody has begun to carry out.
    pub fn new(tenant: Tenant, id: OperationId, work: Work, by: By, now: Moment) -> Self {
        let position = work.start(now);
        let expected = match &work {
            Work::Backfill(backfill) => Some(backfill.runs.into()),
            Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => None,
        };
        Self {
            tenant,
            id,
            work,
            note: None,
            by,
            state: State::Running,
            asked_at: now,
            changed_at: now,
            finished_at: None,
            progress: Progress { expected, ..Progress::default() },
            position,
            batch: Vec::new(),
            paced_to: now - PER_RUN * u32::try_from(OPERATION_BATCH).unwrap_or(u32::MAX),
            held_since: None,
            fingerprint: None,
            trace: None,
        }
    }

    /// Whether anything is left to do for those who carry it on.
    pub fn goes_on(&self) -> bool {
        match self.state {
            State::Running | State::Cancelling => true,
            State::Paused | State::Cancelled | State::Done => false,
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Cancelled | State::Done)
    }

    /// Whether this tenant is being erased by it.
    pub fn is_erasing(&self, tenant: &Tenant) -> bool {
        matches!(&self.work, Work::Erase(erasure) if erasure.tenant == *tenant) && !self.is_over()
    }

    /// Whether what it has made, and nobody has begun, may still begin.
    pub fn wants_its_runs(&self) -> bool {
        match self.state {
            State::Running | State::Paused | State::Done => true,
            State::Cancelling | State::Cancelled => false,
        }
    }

    /// What it becomes by somebody's word; none where it is so already.
    pub fn ordered(&self, order: Order, now: Moment) -> Result<Option<Self>, OperationRefusal> {
        if matches!(self.work, Work::Erase(_)) && !self.is_over() {
            return Err(OperationRefusal::Erasing);
        }
        let state = match (self.state, order) {
            (State::Running, Order::Resume)
            | (State::Paused, Order::Pause)
            | (State::Cancelling | State::Cancelled, Order::Cancel) => return Ok(None),
            (State::Done, _) if !self.may_be_withdrawn(order) => return Err(OperationRefusal::Done),
            (State::Cancelling | State::Cancelled, _) => return Err(OperationRefusal::Cancelled),
            (State::Running, Order::Pause) => State::Paused,
            (State::Paused, Order::Resume) => State::Running,
            (State::Running | State::Paused | State::Done, _) => State::Cancelling,
        };
        let next = Self { state, changed_at: now, ..self.clone() };
        Ok(Some(if state == State::Cancelling { next.withdrawing(now) } else { next }))
    }

    /// Whether it does not go on, and would by somebody's word.
    pub fn may_go_on_again(&self) -> bool {
        match self.state {
            State::Paused => true,
            State::Done => self.may_be_withdrawn(Order::Cancel),
            State::Running | State::Cancelling | State::Cancelled => false,
        }
    }

    /// A backfill that has made all its runs can still be cancelled: those that nobody has begun.
    fn may_be_withdrawn(&self, order: Order) -> bool {
        order == Order::Cancel && matches!(self.work, Work::Backfill(_))
    }

    /// What a step was about to act on is left; what it has made is looked through.
    fn withdrawing(self, now: Moment) -> Self {
        let next = Self { batch: Vec::new(), held_since: None, ..self };
        match next.work {
            Work::Backfill(_) => Self { position: Position::Made { before: None }, finished_at: None, ..next },
            Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => next.ended(State::Cancelled, now),
        }
    }

    fn ended(self, state: State, now: Moment) -> Self {
        Self { state, position: Position::End, batch: Vec::new(), finished_at: Some(now), changed_at: now, ..self }
    }

    /// After a step: what came of its batch, and what the next one acts on. What is not decided is looked at again first.
    #[must_use]
    pub fn stepped(&self, acted: &[(Subject, Acted)], found: Found, now: Moment) -> Self {
        let mut progress = self.progress.clone();
        for (subject, acted) in acted {
            progress.note(subject, acted);
        }
        let held = acted.iter().filter(|(_, acted)| *acted == Acted::Held).map(|(subject, _)| *subject);
        let paced_to = self.paced_from(now) + PER_RUN * u32::try_from(found.subjects.len()).unwrap_or(u32::MAX);
        let batch: Vec<_> = held.chain(found.subjects).collect();
        let is_held = acted.iter().any(|(_, acted)| *acted == Acted::Held);
        let held_since = if is_held { self.held_from(now).or(Some(now)) } else { None };
        let position = found.position;
        let next = Self { progress, batch, held_since, position, paced_to, changed_at: now, ..self.clone() };
        let is_at_its_end = next.batch.is_empty() && next.position == Position::End;
        if is_at_its_end { next.ended(State::Done, now) } else { next }
    }

    /// After a step of what is being cancelled: so many runs were withdrawn, and from there it goes on.
    #[must_use]
    pub fn withdrew(&self, runs: u64, position: Position, now: Moment) -> Self {
        let mut progress = self.progress.clone();
        progress.withdrawn += runs;
        let next = Self { progress, position, changed_at: now, ..self.clone() };
        if position == Position::End { next.ended(State::Cancelled, now) } else { next }
    }

    /// After a step of an erasure, which erased so much.
    #[must_use]
    pub fn erased(&self, erasure: Erasure, erased: u64, now: Moment) -> Self {
        let mut progress = self.progress.clone();
        (progress.seen, progress.done) = (progress.seen + erased, progress.done + erased);
        let is_over = erasure.is_over();
        let next = Self { progress, work: Work::Erase(erasure), changed_at: now, ..self.clone() };
        if is_over { next.ended(State::Done, now) } else { next }
    }

    /// What it is about is gone or cannot be found any more, so that it ends here.
    #[must_use]
    pub fn given_up(&self, why: &str, now: Moment) -> Self {
        let mut progress = self.progress.clone();
        let subject = match &self.work {
            Work::Backfill(backfill) => backfill.job.to_string(),
            Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => self.id.to_string(),
        };
        progress.give_reason(&subject, why);
        Self { progress, ..self.clone() }.ended(State::Cancelled, now)
    }

    /// How many things the next step may find, beside so many that are held: a backfill makes no more runs than its pace allows.
    pub fn may_find(&self, held: usize, now: Moment) -> usize {
        let room = OPERATION_BATCH.saturating_sub(held);
        match self.work {
            Work::Jobs { .. } | Work::Runs { .. } | Work::Erase(_) => room,
            Work::Backfill(_) => {
                let allowed = now.since(self.paced_from(now)).as_millis() / PER_RUN.as_millis();
                room.min(usize::try_from(allowed).unwrap_or(usize::MAX))
            }
        }
    }

    /// From when on its pace counts: what it left unused longer ago than a minute is gone.
    fn paced_from(&self, now: Moment) -> Moment {
        self.paced_to.max(now - Duration::from_secs(60))
    }

    /// Whether an occurrence that its schedule may still start is waited for no more.
    pub fn waits_no_more(&self, now: Moment) -> bool {
        self.held_from(now).is_some_and(|since| now.since(since) >= pace::BACKFILL_HOLD)
    }

    /// Since when it waits. While nobody looked, nobody decided about that occurrence either: then it waits from now on.
    fn held_from(&self, now: Moment) -> Option<Moment> {
        self.held_since.filter(|_| now.since(self.changed_at) < 2 * pace::TICK)
    }

    /// When it is looked at again.
    pub fn looks_again(&self, now: Moment) -> Moment {
        let in_a_while = Duration::from_secs(5);
        if let Work::Erase(erasure) = &self.work {
            return erasure.rests_until().max(now + pace::PROMISE_AGAIN);
        }
        if self.held_since.is_some() { now + in_a_while } else { now + pace::PROMISE_AGAIN }
    }

    /// The key of another try at this run, made now: [`Self::has_tried`] knows it from any other's, whoever has made it.
    pub fn retry_of(&self, run: RunKey, now: Moment) -> RunKey {
        RunKey::redrive(run.job, now, self.number_of(run))
    }

    /// Whether this is its try at that run.
    pub fn has_tried(&self, run: RunKey, again: RunKey) -> bool {
        again.origin == Origin::Redrive && again.discriminator == self.number_of(run)
    }

    fn number_of(&self, run: RunKey) -> u64 {
        let digest = Sha256::new()
            .chain_update(b"minutehand retry of an operation 2\0")
            .chain_update(self.id.0)
            .chain_update(run.to_bytes())
            .finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes")).max(1)
    }

    /// Whether something that came about at that moment was there when it was asked for.
    pub fn is_older(&self, came: Moment) -> bool {
        came <= self.asked_at
    }

    /// Whether it has made that run.
    pub fn has_made(&self, run: &Run) -> bool {
        run.made.is_some_and(|made| made.by == self.id)
    }
}

impl Progress {
    fn note(&mut self, subject: &Subject, acted: &Acted) {
        match acted {
            Acted::Held => return,
            Acted::Done => self.done += 1,
            Acted::Already => self.already += 1,
            Acted::Refused(why) => {
                self.refused += 1;
                self.give_reason(&subject.to_string(), why);
            }
        }
        self.seen += 1;
    }

    fn give_reason(&mut self, subject: &str, why: &str) {
        if self.reasons.len() < OPERATION_REASONS {
            self.reasons.push(Reason { subject: subject.to_owned(), why: why.to_owned() });
        }
    }
}

impl Work {
    pub const KINDS: [&'static str; 8] = [
        "pause_jobs",
        "resume_jobs",
        "cancel_jobs",
        "cancel_runs",
        "retry_runs",
        "dismiss_runs",
        "backfill",
        "erase_tenant",
    ];

    /// Its kind, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Jobs { act: JobAct::Pause, .. } => "pause_jobs",
            Self::Jobs { act: JobAct::Resume, .. } => "resume_jobs",
            Self::Jobs { act: JobAct::Cancel, .. } => "cancel_jobs",
            Self::Runs { act: RunAct::Cancel, .. } => "cancel_runs",
            Self::Runs { act: RunAct::Retry, .. } => "retry_runs",
            Self::Runs { act: RunAct::Dismiss, .. } => "dismiss_runs",
            Self::Backfill(_) => "backfill",
            Self::Erase(_) => "erase_tenant",
        }
    }

    /// Where it begins to look.
    pub fn start(&self, now: Moment) -> Position {
        match self {
            // How far an erasure came it says itself.
            Self::Jobs { .. } | Self::Erase(_) => Position::Jobs { past: None },
            Self::Runs { filter, .. } => Position::Runs { end: filter.window.end.min(now), before: None },
            Self::Backfill(backfill) => Position::Instants { past: backfill.from.just_before() },
        }
    }
}

impl JobAct {
    pub const ALL: [Self; 3] = [Self::Pause, Self::Resume, Self::Cancel];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

impl RunAct {
    pub const ALL: [Self; 3] = [Self::Cancel, Self::Retry, Self::Dismiss];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Dismiss => "dismiss",
        }
    }

    /// The states of a run to which it can be done at all, where nobody says which.
    pub fn can_be_done_to(self, status: &str) -> bool {
        match self {
            Self::Cancel => matches!(status, "scheduled" | "queued" | "waiting" | "running"),
            Self::Retry | Self::Dismiss => matches!(status, "failed" | "timed_out"),
        }
    }

    /// Whether it is done to dead letters alone: to what failed and nobody has seen to, unless somebody says which are to be tried again.
    pub fn is_of_letters(self, filter: &RunFilter) -> bool {
        match self {
            Self::Cancel => false,
            Self::Retry => !filter.names_a_status(),
            Self::Dismiss => true,
        }
    }

    /// And those to which it can be done where somebody does.
    pub fn may_be_asked_of(self, status: &str) -> bool {
        self.can_be_done_to(status) || (self == Self::Retry && matches!(status, "cancelled" | "skipped"))
    }
}

impl State {
    pub const ALL: [Self; 5] = [Self::Running, Self::Paused, Self::Cancelling, Self::Cancelled, Self::Done];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job, _) => job.fmt(f),
            Self::Run(run) => run.fmt(f),
            Self::Occurrence(at) => at.fmt(f),
        }
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op_{}", base32(&self.0))
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for OperationId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = text.strip_prefix("op_").and_then(from_base32).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotAnId::of("an operation's id"))
    }
}

#[cfg(test)]
mod tests;
