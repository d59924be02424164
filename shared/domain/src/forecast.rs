//! A forecast: what fires next across jobs, in the order of time, as their schedules stand. A job that is paused or deleted fires nothing.
//!
//! Jobs are taken in one after the other, and no more fires are kept than a page shows: the earliest. Of each job only so many are shown, counted
//! from the begin of the window, so that one that fires each second leaves room for the others; the last of them says that it goes on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::Moment;
use crate::id::JobId;
use crate::job::{Job, Status};
use crate::limits::CALENDAR_STEPS_OF_A_REQUEST;
use crate::schedule::Patience;

/// For ten thousand jobs: a second of asking.
const PATIENCE: Patience = Patience::of(10 * CALENDAR_STEPS_OF_A_REQUEST);

/// Where a fire stands in a forecast. Of two at one instant that of the lower id is the first.
pub type Place = (Moment, JobId);

#[derive(Clone, Debug)]
pub struct Forecast {
    window: Range<Moment>,
    /// The last that an earlier page showed.
    past: Option<Place>,
    of_a_job: usize,
    most: usize,
    fires: BTreeMap<Place, Fire>,
    more: bool,
    /// Calendars are asked for so long; then there is more than is shown of jobs that heed any.
    patience: Patience,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fire {
    pub at: Moment,
    pub job: Arc<Job>,
    /// It is the last that is shown of its job, which fires again in the window.
    pub goes_on: bool,
}

impl Fire {
    pub fn place(&self) -> Place {
        (self.at, self.job.id)
    }
}

impl Forecast {
    /// At most `most` fires of the window behind `past`, and at most `of_a_job` of one job.
    pub fn new(window: Range<Moment>, past: Option<Place>, of_a_job: usize, most: usize) -> Self {
        Self { window, past, of_a_job, most, fires: BTreeMap::new(), more: false, patience: PATIENCE }
    }

    pub fn take_in(&mut self, job: Job) {
        if job.status != Status::Active {
            return;
        }
        let job = Arc::new(job);
        let mut next = self.next_of(&job, self.window.start.just_before());
        for number in 1..=self.of_a_job {
            let Some(at) = next.filter(|at| self.has_room_at((*at, job.id))) else { return };
            next = self.next_of(&job, at);
            self.put(Fire { at, job: Arc::clone(&job), goes_on: number == self.of_a_job && next.is_some() });
        }
    }

    /// In the order of time; and whether there are more behind them.
    pub fn page(self) -> (Vec<Fire>, bool) {
        (self.fires.into_values().collect(), self.more)
    }

    fn next_of(&mut self, job: &Job, t: Moment) -> Option<Moment> {
        let next = job.next_within(t, &mut self.patience);
        self.more |= self.patience.is_spent();
        next.filter(|at| *at < self.window.end)
    }

    /// Behind the last of a full page nothing is kept, and nothing more of that job need be asked for.
    fn has_room_at(&mut self, place: Place) -> bool {
        let is_behind =
            self.fires.len() >= self.most && self.fires.last_key_value().is_none_or(|(last, _)| *last < place);
        self.more |= is_behind;
        !is_behind
    }

    fn put(&mut self, fire: Fire) {
        if self.past.is_some_and(|past| fire.place() <= past) {
            return;
        }
        self.fires.insert(fire.place(), fire);
        if self.fires.len() > self.most {
            self.fires.pop_last();
            self.more = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Tenant;
    use crate::job::{Change, Definition};
    use crate::schedule::{Plan, Schedule, Spread};

    const START: Moment = Moment::from_secs(1_800_000_000);

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(1_800_000_000 + seconds)
    }

    fn job(number: u8, plan: &Plan) -> Job {
        let schedule = Schedule::new(plan, START).unwrap();
        Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([number; 16]), schedule, Definition::default(), 0, START)
    }

    fn every(number: u8, seconds: u64) -> Job {
        job(number, &Plan { every_seconds: Some(seconds), ..Plan::default() })
    }

    /// The seconds of each fire and the number of its job; what goes on bears a negative number.
    fn told(forecast: Forecast) -> (Vec<(i64, i16)>, bool) {
        let (fires, more) = forecast.page();
        let number = |fire: &Fire| i16::from(fire.job.id.as_bytes()[0]) * if fire.goes_on { -1 } else { 1 };
        let told = |fire: &Fire| ((fire.at.millis() - START.millis()) / 1000, number(fire));
        (fires.iter().map(told).collect(), more)
    }

