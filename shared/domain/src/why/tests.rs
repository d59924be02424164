//! Why: a table of histories of one job, and what each instant of them came to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::calendar::{Calendar, CalendarVersion, Date, ExcludedDate, Rules};
use crate::id::{JobId, Tenant, Worker};
use crate::job::{Change, Definition};
use crate::order::Terms;
use crate::run::{Claimant, Event, Graph, Tasks};
use crate::schedule::cron::DstGap;
use crate::schedule::{Jitter, OnExcluded, Plan, Spread};
use crate::slot::SlotName;
use crate::workflow::WorkflowId;

const START: Moment = Moment::from_secs(1_800_000_000);
const BY: Claimant = Claimant { worker: Worker(1), exclusive_store: false };

fn at(seconds: i64) -> Moment {
    Moment::from_secs(1_800_000_000 + seconds)
}

fn id() -> JobId {
    JobId::from_bytes([1; 16])
}

fn job(plan: &Plan) -> Job {
    let schedule = Schedule::new(plan, START).unwrap();
    Job::new(Tenant::deployment(), id(), schedule, Definition::default(), 0, START)
}

fn every(seconds: u64) -> Plan {
    Plan { every_seconds: Some(seconds), ..Plan::default() }
}

fn cron(text: &str) -> Plan {
    Plan { cron: Some(text.to_owned()), timezone: Some("America/New_York".to_owned()), ..Plan::default() }
}

/// The run of the occurrence of the first minute.
fn run() -> Run {
    Run::new(Tenant::deployment(), RunKey::occurrence(id(), at(60)), crate::priority::Priority::Normal)
}

fn claimed(second: i64) -> Run {
    run().after(&Event::Claim { by: BY, terms: &Terms::default() }, at(second)).unwrap()
}

fn in_state(state: State) -> Run {
    Run { state, ..claimed(63) }
}

fn ask(job: &Job, t: Moment, now: Moment, known: &Known<'_>) -> Answer {
    Question { job, at: t, on_record_since: Moment::EPOCH, now }.answer(known)
}

fn words(answer: &Answer) -> (&'static str, &'static str) {
    (answer.verdict.as_str(), answer.rule.as_str())
}

