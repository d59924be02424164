//! What a job remembers of its calendars, as facts.

use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;

use super::*;
use crate::calendar::{Calendar, Maintenance, Rules};
use crate::id::{JobId, Tenant};
use crate::job::{Change, Definition, NotAdmitted};
use crate::schedule::{Jitter, OnExcluded, Plan};

const MORNING: i64 = 1_798_761_600; // 2027-01-01

fn at(hours: i64) -> Moment {
    Moment::from_secs(MORNING + hours * 3600)
}

fn past(hours: i64, minutes: i64) -> Moment {
    Moment::from_secs(MORNING + hours * 3600 + minutes * 60)
}

fn shut(from: Moment, until: Moment) -> Arc<Calendar> {
    let maintenance = vec![Maintenance { from, until, reason: None }];
    Arc::new(Calendar::new(Rules { maintenance, ..Rules::none(Tz::UTC) }).unwrap())
}

/// Each hour by this cron text, but for what a calendar takes.
fn heeding(cron: &str, on_excluded: OnExcluded, calendar: &Arc<Calendar>) -> Schedule {
    let calendars = vec!["maint".parse().unwrap()];
    let plan = Plan { cron: Some(cron.to_owned()), calendars, on_excluded: Some(on_excluded), ..Plan::default() };
    let mut schedule = Schedule::new(&plan, at(0)).unwrap();
    schedule.observance.as_mut().unwrap().calendars[0].known = Some(Arc::clone(calendar));
    schedule
}

fn hourly(on_excluded: OnExcluded, calendar: &Arc<Calendar>) -> Job {
    let schedule = heeding("0 * * * *", on_excluded, calendar).counted_from(at(0));
    Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([1; 16]), schedule, Definition::default(), 0, at(0))
}

/// The job once its calendar says something else.
fn with(job: &Job, calendar: &Arc<Calendar>, now: Moment) -> Job {
    let mut schedule = job.schedule.clone();
    schedule.observance.as_mut().unwrap().calendars[0].known = Some(Arc::clone(calendar));
    job.after(&Change::reschedule(schedule), now).unwrap()
}

/// Removed: a change of a calendar forgot what the calendar had said before the last one. The fire at nine was none of its job's any more.
#[test]
fn a_fire_that_waits_outlives_two_changes_of_its_calendar() {
    let job = hourly(OnExcluded::Skip, &shut(at(20), at(21)));

    let once = with(&job, &shut(at(20), at(22)), past(9, 10));
    let twice = with(&once, &shut(at(20), at(23)), past(9, 20));

    assert_eq!(twice.admits(at(9)), Ok(()));
    assert_eq!([8, 9].map(|hour| twice.next_after(at(hour))), [9, 10].map(|hour| Some(at(hour))));
    assert_eq!((twice.last_before(past(9, 5)), twice.remembered_since()), (Some(at(9)), at(0)));
    assert!(once.forgets(&twice).0.is_empty());
}

/// What was said when it came decides of an instant: neither what was said before nor what is said now gives it back, or takes it away.
#[test]
fn each_instant_goes_by_what_was_said_when_it_came() {
    let first = hourly(OnExcluded::Skip, &shut(past(2, 30), past(3, 30)));
    let second = with(&first, &shut(past(1, 30), past(2, 30)), past(4, 10));
    let third = with(&second, &shut(past(4, 30), past(5, 30)), past(5, 10));

    let excluded = Err(NotAdmitted::Excluded);
    let rows = [
        (2, Ok(()), "the second, said later, takes it"),
        (3, excluded, "the second and the third allow it"),
        (4, Ok(()), "all allow it"),
        (5, Ok(()), "the third, said later, takes it"),
    ];
    for (hour, admits, why) in rows {
        assert_eq!(third.admits(at(hour)), admits, "{why}");
    }
    assert_eq!([1, 2, 4].map(|hour| third.next_after(at(hour))), [2, 4, 5].map(|hour| Some(at(hour))));
    assert_eq!(third.taken_between(at(2), at(4)).map(|taken| taken.first), Some(at(3)));
}