    fn of(jobs: impl IntoIterator<Item = Job>, mut forecast: Forecast) -> (Vec<(i64, i16)>, bool) {
        for job in jobs {
            forecast.take_in(job);
        }
        told(forecast)
    }

    #[test]
    fn fires_of_all_jobs_stand_in_the_order_of_time_and_then_of_their_ids() {
        for jobs in [[1, 2], [2, 1]] {
            let jobs = jobs.map(|number| every(number, u64::from(number) * 30));

            let told = of(jobs, Forecast::new(START..at(121), None, 10, 10));

            assert_eq!(told, (vec![(30, 1), (60, 1), (60, 2), (90, 1), (120, 1), (120, 2)], false));
        }
    }

    #[test]
    fn a_window_holds_its_begin_and_not_its_end() {
        for (window, fires) in [(30..60, vec![(30, 1)]), (31..60, vec![]), (30..61, vec![(30, 1), (60, 1)])] {
            let window = at(window.start)..at(window.end);

            assert_eq!(of([every(1, 30)], Forecast::new(window, None, 10, 10)), (fires, false));
        }
    }

    #[test]
    fn a_job_shows_so_many_and_says_that_it_goes_on() {
        let jobs = || [every(1, 1), every(2, 40), every(3, 60)];

        let told = of(jobs(), Forecast::new(START..at(61), None, 2, 10));

        assert_eq!(told, (vec![(1, 1), (2, -1), (40, 2), (60, 3)], false));
        let only_two = job(1, &Plan { every_seconds: Some(1), max_fires: Some(2), ..Plan::default() });
        assert_eq!(of([only_two], Forecast::new(START..at(61), None, 2, 10)).0, [(1, 1), (2, 1)], "it does not");
    }

    /// Whatever the order in which jobs are taken in, and however long a page is.
    #[test]
    fn pages_one_after_the_other_are_the_whole() {
        let jobs = || [every(9, 7), every(3, 1), every(5, 20), every(1, 60), every(4, 7)];
        let (whole, _) = of(jobs(), Forecast::new(START..at(100), None, 6, 1_000));
        assert_eq!(whole.len(), 6 + 6 + 4 + 1 + 6);
        for most in 1..=25 {
            let (mut past, mut paged) = (None, Vec::new());
            loop {
                let mut forecast = Forecast::new(START..at(100), past, 6, most);
                for job in jobs() {
                    forecast.take_in(job);
                }
                past = forecast.fires.last_key_value().map(|(last, _)| *last);
                let (fires, more) = told(forecast);
                assert!(fires.len() == most || !more, "a page that is followed is full");
                paged.extend(fires);
                if !more {
                    break;
                }
            }

            assert_eq!(paged, whole, "by {most}");
        }
    }

    #[test]
    fn what_a_job_is_kept_from_is_not_in_it() {
        let paused = every(1, 30).after(&Change::Pause, START).unwrap();
        let deleted = every(1, 30).after(&Change::Delete, START).unwrap();
        let resumed = paused.after(&Change::Resume, at(45)).unwrap();
        let on_demand = job(1, &Plan { on_demand: true, ..Plan::default() });
        let bounds = |start_at, end_at| Plan { every_seconds: Some(30), start_at, end_at, ..Plan::default() };
        let late = job(1, &bounds(Some(at(70)), None));
        let brief = job(1, &bounds(None, Some(at(60))));
        for (told, job, fires) in [
            ("paused", paused, vec![]),
            ("deleted", deleted, vec![]),
            ("resumed", resumed, vec![(60, 1), (90, 1)]),
            ("on demand", on_demand, vec![]),
            ("begins later", late, vec![(70, 1), (100, 1)]),
            ("ends", brief, vec![(30, 1)]),
        ] {
            assert_eq!(of([job], Forecast::new(START..at(101), None, 10, 10)), (fires, false), "{told}");
        }
    }

    #[test]
    fn a_fire_stands_where_its_jitter_puts_it() {
        let spread = Spread::of(JobId::from_bytes([1; 16]));
        let jittered = job(1, &Plan { every_seconds: Some(60), jitter_seconds: Some(50), spread, ..Plan::default() });
        let by = jittered.schedule.jitter.unwrap().by;

        let mut forecast = Forecast::new(START..at(120), None, 10, 10);
        forecast.take_in(jittered);

        assert_eq!(forecast.page().0[0].at, at(60) + by);
    }
}