#[test]
fn a_record_says_what_became_of_its_instant() {
    let each_minute = job(&every(60));
    let waiting = |slot| {
        let bound = Bound { slot, width: 2 };
        (run().after(&Event::AwaitSlot, at(61)).unwrap(), Some(bound))
    };
    let key = || SlotName::Key("billing".parse().unwrap());
    let graph = Graph {
        workflow: WorkflowId::from_bytes([2; 16]),
        version: 1,
        each: None,
        given: crate::body::Body::Empty,
        parts: 0,
        expires_at: at(999),
        slot: None,
    };
    let unfolded = Run {
        graph: Some(graph),
        started_at: Some(at(63)),
        state: State::Waiting(Waiting::Tasks(Tasks::until(at(900)))),
        ..run()
    };
    let (in_line, of_key) = waiting(key());
    let (of_quota, quota) = waiting(SlotName::Quota);
    let (of_workflow, workflow) = waiting(SlotName::Workflow(WorkflowId::from_bytes([2; 16])));
    let postponed = run().after(&Event::Postpone { until: at(200) }, at(61)).unwrap();
    let retries = in_state(State::Scheduled { due: at(200) });
    let skipped = |why| run().skipped(why, None, at(90));
    let cancelled = run().after(&Event::Cancel { by: None }, at(30)).unwrap();
    let rows = vec![
        (in_state(State::Succeeded { at: at(70), result: crate::body::Body::Empty }), None, ("fired", "schedule")),
        (in_state(State::Failed { at: at(70), why: crate::run::Failure::Error }), None, ("fired", "schedule")),
        (in_state(State::TimedOut { at: at(70) }), None, ("fired", "schedule")),
        (in_state(State::Cancelled { at: at(70) }), None, ("fired", "schedule")),
        (claimed(63), None, ("running", "schedule")),
        (unfolded, None, ("running", "schedule")),
        (run(), None, ("waiting", "claim")),
        (run(), quota.clone(), ("waiting", "quota")),
        (postponed.clone(), quota.clone(), ("waiting", "quota")),
        (retries, None, ("waiting", "retry")),
        (postponed, None, ("waiting", "rate")),
        (in_line, of_key, ("waiting", "concurrency")),
        (of_quota, quota, ("waiting", "quota")),
        (of_workflow, workflow, ("waiting", "max_concurrent_runs")),
        (cancelled, None, ("cancelled", "cancelled")),
        (skipped(Skip::Coalesced), None, ("skipped", "catch_up")),
        (skipped(Skip::Missed), None, ("skipped", "catch_up")),
        (skipped(Skip::Paused), None, ("skipped", "paused")),
        (skipped(Skip::Cancelled), None, ("skipped", "cancelled")),
        (skipped(Skip::Superseded), None, ("skipped", "schedule_change")),
        (skipped(Skip::Abandoned), None, ("skipped", "abandoned")),
        (skipped(Skip::Upstream), None, ("skipped", "upstream")),
        (skipped(Skip::Condition), None, ("skipped", "condition")),
        (skipped(Skip::Overlap), None, ("skipped", "overlap")),
        (skipped(Skip::Vetoed), None, ("skipped", "hook")),
        (skipped(Skip::Cooldown), None, ("skipped", "cooldown")),
    ];
    for (run, bound, wanted) in rows {
        let place = bound.as_ref().map(|bound| (bound, 2));
        let answer = ask(&each_minute, at(60), at(100), &Known { run: Some(&run), place, ..Known::default() });

        assert_eq!(words(&answer), wanted, "{:?}", run.state);
        assert_eq!(answer.run, Some(run.key));
        assert_eq!(answer.occurrence, Some(Occurrence { nominal: at(60), effective: at(60) }));
        assert!(answer.detail.contains(&run.key.to_string()), "{}", answer.detail);
    }
}

#[test]
fn what_began_late_says_how_late() {
    let run = in_state(State::Succeeded { at: at(70), result: crate::body::Body::Empty });

    let answer = ask(&job(&every(60)), at(60), at(100), &Known { run: Some(&run), ..Known::default() });

    assert_eq!(answer.lag, Some(Duration::from_secs(3)));
    assert_eq!(answer.detail, format!("fired as {}, 3.000 s after it was due, and succeeded", run.key));
}

#[expect(clippy::large_stack_arrays, reason = "a table of whole jobs")]
#[test]
fn without_a_record_the_job_says_what_becomes_of_an_instant() {
    let each_minute = || job(&every(60));
    let changed = |change: Change| each_minute().after(&change, at(100)).unwrap();
    let rescheduled = || changed(Change::reschedule(Schedule::new(&every(90), at(100)).unwrap()));
    let resumed = changed(Change::Pause).after(&Change::Resume, at(400)).unwrap();
    let bounded = Plan { start_at: Some(at(300)), end_at: Some(at(600)), ..every(60) };
    let thrice = Plan { max_fires: Some(3), ..every(60) };
    let on_demand = Plan { on_demand: true, ..Plan::default() };
    let rows = [
        ("ahead", each_minute(), at(120), ("will_fire", "schedule")),
        ("due", each_minute(), at(60), ("waiting", "claim")),
        ("beside", each_minute(), at(61), ("not_an_occurrence", "schedule")),
        ("before the job", each_minute(), at(-60), ("not_an_occurrence", "before_creation")),
        ("paused, and past", changed(Change::Pause), at(60), ("skipped", "paused")),
        ("paused, and ahead", changed(Change::Pause), at(180), ("will_not_fire", "paused")),
        ("deleted, and past", changed(Change::Delete), at(60), ("skipped", "cancelled")),
        ("deleted, and ahead", changed(Change::Delete), at(180), ("will_not_fire", "cancelled")),
        ("by the former schedule, in its time", rescheduled(), at(60), ("waiting", "claim")),
        ("by the former schedule, later", rescheduled(), at(120), ("not_an_occurrence", "schedule_change")),
        ("by today's schedule", rescheduled(), at(190), ("will_fire", "schedule")),
        ("before the resume", resumed, at(120), ("unknown", "schedule_change")),
        ("before start_at", job(&bounded), at(240), ("not_an_occurrence", "start_at")),
        ("at end_at", job(&bounded), at(600), ("not_an_occurrence", "end_at")),
        ("behind the last", job(&thrice), at(240), ("not_an_occurrence", "max_fires")),
        ("on demand", job(&on_demand), at(60), ("not_an_occurrence", "on_demand")),
    ];
    for (what, job, t, wanted) in rows {
        let answer = ask(&job, t, at(110), &Known::default());
        assert_eq!(words(&answer), wanted, "{what}: {}", answer.detail);
    }
}

