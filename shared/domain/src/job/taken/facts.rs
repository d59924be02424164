//! What calendars take of a job, and what a change leaves of a moved fire, as facts.

use std::sync::Arc;

use chrono_tz::Tz;

use super::*;
use crate::calendar::{Calendar, Maintenance, Rules};
use crate::id::{JobId, RunKey, Tenant};
use crate::job::{Change, Definition, NotAdmitted};
use crate::run::Skip;
use crate::schedule::cron::DstGap;
use crate::schedule::{OnExcluded, Plan};

const MORNING: i64 = 1_798_761_600; // 2027-01-01

fn at(hours: i64) -> Moment {
    Moment::from_secs(MORNING + hours * 3600)
}

/// Each hour, but from one hour to another.
fn hourly(on_excluded: OnExcluded, closed: &[(i64, i64)]) -> Schedule {
    let calendars = vec!["works".parse().unwrap()];
    let plan =
        Plan { cron: Some("0 * * * *".to_owned()), calendars, on_excluded: Some(on_excluded), ..Plan::default() };
    let mut schedule = Schedule::new(&plan, at(0)).unwrap();
    let window = |(from, until): &(i64, i64)| Maintenance { from: at(*from), until: at(*until), reason: None };
    let rules = Rules { maintenance: closed.iter().map(window).collect(), ..Rules::none(Tz::UTC) };
    schedule.observance.as_mut().unwrap().calendars[0].known = Some(Arc::new(Calendar::new(rules).unwrap()));
    schedule
}

fn job(schedule: Schedule) -> Job {
    Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([1; 16]), schedule, Definition::default(), 0, at(0))
}

fn half_past(hours: i64) -> Moment {
    Moment::from_secs(MORNING + hours * 3600 + 1800)
}

#[test]
fn a_row_of_what_was_taken_is_told_of_as_one() {
    let job = job(hourly(OnExcluded::Skip, &[(3, 6)]));

    let taken = job.taken_between(job.last_before(at(6)).unwrap(), at(6)).unwrap();

    let told = "calendar works (maintenance)".to_owned();
    assert_eq!(taken, Taken { first: at(3), last: at(5), count: 3, by: Skip::Calendar, told });
    assert_eq!(job.admits(at(4)), Err(NotAdmitted::Excluded));
    assert_eq!(Skip::from(NotAdmitted::Excluded), Skip::Calendar);
    assert_eq!(job.taken_between(at(6), at(7)), None);
    assert_eq!((job.last_before(at(1)), job.last_before(at(0))), (Some(at(0)), None));
}

/// By the clock of New York.
fn skipping_gaps(cron: &str) -> Plan {
    Plan {
        cron: Some(cron.to_owned()),
        timezone: Some("America/New_York".to_owned()),
        dst_gap: Some(DstGap::Skip),
        ..Plan::default()
    }
}

/// In a gap of its clock a row of its own, which cuts what a calendar takes around it.
#[test]
fn what_a_gap_of_its_clock_takes_is_told_of_apart() {
    let plan = Plan { calendars: vec!["works".parse().unwrap()], ..skipping_gaps("30 * * * *") };
    let spring = Moment::parse("2027-03-14T07:00:00Z").unwrap();
    let hours = |hours: i64| Moment::from_secs(spring.millis() / 1000 + hours * 3600 - 1800);
    let mut schedule = Schedule::new(&plan, at(0)).unwrap();
    let observance = schedule.observance.as_mut().unwrap();
    observance.calendars[0].known = Some(closed(hours(-1), hours(3)));
    let job = job(schedule);

    let rows: Vec<_> = [hours(-2), hours(0), spring.just_before()]
        .into_iter()
        .map(|after| job.taken_between(after, hours(3)).map(|taken| (taken.first, taken.count, taken.by)))
        .collect();

    assert_eq!(
        rows,
        [
            Some((hours(-1), 2, Skip::Calendar)),
            Some((spring.just_before(), 1, Skip::DstGap)),
            Some((hours(1), 2, Skip::Calendar)),
        ]
    );
}

/// A gap of which nothing is left: behind the last fire, and before the first.
#[test]
fn a_gap_takes_nothing_of_a_job_that_is_used_up() {
    let plan = Plan { max_fires: Some(3), ..skipping_gaps("30 2 * * *") };
    let taken = |created: &str| {
        let created = Moment::parse(created).unwrap();
        let schedule = Schedule::new(&plan, created).unwrap().counted_from(created);
        let job = Job::new(
            Tenant::new("t").unwrap(),
            JobId::from_bytes([1; 16]),
            schedule,
            Definition::default(),
            0,
            created,
        );
        job.taken_between(created, Moment::parse("2027-04-01T00:00:00Z").unwrap()).map(|taken| taken.by)
    };
    assert_eq!(taken("2027-03-10T00:00:00Z"), None, "it fired on the 12th for the last time");
    assert_eq!(taken("2027-03-12T00:00:00Z"), Some(Skip::DstGap), "it fires on the 15th");
    assert_eq!(taken("2027-03-15T00:00:00Z"), None);
}

