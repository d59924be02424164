use super::*;
use crate::body::Body;
use crate::id::{JobId, RunKey, Tenant, Worker};
use crate::job::{Change, Definition};
use crate::pace;
use crate::priority::Priority;
use crate::run::{Failure, Holder, Lease, Skip, SkippedSpan, Waiting};
use crate::schedule::cron::DstGap;
use crate::schedule::{Plan, Schedule};

const START: Moment = Moment::from_secs(1_800_000_000);
const JOB: JobId = JobId::from_bytes([1; 16]);

/// How a run ends, or goes on.
type End = fn(Moment) -> State;

fn at(seconds: i64) -> Moment {
    Moment::from_secs(1_800_000_000 + seconds)
}

fn job(plan: &Plan) -> Job {
    let schedule = Schedule::new(plan, START).unwrap();
    Job::new(Tenant::new("t").unwrap(), JOB, schedule, Definition::default(), 0, START)
}

/// Where everything can be read.
fn health_of(job: &Job, newest: &[Run], now: Moment) -> Health {
    Health::of(job, newest, &[], Moment::EPOCH, now)
}

/// At 60, 120, 180 …
fn each_minute() -> Job {
    job(&Plan { every_seconds: Some(60), ..Plan::default() })
}

fn on_demand() -> Job {
    job(&Plan { on_demand: true, ..Plan::default() })
}

fn due(seconds: i64) -> Run {
    Run::new(Tenant::new("t").unwrap(), RunKey::occurrence(JOB, at(seconds)), Priority::Normal)
}

fn asked_for(seconds: i64) -> Run {
    Run { key: RunKey::manual(JOB, at(seconds), 1), ..due(seconds) }
}

/// Begun when it was due, and over so long after.
fn ended(run: Run, after: i64, how: End) -> Run {
    let (begun, over) = (run.key.at, Moment::from_millis(run.key.at.millis() + after));
    Run { started_at: Some(begun), state: how(over), ..run }
}

fn success(at: Moment) -> State {
    State::Succeeded { at, result: Body::Empty }
}

fn failure(at: Moment) -> State {
    State::Failed { at, why: Failure::Error }
}

fn time_out(at: Moment) -> State {
    State::TimedOut { at }
}

fn cancel(at: Moment) -> State {
    State::Cancelled { at }
}

fn skip(at: Moment) -> State {
    State::Skipped { at, why: Skip::Missed, span: None }
}

fn running(_: Moment) -> State {
    let until = at(9_000);
    State::Running(Lease { holder: Holder::Process(Worker(1)), until, cancelled: false, token: None })
}

/// One a minute, the first of these the newest, each a second long.
fn history(ends: &[End]) -> Vec<Run> {
    let newest_due = 60 * i64::try_from(ends.len()).unwrap();
    let instants = (0..).map(|back| newest_due - 60 * back);
    ends.iter().zip(instants).map(|(how, seconds)| ended(due(seconds), 1000, *how)).collect()
}

fn all(end: End, many: usize) -> Vec<Run> {
    history(&vec![end; many])
}

#[test]
fn what_succeeded_failed_or_timed_out_is_judged_and_nothing_else() {
    let cases: [(&[End], Option<f64>, usize); 8] = [
        (&[], None, 0),
        (&[cancel, skip, running], None, 0),
        (&[success], Some(1.0), 0),
        (&[failure], Some(0.0), 1),
        (&[time_out, failure, success, success], Some(0.5), 2),
        (&[running, cancel, failure, skip, failure, success], Some(1.0 / 3.0), 2),
        (&[success, failure, failure, failure], Some(0.25), 0),
        (&[skip, success, cancel, success], Some(1.0), 0),
    ];
    for (ends, rate, failures) in cases {
        let health = health_of(&on_demand(), &history(ends), at(100_000));

        let told = (health.success_rate(), health.consecutive_failures);
        assert_eq!(told, (rate, failures), "{:?}", health.outcomes);
    }
}

