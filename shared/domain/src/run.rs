//! A run: one occurrence being carried out. It owns the state machine, [`Run::after`].
//!
//! `queued` is not a state: it is `scheduled` whose time has come and which nobody has claimed.

pub mod aftermath;
pub mod attempt;
pub mod edit;
pub mod effect;
pub mod error_code;
mod holder;
pub mod lag;
pub mod lease_id;
pub mod logbook;
pub mod made_up;
pub mod remark;
pub mod sla;
pub mod task_error;
pub mod task_run;
mod transitions;
pub mod waiting;

use std::time::Duration;

use thiserror::Error;

pub use self::aftermath::{Aftermath, NotALetter, Said};
pub use self::attempt::{Attempt, AttemptError, Ending};
pub use self::edit::{Edit, NotEdited};
pub use self::error_code::ErrorCode;
pub use self::holder::Holder;
pub use self::lag::{Lag, Stage, StageKind};
pub use self::made_up::MadeUp;
pub use self::remark::{Remark, Remarked};
pub use self::sla::Sla;
pub use self::task_error::TaskError;
pub use self::task_run::{Judgement, TaskPlace, TaskRun, Word};
pub use self::waiting::{Branches, Graph, Stop, Tasks, Waiting};
use crate::Moment;
use crate::access::{By, SecretHash};
use crate::body::Body;
use crate::callback::Callback;
use crate::follow::{Follower, Follows};
use crate::hook::Given;
use crate::id::{Origin, RunKey, Tenant, Worker};
use crate::operation::OperationId;
use crate::order::Terms;
use crate::pace;
use crate::priority::Priority;
use crate::retention::Kept;
use crate::slot::{Admission, Bound, SlotName};
use crate::trace::Traced;
use crate::workflow::definition::NoAnswer;
use crate::workflow::plan::Phase;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub tenant: Tenant,
    pub key: RunKey,
    /// What its instant was meant for before it was spread.
    pub nominal: Option<Moment>,
    pub state: State,
    /// The number of the last claim, and so of the last attempt. Only grows.
    pub fence: u32,
    /// The newest attempts, oldest first; an older one is an item of its own.
    pub attempts: Vec<Attempt>,
    /// When the first attempt started.
    pub started_at: Option<Moment>,
    pub tally: Tally,
    pub priority: Priority,
    /// What this run was given in place of the job's payload.
    pub payload: Option<Body>,
    /// Who asked for it, where somebody did.
    pub asked_by: Option<By>,
    /// The run that this one is another try at.
    pub redrive_of: Option<RunKey>,
    /// Who asked to cancel it, and when.
    pub cancel: Option<CancelAsked>,
    /// Where it stands below the run of its workflow, where it is a task's.
    pub task: Option<TaskRun>,
    /// The tasks that it unfolded into, where it is a workflow's or a `for_each`'s.
    pub graph: Option<Graph>,
    /// Why it ended as it did, in a sentence, where no attempt says it.
    pub told: Option<String>,
    /// What was done to it and noticed of it beside that, oldest first.
    pub remarks: Vec<Remark>,
    /// What lets it in where it shares a limit with others.
    pub admission: Admission,
    /// By when it is to have ended, where its job said so.
    pub sla: Option<Sla>,
    /// The run whose end brought it about, where one did.
    pub follows: Option<Follows>,
    /// Who follows it, as its job said at its birth.
    pub followers: Vec<Follower>,
    /// Its turn in catching up, until it begins.
    pub made_up: Option<MadeUp>,
    /// Who is told of its end: pinned when it is born.
    pub callbacks: Vec<Callback>,
    /// The run that it tells of, where it is a callback's.
    pub callback_of: Option<RunKey>,
    /// What a hook gave an attempt in the place of its payload.
    pub given: Option<Given>,
    /// What became of it after it came to nothing.
    pub aftermath: Option<Aftermath>,
    /// The operation that made it, where one did.
    pub made: Option<Made>,
    /// When the hint was sent by which it was claimed last, where that was late: it says where the time went.
    pub dispatched: Option<Moment>,
    /// Its end is counted, as its job said at its birth.
    pub is_counted: bool,
    /// For how long it is kept when it is over.
    pub kept: Kept,
    /// In which trace it is, and what its spans link to.
    pub trace: Traced,
}