#[test]
fn an_instant_before_todays_schedule_was_in_force_is_not_named_by_it() {
    let later = Schedule::new(&Plan { start_at: Some(at(30)), ..every(60) }, at(0)).unwrap();
    let job = job(&every(60)).after(&Change::reschedule(later), at(200)).unwrap();

    let answer = ask(&job, at(90), at(300), &Known::default());

    assert_eq!(words(&answer), ("not_an_occurrence", "schedule_change"));
    assert!(answer.detail.contains("in force only since"), "{}", answer.detail);
}

#[test]
fn what_is_too_late_is_not_begun_any_more() {
    let answer = ask(&job(&every(60)), at(60), at(60 + 86_401), &Known::default());

    assert_eq!(words(&answer), ("skipped", "catch_up"));
}

#[test]
fn the_record_of_an_earlier_occurrence_tells_of_those_it_spans() {
    let each_minute = job(&every(60));
    let paused = each_minute.after(&Change::Pause, at(10_000)).unwrap();
    let spanning = |why, until, count| run().skipped(why, Some(SkippedSpan { until, count }), at(400));
    let rows = [
        (&each_minute, spanning(Skip::Coalesced, at(300), Some(4)), 240, ("covered", "catch_up")),
        (&each_minute, spanning(Skip::Coalesced, at(300), Some(4)), 300, ("waiting", "claim")),
        (&each_minute, spanning(Skip::Missed, at(300), Some(5)), 300, ("covered", "catch_up")),
        (&each_minute, spanning(Skip::Missed, at(300), Some(5)), 360, ("waiting", "claim")),
        // By a clock that was ahead.
        (&each_minute, spanning(Skip::Coalesced, at(540), Some(8)), 240, ("waiting", "claim")),
        (&each_minute, spanning(Skip::Missed, at(540), Some(9)), 540, ("will_fire", "schedule")),
        (&paused, spanning(Skip::Paused, at(300), Some(5)), 300, ("covered", "paused")),
        (&paused, spanning(Skip::Paused, at(300), Some(5)), 360, ("skipped", "paused")),
        (&each_minute, spanning(Skip::Coalesced, at(300), Some(4)), 241, ("not_an_occurrence", "schedule")),
    ];
    for (job, record, second, wanted) in rows {
        let earlier = [record];
        let known = Known { earlier: &earlier, ..Known::default() };

        let answer = ask(job, at(second), at(500), &known);

        assert_eq!(words(&answer), wanted, "{second}: {}", answer.detail);
        assert_eq!(answer.run.is_some(), wanted.0 == "covered");
        assert_eq!(answer.span.is_some(), wanted.0 == "covered");
    }
}