/// What moved when it came fires where it moved to, once, whatever is said of it twice meanwhile.
#[test]
fn a_moved_fire_that_waits_outlives_two_changes_of_its_calendar_and_is_one() {
    let job = hourly(OnExcluded::Move, &shut(past(2, 50), past(3, 30)));

    let once = with(&job, &shut(at(20), at(21)), past(4, 10));
    let twice = with(&once, &shut(at(20), at(22)), past(4, 20));

    assert_eq!((twice.admits(past(3, 30)), twice.admits(at(3))), (Ok(()), Err(NotAdmitted::Excluded)));
    assert_eq!(twice.next_after(at(2)), Some(past(3, 30)));
    assert_eq!((twice.next_after(past(3, 30)), twice.nominal_of(past(3, 30))), (Some(at(4)), at(3)));
}

/// Removed: what was in force before counts from where it would have been in force. Of a change by a clock that was a day ahead, and another by one
/// that was right, the job knew nothing before the first: nothing of what its calendar took was put on record, and no fire of that day was overdue.
#[test]
fn what_a_clock_set_that_was_ahead_hides_nothing_of_what_came_after_it() {
    let ahead = with(&hourly(OnExcluded::Skip, &shut(at(20), at(21))), &shut(at(20), at(22)), at(33))
        .after(&Change::reschedule(heeding("30 * * * *", OnExcluded::Skip, &shut(at(20), at(21)))), at(34));

    let right = with(&ahead.unwrap(), &shut(past(10, 15), at(13)), past(10, 10));

    assert_eq!(right.remembered_since(), past(10, 10));
    assert_eq!(right.next_after(at(10)), Some(past(13, 30)));
    let taken = right.taken_between(at(10), past(13, 30)).map(|taken| (taken.first, taken.last, taken.count));
    assert_eq!(taken, Some((past(10, 30), past(12, 30), 3)));
    assert!(right.is_known_not_to_fire_at(past(11, 30)));
}

/// Removed: what is carried goes where its schedule would have had it. The fire at three was moved, and its calendar allows it a moment after three: it came as much later
/// as its job is spread, and once more as much later than the change.
#[test]
fn a_moved_fire_that_its_calendar_allows_after_all_before_it_is_spread_is_one() {
    let mut job = hourly(OnExcluded::Move, &shut(past(2, 50), past(3, 30)));
    job.schedule.jitter = Some(Jitter { most_seconds: 600, by: Duration::from_secs(600), from: at(0) });
    assert_eq!(job.next_after(at(3)), Some(past(3, 40)));

    let allowed = with(&job, &shut(at(20), at(21)), past(3, 5));
    let later = with(&job, &shut(at(20), at(21)), past(3, 15));

    let at_once = with(&job, &shut(at(20), at(21)), past(3, 10));

    let next = |job: &Job, t: Moment| (job.next_after(t), job.next_after(t).map(|next| job.nominal_of(next)));
    assert_eq!(next(&at_once, past(3, 10).just_before()), (Some(past(3, 10)), Some(at(3))));
    assert_eq!(next(&at_once, past(3, 10)), (Some(past(4, 10)), Some(at(4))));
    assert_eq!(next(&allowed, past(3, 5)), (Some(past(3, 10)), Some(at(3))));
    assert_eq!(next(&allowed, past(3, 10)), (Some(past(4, 10)), Some(at(4))));
    assert_eq!(next(&later, past(3, 15)), (Some(past(3, 25)), Some(at(3))));
    assert_eq!(next(&later, past(3, 25)), (Some(past(4, 10)), Some(at(4))));
}

/// Removed: a moved fire goes on where the new version would have had it. Of what moves to one instant part was carried to another: it was one fire, and
/// came twice.
#[test]
fn what_moves_to_one_instant_stays_one_when_that_is_changed() {
    let calendar = shut(past(2, 50), at(4));
    let schedule = heeding("10,25,40,55 * * * *", OnExcluded::Move, &calendar).counted_from(at(0));
    let mut job = Job { schedule, ..hourly(OnExcluded::Move, &calendar) };
    job.schedule.jitter = Some(Jitter { most_seconds: 600, by: Duration::from_secs(600), from: at(0) });
    assert_eq!(job.next_after(past(3, 20)), Some(past(4, 10)));

    let sooner = with(&job, &shut(past(2, 50), past(3, 18)), past(3, 20));

    let fires: Vec<_> =
        std::iter::successors(sooner.next_after(past(3, 20)), |t| sooner.next_after(*t)).take(2).collect();
    assert_eq!(fires, [past(3, 28), past(3, 35)]);
    assert_eq!(sooner.nominal_of(past(3, 28)), past(2, 55));
}

