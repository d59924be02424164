//! Made up for: an occurrence that nobody began while its time passed, and that begins late all the same. It has a turn, since what an
//! outage held up is not to begin all at once.

use std::time::Duration;

use super::{Run, State};
use crate::Moment;
use crate::job::{Job, NotAdmitted, Status};
use crate::pace;
use crate::slot::interval;
use crate::target::Target;

/// A hint that is lost is found within half a minute and a tick of the sweeper: what comes no later than this was not held up by an outage.
const FOUND: Duration = Duration::from_secs(120);
/// A turn holds for as long as it takes until the next one comes, and at least for this: hints come by the second.
const TURN: Duration = Duration::from_secs(5);

/// The turn of a run that is made up for, until it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeUp {
    /// When it was first given one.
    pub since: Moment,
    pub turn: Moment,
    /// How many begin in a minute: of its job where that says so, or else of its tenant.
    pub per_minute: u32,
}

/// How a run stands that comes to its claim late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It came in time, or has begun before.
    Not,
    /// It is to ask for a turn.
    Asks,
    /// It has its turn, and lets what is more urgent go first.
    InTurn,
}

impl MadeUp {
    /// Whether the turn has not gone by unused: what waited for hands would else begin all at once.
    fn holds(&self, now: Moment) -> bool {
        now.since(self.turn) < self.lasts()
    }

    fn lasts(&self) -> Duration {
        interval(self.per_minute).max(TURN)
    }

    /// The same with a turn that holds no more from then on: another is asked for.
    pub(super) fn gone_by(self, now: Moment) -> Self {
        Self { since: self.since.min(now), turn: now - self.lasts(), ..self }
    }
}

impl Run {
    /// Whether it is on record only since it has a turn in catching up, and has not begun.
    pub fn is_put_off(&self) -> bool {
        let is_at_its_beginning = self.fence == 0 && self.admission.is_empty();
        self.made_up.is_some() && is_at_its_beginning && matches!(self.state, State::Scheduled { .. })
    }

    /// Whether it could have been claimed before then.
    pub fn is_due_before(&self, t: Moment) -> bool {
        matches!(self.state, State::Scheduled { due } if due < t)
    }
}

impl Job {
    /// Whether an occurrence at `t` that begins at `now` is made up for in turn: where its job names a pace, whatever is found overdue. Where
    /// it does not, a hint that was lost costs what it did; and what workers come for they take at their own pace.
    pub fn makes_up_for(&self, t: Moment, now: Moment) -> bool {
        match self.definition.catch_up.per_minute() {
            Some(_) => now.since(t) > pace::OVERDUE,
            None if matches!(self.definition.target, Target::Worker(_)) => false,
            None => now.since(t) > FOUND,
        }
    }

    /// How this run of it comes to its claim. One that is on record without a turn came in time; and one whose job is deleted waits for no turn, since
    /// its claim cancels it.
    pub fn late(&self, run: &Run, is_on_record: bool, now: Moment) -> Late {
        if !run.key.is_occurrence() || run.fence > 0 || self.status == Status::Cancelled {
            return Late::Not;
        }
        match run.made_up.filter(|_| run.is_put_off()) {
            Some(made_up) if !made_up.holds(now) => Late::Asks,
            Some(_) => Late::InTurn,
            None if !is_on_record && self.makes_up_for(run.key.at, now) => Late::Asks,
            None => Late::Not,
        }
    }

    /// Why this run, which was put off and has not begun, is not to begin any more. It is on record, and nobody else asks.
    pub fn gives_up(&self, run: &Run, now: Moment) -> Option<GivenUp> {
        if !run.is_put_off() {
            return None;
        }
        match self.status {
            Status::Paused => Some(GivenUp::Refused(NotAdmitted::Paused)),
            Status::Cancelled => None, // its claim cancels it
            // Whoever put it off knew its job as it was before a change that is in force since.
            Status::Active if self.is_known_not_to_fire_at(run.key.at) => {
                Some(GivenUp::Refused(NotAdmitted::Superseded))
            }
            Status::Active => self.is_too_late(run.key.at, now).then_some(GivenUp::TooLate),
        }
    }
}

