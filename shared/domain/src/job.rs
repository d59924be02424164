//! A job: the definition. What to do, when, how failure is treated; and, as the head of a chain of occurrences, which
//! instants are true. A timer or a hint has no authority: [`Job::admits`] has.

mod catching_up;
mod in_force;
mod taken;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Moment;
use crate::access::By;
use crate::body::Body;
use crate::callback::Callback;
use crate::catch_up::CatchUp;
use crate::follow::Listed;
use crate::health::Extent;
use crate::hook::Hooks;
use crate::id::{JobId, Origin, RunKey, Tenant};
use crate::idempotency::Fingerprint;
use crate::keeping::Lengthened;
use crate::lane::Lane;
use crate::limits::COALESCE_COUNT;
use crate::order::{Order, Terms};
use crate::overlap::Overlap;
use crate::priority::Priority;
use crate::retention::{Kept, Retention, outlived_by_runs};
use crate::run::{Run, Said, Skip, SkippedSpan, Sla};
use crate::schedule::{Patience, Schedule};
use crate::slot::Bounds;
use crate::target::Target;
use crate::trace::{TraceContext, Traced};
use crate::workflow::WorkflowId;

pub use self::in_force::Before;
pub use self::taken::Taken;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub tenant: Tenant,
    pub id: JobId,
    pub status: Status,
    /// Grows with every change; guards writes, never occurrences.
    pub generation: u64,
    /// Grows when a sweeper gives up a timer: a writer that read an older one was too slow.
    pub epoch: u32,
    pub schedule: Schedule,
    /// From when on `schedule` is in force: the writer's clock at create, resume or schedule change.
    pub since: Moment,
    /// What was in force until then, the newest first: one schedule, and of its calendars as many versions as it remembers.
    pub before: Vec<Before>,
    /// A fire that a calendar had moved and that had not begun when `schedule` came into force.
    pub carried: Option<Carried>,
    pub definition: Definition,
    pub created_at: Moment,
    pub changed_at: Moment,
    /// Of the request that created it, where that carried an idempotency key.
    pub fingerprint: Option<Fingerprint>,
    /// The jobs that run behind it. Who comes into the list or goes changes nothing else of the job, its generation included.
    pub followers: Vec<Listed>,
    /// The note with which somebody made it what it is: paused, active again, deleted.
    pub noted: Option<Noted>,
    /// The trace of the request that created it: its runs link to that.
    pub trace: Option<TraceContext>,
    /// It was to keep its runs for less long.
    pub lengthened: Option<Lengthened>,
}

/// Who paused a job, resumed or deleted it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub at: Moment,
    pub by: By,
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    Paused,
    Cancelled,
}

/// A fire that was moved, and outlives a change of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// What its schedule named.
    pub nominal: Moment,
    /// When it fires.
    pub at: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub name: Option<String>,
    pub owner: Option<String>,
    pub tags: BTreeSet<String>,
    pub target: Target,
    pub payload: Body,
    pub priority: Priority,
    pub terms: Terms,
    pub catch_up: CatchUp,
    /// How long after it was due a run is to have ended at the latest.
    pub sla: Option<Duration>,
    /// What its runs share with those of other jobs.
    pub bounds: Bounds,
    /// What becomes of a run that comes while others are under way.
    pub overlap: Overlap,
    /// Who is told of the end of a run.
    pub callback: Option<Callback>,
    /// Who is asked before a run, and told after it.
    pub hooks: Hooks,
    /// What its health is made of.
    pub health: Extent,
    /// For how long its runs are kept, where it says that.
    pub retention: Option<Retention>,
}

/// A job of nobody in particular that calls nothing: what is said of another is its difference.
impl Default for Definition {
    fn default() -> Self {
        Self {
            name: None,
            owner: None,
            tags: BTreeSet::new(),
            target: Target::Noop,
            payload: Body::Empty,
            priority: Priority::default(),
            terms: Terms::default(),
            catch_up: CatchUp::default(),
            sla: None,
            bounds: Bounds::default(),
            overlap: Overlap::default(),
            callback: None,
            hooks: Hooks::default(),
            health: Extent::default(),
            retention: None,
        }
    }
}

impl Definition {
    /// All who are told of the end of a run.
    pub fn callbacks(&self) -> Vec<Callback> {
        self.callback.iter().chain(&self.hooks.after).cloned().collect()
    }
}

/// Why an instant is no occurrence of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotAdmitted {
    #[error("the job was deleted")]
    Cancelled,
    #[error("the job is paused")]
    Paused,
    #[error("the schedule in force does not fire then")]
    Superseded,
    /// Of what a gap of the clock takes it is the instant of the record.
    #[error("a calendar takes it, or its zone's clock is put forward past it")]
    Excluded,
}

