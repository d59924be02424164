//! A job: the definition. What to do, when, how failure is treated; and, as the head of a chain of occurrences, which
//! instants are true. A timer or a hint has no authority: [`Job::admits`] has.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Moment;
use crate::body::Body;
use crate::catch_up::CatchUp;
use crate::id::{JobId, Origin, RunKey, Tenant};
use crate::idempotency::Fingerprint;
use crate::limits::COALESCE_COUNT;
use crate::pace;
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::run::Run;
use crate::schedule::{Schedule, When};
use crate::spelled;
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What was in force until then.
    pub before: Option<Before>,
    pub definition: Definition,
    pub created_at: Moment,
    pub changed_at: Moment,
    /// Of the request that created it, where that carried an idempotency key.
    pub fingerprint: Option<Fingerprint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    Paused,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    pub schedule: Schedule,
    pub since: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub name: Option<String>,
    pub owner: Option<String>,
    pub tags: BTreeSet<String>,
    pub target: Target,
    pub payload: Body,
    pub priority: Priority,
    pub terms: Terms,
    #[serde(default)]
    pub catch_up: CatchUp,
}

/// On which terms a run is carried out: all that its state machine needs to know of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    #[serde(with = "spelled::span")]
    pub timeout: Duration,
    pub retry: RetryPolicy,
    pub delivery: Delivery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    #[default]
    AtLeastOnce,
    /// Claimed, and never tried again once the target may have been reached.
    AtMostOnce,
}