#[test]
fn outcomes_are_the_newest_thirty_that_ended_newest_first() {
    let health = health_of(&on_demand(), &history(&[running, failure, skip, cancel, time_out, success]), at(600));
    assert_eq!(health.outcomes, ["failed", "skipped", "cancelled", "timed_out", "succeeded"]);

    let long = health_of(&on_demand(), &all(success, 60), at(100_000));
    assert_eq!((long.outcomes.len(), long.judged), (30, 60));
}

#[test]
fn nothing_beyond_the_newest_hundred_is_looked_at() {
    let health = health_of(&on_demand(), &all(failure, 130), at(100_000));

    assert_eq!((health.judged, health.consecutive_failures), (100, 100), "at least so many");
}

#[test]
fn a_failure_that_was_made_good_is_a_failure_and_a_success() {
    let redriven = ended(Run { key: RunKey::redrive(JOB, at(500), 7), ..due(500) }, 1000, success);
    let tried_thrice = ended(Run { fence: 3, ..due(60) }, 90_000, success);

    let health = health_of(&on_demand(), &[redriven, ended(due(120), 0, failure), tried_thrice], at(600));

    assert_eq!((health.succeeded, health.judged, health.consecutive_failures), (2, 3, 0));
}

#[test]
fn the_last_success_is_the_one_that_ended_last() {
    let long = ended(due(60), 3_600_000, success);

    let health = health_of(&on_demand(), &[ended(due(180), 0, failure), ended(due(120), 0, success), long], at(9_000));

    assert_eq!((health.last_success_at, health.consecutive_failures), (Some(at(3_660)), 1));
    assert_eq!(health_of(&on_demand(), &history(&[failure]), at(600)).last_success_at, None);
}

#[test]
fn durations_are_of_what_succeeded_and_by_nearest_rank() {
    let took = |millis: &[i64]| -> Vec<Run> {
        (1..).zip(millis).map(|(minute, millis)| ended(due(60 * minute), *millis, success)).collect()
    };
    let hundred: Vec<i64> = (1..=100).rev().collect();
    for (runs, expected) in [
        (took(&[]), None),
        (history(&[failure, time_out, cancel, running]), None),
        (took(&[7]), Some([7, 7, 7])),
        (took(&[3, 1, 2]), Some([2, 3, 3])),
        (took(&[4, 1, 3, 2]), Some([2, 4, 4])),
        (took(&hundred), Some([50, 95, 99])),
    ] {
        let health = health_of(&on_demand(), &runs, at(100_000));

        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap();
        let told = health.durations.map(|Durations { p50, p95, p99 }| [p50, p95, p99].map(millis));
        assert_eq!(told, expected);
    }
    let never_begun = Run { state: success(at(60)), ..due(60) };
    assert_eq!(health_of(&on_demand(), &[never_begun], at(600)).durations, None, "nobody knows when it began");
}

#[test]
fn an_occurrence_is_overdue_that_has_not_begun_thirty_seconds_after_it_was_due() {
    let overdue = |job: &Job, runs: &[Run], now: Moment| health_of(job, runs, now).overdue_since;
    let line = Moment::from_millis(at(90).millis() - 1);
    let waiting = Run { state: State::Waiting(Waiting::Slot { since: at(60) }), ..due(60) };
    let put_off = Run { state: State::Scheduled { due: at(400) }, ..due(60) };
    let backing_off = Run { started_at: Some(at(60)), ..put_off.clone() };
    for (told, runs, now, since) in [
        ("not due", vec![], at(0), None),
        ("late, and soon enough", vec![], line, None),
        ("late", vec![], at(90), Some(at(60))),
        ("late for hours", vec![], at(7_200), Some(at(60))),
        ("begun", vec![ended(due(60), 0, running)], at(90), None),
        ("over", vec![ended(due(60), 0, failure)], at(90), None),
        ("skipped", vec![Run { started_at: None, ..ended(due(60), 0, skip) }], at(90), None),
        ("cancelled ahead", vec![Run { started_at: None, ..ended(due(60), 0, cancel) }], at(90), None),
        ("waits for a place", vec![waiting], at(90), Some(at(60))),
        ("waits for its turn, or a worker", vec![put_off], at(90), Some(at(60))),
        ("waits for its next attempt", vec![backing_off], at(90), None),
        ("somebody asked at that instant", vec![ended(asked_for(60), 0, success)], at(90), Some(at(60))),
        ("the second", vec![ended(due(60), 0, success)], at(500), Some(at(120))),
        ("one between two", vec![ended(due(180), 0, success), ended(due(60), 0, success)], at(200), Some(at(120))),
    ] {
        assert_eq!(overdue(&each_minute(), &runs, now), since, "{told}");
    }
}