/// What somebody wants a job to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Pause,
    Resume,
    Delete,
    /// Another schedule, another definition, or both at once: what is none stays as it is.
    Edit {
        schedule: Option<Schedule>,
        definition: Option<Definition>,
    },
}

impl Change {
    pub fn reschedule(schedule: Schedule) -> Self {
        Self::Edit { schedule: Some(schedule), definition: None }
    }

    pub fn define(definition: Definition) -> Self {
        Self::Edit { schedule: None, definition: Some(definition) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JobRefusal {
    #[error("the job was deleted; a deleted job stays as it is")]
    Cancelled,
    #[error("the job is paused already")]
    AlreadyPaused,
    #[error("the job is active already")]
    AlreadyActive,
}

/// The occurrences of an outage, from the first one missed to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    pub last: Moment,
    /// How many there were, the last one included; capped at `COALESCE_COUNT`.
    pub count: u64,
}

impl Job {
    /// A new job is in force from `now`.
    pub fn new(tenant: Tenant, id: JobId, schedule: Schedule, definition: Definition, epoch: u32, now: Moment) -> Self {
        Self {
            tenant,
            id,
            status: Status::Active,
            generation: 1,
            epoch,
            schedule,
            since: now,
            before: Vec::new(),
            carried: None,
            definition,
            created_at: now,
            changed_at: now,
            fingerprint: None,
            followers: Vec::new(),
            noted: None,
            trace: None,
            lengthened: None,
        }
    }

    /// Whether `t` is an occurrence that may start.
    pub fn admits(&self, t: Moment) -> Result<(), NotAdmitted> {
        match self.status {
            Status::Cancelled => Err(NotAdmitted::Cancelled),
            Status::Paused => Err(NotAdmitted::Paused),
            Status::Active if self.in_force_at(t) => Ok(()),
            Status::Active if self.is_taken_at(t) => Err(NotAdmitted::Excluded),
            Status::Active => Err(NotAdmitted::Superseded),
        }
    }

    /// A run of this job that nobody has touched yet.
    pub fn run(&self, key: RunKey) -> Run {
        let nominal = match key.origin {
            Origin::Schedule => self.nominal(key.at).filter(|nominal| *nominal != key.at),
            Origin::Manual
            | Origin::Backfill
            | Origin::Redrive
            | Origin::Task
            | Origin::Callback
            | Origin::Resume
            | Origin::Follow
            | Origin::Notification => None,
        };
        let sla = self.definition.sla.map(|sla| Sla { until: key.at + sla, missed: None });
        let (callbacks, followers) = (self.definition.callbacks(), self.pinned());
        let is_counted = self.definition.health == Extent::Full;
        let kept = Kept::of(self.definition.retention, &self.definition.catch_up, key);
        let born = Run::new(self.tenant.clone(), key, self.definition.priority);
        let trace = Traced::of(self.trace.clone());
        Run { nominal, sla, followers, callbacks, is_counted, kept, trace, ..born }
    }

    /// From when on nobody asks for a deleted job any more: its runs are gone by then. A workflow's own job stays with the workflow.
    pub fn expires_at(&self) -> Option<Moment> {
        let Definition { retention, terms, .. } = &self.definition;
        let kept = retention.unwrap_or_default().span().max(Retention::DEFAULT.span());
        let is_gone = self.status == Status::Cancelled && self.workflow().is_none();
        is_gone.then(|| self.changed_at + outlived_by_runs(terms) + kept)
    }

    /// The same of its payload where that lies beside it: whatever was begun while the job was there has ended by then.
    pub fn payload_expires_at(&self) -> Option<Moment> {
        self.expires_at().map(|gone| gone + outlived_by_runs(&self.definition.terms))
    }

    /// The workflow whose own job it is.
    pub fn workflow(&self) -> Option<WorkflowId> {
        match self.definition.target {
            Target::Workflow(called) => Some(called.id).filter(|workflow| workflow.job() == self.id),
            Target::Http(_) | Target::Noop | Target::Worker(_) | Target::Service(_) => None,
        }
    }

    /// Which queue hints of its runs travel on.
    pub fn lane(&self) -> Lane {
        self.lane_at(self.definition.priority)
    }

    /// The same of a run that has a priority of its own.
    pub fn lane_at(&self, priority: Priority) -> Lane {
        if self.definition.target.is_called() {
            Lane::of(priority, &self.definition.terms)
        } else {
            Lane::look(priority)
        }
    }

    /// What its runs carry out.
    pub fn order(self) -> Order {
        let Definition { target, terms, payload, priority, hooks, .. } = self.definition;
        Order { target, terms, payload, priority, task: None, before: hooks.before }
    }

    /// What the fire at `t` was meant for: before jitter, and before a calendar moved it.
    pub fn nominal_of(&self, t: Moment) -> Moment {
        self.nominal(t).unwrap_or(t)
    }

    /// What `t` was meant for by the schedule that fires then, or would but for a calendar: the one in force, or else another, which its timer may outlast.
    fn nominal(&self, t: Moment) -> Option<Moment> {
        if let Some(carried) = self.carried_to(t) {
            return Some(carried.nominal);
        }
        let schedules = || self.schedules().map(|in_force| in_force.schedule);
        let is_spread = schedules().any(|schedule| schedule.jitter.is_some() || schedule.observance.is_some());
        let fires = |schedule: &&Schedule| schedule.fires_at(t) || schedule.names(t);
        let then = self.in_force(t).map(|in_force| in_force.schedule);
        is_spread.then(|| then.into_iter().chain(schedules()).find(fires)).flatten().map(|schedule| schedule.nominal(t))
    }

    /// Whether `t` is an occurrence by the schedule that is, or was, in force then; whatever has become of the job since.
    pub(crate) fn in_force_at(&self, t: Moment) -> bool {
        self.in_force(t).is_some_and(|schedule| schedule.fires_at(t))
    }

    /// Whether a schedule that it remembers was in force at `t` and does not fire then. Of the time before those it knows nothing.
    pub(crate) fn is_known_not_to_fire_at(&self, t: Moment) -> bool {
        t >= self.remembered_since() && !self.in_force_at(t)
    }

    /// The first occurrence strictly after `t`: by the schedules that were in force until `since`, then by today's.
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        self.next_within(t, &mut Patience::default())
    }

    /// The same for one of many walks, which share their patience.
    pub fn next_within(&self, t: Moment, patience: &mut Patience) -> Option<Moment> {
        self.next_in_force(t, |schedule, t| schedule.next_within(t, patience))
    }

    /// What this job becomes. The state machine of a job, whole.
    pub fn after(&self, change: &Change, now: Moment) -> Result<Self, JobRefusal> {
        let mut next = Self { generation: self.generation + 1, changed_at: now, ..self.clone() };
        match (self.status, change) {
            (Status::Cancelled, _) => return Err(JobRefusal::Cancelled),
            (Status::Paused, Change::Pause) => return Err(JobRefusal::AlreadyPaused),
            (Status::Active, Change::Resume) => return Err(JobRefusal::AlreadyActive),
            (Status::Active, Change::Pause) => next.status = Status::Paused,
            (Status::Paused, Change::Resume) => {
                next.status = Status::Active;
                (next.since, next.before, next.carried) = (now, Vec::new(), None);
                next.schedule = next.schedule.counted_from(now);
            }
            (Status::Active | Status::Paused, Change::Delete) => next.status = Status::Cancelled,
            // In a pause too: nothing of it fires, but what was due before the pause and did not fire is known by it.
            (Status::Active | Status::Paused, Change::Edit { schedule, definition }) => {
                let schedule = schedule.as_ref().map(|schedule| schedule.spread_since(&self.schedule));
                if let Some(schedule) = &schedule {
                    next.before = self.remembered_by_a_change();
                    next.carried = self.carried_into(schedule, now);
                    next.since = self.in_force_from(schedule, now, next.carried);
                }
                next.edit(schedule.as_ref(), definition.as_ref());
                next.lengthened = self.keepings().lengthened_to(next.keeping(), now.max(self.changed_at));
            }
        }
        Ok(next)
    }

    /// From when on another schedule is in force. What is carried fires as that, and not once more by what the schedule names; and what has been named by
    /// one that fires alike, such as a job's only instant, was decided by the calendars of then.
    fn in_force_from(&self, schedule: &Schedule, now: Moment, carried: Option<Carried>) -> Moment {
        let is_named = || schedule.when == self.schedule.when && self.next_after(now).is_none();
        if carried.is_some() || is_named() { now } else { schedule.in_force_from(now) }
    }

    /// With what was noted of the change that made it this. An edit says nothing of why a job is paused, and leaves that note as it is; a
    /// pause without a note has none, whatever was noted before.
    #[must_use]
    pub fn noted(self, change: &Change, said: Said<'_>) -> Self {
        let at = self.changed_at;
        let noted = said.by.zip(said.note).map(|(by, note)| Noted { at, by: by.clone(), note: note.to_owned() });
        match change {
            Change::Pause | Change::Resume | Change::Delete => Self { noted, ..self },
            Change::Edit { .. } => self,
        }
    }

    fn edit(&mut self, schedule: Option<&Schedule>, definition: Option<&Definition>) {
        if let Some(schedule) = schedule {
            self.schedule = schedule.counted_from(self.since);
        }
        if let Some(definition) = definition {
            self.definition = definition.clone();
        }
    }

    /// Whether another schedule is in force than before a change, or one where none was. Two changes may be made in one millisecond.
    pub fn goes_by_another_schedule(&self, before: &Self) -> bool {
        (self.since, self.status) != (before.since, before.status) || self.schedule != before.schedule
    }

    /// The instant a change must promise before it is written: the first occurrence under a schedule newly in force.
    pub fn first_promise(&self) -> Option<Moment> {
        match self.status {
            Status::Active => self.next_after(self.since.just_before()),
            Status::Paused | Status::Cancelled => None,
        }
    }

    /// The occurrences from `first` to `now`.
    pub fn missed(&self, first: Moment, now: Moment) -> Missed {
        let mut missed = Missed { last: first, count: 1 };
        while missed.count < COALESCE_COUNT {
            match self.next_after(missed.last) {
                Some(next) if next <= now => missed = Missed { last: next, count: missed.count + 1 },
                _ => return missed,
            }
        }
        Missed { last: self.newest(1, missed.last, now).unwrap_or(missed.last), ..missed }
    }

    /// The first instant after `t` that was to fire and cannot any more: between it and what is in force now lies a pause,
    /// a delete or a change of schedule.
    pub fn forgone_after(&self, t: Moment) -> Option<(Moment, NotAdmitted)> {
        let (next, until, why) = match self.status {
            Status::Paused => (self.next_after(t)?, self.changed_at, NotAdmitted::Paused),
            Status::Cancelled => (self.next_after(t)?, self.changed_at, NotAdmitted::Cancelled),
            Status::Active => {
                let oldest = self.schedules().last()?;
                let next = oldest.next_within(t, &mut Patience::default())?;
                (next, self.remembered_since(), NotAdmitted::Superseded)
            }
        };
        (next < until).then_some((next, why))
    }

    /// The schedules that this job knows and that `next` does not any more, each with until when it was in force, and why none of it can start
    /// then. A change forgets what does not ask for what the schedule before it asked for. A resume forgets all, its own as well: what it resumes
    /// with counts from then on.
    pub fn forgets(&self, next: &Self) -> (Vec<(Before, Moment)>, NotAdmitted) {
        let why = if self.status == Status::Paused { NotAdmitted::Paused } else { NotAdmitted::Superseded };
        let known = std::iter::once(self.as_before()).chain(self.before.iter().cloned());
        let ends = std::iter::once(self.changed_at).chain(known.clone().map(|known| known.since));
        let is_forgotten = |known: &Before| next.since != known.since && !next.before.contains(known);
        (known.zip(ends).filter(|(known, _)| is_forgotten(known)).collect(), why)
    }

    /// What the refusal of `t` stands for: `t` and all after it that cannot fire any more either.
    pub fn refused_with(&self, t: Moment, why: NotAdmitted) -> SkippedSpan {
        match why {
            NotAdmitted::Paused | NotAdmitted::Cancelled => {
                let until = self.changed_at.max(t);
                SkippedSpan { until, count: Some(self.missed(t, until).count) }
            }
            NotAdmitted::Superseded => SkippedSpan { until: self.remembered_since().max(t), count: None },
            NotAdmitted::Excluded => SkippedSpan { until: t, count: Some(1) },
        }
    }

    /// The oldest of the newest `n` occurrences from `floor` to `now`; where there are fewer, the first. Halves the time
    /// between the two, so that not even years of seconds are walked: each step asks for at most `n` of them.
    pub(crate) fn newest(&self, n: u32, floor: Moment, now: Moment) -> Option<Moment> {
        let due = |t| self.next_after(t).filter(|next| *next <= now);
        let are_enough_after = |t| (0..n).try_fold(t, |t, _| due(t)).is_some();
        let (mut enough, mut too_few) = (floor.just_before().millis(), now.millis());
        if are_enough_after(Moment::from_millis(enough)) {
            while too_few - enough > 1 {
                let middle = enough.midpoint(too_few);
                let half = if are_enough_after(Moment::from_millis(middle)) { &mut enough } else { &mut too_few };
                *half = middle;
            }
        }
        due(Moment::from_millis(enough))
    }

    /// `completed`: no occurrence is left to start. Computed, never written. What runs on demand, or behind another job, is never.
    pub fn is_completed(&self, now: Moment) -> bool {
        self.status == Status::Active && self.schedule.fires_by_itself() && self.next_after(now.just_before()).is_none()
    }
}

impl From<NotAdmitted> for Skip {
    fn from(why: NotAdmitted) -> Self {
        match why {
            NotAdmitted::Cancelled => Self::Cancelled,
            NotAdmitted::Paused => Self::Paused,
            NotAdmitted::Superseded => Self::Superseded,
            NotAdmitted::Excluded => Self::Calendar,
        }
    }
}

#[cfg(test)]
mod tests;