/// What made a run, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    pub by: OperationId,
    pub at: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelAsked {
    pub at: Moment,
    pub by: By,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Due later, or waiting out a backoff.
    Scheduled {
        due: Moment,
    },
    /// Nobody carries it out: it waits for its tasks, for an answer, or for a place.
    Waiting(Waiting),
    Running(Lease),
    Succeeded {
        at: Moment,
        result: Body,
    },
    Failed {
        at: Moment,
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        why: Skip,
        /// The later occurrences that did not fire either, and have no record of their own.
        span: Option<SkippedSpan>,
    },
}

/// Until when a claimed run is its holder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub holder: Holder,
    pub until: Moment,
    /// Somebody asked to cancel: no further attempt starts.
    pub cancelled: bool,
    /// What a worker elsewhere shows that this lease is its own.
    pub token: Option<SecretHash>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The last attempt's error says it.
    Error,
    /// The lease ran out, and the run may not be tried twice.
    Lost,
    /// Lease after lease ran out: the run kills its executors.
    Poison,
    /// Failure after failure, each under a second.
    Instant,
    /// A task of it failed, and that was not allowed.
    Task,
    /// Somebody said no.
    Rejected,
    /// What it was to be given cannot be made, or its condition cannot be judged.
    Unmade,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// An outage's occurrences are one run, the last; this record stands for the others.
    Coalesced,
    /// It was too late to make up for it when somebody looked; and for those after it, where the record says so.
    Missed,
    Paused,
    Cancelled,
    Superseded,
    /// Its asker promised this run and never wrote it.
    Abandoned,
    /// What it depends on did not end as its edges ask.
    Upstream,
    /// Its condition is not true.
    Condition,
    /// Others of its job were under way, and the job is not to overlap.
    Overlap,
    /// A calendar of its job took it.
    Calendar,
    /// Its zone's clock was put forward past it, and its schedule skips what is in such a gap.
    DstGap,
    /// More runs stood one behind the other than may.
    Cycle,
    /// Whoever is asked before a run said that it is not to be.
    Vetoed,
    /// Its rule had told of something shortly before.
    Cooldown,
}

/// What a record of something that did not fire stands for beside its own instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedSpan {
    pub until: Moment,
    /// How many there were, its own instant included; none where the schedule that knew is gone.
    pub count: Option<u64>,
}