/// Removed: the very instant of a change belongs to what comes behind it. What was moved to there was refused.
#[test]
fn a_change_at_the_instant_of_a_moved_fire_leaves_it() {
    let job = hourly(OnExcluded::Move, &shut(past(2, 50), past(3, 30)));

    let changed = with(&job, &shut(past(2, 50), past(3, 30)), past(3, 30));

    assert_eq!((changed.admits(past(3, 30)), changed.nominal_of(past(3, 30))), (Ok(()), at(3)));
    assert_eq!(changed.next_after(past(3, 30)), Some(at(4)));
}

/// Removed: a schedule that names the same, as much later, is spread since the one before it was. What had been named, and was yet to fire, never came.
#[test]
fn what_is_yet_to_fire_outlives_a_change_of_all_else() {
    let spread = |schedule: Schedule, from| Schedule {
        jitter: Some(Jitter { most_seconds: 10_800, by: Duration::from_secs(10_800), from }),
        ..schedule
    };
    let calendar = shut(past(2, 50), past(3, 10));
    let mut job = hourly(OnExcluded::Move, &calendar);
    job.schedule = spread(job.schedule, at(0));
    assert_eq!(job.next_after(at(6)), Some(past(6, 10)), "three, moved and spread");

    let ending = spread(heeding("0 * * * *", OnExcluded::Move, &calendar), past(4, 30));
    let ending = Schedule { end_at: Some(at(20)), ..ending };
    let changed = job.after(&Change::reschedule(ending), past(4, 30)).unwrap();

    let fires: Vec<_> =
        std::iter::successors(changed.next_after(past(4, 30)), |t| changed.next_after(*t)).take(3).collect();
    assert_eq!(fires, [at(5), past(6, 10), at(7)]);
}

/// Removed: what had been named, and was yet to fire, counts among `max_fires`; and a schedule that had ended named nothing that is yet to fire. One run that
/// was asked for came with forty others.
#[test]
fn what_is_yet_to_fire_counts_and_what_was_never_named_does_not() {
    let spread = |bounds: Plan, from| {
        let schedule = Schedule::new(&Plan { cron: Some("0 * * * *".to_owned()), ..bounds }, from).unwrap();
        let by = Duration::from_secs(10_800);
        Schedule { jitter: Some(Jitter { most_seconds: 10_800, by, from }), ..schedule }
    };
    let (unbounded, three) = (Plan::default(), Plan { max_fires: Some(3), ..Plan::default() });
    let until_two = Plan { end_at: Some(past(2, 30)), ..Plan::default() };
    let later = Plan { start_at: Some(at(3)), ..Plan::default() };
    let later_than_that = Plan { start_at: Some(past(3, 30)), ..Plan::default() };
    let rows = [
        ("without an end", &unbounded, &unbounded, vec![at(5), at(6), at(7), at(8), at(9)]),
        ("three more, with those yet to fire", &unbounded, &three, vec![at(5), at(6), at(7)]),
        ("ended at two, now without an end", &until_two, &unbounded, vec![at(8), at(9), at(10), at(11), at(12)]),
        ("named three, and three more", &three, &three, vec![at(8), at(9), at(10)]),
        ("from three on", &later, &unbounded, vec![at(6), at(7), at(8), at(9), at(10)]),
        ("begins behind some of them", &unbounded, &later_than_that, vec![at(7), at(8), at(9), at(10), at(11)]),
    ];
    for (what, before, changes, expected) in rows {
        let job = Job { schedule: spread(before.clone(), at(0)), ..hourly(OnExcluded::Skip, &shut(at(20), at(21))) };
        let changed = job.after(&Change::reschedule(spread(changes.clone(), past(4, 30))), past(4, 30)).unwrap();

        let fires: Vec<_> =
            std::iter::successors(changed.next_after(past(4, 30)), |t| changed.next_after(*t)).take(5).collect();
        assert_eq!(fires, expected, "{what}");
    }
}