#[test]
fn of_a_time_that_is_not_remembered_the_newest_record_before_it_is_named() {
    let resumed = job(&every(60)).after(&Change::Pause, at(10)).unwrap().after(&Change::Resume, at(400)).unwrap();
    let earlier = [run().skipped(Skip::Paused, None, at(990))];
    let known = Known { earlier: &earlier, ..Known::default() };

    let answer = ask(&resumed, at(120), at(500), &known);

    assert_eq!((words(&answer), answer.run), (("unknown", "schedule_change"), Some(earlier[0].key)));
    assert!(answer.detail.ends_with("is skipped, for the reason paused"), "{}", answer.detail);
    assert_eq!(answer.occurrence, None);
}

#[test]
fn an_instant_that_is_none_has_neighbours_and_perhaps_one_in_its_minute() {
    let each_minute = job(&every(60));
    let minutes = |second| Some(Occurrence { nominal: at(second), effective: at(second) });

    let near = ask(&each_minute, at(125), at(500), &Known::default());
    let first = ask(&each_minute, at(-5), at(500), &Known::default());
    let far = ask(&job(&every(3600)), at(125), at(500), &Known::default());

    assert_eq!((near.previous, near.next), (minutes(120), minutes(180)));
    assert!(near.detail.ends_with(&format!("in the same minute, is at {}", at(120))), "{}", near.detail);
    assert_eq!((first.previous, first.next), (None, minutes(60)));
    assert_eq!((far.previous, far.next), (None, minutes(3600)));
    assert!(!far.detail.contains("nearest"), "{}", far.detail);
}

#[test]
fn with_jitter_an_occurrence_may_be_asked_for_as_it_was_meant_or_as_it_is() {
    let spread = Spread::of(id());
    let job = job(&Plan { start_at: Some(at(60)), jitter_seconds: Some(50), spread, ..every(60) });
    let effective = job.next_after(at(119)).unwrap();
    let run = job.run(RunKey::occurrence(id(), effective));
    let known = Known { run: Some(&run), ..Known::default() };
    assert!(effective > at(120));

    for t in [at(120), effective] {
        let (ahead, recorded) = (ask(&job, t, at(0), &Known::default()), ask(&job, t, at(0), &known));

        let wanted = Some(Occurrence { nominal: at(120), effective });
        assert_eq!((ahead.occurrence, recorded.occurrence), (wanted, wanted));
        assert_eq!(words(&ahead), ("will_fire", "schedule"));
        assert!(ahead.detail.contains("by its jitter"), "{}", ahead.detail);
    }
    let question = Question { job: &job, at: at(120), on_record_since: Moment::EPOCH, now: at(0) };
    assert_eq!(question.instants(), [at(120), effective]);
    assert!(question.is_about(&run));
}

#[test]
fn a_turn_of_the_clock_is_told() {
    let t = |text| Moment::parse(text).unwrap();
    let skipping = Plan { dst_gap: Some(DstGap::Skip), ..cron("30 2 * * *") };
    let rows = [
        (cron("30 2 * * *"), "2027-03-14T02:30:00-05:00", ("not_an_occurrence", "dst_gap")),
        (skipping, "2027-03-14T02:30:00-05:00", ("not_an_occurrence", "dst_gap")),
        (cron("30 2 * * *"), "2027-03-14T03:00:00-04:00", ("will_fire", "dst_gap")),
        (cron("30 1 * * *"), "2027-11-07T01:30:00-04:00", ("will_fire", "dst_overlap")),
        (cron("30 1 * * *"), "2027-11-07T01:30:00-05:00", ("not_an_occurrence", "dst_overlap")),
        (cron("30 1 * * *"), "2027-11-08T01:30:00-05:00", ("will_fire", "schedule")),
    ];
    for (plan, text, wanted) in rows {
        let answer = ask(&job(&plan), t(text), at(0), &Known::default());
        assert_eq!(words(&answer), wanted, "{text}: {}", answer.detail);
        assert_eq!(answer.detail.contains("America/New_York"), wanted.1 != "schedule", "{}", answer.detail);
    }
}