/// What the rules about repeated failure count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Attempts that failed or timed out: what `max_retries` bounds. A lost lease says nothing about the target.
    pub failures: u16,
    pub lost_in_a_row: u8,
    pub instant_in_a_row: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Claim {
        by: Claimant,
        terms: &'a Terms,
    },
    /// It is to be carried out by a worker elsewhere, and lies where workers look for what is ready.
    Offer {
        by: Claimant,
        terms: &'a Terms,
    },
    /// A worker elsewhere claims it.
    Take {
        by: Claimant,
        taker: &'a Taker,
        terms: &'a Terms,
    },
    Finish {
        fence: u32,
        outcome: &'a Outcome,
        terms: &'a Terms,
    },
    /// Whoever is asked before the target is called said that it is not to be, in a sentence.
    Veto {
        fence: u32,
        told: &'a str,
    },
    /// The holder hands the run back unfinished: it is going away.
    HandBack {
        fence: u32,
        terms: &'a Terms,
    },
    /// The holder has not called, and will not: it has no time left for that, or cannot read what the call takes.
    NotCalled {
        fence: u32,
    },
    /// The holder is alive and has the run until then. The lease that comes of it says whether somebody asked to cancel.
    Heartbeat {
        fence: u32,
        until: Moment,
    },
    /// Whom its holder called has taken it on, and says later how it went: whoever shows the token, until the attempt's time is up.
    Entrust {
        fence: u32,
        token: SecretHash,
        terms: &'a Terms,
    },
    /// Somebody's wish, or what follows from the owner's end.
    Cancel {
        by: Option<&'a By>,
    },
    /// It is claimed, and its tasks are to be carried out.
    Unfold {
        graph: &'a Graph,
        deadline: Moment,
    },
    /// It is claimed, and somebody is asked, until then.
    Ask {
        until: Moment,
    },
    /// As many runs are under way as may be of those that it belongs to.
    AwaitSlot,
    /// Others of its job are under way, and it makes way for them: for which, in a sentence.
    Yield(&'a str),
    /// Its rate has put this instant by for it.
    Postpone {
        until: Moment,
    },
    /// Its time passed while nobody began it, and this is its turn among what is made up for.
    MakeUp {
        turn: Moment,
        per_minute: u32,
    },
    /// It is claimed, and what it would be given cannot be made, or what it would do is not there: why, in a sentence.
    Unmake(&'a str),
    /// What becomes of one that waits for its tasks, or in vain for an answer.
    Tend(&'a Tending),
    /// Somebody answers, or decides about a failure that is held.
    Judge(&'a Judgement),
}

/// What is done to a run that waits, by whoever looks after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tending {
    /// Nothing more starts below it.
    Stop(Stop),
    /// All its tasks have ended, so: those of `finally` begin.
    Finally { outcome: Option<Stop>, deadline: Moment },
    /// All its tasks have ended, and those of `finally`.
    End(TasksEnded),
    /// Nobody answered in time.
    Unanswered(NoAnswer),
}

/// How a run ends whose tasks have all ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TasksEnded {
    Succeeded {
        result: Body,
    },
    /// A task failed, or its result cannot be made: which, in a sentence.
    Failed {
        why: Failure,
        told: Option<String>,
    },
    Cancelled,
    TimedOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimant {
    pub worker: Worker,
    /// No other process can be alive: the store is this one's alone, so the lease of another process is a dead one's. Who
    /// works elsewhere is not concerned.
    pub exclusive_store: bool,
}

/// A worker elsewhere as a claimant, whichever process it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taker {
    pub worker: Worker,
    pub token: SecretHash,
    /// For how long from each sign of life on it has the run.
    pub lease: Duration,
}

/// How an attempt went, as its executor saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Succeeded { result: Body },
    Failed { error: AttemptError, retry_after: Option<Duration> },
    TimedOut,
}

/// Why an event means nothing to a run as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("not due before {due}")]
    TooEarly { due: Moment },
    #[error("held by another until {until}")]
    Held { until: Moment },
    #[error("fence {offered} is not the current one, {current}")]
    Fenced { offered: u32, current: u32 },
    #[error("nobody holds this run")]
    NotHeld,
    #[error("the run is finished; finished is final")]
    Finished,
    #[error("the run waits for its tasks, or for an answer")]
    Waiting,
    #[error("the run does not wait")]
    NotWaiting,
    #[error("the run is being stopped already")]
    Stopping,
    #[error("the run asks nothing of anybody")]
    NotAsked,
    #[error("somebody has decided already")]
    Decided,
}

/// Why there is no other try at a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotToRedo {
    #[error("the run is under way: cancel it first, or wait for its end")]
    UnderWay,
    #[error("the run succeeded; to do it again, run its job")]
    Succeeded,
}

/// How the record of an outage speaks for a later occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    pub why: Skip,
    /// The first instant that it does not speak for.
    pub until: Moment,
}

/// What an overdue timer of this run is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The obligation is met.
    Erase,
    /// Nothing to do before then.
    Later(Moment),
    /// It could have been claimed since then.
    Claimable { since: Moment },
    /// It waits for its tasks: they are to be looked after.
    Tend,
    /// Nobody answered in time.
    Unanswered,
}