impl Terms {
    /// How long a claim holds: the call's own timeout, and room to write down how it went.
    pub fn lease(&self) -> Duration {
        self.timeout + pace::LEASE_MARGIN
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

/// What a record of something that did not fire stands for beside its own instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also {
    pub until: Moment,
    /// How many there were, its own instant included; none where the schedule that knew is gone.
    pub count: Option<u64>,
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
            before: None,
            definition,
            created_at: now,
            changed_at: now,
            fingerprint: None,
        }
    }

    /// Whether `t` is an occurrence that may start.
    pub fn admits(&self, t: Moment) -> Result<(), NotAdmitted> {
        match self.status {
            Status::Cancelled => Err(NotAdmitted::Cancelled),
            Status::Paused => Err(NotAdmitted::Paused),
            Status::Active if self.in_force_at(t) => Ok(()),
            Status::Active => Err(NotAdmitted::Superseded),
        }
    }

    /// A run of this job that nobody has touched yet.
    pub fn run(&self, key: RunKey) -> Run {
        let nominal = match key.origin {
            Origin::Schedule => self.nominal(key.at).filter(|nominal| *nominal != key.at),
            Origin::Manual | Origin::Redrive => None,
        };
        Run { nominal, ..Run::new(self.tenant.clone(), key, self.definition.priority) }
    }

    /// What `t` was meant for by the schedule that fires then, in force or not: its timer may outlast it.
    fn nominal(&self, t: Moment) -> Option<Moment> {
        let schedules =
            || [Some(&self.schedule), self.before.as_ref().map(|before| &before.schedule)].into_iter().flatten();
        let is_spread = schedules().any(|schedule| schedule.jitter.is_some());
        let fires = |schedule: &&Schedule| schedule.fires_at(t);
        is_spread.then(|| schedules().find(fires)).flatten().map(|schedule| schedule.nominal(t))
    }

    fn in_force_at(&self, t: Moment) -> bool {
        match &self.before {
            _ if t >= self.since => self.schedule.fires_at(t),
            Some(before) => t >= before.since && before.schedule.fires_at(t),
            None => false,
        }
    }

    /// The first occurrence strictly after `t`: by the schedule that was in force until `since`, then by today's.
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        if t >= self.since {
            return self.schedule.next_after(t);
        }
        let earlier = self.before.as_ref().and_then(|before| {
            let next = before.schedule.next_after(t.max(before.since.just_before()))?;
            (next < self.since).then_some(next)
        });
        earlier.or_else(|| self.schedule.next_after(self.since.just_before()))
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
                (next.since, next.before) = (now, None);
            }
            (Status::Active | Status::Paused, Change::Delete) => next.status = Status::Cancelled,
            (Status::Active, Change::Edit { schedule, definition }) => {
                if let Some(schedule) = schedule {
                    next.before = Some(Before { schedule: self.schedule.clone(), since: self.since });
                    next.since = schedule.in_force_from(now);
                }
                next.edit(schedule.as_ref(), definition.as_ref());
            }
            // What was in force before a pause never fires again, so only the resume will set `since`.
            (Status::Paused, Change::Edit { schedule, definition }) => {
                next.edit(schedule.as_ref(), definition.as_ref());
            }
        }
        Ok(next)
    }

    fn edit(&mut self, schedule: Option<&Schedule>, definition: Option<&Definition>) {
        if let Some(schedule) = schedule {
            self.schedule = schedule.clone();
        }
        if let Some(definition) = definition {
            self.definition = definition.clone();
        }
    }

    /// The instant a change must promise before it is written: the first occurrence under a schedule newly in force.
    pub fn first_promise(&self) -> Option<Moment> {
        match self.status {
            Status::Active => self.schedule.next_after(self.since.just_before()),
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
                let (schedule, since) = match &self.before {
                    Some(before) => (&before.schedule, before.since),
                    None => (&self.schedule, self.since),
                };
                (schedule.next_after(t)?, since, NotAdmitted::Superseded)
            }
        };
        (next < until).then_some((next, why))
    }

    /// What the refusal of `t` stands for: `t` and all after it that cannot fire any more either.
    pub fn refused_with(&self, t: Moment, why: NotAdmitted) -> Also {
        match why {
            NotAdmitted::Paused | NotAdmitted::Cancelled => {
                let until = self.changed_at.max(t);
                Also { until, count: Some(self.missed(t, until).count) }
            }
            NotAdmitted::Superseded => {
                let in_force = self.before.as_ref().map_or(self.since, |before| before.since);
                Also { until: in_force.max(t), count: None }
            }
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

    /// `completed`: no occurrence is left to start. Computed, never written.
    pub fn is_completed(&self, now: Moment) -> bool {
        self.status == Status::Active
            && self.schedule.when != When::OnDemand
            && self.next_after(now.just_before()).is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::Plan;

    const START: Moment = Moment::from_secs(1_800_000_000);

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(1_800_000_000 + seconds)
    }

    fn every(seconds: u64) -> Schedule {
        Schedule::new(&Plan { every_seconds: Some(seconds), start_at: Some(START), ..Plan::default() }, START).unwrap()
    }

    fn definition() -> Definition {
        Definition {
            name: None,
            owner: None,
            tags: BTreeSet::new(),
            target: Target::Noop,
            payload: Body::Empty,
            priority: Priority::Normal,
            terms: Terms {
                timeout: Duration::from_secs(60),
                retry: RetryPolicy::default(),
                delivery: Delivery::AtLeastOnce,
            },
            catch_up: CatchUp::default(),
        }
    }

    fn each_minute() -> Job {
        Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([1; 16]), every(60), definition(), 0, START)
    }

    #[test]
    fn an_active_job_admits_what_its_schedule_fires_since_it_is_in_force() {
        let job = Job { since: at(30), ..each_minute() };

        assert_eq!(job.admits(at(60)), Ok(()));
        assert_eq!(job.admits(at(61)), Err(NotAdmitted::Superseded));
        assert_eq!(job.admits(at(0)), Err(NotAdmitted::Superseded), "before it was in force");
    }

    #[test]
    fn a_run_knows_what_its_instant_was_meant_for_by_the_schedule_of_its_time() {
        let spread = |most| Plan {
            every_seconds: Some(60),
            start_at: Some(START),
            jitter_seconds: Some(most),
            spread: crate::schedule::Spread::of(JobId::from_bytes([1; 16])),
            ..Plan::default()
        };
        let (narrow, wide) = (Schedule::new(&spread(20), START).unwrap(), Schedule::new(&spread(50), START).unwrap());
        let job = Job { schedule: narrow, ..each_minute() }.after(&Change::reschedule(wide), at(300)).unwrap();

        let (before, after) = (job.next_after(at(59)).unwrap(), job.next_after(at(359)).unwrap());
        let nominal = |t| job.run(RunKey::occurrence(job.id, t)).nominal();
        assert!(at(60) < before && before < after && after > at(360));
        assert_eq!((nominal(before), nominal(after)), (at(60), at(360)));
        assert_eq!(job.run(RunKey::manual(job.id, after, 1)).nominal(), after, "somebody wanted it then");
        assert_eq!(each_minute().run(RunKey::occurrence(job.id, at(60))).nominal, None);
        let slowed = each_minute().after(&Change::reschedule(job.schedule.clone()), at(30)).unwrap();
        assert_eq!(
            slowed.run(RunKey::occurrence(job.id, at(60))).nominal(),
            at(60),
            "of before the change, as it was meant"
        );
    }

    #[test]
    fn a_paused_or_deleted_job_admits_nothing() {
        let paused = each_minute().after(&Change::Pause, at(10)).unwrap();
        let deleted = each_minute().after(&Change::Delete, at(10)).unwrap();

        assert_eq!(paused.admits(at(60)), Err(NotAdmitted::Paused));
        assert_eq!(deleted.admits(at(60)), Err(NotAdmitted::Cancelled));
    }

    #[test]
    fn after_a_reschedule_the_old_schedule_still_owns_the_time_before() {
        let job = each_minute().after(&Change::reschedule(every(90)), at(100)).unwrap();

        assert_eq!(job.admits(at(60)), Ok(()), "the old schedule's, before the change");
        assert_eq!(job.admits(at(120)), Err(NotAdmitted::Superseded), "the old schedule's, after it");
        assert_eq!(job.admits(at(180)), Ok(()));
        assert_eq!(job.admits(at(90)), Err(NotAdmitted::Superseded), "the new schedule's, before it was in force");
        assert_eq!(job.next_after(at(30)), Some(at(60)));
        assert_eq!(job.next_after(at(60)), Some(at(180)));
    }

    #[test]
    fn one_instant_that_passed_while_the_change_was_on_its_way_still_fires() {
        let soon = Schedule::new(&Plan { at: Some(at(100)), ..Plan::default() }, at(100)).unwrap();

        let job = each_minute().after(&Change::reschedule(soon), at(101)).unwrap();

        assert_eq!((job.first_promise(), job.admits(at(100))), (Some(at(100)), Ok(())));
        assert_eq!(job.admits(at(60)), Ok(()), "of before");
    }

    #[test]
    fn a_resume_continues_from_now_and_forgets_what_was_before() {
        let job = each_minute().after(&Change::reschedule(every(90)), at(100)).unwrap();
        let job = job.after(&Change::Pause, at(130)).unwrap().after(&Change::Resume, at(400)).unwrap();

        assert_eq!(job.admits(at(60)), Err(NotAdmitted::Superseded));
        assert_eq!(job.admits(at(360)), Err(NotAdmitted::Superseded), "inside the pause");
        assert_eq!(job.first_promise(), Some(at(450)));
    }

    #[test]
    fn a_new_definition_touches_no_occurrence() {
        let job = each_minute();

        let changed =
            job.after(&Change::define(Definition { name: Some("x".into()), ..definition() }), at(100)).unwrap();

        assert_eq!((changed.since, &changed.before, changed.generation), (job.since, &job.before, 2));
    }

    #[test]
    fn each_change_that_means_nothing_is_refused_by_name() {
        let (active, paused) = (each_minute(), each_minute().after(&Change::Pause, at(1)).unwrap());
        let deleted = active.after(&Change::Delete, at(1)).unwrap();

        assert_eq!(active.after(&Change::Resume, at(2)), Err(JobRefusal::AlreadyActive));
        assert_eq!(paused.after(&Change::Pause, at(2)), Err(JobRefusal::AlreadyPaused));
        for change in
            [Change::Pause, Change::Resume, Change::Delete, Change::reschedule(every(5)), Change::define(definition())]
        {
            assert_eq!(deleted.after(&change, at(2)), Err(JobRefusal::Cancelled));
        }
    }

    #[test]
    fn missed_occurrences_are_counted_up_to_the_last_one() {
        let job = each_minute();

        assert_eq!(job.missed(at(60), at(119)), Missed { last: at(60), count: 1 });
        assert_eq!(job.missed(at(60), at(300)), Missed { last: at(300), count: 5 });
    }

    #[test]
    fn years_of_missed_seconds_are_found_without_walking_them_all() {
        let job = Job { schedule: every(1), ..each_minute() };

        let missed = job.missed(at(0), at(300_000_000));

        assert_eq!(missed, Missed { last: at(300_000_000), count: COALESCE_COUNT });
    }

    #[test]
    fn a_refusal_speaks_for_all_that_cannot_fire_any_more() {
        let paused = each_minute().after(&Change::Pause, at(200)).unwrap();
        let resumed = paused.after(&Change::Resume, at(500)).unwrap();

        let (by_pause, by_resume) = (NotAdmitted::Paused, NotAdmitted::Superseded);

        assert_eq!(paused.refused_with(at(60), by_pause), Also { until: at(200), count: Some(3) });
        assert_eq!(paused.refused_with(at(240), by_pause), Also { until: at(240), count: Some(1) });
        assert_eq!(resumed.refused_with(at(60), by_resume), Also { until: at(500), count: None });
    }

    #[test]
    fn what_a_pause_or_a_resume_made_impossible_is_known() {
        let paused = each_minute().after(&Change::Pause, at(200)).unwrap();
        let resumed = paused.after(&Change::Resume, at(500)).unwrap();

        assert_eq!(each_minute().forgone_after(at(60)), None);
        assert_eq!(paused.forgone_after(at(60)), Some((at(120), NotAdmitted::Paused)));
        assert_eq!(paused.forgone_after(at(180)), None, "the next would have been in the pause");
        assert_eq!(resumed.forgone_after(at(180)), Some((at(240), NotAdmitted::Superseded)));
    }

    #[test]
    fn a_job_is_completed_once_no_occurrence_is_left_to_start() {
        let once = Schedule::new(&Plan { at: Some(at(60)), ..Plan::default() }, START).unwrap();
        let job = Job { schedule: once, ..each_minute() };

        assert!(!job.is_completed(at(60)));
        assert!(job.is_completed(at(61)));
        assert!(!each_minute().is_completed(at(1_000_000)));
    }

    fn any_history() -> impl Strategy<Value = Vec<(i64, Change)>> {
        let change = prop_oneof![
            3 => (1..300_u64).prop_map(|n| Change::reschedule(every(n))),
            1 => Just(Change::Pause),
            2 => Just(Change::Resume),
            1 => Just(Change::define(definition())),
        ];
        prop::collection::vec((1..500_i64, change), 0..6)
    }

    proptest! {
        #[test]
        fn admits_agrees_with_next(history in any_history(), from in 0..3000_i64) {
            let mut now = START;
            let mut job = each_minute();
            for (pause, change) in history {
                now = now + Duration::from_secs(pause.unsigned_abs());
                if let Ok(next) = job.after(&change, now) { job = next; }
            }
            prop_assume!(job.status == Status::Active);
            let mut t = at(from);
            for _ in 0..20 {
                let next = job.next_after(t).expect("an interval never ends");
                prop_assert!(next > t && job.admits(next).is_ok());
                let mut between = t + Duration::from_secs(1);
                while between < next {
                    prop_assert!(job.admits(between).is_err(), "{between} lies between {t} and {next}");
                    between = between + Duration::from_secs(1);
                }
                t = next;
            }
        }
    }
}