/// Removed: what has no record is overdue however old it is. A job that had run once was overdue from when its record expired on, for ever.
#[test]
fn what_may_have_been_on_record_and_have_expired_is_not_overdue() {
    let once = job(&Plan { at: Some(at(60)), ..Plan::default() });
    let overdue = |job: &Job, on_record_since| Health::of(job, &[], &[], on_record_since, at(500)).overdue_since;

    assert_eq!((overdue(&once, at(60)), overdue(&once, at(61))), (Some(at(60)), None));
    assert_eq!(overdue(&each_minute(), at(61)), Some(at(120)), "what came behind it is on record if it ever was");
    let waits = once.run(RunKey::occurrence(JOB, at(60)));
    assert_eq!(Health::of(&once, &[waits], &[], at(61), at(500)).overdue_since, Some(at(60)), "it stands, and waits");
}

#[test]
fn a_record_that_nobody_can_read_may_speak_for_what_lies_before_the_next_one() {
    let overdue = |unread: &[Moment], runs: &[Run]| {
        Health::of(&each_minute(), runs, unread, Moment::EPOCH, at(200)).overdue_since
    };

    assert_eq!(overdue(&[at(60), at(120)], &[]), None);
    assert_eq!(overdue(&[at(60)], &[]), Some(at(120)));
    assert_eq!(overdue(&[at(120)], &[]), Some(at(60)));
    assert_eq!(overdue(&[at(120)], &[ended(due(60), 0, success)]), None);
    assert_eq!(overdue(&[at(60)], &[ended(due(180), 0, success)]), None, "the record of an outage, maybe");
}

#[test]
fn a_job_with_nothing_to_begin_is_not_overdue() {
    let paused = each_minute().after(&Change::Pause, at(70)).unwrap();
    let resumed = paused.after(&Change::Resume, at(400)).unwrap();
    let deleted = each_minute().after(&Change::Delete, at(70)).unwrap();
    for (told, job, now, since) in [
        ("paused", &paused, at(300), None),
        ("resumed: it goes on from then", &resumed, at(425), None),
        ("resumed, and late again", &resumed, at(460), Some(at(420))),
        ("deleted", &deleted, at(300), None),
        ("on demand", &on_demand(), at(300), None),
    ] {
        assert_eq!(health_of(job, &[], now).overdue_since, since, "{told}");
    }
}

#[test]
fn the_last_occurrence_of_all_is_missed_as_any_other() {
    let once = job(&Plan { at: Some(at(60)), ..Plan::default() });
    let twice = job(&Plan { every_seconds: Some(60), max_fires: Some(2), ..Plan::default() });

    assert!(once.is_completed(at(600)) && twice.is_completed(at(600)));
    assert_eq!(health_of(&once, &[], at(600)).overdue_since, Some(at(60)));
    assert_eq!(health_of(&once, &[ended(due(60), 0, success)], at(600)).overdue_since, None);
    assert_eq!(health_of(&twice, &history(&[success]), at(600)).overdue_since, Some(at(120)));
    assert_eq!(health_of(&twice, &all(success, 2), at(600)).overdue_since, None);
}