impl Run {
    /// A run nobody has touched yet.
    pub fn new(tenant: Tenant, key: RunKey, priority: Priority) -> Self {
        Self {
            tenant,
            key,
            nominal: None,
            state: State::Scheduled { due: key.at },
            fence: 0,
            attempts: Vec::new(),
            started_at: None,
            tally: Tally::default(),
            priority,
            payload: None,
            asked_by: None,
            redrive_of: None,
            cancel: None,
            task: None,
            graph: None,
            told: None,
            remarks: Vec::new(),
            admission: Admission::default(),
            sla: None,
            follows: None,
            followers: Vec::new(),
            made_up: None,
            callbacks: Vec::new(),
            callback_of: None,
            given: None,
            aftermath: None,
            made: None,
            dispatched: None,
            is_counted: false,
            kept: Kept::default(),
            trace: Traced::default(),
        }
    }

    /// When it was meant to start, before its schedule spread it.
    pub fn nominal(&self) -> Moment {
        self.nominal.unwrap_or(self.key.at)
    }

    /// From when on somebody could begin it: its instant, unless that was past when it was made. One that goes on with another bears the
    /// other's instant.
    pub fn could_begin_at(&self) -> Moment {
        let since = match self.key.origin {
            Origin::Backfill => self.made.map(|made| made.at),
            Origin::Resume => self.last_remark(Remarked::Resumed).map(|resumed| resumed.at),
            _ => None,
        };
        since.unwrap_or(self.key.at)
    }

    /// Since when its first attempt could begin, or could have been looked for a place; none where it has begun or waits, and of what was not to begin
    /// at once: behind other runs, when there is something to tell, or among many that somebody asked for together. Of what was put off, the wait for
    /// its turn is left out: it is as late as it was when somebody found it, and as it is behind its turn.
    pub fn ready_since(&self) -> Option<Moment> {
        let is_one_of_many = self.made.is_some();
        let is_behind_others =
            matches!(self.key.origin, Origin::Task | Origin::Callback | Origin::Notification | Origin::Resume);
        let State::Scheduled { due } = self.state else { return None };
        if self.fence > 0 || is_behind_others || is_one_of_many {
            return None;
        }
        Some(self.made_up.map_or(due, |made_up| due - made_up.since.since(self.key.at)))
    }

    /// The run that makes up for an occurrence: due when it is made, and to have ended as long after that as its job says.
    #[must_use]
    pub fn backfilled(self, priority: Priority, made: Made) -> Self {
        let sla = self.sla_from(made.at);
        Self { priority, sla, state: State::Scheduled { due: made.at }, made: Some(made), ..self }
    }

    /// The record that it did not fire. What it stands for beside itself is on record for as long as each of those would be.
    #[must_use]
    pub fn skipped(self, why: Skip, span: Option<SkippedSpan>, now: Moment) -> Self {
        let kept = span.map_or(self.kept, |span| self.kept.reaching(span.until.since(self.key.at)));
        Self { state: State::Skipped { at: now, why, span }, made_up: None, kept, ..self }
    }

    /// Another try at this run, under its own key: what it was given it is given again.
    pub fn redriven(&self, key: RunKey) -> Result<Self, NotToRedo> {
        match self.state {
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => Err(NotToRedo::UnderWay),
            State::Succeeded { .. } => Err(NotToRedo::Succeeded),
            State::Failed { .. } | State::TimedOut { .. } | State::Cancelled { .. } | State::Skipped { .. } => {
                let (redrive_of, payload) = (Some(self.key), self.payload.clone());
                let (sla, follows) = (self.sla_from(key.at), self.follows);
                let (followers, callbacks) = (self.followers.clone(), self.callbacks.clone());
                let born = Self::new(self.tenant.clone(), key, self.priority);
                let (is_counted, kept) = (self.is_counted, self.kept.outlasting(self));
                let trace = Traced::after(self);
                Ok(Self { payload, redrive_of, sla, follows, followers, callbacks, is_counted, kept, trace, ..born })
            }
        }
    }