/// The record of a gap lies at the last instant before it; whoever asks about the local time means it.
#[test]
fn a_local_time_that_never_was_is_told_of_by_the_record_of_its_gap() {
    let skipping = Plan { dst_gap: Some(DstGap::Skip), ..cron("*/30 2 * * *") };
    let (firing, job) = (job(&cron("*/30 2 * * *")), job(&skipping));
    let asked = Moment::parse("2027-03-14T02:30:00-05:00").unwrap();
    let told_at = Moment::parse("2027-03-14T06:59:59.999Z").unwrap();
    let now = told_at + Duration::from_secs(86_400);
    let span = Some(SkippedSpan { until: told_at, count: Some(2) });
    let record = job.run(RunKey::occurrence(job.id, told_at)).skipped(Skip::DstGap, span, now);

    for at in [asked, told_at] {
        let question = Question { job: &job, at, on_record_since: Moment::EPOCH, now };
        assert!(question.instants().contains(&told_at) && question.is_about(&record), "{at}");
        let answer = ask(&job, at, now, &Known { run: Some(&record), ..Known::default() });
        assert_eq!((words(&answer), answer.run), (("skipped", "dst_gap"), Some(record.key)), "{at}");
        assert!(answer.detail.contains(", for 2") && !answer.detail.contains("remembers"), "{}", answer.detail);
    }
    assert_eq!(
        Question { job: &firing, at: asked, on_record_since: Moment::EPOCH, now }.instants(),
        [asked],
        "nothing was taken there"
    );
}

#[test]
fn each_word_is_its_own() {
    let verdicts: BTreeSet<&str> = Verdict::ALL.into_iter().map(Verdict::as_str).collect();
    let rules: BTreeSet<&str> = Rule::ALL.into_iter().map(Rule::as_str).collect();

    assert_eq!((verdicts.len(), rules.len()), (Verdict::ALL.len(), Rule::ALL.len()));
}

fn without(days: &[&str]) -> Arc<Calendar> {
    let excluded =
        |day: &&str| ExcludedDate { date: Date::parse(day).unwrap(), reason: Some("Black Friday".to_owned()) };
    let rules = Rules { dates: days.iter().map(excluded).collect(), ..Rules::none(chrono_tz::Tz::UTC) };
    Arc::new(Calendar::new(rules).unwrap())
}

/// Daily at nine o'clock, but where a calendar takes that.
fn heeding(on_excluded: OnExcluded, days: &[&str]) -> Job {
    let calendars = vec!["h2".parse().unwrap()];
    let daily =
        Plan { cron: Some("0 9 * * *".to_owned()), calendars, on_excluded: Some(on_excluded), ..Plan::default() };
    pinned(&job(&daily), days, START)
}

fn pinned(job: &Job, days: &[&str], now: Moment) -> Job {
    let schedule = job.schedule.pinned_to(&"h2".parse().unwrap(), CalendarVersion::of(b"{}"), &without(days));
    job.after(&Change::reschedule(schedule), now).unwrap()
}

