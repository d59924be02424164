//! A backfill: the occurrences of a span of the past, made up for as one operation. The schedule that is in force when it is asked for says
//! which instants those are; what was in force then does not matter.

use thiserror::Error;

use crate::Moment;
use crate::id::{JobId, RunKey};
use crate::job::{Job, Status};
use crate::limits::{BACKFILL_FIRES_SHOWN, BACKFILL_TURNS};
use crate::priority::Priority;
use crate::run::{Run, Skip, State};
use crate::schedule::{Schedule, When};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backfill {
    pub job: JobId,
    /// The schedule whose instants are made up for, as it was when it was asked for.
    pub schedule: Schedule,
    /// The first instant that may be among them, and the first that may not any more.
    pub from: Moment,
    pub until: Moment,
    /// How many instants it is about.
    pub runs: u32,
    pub priority: Priority,
}

/// What a span comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fires {
    pub count: u32,
    /// The first of them.
    pub first: Vec<Moment>,
    /// Where the next one begins that goes on behind the last of these, where there are more than may be.
    pub next: Option<Moment>,
}

/// Why nothing can be made up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoBackfill {
    #[error("the job was deleted")]
    Deleted,
    #[error("the job has no schedule: it runs only when it is asked to")]
    OnDemand,
    #[error("the schedule of the job fires at no instant of this span")]
    Nothing,
}

impl Fires {
    /// The instants of this span, `most` at most. A span of any length is counted no further than that.
    pub fn of(schedule: &Schedule, from: Moment, until: Moment, most: u32) -> Self {
        let (mut count, mut first, mut past) = (0, Vec::new(), from.just_before());
        loop {
            let Some(at) = schedule.next_after(past).filter(|at| *at < until) else {
                return Self { count, first, next: None };
            };
            if count == most {
                return Self { count, first, next: Some(at) };
            }
            if first.len() < BACKFILL_FIRES_SHOWN {
                first.push(at);
            }
            (count, past) = (count + 1, at);
        }
    }
}

impl Backfill {
    /// What may be made up for of this job in this span. A paused job's runs are made as those that are asked for one by one.
    pub fn of(
        job: &Job,
        (from, until): (Moment, Moment),
        most: u32,
        priority: Priority,
    ) -> Result<(Self, Fires), NoBackfill> {
        if job.status == Status::Cancelled {
            return Err(NoBackfill::Deleted);
        }
        if job.schedule.when == When::OnDemand {
            return Err(NoBackfill::OnDemand);
        }
        let schedule = job.schedule.of_the_past();
        let fires = Fires::of(&schedule, from, until, most);
        if fires.count == 0 {
            return Err(NoBackfill::Nothing);
        }
        let until = fires.next.unwrap_or(until);
        Ok((Self { job: job.id, schedule, from, until, runs: fires.count, priority }, fires))
    }

    /// What one of its instants was meant for, where jitter moves it.
    pub fn nominal(&self, at: Moment) -> Option<Moment> {
        Some(self.schedule.nominal(at)).filter(|nominal| *nominal != at)
    }

    /// Its instants past this one, so many at most, and whether these are the last.
    pub fn next(&self, past: Moment, most: usize) -> (Vec<Moment>, bool) {
        let mut instants = Vec::new();
        let mut last = past;
        while let Some(at) = self.schedule.next_after(last).filter(|at| *at < self.until) {
            if instants.len() == most {
                return (instants, false);
            }
            instants.push(at);
            last = at;
        }
        (instants, true)
    }
}

/// What the record at an occurrence's own key means to who would make up for it. Somebody may have tried by hand what did not fire.
pub fn has_run(record: &Run) -> bool {
    match record.state {
        State::Skipped { .. } => record.redriven_as().is_some(),
        State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. } => true,
    }
}

/// Whether a run that was made to make up for an occurrence is over without having begun, so that another may be made in its stead: its
/// backfill was cancelled, or its maker never wrote it. Nothing can begin it any more, and nobody has tried it again by hand.
pub fn never_begins(made: &Run) -> bool {
    match made.state {
        State::Cancelled { .. } => made.fence == 0 && made.started_at.is_none() && made.redriven_as().is_none(),
        State::Skipped { why: Skip::Abandoned, .. } => made.redriven_as().is_none(),
        State::Skipped { .. }
        | State::Scheduled { .. }
        | State::Waiting(_)
        | State::Running(_)
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::TimedOut { .. } => false,
    }
}

/// The keys under which an occurrence may be made up for, one after the other.
pub fn keys(job: JobId, at: Moment) -> impl Iterator<Item = RunKey> {
    (0..BACKFILL_TURNS).map(move |turn| RunKey::backfill(job, at, turn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::By;
    use crate::calendar::{Calendar, Maintenance, Rules};
    use crate::id::Tenant;
    use crate::priority::Priority;
    use crate::run::aftermath::Said;
    use crate::schedule::{OnExcluded, Plan};

    const AT: Moment = Moment::from_secs(1_800_000_000);

    #[test]
    fn what_did_not_begin_may_be_made_up_for_unless_somebody_has_tried_it_again_by_hand() {
        let key = RunKey::backfill(JobId::from_bytes([7; 16]), AT, 0);
        let run = Run::new(Tenant::deployment(), key, Priority::Normal);
        let cancelled = Run { state: State::Cancelled { at: AT }, ..run.clone() };
        let by = By::host();
        let rows = [
            ("yet to begin", run.clone(), true, false),
            ("cancelled", cancelled.clone(), true, true),
            ("cancelled once it had begun", Run { started_at: Some(AT), ..cancelled }, true, false),
            ("abandoned", run.clone().skipped(Skip::Abandoned, None, AT), false, true),
            ("skipped in a pause", run.skipped(Skip::Paused, None, AT), false, false),
        ];
        for (what, run, ran, never) in rows {
            assert_eq!((has_run(&run), never_begins(&run)), (ran, never), "{what}");
            let again =
                run.tried_again(RunKey::redrive(run.key.job, AT, 1), None, Said { by: Some(&by), note: None }, AT);
            assert_eq!((has_run(&again), never_begins(&again)), (true, false), "{what}, and tried again");
        }
    }

    /// Removed: the past moves what it names, too. A fire that had moved was not among what was to be made up for, or was meant for when it fired.
    #[test]
    fn what_a_calendar_moved_is_made_up_for_where_it_fired() {
        let calendars = vec!["works".parse().unwrap()];
        let on_excluded = Some(OnExcluded::Move);
        let hour = |hours: i64| Moment::from_secs(AT.millis() / 1000 + hours * 3600);
        let plan = Plan { cron: Some("0 9 * * *".to_owned()), calendars, on_excluded, ..Plan::default() };
        let mut schedule = Schedule::new(&plan, hour(1000)).unwrap();
        let nine = schedule.of_the_past().next_after(AT).unwrap();
        let noon = nine + std::time::Duration::from_secs(3 * 3600);
        let maintenance = vec![Maintenance { from: nine, until: noon, reason: None }];
        let calendar = Calendar::new(Rules { maintenance, ..Rules::none(chrono_tz::Tz::UTC) }).unwrap();
        schedule.observance.as_mut().unwrap().calendars[0].known = Some(std::sync::Arc::new(calendar));

        let past = schedule.of_the_past();

        for from in [nine.just_before(), nine, noon.just_before()] {
            assert_eq!(past.next_after(from), Some(noon));
        }
        assert!(past.fires_at(noon));
        assert_eq!(past.nominal(noon), nine);
    }
}