    /// What it was given, and what came of it.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        let given = self.given.as_ref().map(|given| &given.payload);
        let again = match &self.aftermath {
            Some(Aftermath::Redriven { payload, .. }) => payload.as_ref(),
            Some(Aftermath::Dismissed) | None => None,
        };
        let params = self.graph.as_ref().map(|graph| &graph.given);
        [self.payload.as_ref(), params, given, again, Some(self.result())].into_iter().flatten()
    }

    /// The same, not yet begun, under another key.
    #[must_use]
    pub fn under(self, key: RunKey) -> Self {
        Self { key, nominal: None, state: State::Scheduled { due: key.at }, ..self }
    }

    /// The run that it was derived from by a decision that is final: that whose task it is, or whose end it tells of.
    pub fn derived_from(&self) -> Option<RunKey> {
        self.task.as_ref().map(|task| task.parent).or(self.callback_of)
    }

    /// What an attempt was given by a hook, where that is the newest.
    #[must_use]
    pub fn with_given(self, given: Option<&Given>) -> Self {
        Self { given: given.cloned().or(self.given), ..self }
    }

    pub fn is_finished(&self) -> bool {
        self.finished_at().is_some()
    }

    pub fn finished_at(&self) -> Option<Moment> {
        match self.state {
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => None,
            State::Succeeded { at, .. }
            | State::Failed { at, .. }
            | State::TimedOut { at }
            | State::Cancelled { at }
            | State::Skipped { at, .. } => Some(at),
        }
    }

    /// Every attempt, given those that stand outside. One may stand in both places: it was written outside for a claim
    /// that then did not come to be.
    pub fn with_older_attempts(&self, outside: Vec<Attempt>) -> Vec<Attempt> {
        let oldest_inside = self.attempts.first().map_or(u32::MAX, |attempt| attempt.number);
        let older = outside.into_iter().filter(|attempt| attempt.number < oldest_inside);
        older.chain(self.attempts.iter().cloned()).collect()
    }

    /// What it waits for, where nobody carries it out.
    pub fn waiting(&self) -> Option<&Waiting> {
        match &self.state {
            State::Waiting(waiting) => Some(waiting),
            _finished_or_carried_out => None,
        }
    }

    /// Whether it was let in, and has not come to its end since: between two attempts it has the places that it asked for.
    pub fn has_begun_with_places(&self) -> bool {
        self.waiting().is_none() && !self.admission.places.is_empty()
    }

    /// Those of these places that it asks for: one that has begun without a place of its job is not counted among those under way.
    pub fn wants_of(&self, mut places: Vec<Bound>) -> Vec<Bound> {
        places.retain(|bound| self.fence == 0 || !matches!(bound.slot, SlotName::Job(_)));
        places
    }

    /// Its tasks, where it waits for them.
    pub fn tasks(&self) -> Option<&Tasks> {
        match self.waiting()? {
            Waiting::Tasks(tasks) => Some(tasks),
            Waiting::Answer { .. } | Waiting::Slot { .. } => None,
        }
    }

    /// Whether a task of this phase may begin below it. A `for_each` has one phase, wherever it stands itself.
    pub fn wants(&self, phase: Phase) -> bool {
        let is_each = self.graph.as_ref().is_some_and(|graph| graph.each.is_some());
        self.tasks().is_some_and(|tasks| tasks.admits(if is_each { Phase::Main } else { phase }))
    }

    /// Whether a run that waits for its tasks is being stopped, or has come to its `finally`.
    pub fn is_ending(&self) -> bool {
        self.tasks().is_some_and(|tasks| tasks.stop.is_some() || tasks.phase == Phase::Finally)
    }

    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Running(lease) => Some(lease),
            _finished_or_waiting => None,
        }
    }

    /// The later occurrence that fires in this one's stead, where this is the record of an outage that was made up for.
    pub fn coalesced_until(&self) -> Option<Moment> {
        match self.state {
            State::Skipped { why: Skip::Coalesced, span: Some(span), .. } => Some(span.until),
            _ => None,
        }
    }

    /// What else a record of something that did not fire stands for.
    pub fn skipped_span(&self) -> Option<SkippedSpan> {
        match self.state {
            State::Skipped { span, .. } => span,
            _ => None,
        }
    }

    /// Whether a clock that is right by `pace::SKEW` may have written it, as one that is right by as much sees at `now`: an outage is over when
    /// it is recorded. One by a clock that was ahead speaks for itself alone, and what is yet to come fires.
    pub fn is_honest(&self, now: Moment) -> bool {
        let State::Skipped { at, why: Skip::Coalesced | Skip::Missed, span: Some(span) } = self.state else {
            return true;
        };
        at.max(span.until) <= now + pace::APART
    }

    /// The later occurrence that fires in place of this record's, as far as `now` can tell.
    pub fn replacement(&self, now: Moment) -> Option<Moment> {
        self.coalesced_until().filter(|_| self.is_honest(now))
    }

    /// The last instant that did not fire and that this record stands for at `now`; its own where it stands for itself.
    pub fn span_end(&self, now: Moment) -> Moment {
        let span = self.skipped_span().filter(|_| self.coalesced_until().is_none() && self.is_honest(now));
        span.map_or(self.key.at, |span| span.until)
    }

    /// Whether this record, of an earlier occurrence, tells at `now` why the one at `t` did not fire, whatever the reason was.
    pub fn tells_of(&self, t: Moment, now: Moment) -> bool {
        let is_before_the_end = self.replacement(now).map_or(t <= self.span_end(now), |until| t < until);
        self.key.at < t && is_before_the_end
    }

    /// Whether this record, of an earlier occurrence, also speaks at `now` for the one at `t`: why that did not fire, and up to
    /// which instant, itself not covered, nothing did.
    pub fn covers(&self, t: Moment, now: Moment) -> Option<Covered> {
        let State::Skipped { why, span: Some(span), .. } = self.state else { return None };
        let until = match why {
            Skip::Coalesced => span.until,
            Skip::Missed => span.until.just_after(),
            Skip::Paused
            | Skip::Cancelled
            | Skip::Superseded
            | Skip::Abandoned
            | Skip::Upstream
            | Skip::Condition
            | Skip::Overlap
            // Who is taken by a calendar is not admitted; and who is admitted by what the calendar says now is not taken.
            | Skip::Calendar
            | Skip::DstGap
            | Skip::Cycle
            | Skip::Vetoed
            | Skip::Cooldown => {
                return None;
            }
        };
        (self.key.at < t && t < until && self.is_honest(now)).then_some(Covered { why, until })
    }

    /// When the lease of a run that is to be cancelled ends, where it was to last for longer: somebody is to look then.
    pub fn grace_ends(&self, before: &Self) -> Option<Moment> {
        let (lease, before) = (self.lease()?, before.lease()?);
        (lease.cancelled && lease.until < before.until).then_some(lease.until)
    }

    /// When the attempt that is under way has taken as long as it may.
    pub fn deadline(&self, terms: &Terms) -> Option<Moment> {
        let _lease = self.lease()?;
        self.attempts.last().map(|attempt| attempt.started_at + terms.before + terms.timeout)
    }

    /// Until when its holder may have it: a worker, by its signs of life, until the attempt has taken as long as it may; who calls, and whoever
    /// has taken it on, for as long as it was given.
    pub fn may_be_held_until(&self, terms: &Terms) -> Option<Moment> {
        let lease = self.lease()?;
        match lease.holder {
            Holder::Remote(_) => self.deadline(terms),
            Holder::Process(_) | Holder::Target(_) => Some(lease.until),
        }
    }

    /// Whether an answer of this claim's holder comes too late: its lease ran out, and it has not answered before.
    pub fn is_late(&self, fence: u32) -> bool {
        let has_answered = |attempt: &Attempt| {
            let ended = attempt.ended.as_ref().map(|ended| &ended.how);
            attempt.number == fence && matches!(ended, Some(Ending::Succeeded | Ending::Failed(_)))
        };
        let was_claimed = (1..=self.fence).contains(&fence);
        let is_under_way = fence == self.fence && self.lease().is_some();
        was_claimed && !is_under_way && !self.attempts.iter().any(has_answered)
    }

    /// What the sweeper makes of an overdue timer of this run.
    pub fn inspect_overdue(&self, now: Moment, by: Claimant) -> Look {
        match &self.state {
            State::Scheduled { due } if now < *due => Look::Later(self.looked_at_by(*due)),
            State::Scheduled { due } => Look::Claimable { since: *due },
            State::Waiting(Waiting::Tasks(_)) => Look::Tend,
            State::Waiting(Waiting::Answer { until }) if now < *until => Look::Later(self.looked_at_by(*until)),
            State::Waiting(Waiting::Answer { .. }) => Look::Unanswered,
            State::Waiting(Waiting::Slot { since }) => Look::Claimable { since: *since },
            State::Running(lease) if !lease.is_over(now, by) => Look::Later(self.looked_at_by(lease.until)),
            State::Running(lease) => Look::Claimable { since: lease.until.min(now) },
            State::Succeeded { .. }
            | State::Failed { .. }
            | State::TimedOut { .. }
            | State::Cancelled { .. }
            | State::Skipped { .. } => Look::Erase,
        }
    }

    /// The word the wire uses.
    pub fn status(&self, now: Moment) -> &'static str {
        match &self.state {
            State::Scheduled { due } if now < *due => "scheduled",
            State::Scheduled { .. } => "queued",
            State::Waiting(_) => "waiting",
            State::Running(_) => "running",
            State::Succeeded { .. } => "succeeded",
            State::Failed { .. } => "failed",
            State::TimedOut { .. } => "timed_out",
            State::Cancelled { .. } => "cancelled",
            State::Skipped { .. } => "skipped",
        }
    }

    /// Why it ended as it did, where the status alone does not say.
    pub fn reason(&self) -> Option<&'static str> {
        match &self.state {
            State::Failed { why, .. } => Some(why.as_str()),
            State::Skipped { why, .. } => Some(why.as_str()),
            State::Scheduled { .. }
            | State::Waiting(_)
            | State::Running(_)
            | State::Succeeded { .. }
            | State::TimedOut { .. }
            | State::Cancelled { .. } => None,
        }
    }
}