#[test]
fn the_record_of_an_outage_speaks_for_what_it_covers() {
    let record = |why, until| {
        let span = Some(SkippedSpan { until: at(until), count: None });
        Run { state: State::Skipped { at: at(until), why, span }, ..due(60) }
    };
    for (told, runs, now, since) in [
        ("all were missed", vec![record(Skip::Missed, 6_000)], 6_060, None),
        ("and then one more", vec![record(Skip::Missed, 6_000)], 6_090, Some(6_060)),
        ("the last is to be made up for", vec![record(Skip::Coalesced, 6_000)], 6_090, Some(6_000)),
        ("and was", vec![ended(due(6_000), 0, success), record(Skip::Coalesced, 6_000)], 6_060, None),
        ("a longer one", vec![record(Skip::Missed, 600), record(Skip::Missed, 6_000)], 6_060, None),
        ("one that speaks for itself alone", vec![record(Skip::Paused, 6_000)], 6_060, Some(120)),
        ("up to where another clock may be that is right", vec![record(Skip::Coalesced, 6_094)], 6_090, None),
        ("of what is to come, by a clock that was ahead", vec![record(Skip::Coalesced, 6_095)], 6_090, Some(120)),
        ("and of what was missed by it", vec![record(Skip::Missed, 6_095)], 6_090, Some(120)),
    ] {
        assert_eq!(health_of(&each_minute(), &runs, at(now)).overdue_since, since.map(at), "{told}");
    }

    // Of what is past, but a clock that was ahead wrote it: by a right one less may be too late.
    let span = Some(SkippedSpan { until: at(6_000), count: None });
    let written = |second| Run { state: State::Skipped { at: at(second), why: Skip::Missed, span }, ..due(60) };
    let overdue = |second| health_of(&each_minute(), &[written(second)], at(6_060)).overdue_since;
    assert_eq!([overdue(6_064), overdue(6_065)], [None, Some(at(120))]);
}

#[test]
fn it_is_looked_for_no_further_back_than_the_records_go() {
    let full: Vec<Run> = (0..100).map(|back| ended(due(60 * (1_000 - back)), 0, success)).collect();
    let none_of_the_schedule: Vec<Run> = (0..100).map(|back| ended(asked_for(59_000 - back), 0, success)).collect();
    let since = |runs: &[Run], now| health_of(&each_minute(), runs, at(now)).overdue_since;

    assert_eq!(since(&full, 60_060), None, "what lies before the oldest was dealt with");
    assert_eq!(since(&full, 60_090), Some(at(60_060)));
    assert_eq!(since(&none_of_the_schedule, 60_090), Some(at(58_920)), "since the oldest that was read");
    assert_eq!(since(&none_of_the_schedule[..99], 60_090), Some(at(60)), "these are all that there are");
}

/// After a change an occurrence is the former schedule's up to the change, and the new one's from then on.
#[test]
fn each_schedule_answers_for_its_time() {
    let hourly = Schedule::new(&Plan { every_seconds: Some(3_600), ..Plan::default() }, at(100)).unwrap();
    let changed = each_minute().after(&Change::reschedule(hourly), at(100)).unwrap();

    assert_eq!(health_of(&changed, &[], at(200)).overdue_since, Some(at(60)));
    assert_eq!(health_of(&changed, &history(&[success]), at(3_700)).overdue_since, None);
    assert_eq!(health_of(&changed, &history(&[success]), at(3_730)).overdue_since, Some(at(3_700)));
}

/// New York springs forward at 2027-03-14T07:00Z, from 02:00 to 03:00.
#[test]
fn a_night_without_half_past_two_is_judged_by_what_the_job_makes_of_it() {
    let night = |gap| {
        let (cron, timezone) = (Some("30 2 * * *".to_owned()), Some("America/New_York".to_owned()));
        let plan = Plan { cron, timezone, dst_gap: Some(gap), ..Plan::default() };
        let evening = Moment::parse("2027-03-13T20:00:00Z").unwrap();
        Job { since: evening, ..job(&plan) }
    };
    for (gap, now, since) in [
        (DstGap::NextValid, "2027-03-14T07:00:29.999Z", None),
        (DstGap::NextValid, "2027-03-14T07:00:30Z", Some("2027-03-14T07:00:00.000Z")),
        (DstGap::Skip, "2027-03-14T12:00:00Z", None),
        (DstGap::Skip, "2027-03-15T06:30:30Z", Some("2027-03-15T06:30:00.000Z")),
    ] {
        let health = health_of(&night(gap), &[], Moment::parse(now).unwrap());

        assert_eq!(health.overdue_since, since.and_then(Moment::parse), "{gap:?} at {now}");
    }
    assert_eq!(pace::OVERDUE, Duration::from_secs(30));
}