/// Removed: nothing is spread from an instant that has not come, once the clock is right. Nothing fired, was taken or counted as overdue before that, and a
/// repair found nothing.
#[test]
fn what_a_clock_set_that_was_ahead_is_spread_from_then_on_is_spread_from_now_on() {
    let calendar = shut(at(60), at(61));
    let mut ahead = with(&hourly(OnExcluded::Skip, &calendar), &calendar, at(48));
    ahead.schedule.jitter = Some(Jitter { most_seconds: 600, by: Duration::from_secs(600), from: at(48) });

    let right = with(&ahead, &calendar, past(4, 30));

    assert_eq!(right.next_after(past(4, 30)), Some(past(5, 10)));
}

/// Removed: of what moves what had moved before goes on first. A fire by the schedule itself came between, and what had moved never came.
#[test]
fn a_moved_fire_outlives_two_changes_though_others_come_before_it() {
    let calendar = shut(past(2, 47), past(3, 32));
    let schedule = heeding("*/5 * * * *", OnExcluded::Move, &calendar).counted_from(at(0));
    let mut job = Job { schedule, ..hourly(OnExcluded::Move, &calendar) };
    job.schedule.jitter = Some(Jitter { most_seconds: 600, by: Duration::from_secs(600), from: at(0) });
    assert_eq!(job.next_after(past(3, 17)), Some(past(3, 42)), "of ten to three, with what was named since");

    let open = shut(at(20), at(21));
    let once = with(&job, &open, past(3, 17));
    let twice = with(&once, &open, past(3, 18));

    let fires = |job: &Job| -> Vec<_> {
        let next = |t: &Moment| job.next_after(*t);
        std::iter::successors(job.next_after(past(3, 18)), next).take(3).map(|t| (t, job.nominal_of(t))).collect()
    };
    let expected = [(past(3, 20), past(3, 10)), (past(3, 25), past(3, 15)), (past(3, 27), past(2, 50))];
    assert_eq!((&fires(&once)[..], &fires(&twice)[..]), (&expected[..], &expected[..]));
}

#[test]
fn another_schedule_is_remembered_without_what_was_before_it() {
    let job = hourly(OnExcluded::Skip, &shut(at(20), at(21)));
    let once = with(&job, &shut(at(20), at(22)), past(9, 10));
    let other = heeding("30 * * * *", OnExcluded::Skip, &shut(at(20), at(22)));

    let rescheduled = once.after(&Change::reschedule(other), past(9, 20)).unwrap();
    let again = with(&rescheduled, &shut(at(20), at(23)), past(9, 40));

    assert_eq!(rescheduled.admits(at(9)), Ok(()), "the schedule before it, with all that its calendar said");
    assert!(once.forgets(&rescheduled).0.is_empty());
    assert_eq!(again.admits(at(9)), Err(NotAdmitted::Superseded));
    let forgotten: Vec<Moment> = rescheduled.forgets(&again).0.into_iter().map(|(_, until)| until).collect();
    assert_eq!(forgotten, [past(9, 20), past(9, 10)], "each until the next was in force");
}

#[test]
fn a_schedule_without_calendars_is_remembered_once() {
    let schedule = Schedule::new(&Plan { cron: Some("0 * * * *".to_owned()), ..Plan::default() }, at(0)).unwrap();
    let job = Job { schedule: schedule.clone(), ..hourly(OnExcluded::Skip, &shut(at(20), at(21))) };

    let once = job.after(&Change::reschedule(schedule.clone()), past(9, 10)).unwrap();
    let twice = once.after(&Change::reschedule(schedule), past(9, 20)).unwrap();

    assert_eq!((once.before.len(), twice.before.len()), (1, 1));
}

#[test]
fn of_many_changes_the_oldest_version_is_forgotten() {
    let mut job = hourly(OnExcluded::Skip, &shut(at(20), at(21)));
    for minute in 1..=8 {
        let next = with(&job, &shut(at(20), past(21, minute)), past(9, minute));
        assert!(job.forgets(&next).0.is_empty(), "{minute}");
        job = next;
    }

    let next = with(&job, &shut(at(20), at(22)), past(9, 9));

    assert_eq!(next.before.len(), VERSIONS_REMEMBERED);
    let forgotten: Vec<_> = job.forgets(&next).0.into_iter().map(|(before, until)| (before.since, until)).collect();
    assert_eq!(forgotten, [(at(0), past(9, 1))]);
    assert_eq!((job.admits(at(9)), next.admits(at(9))), (Ok(()), Err(NotAdmitted::Superseded)));
}