impl Lease {
    /// Whether another may claim: its time is over, or its holder cannot be alive.
    pub fn is_over(&self, now: Moment, by: Claimant) -> bool {
        self.until <= now || self.holder.cannot_be_alive(by)
    }

    /// The same, until then: who extends it says how long, and a store can write that without having read it. One whose cancellation
    /// was asked for ends when it was to end: its holder has the time until then to stop.
    #[must_use]
    pub fn extended(self, until: Moment) -> Self {
        if self.cancelled { self } else { Self { until, ..self } }
    }

    /// Whether it is a worker's that shows this.
    pub fn is_of(&self, token: &str) -> bool {
        self.token.is_some_and(|hash| hash.is_of(token))
    }

    /// Whether enough of it is left to ask whoever is asked before, call the target and write down how it went.
    pub fn covers_all(&self, now: Moment, terms: &Terms) -> bool {
        self.until.since(now) > terms.occupies() + pace::CALL_MARGIN
    }

    /// Whether enough of it is left to call the target and write down how it went.
    pub fn covers_a_call(&self, now: Moment, terms: &Terms) -> bool {
        self.until.since(now) > terms.call() + pace::CALL_MARGIN
    }
}

impl Failure {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Lost => "lost",
            Self::Poison => "poison",
            Self::Instant => "instant_failures",
            Self::Task => "task",
            Self::Rejected => "rejected",
            Self::Unmade => "unmade",
        }
    }
}

impl Skip {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Coalesced => "coalesced",
            Self::Missed => "missed",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
            Self::Abandoned => "abandoned",
            Self::Upstream => "upstream",
            Self::Condition => "condition",
            Self::Overlap => "overlap",
            Self::Calendar => "calendar",
            Self::DstGap => "dst_gap",
            Self::Cycle => "cycle",
            Self::Vetoed => "vetoed",
            Self::Cooldown => "cooldown",
        }
    }
}