fn day(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// 2027-01-15 is the first day. Removed: the calendar is asked only after the schedules that name the instant, and whatever lies in a
/// stretch that fires moved out of counts as named. Either answer blamed a change of the schedule that never was.
#[test]
fn what_a_calendar_takes_is_no_change_of_the_schedule() {
    let moving = heeding(OnExcluded::Move, &["2027-01-20"]);
    let known = Known::default();
    for instant in ["2027-01-20T12:00:00Z", "2027-01-20T08:59:00Z"] {
        assert_eq!(words(&ask(&moving, day(instant), START, &known)), ("not_an_occurrence", "schedule"), "{instant}");
    }
    let of_nine = ask(&moving, day("2027-01-20T09:00:00Z"), START, &known);
    assert_eq!(of_nine.occurrence.map(|one| one.effective), Some(day("2027-01-21T00:00:00Z")), "{}", of_nine.detail);

    let edited = pinned(&heeding(OnExcluded::Skip, &[]), &["2027-01-20"], at(60));
    let taken = ask(&edited, day("2027-01-20T09:00:00Z"), at(61), &known);
    assert_eq!(words(&taken), ("not_an_occurrence", "calendar"));
    assert!(taken.detail.contains("h2 (Black Friday)"), "{}", taken.detail);
}

/// Removed: who asks about one that no schedule fires is not told of the record that tells of it.
#[test]
fn the_record_of_what_a_calendar_took_tells_of_each() {
    let job = heeding(OnExcluded::Skip, &["2027-01-20", "2027-01-21", "2027-01-22"]);
    let [first, second, noon, last] =
        ["2027-01-20T09:00:00Z", "2027-01-21T09:00:00Z", "2027-01-21T12:00:00Z", "2027-01-22T09:00:00Z"].map(day);
    let span = SkippedSpan { until: last, count: Some(3) };
    let key = RunKey::occurrence(id(), first);
    let record = Run { key, ..run() }.skipped(Skip::Calendar, Some(span), day("2027-01-23T09:00:00Z"));
    let now = day("2027-01-24T00:00:00Z");

    let of_first = ask(&job, first, now, &Known { run: Some(&record), ..Known::default() });
    assert_eq!((words(&of_first), of_first.span), (("skipped", "calendar"), Some(span)), "{}", of_first.detail);
    assert!(!of_first.detail.contains("no schedule that the job remembers"), "{}", of_first.detail);
    let known = Known { earlier: std::slice::from_ref(&record), ..Known::default() };
    for instant in [second, last] {
        let answer = ask(&job, instant, now, &known);
        assert_eq!((words(&answer), answer.run, answer.span), (("covered", "calendar"), Some(key), Some(span)));
    }
    assert_eq!(words(&ask(&job, noon, now, &known)), ("not_an_occurrence", "schedule"));
}

/// Removed: what a calendar takes of a job that is spread was meant for what its schedule names. Its record named an instant that no schedule names, and
/// whoever asked about the one that it was meant for was told of none.
#[test]
fn what_a_calendar_takes_of_what_is_spread_is_known_by_what_it_was_meant_for() {
    // The second is longer than from one instant to the next.
    let spreads = [300, 26 * 3600].map(Duration::from_secs);
    for (on_excluded, by) in [OnExcluded::Skip, OnExcluded::Move].into_iter().flat_map(|on| spreads.map(|by| (on, by)))
    {
        let mut job = heeding(on_excluded, &["2027-01-20", "2027-01-21"]);
        job.schedule.jitter = Some(Jitter { most_seconds: 86_400, by, from: START });
        let [first, second] = ["2027-01-20T09:00:00Z", "2027-01-21T09:00:00Z"].map(day);
        let run = job.run(RunKey::occurrence(id(), first + by));
        assert_eq!(run.nominal(), first);
        let question =
            Question { job: &job, at: first, on_record_since: Moment::EPOCH, now: day("2027-01-24T00:00:00Z") };
        assert!(question.instants().contains(&(first + by)) && question.is_about(&run), "{on_excluded:?}");

        let span = SkippedSpan { until: second + by, count: Some(2) };
        let record = run.skipped(Skip::Calendar, Some(span), question.now);
        let known = Known { earlier: std::slice::from_ref(&record), ..Known::default() };
        let of_second = ask(&job, second, question.now, &known);
        if on_excluded == OnExcluded::Skip {
            assert_eq!(words(&of_second), ("covered", "calendar"), "{}", of_second.detail);
            assert_eq!(of_second.occurrence, Some(Occurrence { nominal: second, effective: second + by }));
        }
    }
}