#[test]
fn of_what_moves_onto_one_instant_the_others_are_taken() {
    let job = job(hourly(OnExcluded::Move, &[(3, 6)]).counted_from(at(0)));
    let others = job.taken_between(at(2), at(6)).map(|taken| (taken.first, taken.count));
    assert_eq!(others, Some((at(3), 3)), "it fires at six anyway");

    let half = job_closed_until_half_past(5);
    let others = half.taken_between(at(2), half_past(5)).map(|taken| (taken.first, taken.last, taken.count));
    assert_eq!(others, Some((at(4), at(5), 2)), "the first of them is the run's");
    assert_eq!(half.run(RunKey::occurrence(half.id, half_past(5))).nominal(), at(3));
}

#[test]
fn what_is_about_to_move_is_not_taken() {
    let job = job_closed_until_half_past(7);
    assert_eq!(job.taken_between(at(2), half_past(3)), None, "it fires at half past seven");
    let others = job.taken_between(at(2), half_past(5)).map(|taken| (taken.first, taken.last, taken.count));
    assert_eq!(others, Some((at(4), at(5), 2)));
}

fn job_closed_until_half_past(hour: i64) -> Job {
    let mut schedule = hourly(OnExcluded::Move, &[]);
    schedule.observance.as_mut().unwrap().calendars[0].known = Some(closed(at(3), half_past(hour)));
    job(schedule)
}

fn closed(from: Moment, until: Moment) -> Arc<Calendar> {
    let maintenance = vec![Maintenance { from, until, reason: None }];
    Arc::new(Calendar::new(Rules { maintenance, ..Rules::none(Tz::UTC) }).unwrap())
}

fn with(job: &Job, calendar: Arc<Calendar>, now: Moment) -> Job {
    let mut schedule = job.schedule.clone();
    schedule.observance.as_mut().unwrap().calendars[0].known = Some(calendar);
    job.after(&Change::reschedule(schedule), now).unwrap()
}

#[test]
fn a_change_of_a_calendar_does_not_take_a_moved_fire_away() {
    let job = job_closed_until_half_past(7);
    let now = half_past(4);
    let rows = [
        ("it is over", closed(at(1), at(2)), now, now),
        ("it ends sooner", closed(at(3), half_past(5)), half_past(5), half_past(5)),
        ("it ends later", closed(at(3), half_past(9)), half_past(9), half_past(9)),
    ];
    for (what, calendar, fires, promised) in rows {
        let changed = with(&job, calendar, now);

        assert_eq!(changed.next_after(now.just_before()), Some(fires), "{what}");
        assert_eq!(changed.first_promise(), Some(promised), "{what}");
        assert_eq!(changed.admits(fires), Ok(()), "{what}");
        assert_eq!(changed.run(RunKey::occurrence(job.id, fires)).nominal(), at(3), "{what}");
    }
}

#[test]
fn nor_do_two_changes() {
    let job = job_closed_until_half_past(9);

    let once = with(&job, closed(at(3), half_past(8)), half_past(4));
    let twice = with(&once, closed(at(1), at(2)), half_past(5));

    assert_eq!(twice.next_after(half_past(5).just_before()), Some(half_past(5)));
    assert_eq!(twice.run(RunKey::occurrence(job.id, half_past(5))).nominal(), at(3), "what it was meant for at first");
    assert_eq!(twice.next_after(half_past(5)), Some(at(6)), "and once");
    let later = with(&twice, closed(at(3), half_past(8)), at(6).just_after());
    assert_eq!(later.carried, None, "what has fired is not carried on");
}

#[test]
fn another_schedule_and_a_pause_do() {
    let job = job_closed_until_half_past(7);
    let daily = Schedule::new(&Plan { cron: Some("0 8 * * *".to_owned()), ..Plan::default() }, half_past(4)).unwrap();
    let rescheduled = job.after(&Change::reschedule(daily), half_past(4)).unwrap();
    assert_eq!(rescheduled.next_after(half_past(4)), Some(at(8)));

    let from_eight = Schedule { start_at: Some(at(8)), ..job.schedule.clone() };
    let begun_later = job.after(&Change::reschedule(from_eight), half_past(4)).unwrap();
    assert_eq!(begun_later.next_after(half_past(4)), Some(at(8)), "what it was meant for lies before it begins");

    let paused = job.after(&Change::Pause, half_past(4)).unwrap();
    let resumed = paused.after(&Change::Resume, at(5).just_after()).unwrap();
    assert_eq!(resumed.next_after(at(5).just_after()), Some(half_past(7)));
    assert_eq!(
        resumed.run(RunKey::occurrence(job.id, half_past(7))).nominal(),
        at(6),
        "what came after the resume moves"
    );
}

#[test]
fn a_change_of_the_payload_touches_no_moved_fire() {
    let job = job_closed_until_half_past(7);
    let changed = job.after(&Change::define(Definition::default()), half_past(4)).unwrap();
    assert_eq!(changed.next_after(half_past(4)), Some(half_past(7)));
    assert_eq!(changed.run(RunKey::occurrence(job.id, half_past(7))).nominal(), at(3));
}