/// Why a run that was put off does not begin any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    Refused(NotAdmitted),
    TooLate,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catch_up::CatchUp;
    use crate::id::{JobId, RunKey, Tenant};
    use crate::job::{Change, Definition};
    use crate::run::Event;
    use crate::schedule::{Plan, Schedule};
    use crate::target::WorkerTarget;

    const START: Moment = Moment::from_secs(1_800_000_000);

    fn at(seconds: u64) -> Moment {
        START + Duration::from_secs(seconds)
    }

    fn job(target: Target, per_minute: Option<u32>) -> Job {
        let plan = Plan { every_seconds: Some(60), start_at: Some(START), ..Plan::default() };
        let catch_up = CatchUp::All { window: Duration::from_secs(600), max_runs: 100, per_minute };
        let definition = Definition { target, catch_up, ..Definition::default() };
        let schedule = Schedule::new(&plan, START).unwrap();
        Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([1; 16]), schedule, definition, 0, START)
    }

    fn of(job: &Job) -> Run {
        job.run(RunKey::occurrence(job.id, at(60)))
    }

    fn put_off(job: &Job, now: u64, turn: u64, per_minute: u32) -> Run {
        of(job).after(&Event::MakeUp { turn: at(turn), per_minute }, at(now)).unwrap()
    }

    /// Removed: a turn that a clock has given which was ahead is kept. The run waited for that clock's time.
    #[test]
    fn what_a_clock_put_off_that_was_ahead_asks_for_another_turn() {
        let job = job(Target::Noop, None);
        let run = put_off(&job, 7_300, 7_400, 600);

        let recalled = run.recalled(at(130)).expect("it is due later");

        assert!(recalled.is_put_off() && recalled.is_due_before(at(131)));
        assert_eq!((job.late(&run, true, at(130)), job.late(&recalled, true, at(130))), (Late::InTurn, Late::Asks));
        assert_eq!(recalled.recalled(at(130)), None);
    }

    #[test]
    fn what_comes_late_and_is_not_on_record_asks_for_a_turn() {
        for (per_minute, in_time, late) in [(Some(7), 90, 91), (None, 180, 181)] {
            let job = job(Target::Noop, per_minute);
            let run = of(&job);

            let found = [60, in_time, late].map(|now| job.late(&run, false, at(now)));

            assert_eq!(found, [Late::Not, Late::Not, Late::Asks], "{per_minute:?}");
            assert_eq!(job.late(&run, true, at(500)), Late::Not, "it came in time, and waited for something else");
        }
    }

    #[test]
    fn a_turn_holds_until_the_next_one_comes_and_at_least_for_five_seconds() {
        let job = job(Target::Noop, None);
        for (per_minute, holds, does_not) in [(2, 129, 130), (12, 104, 105), (600, 104, 105)] {
            let run = put_off(&job, 95, 100, per_minute);

            let late = [holds, does_not].map(|now| job.late(&run, true, at(now)));

            assert_eq!(late, [Late::InTurn, Late::Asks], "{per_minute} a minute");
        }
    }

    #[test]
    fn what_workers_come_for_takes_turns_only_where_its_job_says_so() {
        let worker = WorkerTarget { pool: "p".parse().unwrap(), handler: "h".parse().unwrap() };

        let late = [None, Some(7)].map(|per_minute| {
            let job = job(Target::Worker(worker.clone()), per_minute);
            job.late(&of(&job), false, at(500))
        });

        assert_eq!(late, [Late::Not, Late::Asks]);
    }

    /// Its claim would else drop it whenever no turn is left before its window is over, and nobody would cancel it.
    #[test]
    fn what_was_put_off_waits_for_no_turn_once_its_job_is_deleted() {
        let active = job(Target::Noop, None);
        let deleted = active.after(&Change::Delete, at(120)).unwrap();
        let run = put_off(&active, 95, 100, 600);

        let late = [&active, &deleted].map(|job| job.late(&run, true, at(700)));

        assert_eq!((late, deleted.gives_up(&run, at(700))), ([Late::Asks, Late::Not], None));
    }

    #[test]
    fn what_was_put_off_does_not_begin_in_a_pause_nor_after_its_window() {
        let active = job(Target::Noop, None);
        let paused = active.after(&Change::Pause, at(120)).unwrap();
        let run = put_off(&active, 95, 100, 600);

        let given_up = [at(660), at(661)].map(|now| active.gives_up(&run, now));

        assert_eq!(given_up, [None, Some(GivenUp::TooLate)]);
        assert_eq!(paused.gives_up(&run, at(121)), Some(GivenUp::Refused(NotAdmitted::Paused)));
        let changed = |first: u64| {
            let plan = Plan { every_seconds: Some(700), start_at: Some(at(5_000)), ..Plan::default() };
            active.after(&Change::reschedule(Schedule::new(&plan, at(first)).unwrap()), at(first)).unwrap()
        };
        let superseded = Some(GivenUp::Refused(NotAdmitted::Superseded));
        assert_eq!(changed(50).gives_up(&run, at(121)), superseded, "its change is older than it is");
        assert_eq!(changed(70).gives_up(&run, at(121)), None);
        let again = changed(70).after(&Change::reschedule(changed(70).schedule), at(90)).unwrap();
        assert_eq!(again.gives_up(&run, at(121)), None, "what its job does not remember it does not refuse");
        assert_eq!(paused.gives_up(&of(&active), at(121)), None, "of what is not put off others decide");
    }
}
