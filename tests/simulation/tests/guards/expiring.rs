//! What a live thing needs does not expire, though all else is gone as soon as it may be.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::callback::{CallbackPlace, End};
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Change, Status};
use minutehand_domain::operation::Order;
use minutehand_domain::operation::backfill::never_begins;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::Run;
use minutehand_domain::run::effect::Answer;
use minutehand_judge::graph::{Does, Flow, Step};
use minutehand_protocol::graph::judge::Resumed;
use minutehand_protocol::job::create::Created;
use minutehand_protocol::run::lease::Said;
use minutehand_protocol::run::on_demand::Answered;
use minutehand_protocol::run::take::Taken;
use minutehand_simulation::dice::Dice;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::graphs::{Graphs, call, flow};
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, moment, sleeps_after, sleeps_before};
use minutehand_simulation::telling::Telling;

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

fn kept_for_a_day(wish: Wish) -> Wish {
    Wish { kept: Some(1), ..wish }
}

/// Rule **outlasts its timer**: an executor dies with the end just written, its hint is lost with it, which would have erased the timer when it came
/// again, and nobody sweeps for three days. The job would make up for what is a month late.
///
/// Removed: the record is kept for the job's retention, and no longer. The look after the outage found none, and it ran again.
#[test]
fn what_ran_before_an_outage_of_days_does_not_run_after_it() {
    let catch_up = CatchUp::Last { window: Duration::from_secs(30 * 86_400) };
    let script = [Line { nth: 2, ..dies_after("executor", "put_run") }];
    let stage = Stage::new(kept_for_a_day(Wish { catch_up, ..Wish::once(60) }), script);
    stage.create(0, "creator");
    stage.purge(80);

    stage.expire(2 * DAY);
    stage.sweep_each_minute(3 * DAY..3 * DAY + 600);
    stage.play_to(3 * DAY + 600);

    assert_eq!(stage.starts(), [(60, 60)]);
    assert_eq!(stage.timers(), vec![]);
}

/// Rule **lengthened**: the same of a job that makes up for a day; and while nobody sweeps, and the record has gone, somebody says that a month is to be
/// made up for.
///
/// Removed: a look makes up for all that its job says today. What had run ran again.
#[test]
fn what_ran_before_an_outage_does_not_run_after_it_though_more_is_made_up_for() {
    let script = [Line { nth: 2, ..dies_after("executor", "put_run") }];
    let wish = kept_for_a_day(Wish::once(60));
    let stage = Stage::new(wish.clone(), script);
    stage.create(0, "creator");
    stage.purge(80);

    stage.expire(2 * DAY);
    let catch_up = CatchUp::Last { window: Duration::from_secs(30 * 86_400) };
    stage.redefine(2 * DAY + 60, "editor", &Wish { catch_up, ..wish });
    stage.sweep_each_minute(3 * DAY..3 * DAY + 600);
    stage.play_to(3 * DAY + 600);

    assert_eq!(stage.starts(), [(60, 60)]);
    assert_eq!((stage.state(60).as_str(), stage.timers()), ("skipped: missed", vec![]));
}

/// The same job, and nothing went wrong: its record goes when nobody can ask for it.
#[test]
fn a_record_expires_when_nothing_can_need_it() {
    let stage = Stage::new(kept_for_a_day(Wish::once(60)), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..300);

    stage.expire(DAY);
    stage.play_to(DAY + 1);
    let before = stage.state(60);
    stage.expire(DAY + 120);
    stage.play_to(DAY + 121);

    assert_eq!((before.as_str(), stage.run(60)), ("succeeded", None));
}

/// Rule **kept for the graph**: a task ends in a second, and its workflow waits for an answer for two days.
///
/// Removed: a task's record is kept like any other run's. The look found no record of the first task, and it was carried out again.
#[test]
fn the_tasks_of_a_run_that_waits_for_days_are_on_record() {
    let question = Step { does: Does::Ask { in_time: 3 * DAY * 1000, default: "timed_out" }, ..Step::default() };
    let graph = Flow { timeout: 4 * DAY * 1000, ..flow([call(&[]), question, call(&[0, 1])]) };
    let stage = Graphs::new([graph], []);
    stage.ask(1);
    stage.sweep_each_minute(60..1800);

    stage.expire(2 * DAY);
    stage.sweep_each_minute(2 * DAY + 60..2 * DAY + 1800);
    stage.play_to(2 * DAY + 1800);

    assert_eq!(stage.calls(0, 0).len(), 1);
    assert_eq!(stage.statuses(0, 0), ["succeeded"]);
}

/// Rule **once**: a workflow's run that did not end well outlives its tasks where the table's TTL deletes them, and is listed as failed for days. Whoever
/// goes on with it reads nothing of what succeeded.
///
/// Removed: it is gone on with all the same. The task that had succeeded was carried out again.
#[test]
fn a_run_whose_tasks_have_expired_is_not_gone_on_with() {
    let (stage, failed, tasks_expire) = failed_at_its_second_task();

    stage.expire_by_the_clock(tasks_expire + 1);
    let answer = stage.resume(tasks_expire + 10, "resumer", failed.key);
    stage.sweep_each_minute(tasks_expire + 60..tasks_expire + 600);
    stage.play_to(tasks_expire + 600);

    assert!(stage.run(failed.key).is_some_and(|run| !run.remembers_its_tasks(moment(tasks_expire))));
    assert_eq!((answer.given(), stage.calls(0, 0).len()), (Resumed::Forgotten, 1));
}

/// The same of a run that went on with it and was called off before it unfolded: what was done is on record in the first alone.
///
/// Removed: only the run that is gone on with is asked. The task that had succeeded was carried out again.
#[test]
fn a_run_that_went_on_with_one_whose_tasks_have_expired_is_not_gone_on_with() {
    let (stage, failed, tasks_expire) = failed_at_its_second_task();
    let went_on = RunKey::resuming(failed.key);
    stage.lose_hints(299..330);
    stage.resume(300, "resumer", failed.key);
    stage.cancel(310, "canceller", went_on);
    stage.sweep_each_minute(300..600);
    stage.play_to(600);

    stage.expire_by_the_clock(tasks_expire + 1);
    let answer = stage.resume(tasks_expire + 10, "resumer", went_on);
    stage.sweep_each_minute(tasks_expire + 60..tasks_expire + 600);
    stage.play_to(tasks_expire + 600);

    assert!(stage.run(went_on).is_some_and(|run| run.graph.is_none()), "it has not unfolded");
    assert_eq!((answer.given(), stage.calls(0, 0).len()), (Resumed::Forgotten, 1));
}

/// A workflow's run whose first task succeeded and whose second did not, five minutes on; and when its tasks expire.
fn failed_at_its_second_task() -> (Graphs, Run, i64) {
    let stage = Graphs::new([flow([call(&[]), Step { fails: 100, ..call(&[0]) }])], []);
    stage.sweep_each_minute(60..300);
    let run = stage.ask(1);
    stage.play_to(300);
    let failed = stage.run(run.given()).expect("it is over");
    let tasks_expire = second(failed.graph.as_ref().expect("it has unfolded").expires_at);
    (stage, failed, tasks_expire)
}

/// Somebody is told of an end that is kept for a day.
fn told_and_kept_for_a_day() -> Stage {
    let wish = Wish { told: Some((Telling::HEARS, End::ALL.to_vec())), ..Wish::once(60) };
    let stage = Stage::new(kept_for_a_day(wish), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);
    stage
}

/// Rule **on record for as long as that one is**: a run of whose end somebody was told outlives its retention by days where the table's TTL deletes it,
/// and what told of it is there until it has gone.
///
/// Removed: what comes of a run is kept until that one expires. On the fifth day nothing said that it had been told of.
#[test]
fn what_tells_of_a_run_is_on_record_until_that_can_be_read_no_more() {
    let stage = told_and_kept_for_a_day();
    for day in 1..30 {
        stage.expire_by_the_clock(day * DAY);
        stage.play_to(day * DAY + 1);
        let (run, teller) = (stage.run(60), stage.teller(stage.key(60), CallbackPlace::Callback));
        assert!(run.is_none() || teller.is_some(), "day {day}");
    }
    assert_eq!((stage.run(60), stage.told().len()), (None, 1));
}

/// The same of what is there from before: a release that kept what tells of a run for less.
///
/// Removed: a repair looks after what has expired, too. Whoever was told of its end is told of it again.
#[test]
fn a_repair_tells_nobody_of_a_run_that_has_expired() {
    let stage = told_and_kept_for_a_day();
    stage.play_to(600);
    let teller = stage.teller(stage.key(60), CallbackPlace::Callback).expect("somebody was told");
    stage.forget(2 * DAY, teller.key);

    let repaired = stage.repair(3 * DAY, "admin");
    stage.sweep_each_minute(3 * DAY..3 * DAY + 600);
    stage.play_to(3 * DAY + 600);

    assert!(stage.run(60).is_some() && stage.read(teller.key).is_none());
    assert_eq!((repaired.given().summary.unsettled, stage.told().len()), (0, 1));
}

/// After an outage that is longer than the retention a run may have gone of whose end somebody could not be told at once.
///
/// Removed: who gives a callback its order is nobody. It was hinted each hour, and never came to an end.
#[test]
fn whoever_was_to_tell_of_a_run_that_has_gone_comes_to_an_end() {
    let deaf = Telling { fails: 100, ..Telling::HEARS };
    let stage = Stage::new(Wish { told: Some((deaf, End::ALL.to_vec())), ..Wish::once(60) }, []);
    stage.create(0, "creator");
    stage.forget(65, stage.key(60));
    stage.sweep_each_minute(60..2 * HOUR);
    stage.play_to(2 * HOUR);

    let teller = stage.teller(stage.key(60), CallbackPlace::Callback).expect("it was owed");
    assert_eq!((teller.status(stage.now()), stage.timers()), ("cancelled", vec![]));
}

/// Nobody works in a pool, and its job fires on: each occurrence is offered, and made up for by the next.
///
/// Removed: what is offered stands until a worker comes. After a week all 28 stood.
#[test]
fn what_is_offered_to_nobody_goes() {
    let stage = Stage::new(Wish { by_a_worker: true, ..Wish::every(SIX_HOURS, 60) }, []);
    a_week_without_a_worker(&stage);

    assert!((1..20).contains(&stage.offered()), "{}", stage.offered());
}

/// The same of a run that nothing makes up for: whoever comes on the seventh day has it.
///
/// Removed: where it stands it is the same. On the fourth day it was gone for up to an hour.
#[test]
fn what_waits_for_days_for_a_worker_is_offered_all_the_time() {
    let stage = Stage::new(Wish { by_a_worker: true, ..Wish::on_demand() }, []);
    let _asked = stage.ask(1, "asker");
    let offered = a_week_without_a_worker(&stage);
    let taken = stage.take(7 * DAY + 10, "worker");
    stage.play_to(7 * DAY + 11);

    assert_eq!((offered, taken.given().len()), (vec![1; 167], 1));
}

/// What was offered at the end of each hour but the first, once all had gone that had expired.
fn a_week_without_a_worker(stage: &Stage) -> Vec<usize> {
    stage.create(0, "creator");
    stage.sweep_each_minute(60..7 * DAY);
    let hours = (2..=168).map(|hour| {
        stage.expire(hour * HOUR);
        stage.play_to(hour * HOUR + 1);
        stage.offered()
    });
    hours.collect()
}

/// Rule **certain records**: of a job that fires four times a day the last day is on record, and what was before has expired.
///
/// Removed: a repair takes what is not on record for what was never decided. It promised the first occurrence of the job once more.
#[test]
fn a_repair_makes_nothing_of_records_that_have_expired() {
    let stage = three_days_on(&kept_for_a_day(Wish::every(SIX_HOURS, 60)));

    let repaired = stage.repair(3 * DAY + 10, "admin");
    stage.play_to(3 * DAY + 60);

    let summary = repaired.given().summary;
    assert_eq!((summary.jobs, summary.without_timer + summary.overdue), (1, 0), "{summary:?}");
    assert_eq!((stage.run(60), stage.called().len()), (None, 12));
}

/// Rule **forgotten**: a run that lasts three days is looked at, and all that came behind it has expired but for the last day.
///
/// Removed: what may have expired is no break of the chain. The first occurrence behind it was promised once more, to be told of as missed.
#[test]
fn a_chain_is_not_broken_where_its_records_have_expired() {
    let stage = three_days_on(&kept_for_a_day(Wish::every(SIX_HOURS, 60)));

    let mended = stage.mend_behind(3 * DAY + 10, "looker", 60);
    stage.play_to(3 * DAY + 600);

    assert_eq!((mended.given(), stage.run(60 + 6 * HOUR)), (None, None));
}

/// The same rule: a run is tried again and again for days, and whatever was to be meanwhile was skipped for it. None of that has begun.
///
/// Removed: only what has begun says what time it is. The first that was skipped was promised again, to be told of as missed.
#[test]
fn a_chain_is_not_broken_where_what_was_skipped_for_another_has_expired() {
    let slow =
        Wish { overlap: Overlap::Skip, fails: true, retries: 100, retry_after: 3600, ..Wish::every(SIX_HOURS, 60) };
    let stage = three_days_on(&kept_for_a_day(slow));

    let mended = stage.mend_behind(3 * DAY + 10, "looker", 60);
    stage.play_to(3 * DAY + 600);

    let is_waiting = stage.run(60).is_some_and(|run| !run.is_finished());
    assert_eq!((is_waiting, mended.given(), stage.run(60 + 6 * HOUR)), (true, None, None));
}

/// The same rule: a backfill makes up for nothing of which nobody knows whether it has run, and says so; what was missed within the retention it
/// makes.
///
/// Removed: what is older than the retention counts as what its schedule has not decided about, or where the job is paused, as what never fired.
#[test]
fn a_backfill_makes_nothing_of_what_may_have_run_and_expired() {
    for paused in [false, true] {
        let stage = three_days_on(&kept_for_a_day(Wish::every(SIX_HOURS, 60)));
        if paused {
            stage.change(3 * DAY + 5, "pauser", Change::Pause);
        }
        stage.backfill(3 * DAY + 10, "asker", 0..3 * DAY);
        stage.sweep_each_minute(3 * DAY + 60..3 * DAY + 1800);
        stage.play_to(3 * DAY + 1800);

        let operations = stage.operations();
        let progress = &operations[0].progress;
        assert_eq!((progress.done, twice(&stage)), (0, vec![]), "paused {paused}: {progress:?}");
        assert!(format!("{progress:?}").contains("older than what is kept on record"), "paused {paused}: {progress:?}");
    }
}

/// The stage of a job that is created, three days on: what has expired by then is gone.
fn three_days_on(wish: &Wish) -> Stage {
    let stage = Stage::new(wish.clone(), []);
    pass_three_days(&stage);
    stage
}

fn pass_three_days(stage: &Stage) {
    stage.create(0, "creator");
    for at in (0..3 * DAY).step_by(1800) {
        stage.sweep(at + 90, "sweeper");
    }
    stage.expire(3 * DAY);
}

/// Of what it made up for, what it had found on record, and what it left alone.
fn backfilled(stage: &Stage) -> (u64, u64, u64) {
    stage.backfill(3 * DAY + 10, "asker", 0..3 * DAY);
    stage.sweep_each_minute(3 * DAY + 60..3 * DAY + 1800);
    stage.play_to(3 * DAY + 1800);
    let progress = &stage.operations()[0].progress;
    (progress.done, progress.already, progress.refused)
}

/// Rule **lengthened**: somebody has the runs kept for a month, pauses the job, and has the month made up for. What ran and has expired nobody knows to
/// have run.
///
/// Removed: a job forgets what it said before. All that had run and expired ran again.
#[test]
fn a_backfill_makes_nothing_of_what_was_kept_for_less_long_before() {
    let wish = kept_for_a_day(Wish::every(SIX_HOURS, 60));
    let stage = three_days_on(&wish);
    stage.redefine(3 * DAY + 5, "editor", &Wish { kept: Some(30), ..wish });
    stage.change(3 * DAY + 7, "pauser", Change::Pause);

    assert_eq!((backfilled(&stage), twice(&stage)), ((0, 4, 8), vec![]));
}

/// The same of a quota, which is lifted: the job says nothing of it.
///
/// Removed: a quota forgets what it said before.
#[test]
fn a_backfill_makes_nothing_of_what_a_quota_kept_for_less_long_before() {
    let stage = Stage::new(Wish::every(SIX_HOURS, 60), []);
    stage.keep_for(0, Some(1));
    pass_three_days(&stage);
    stage.keep_for(3 * DAY + 5, None);
    stage.change(3 * DAY + 7, "pauser", Change::Pause);

    assert_eq!((backfilled(&stage), twice(&stage)), ((0, 4, 8), vec![]));
}

/// The same rule: a run that lasts three days is looked at, and somebody has said meanwhile that all of the last month is to be made up for.
///
/// Removed: a look goes by what can be made up for today. It promised the first occurrence behind the run again, which had run and expired.
#[test]
fn a_chain_is_not_broken_where_its_records_were_kept_for_less_long_before() {
    let wish = kept_for_a_day(Wish::every(SIX_HOURS, 60));
    let stage = three_days_on(&wish);
    let catch_up = CatchUp::All { window: Duration::from_secs(30 * 86_400), max_runs: 100, per_minute: None };
    stage.redefine(3 * DAY + 5, "editor", &Wish { catch_up, ..wish });

    let mended = stage.mend_behind(3 * DAY + 10, "looker", 60);
    stage.sweep_each_minute(3 * DAY + 60..3 * DAY + 1800);
    stage.play_to(3 * DAY + 1800);

    assert_eq!((mended.given(), twice(&stage)), (None, vec![]));
}

/// Rule **made once**: a job keeps its runs for a day, and makes up for a month. What was missed in a pause is on record for that month, and what makes up
/// for it would be for a day.
///
/// Removed: what a backfill makes is kept as its job says. The second backfill found that it had not fired, and nothing that had been made.
#[test]
fn what_was_made_up_for_is_not_made_up_for_again_when_it_would_have_expired() {
    let catch_up = CatchUp::Last { window: Duration::from_secs(30 * 86_400) };
    let stage = Stage::new(kept_for_a_day(Wish { catch_up, ..Wish::every(SIX_HOURS, 60) }), []);
    stage.create(0, "creator");
    stage.change(10, "pauser", Change::Pause);
    stage.sweep_each_minute(60..1800);

    for begins in [DAY, 4 * DAY] {
        stage.expire(begins);
        stage.backfill(begins + 10, "asker", 0..DAY);
        stage.sweep_each_minute(begins + 60..begins + 1800);
        stage.play_to(begins + 1800);
    }

    let operations = stage.operations();
    let done: Vec<u64> = operations.iter().map(|operation| operation.progress.done).collect();
    assert_eq!((done.iter().sum::<u64>(), twice(&stage)), (4, vec![]), "{operations:?}");
}

/// The same rule, of an occurrence that the record of an outage speaks for: that is kept while the last of the outage can be made up for, and so is what
/// closes it for whoever makes up for it.
///
/// Removed: what is made is kept as if its occurrence stood for itself alone. The second backfill made it again.
#[test]
fn what_was_made_up_for_within_an_outage_is_not_made_up_for_again() {
    let catch_up = CatchUp::Last { window: Duration::from_secs(7 * 86_400) };
    let stage = Stage::new(kept_for_a_day(Wish { catch_up, ..Wish::every(SIX_HOURS, 60) }), []);
    let amid = 60 + 12 * HOUR;
    stage.create(0, "creator");
    for begins in [5 * DAY, 10 * DAY] {
        stage.sweep_each_minute(begins..begins + 1800);
        stage.expire(begins + 1800);
        stage.backfill(begins + 1810, "asker", amid..amid + 1);
        stage.sweep_each_minute(begins + 1860..begins + HOUR);
        stage.play_to(begins + HOUR);
    }

    let done: Vec<u64> = stage.operations().iter().map(|operation| operation.progress.done).collect();
    assert_eq!((done.iter().sum::<u64>(), twice(&stage)), (1, vec![]));
}

/// The same rule, where the first who makes up for it dies between the promise of the run and its record, and the backfill is paused for so long that the
/// run is given up: another is made under the next key. Of an occurrence from before its job was made nothing says that it did not fire: that is found out
/// for as long as the job keeps its runs, or may make up for them. Of one of a pause a record does.
///
/// Removed (`given-up-for-as-long-as-its-job-says`, `…-as-of-before-its-job`, `…-as-it-is-closed`): each time that it was given up had expired when
/// somebody asked again, and the run under the first key was made after all.
#[test]
fn what_was_given_up_and_made_after_all_is_not_made_up_for_once_more() {
    let every = Wish::every(SIX_HOURS, 60 - i64::try_from(SIX_HOURS).unwrap());
    let catch_up = CatchUp::Last { window: Duration::from_secs(30 * 86_400) };
    let made_up_for_a_month = kept_for_a_day(Wish { catch_up, ..every.clone() });
    for (wish, instant, record, again) in [
        (Wish { kept: Some(90), ..every }, 60 - 6 * HOUR, 1, 35 * DAY),
        (made_up_for_a_month.clone(), 60 - 6 * HOUR, 1, 20 * DAY),
        (made_up_for_a_month, 3 * DAY + 60, 2, 32 * DAY),
    ] {
        let stage = Stage::new(wish, [Line { nth: record, ..dies_before("asker", "put_run") }]);
        let (span, begins) = (instant..instant + 1, instant.max(0) + HOUR);
        stage.create(0, "creator");
        stage.change(10, "pauser", Change::Pause);
        stage.backfill(begins, "asker", span.clone());
        stage.order(begins + 5, "boss", Order::Pause);
        stage.order(begins + HOUR, "boss", Order::Resume);
        stage.sweep_each_minute(begins..begins + 2 * HOUR);
        stage.play_to(begins + 2 * HOUR);
        assert_eq!(stage.records().iter().filter(|run| never_begins(run)).count(), 1, "{instant}: it was given up");

        stage.expire(again);
        stage.backfill(again + 10, "asker", span);
        stage.sweep_each_minute(again + 60..again + 1800);
        stage.play_to(again + 1800);

        let operations = stage.operations();
        let done: Vec<u64> = operations.iter().map(|operation| operation.progress.done).collect();
        assert_eq!((done, stage.begun()), (vec![0, 1], vec![instant]), "{operations:?}");
    }
}

/// The same rule, of somebody who has found out in the last minute that an occurrence did not fire, and sleeps for two.
///
/// Removed (`made-once-for-longer`): what is made is on record for just as long. When he awoke nothing said that it had been made.
#[test]
fn who_is_slow_to_make_up_for_what_is_about_to_expire_makes_nothing_twice() {
    let catch_up = CatchUp::Last { window: Duration::from_secs(30 * 86_400) };
    let wish = kept_for_a_day(Wish { catch_up, ..Wish::every(SIX_HOURS, 60) });
    let stage = Stage::new(wish, [Line { nth: 2, ..sleeps_before("slow", "run", 120) }]);
    stage.create(0, "creator");
    stage.change(10, "pauser", Change::Pause);
    stage.backfill(HOUR, "asker", 60..61);
    stage.sweep_each_minute(HOUR..2 * HOUR);
    stage.play_to(2 * HOUR);
    let closed = stage.records().into_iter().find(|run| run.key.is_occurrence()).expect("it did not fire");
    let expires = second(closed.expires_at().unwrap());

    stage.backfill(expires - 60, "slow", 60..61);
    stage.expire(expires + 10);
    stage.sweep_each_minute(expires..expires + 1800);
    stage.play_to(expires + 1800);

    assert_eq!((stage.operations().len(), stage.begun(), twice(&stage)), (2, vec![60], vec![]));
}

/// Rule **certain records**: what was kept for a day, by what the job said then, is no gap because the job says something else now. It was changed under
/// a release that did not remember what it had said.
///
/// Removed: a repair goes by what the job says now. It made up for each of the occurrences that had run and expired.
#[test]
fn a_repair_of_a_job_that_was_changed_makes_nothing_of_what_has_expired() {
    let wish = kept_for_a_day(Wish::every(SIX_HOURS, 60));
    let catch_up = CatchUp::All { window: Duration::from_secs(30 * 86_400), max_runs: 100, per_minute: None };
    let stage = three_days_on(&wish);
    stage.redefine(3 * DAY + 5, "editor", &Wish { catch_up, ..wish });
    stage.forget_what_was_kept(3 * DAY + 7);

    stage.repair(3 * DAY + 10, "admin");
    stage.sweep_each_minute(3 * DAY + 60..3 * DAY + 1800);
    stage.play_to(3 * DAY + 1800);

    assert_eq!((stage.run(60), twice(&stage)), (None, vec![]));
}

/// Rule **renewed**: a worker claims an effect, keeps a checkpoint and is gone, and no other comes for 130 days. DynamoDB deletes by the clock alone
/// what lies beneath a run.
///
/// Removed: who looks at the run renews its bodies alone, or nothing. The second worker was told to make the effect, and began from nothing.
#[test]
fn what_a_worker_did_and_kept_the_next_one_knows_months_later() {
    let stage = Stage::new(kept_for_a_day(Wish { by_a_worker: true, ..Wish::on_demand() }), []);
    stage.create(0, "creator");
    stage.ask(10, "asker");
    let first = has(&stage, 20, "first");
    stage.keep(22, "first", &first, 1);
    stage.claim_effect(23, "first", &first);

    for at in (60..130 * DAY).step_by(12 * 3600) {
        stage.sweep(at, "sweeper");
        stage.expire(at + 600);
    }
    let second = has(&stage, 130 * DAY, "second");

    assert_eq!(second.checkpoint.as_ref().map(Json::as_str), Some("1"));
    assert!(is_known(&stage, 130 * DAY + 2, "second", &second));
}

/// The same rule: attempts begin and end in time, once a day for a hundred days.
///
/// Removed (`renews-what-workers-said`): what was said of the run is not written again. The worker of the hundredth was told to make the effect.
#[test]
fn what_was_done_is_known_after_months_of_attempts_that_end_in_time() {
    let daily = Wish { by_a_worker: true, retries: 100, retry_after: 86_400, ..Wish::on_demand() };
    let stage = Stage::new(kept_for_a_day(daily), []);
    stage.create(0, "creator");
    stage.ask(10, "asker");
    let first = has(&stage, 20, "worker");
    stage.keep(22, "worker", &first, 1);
    stage.claim_effect(23, "worker", &first);
    stage.fail(25, "worker", &first);

    let mut due = 25 + DAY;
    for _ in 1..100 {
        stage.sweep(due - 20, "sweeper");
        let next = has(&stage, due + 6, "worker");
        stage.fail(due + 8, "worker", &next);
        stage.expire(due + 600);
        due += 8 + DAY;
    }
    stage.sweep(due - 20, "sweeper");
    let last = has(&stage, due + 6, "worker");

    assert_eq!((last.run.fence, last.checkpoint.as_ref().map(Json::as_str)), (101, Some("1")));
    assert!(is_known(&stage, due + 8, "worker", &last));
}

/// A job's head goes, by whatever it says, 97 days after it was deleted; and nobody needs its payload 67 days behind that.
const HEAD_GOES: i64 = 100 + 97 * DAY;
const PAYLOAD_GOES: i64 = HEAD_GOES + 67 * DAY;

fn with_a_large_payload(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(kept_for_a_day(Wish { large_payload: true, ..Wish::on_demand() }), script);
    stage.create(0, "creator");
    stage
}

/// On one machine what lies beside a job goes with it, in one commit: also what an edit has left there.
///
/// Removed (`bodies-go-with-their-job`): with a job goes nothing. Its payloads stayed for ever.
#[test]
fn the_payloads_of_a_deleted_job_go_with_it_on_one_machine() {
    let stage = with_a_large_payload([]);
    stage.ask(10, "asker");
    stage.redefine(60, "editor", &kept_for_a_day(Wish::on_demand()));
    stage.change(100, "deleter", Change::Delete);

    stage.expire(HEAD_GOES - 60);
    stage.play_to(HEAD_GOES - 59);
    let before = (stage.head().is_some(), stage.keeps_its_payload());
    stage.expire(HEAD_GOES + 60);
    stage.play_to(HEAD_GOES + 61);

    assert_eq!((before, stage.head(), stage.keeps_its_payload()), ((true, true), None, false));
}

/// A run is kept for a year, and the job that was changed since for less: the run may have been given what lies beside the job.
///
/// Removed (`bodies-stay-with-runs`): with a job all of that goes, whatever is left of it.
#[test]
fn what_a_run_may_have_been_given_stays_though_its_job_has_gone() {
    let stage = Stage::new(Wish { large_payload: true, kept: Some(365), ..Wish::on_demand() }, []);
    stage.create(0, "creator");
    let run = stage.ask(10, "asker");
    stage.sweep_each_minute(15..60);
    stage.redefine(60, "editor", &kept_for_a_day(Wish::on_demand()));
    stage.change(100, "deleter", Change::Delete);

    stage.expire(HEAD_GOES + 60);
    stage.play_to(HEAD_GOES + 61);

    let Answered::Queued(run) = run.given() else { panic!("it is queued") };
    assert!(stage.read(run.key).is_some_and(|run| run.is_finished()));
    assert_eq!((stage.head(), stage.keeps_its_payload()), (None, true));
}

/// On DynamoDB it says when it goes, and outlives its job for as long as a run may go on that was begun while the job was there.
///
/// Removed (`payloads-of-deleted-jobs-go`): nothing is said of it. It stayed for ever.
#[test]
fn the_payload_of_a_deleted_job_goes_by_the_clock_when_no_run_can_need_it() {
    let stage = with_a_large_payload([]);
    stage.change(100, "deleter", Change::Delete);

    stage.expire_by_the_clock(PAYLOAD_GOES - 60);
    stage.play_to(PAYLOAD_GOES - 59);
    let before = (stage.head(), stage.keeps_its_payload());
    stage.expire_by_the_clock(PAYLOAD_GOES + 60);
    stage.play_to(PAYLOAD_GOES + 61);

    assert_eq!((before, stage.keeps_its_payload()), ((None, true), false));
}

/// A run that is over is kept for longer than its job and what lay beside that. Of one that is not over it is a fault that this is missing.
///
/// Removed (`shown-without-what-went`): what is missing is a fault, whoever asks. Nobody was shown the run.
#[test]
fn a_run_that_outlives_its_job_is_shown_without_what_went_with_that() {
    let stage = with_a_large_payload([]);
    let asked = stage.ask(10, "asker");
    stage.sweep_each_minute(15..60);
    stage.play_to(60);
    let Answered::Queued(born) = asked.given() else { panic!("it is queued") };
    let over = stage.read(born.key).expect("it is on record");
    stage.change(100, "deleter", Change::Delete);

    let before = stage.show_what_was_given(HEAD_GOES - DAY, "reader", over.clone());
    stage.expire_by_the_clock(PAYLOAD_GOES + 60);
    let behind = stage.show_what_was_given(PAYLOAD_GOES + 120, "reader", over);
    let of_a_live_one = stage.show_what_was_given(PAYLOAD_GOES + 120, "reader", born);
    stage.play_to(PAYLOAD_GOES + 121);

    assert_eq!((before.given().is_some(), behind.given()), (true, None));
    assert!(of_a_live_one.so_far().is_some_and(|answer| answer.is_err()));
}

/// The job is made anew when it is gone, and its payload is not yet.
///
/// Removed (`made-anew-keeps-its-payload`): what stands there already is the same, and is left. It went by what the former life had said of it.
#[test]
fn a_job_that_is_made_anew_keeps_the_payload_that_its_former_life_left() {
    let stage = with_a_large_payload([]);
    stage.change(100, "deleter", Change::Delete);
    stage.expire_by_the_clock(HEAD_GOES + 60);
    let again = stage.create(HEAD_GOES + 120, "creator");

    stage.expire_by_the_clock(PAYLOAD_GOES + DAY);
    stage.play_to(PAYLOAD_GOES + DAY + 1);

    assert!(matches!(again.given(), Created::New(_)), "{:?}", again.given());
    assert!(stage.keeps_its_payload());
}

/// Who deletes it dies before the head says so: the job lives.
///
/// Removed (`payloads-go-behind-the-head`): the payload is let go first. A live job had none.
#[test]
fn a_job_that_was_not_deleted_after_all_keeps_its_payload() {
    let stage = with_a_large_payload([dies_before("deleter", "put_head")]);
    stage.change(100, "deleter", Change::Delete);

    stage.expire_by_the_clock(PAYLOAD_GOES + DAY);
    stage.play_to(PAYLOAD_GOES + DAY + 1);

    assert!(stage.job().is_some_and(|job| job.status == Status::Active));
    assert!(stage.keeps_its_payload());
}

/// Who deleted it sleeps for months before the payload is let go, and by then the job has been made anew.
///
/// Removed (`payloads-go-before-the-job`): the payload is let go however late it is. The new job's went.
#[test]
fn who_sleeps_until_a_deleted_job_is_gone_takes_nothing_of_the_next() {
    let asleep = u64::try_from(98 * DAY).expect("it is long");
    let stage = with_a_large_payload([sleeps_after("deleter", "body", asleep)]);
    stage.change(100, "deleter", Change::Delete);
    stage.expire_by_the_clock(HEAD_GOES + 60);
    let again = stage.create(HEAD_GOES + 120, "creator");

    stage.expire_by_the_clock(PAYLOAD_GOES + DAY);
    stage.play_to(PAYLOAD_GOES + DAY + 1);

    assert!(matches!(again.given(), Created::New(_)), "{:?}", again.given());
    assert!(stage.keeps_its_payload());
}

fn second(at: Moment) -> i64 {
    i64::try_from(at.since(moment(0)).as_secs()).expect("it is not before the stage")
}

/// What a worker of this name takes at that second.
fn has(stage: &Stage, at: i64, name: &'static str) -> Taken {
    let taken = stage.take(at, name);
    stage.play_to(at + 1);
    taken.given().remove(0)
}

/// Whether a holder who is about to make the effect is told that somebody was before.
fn is_known(stage: &Stage, at: i64, name: &'static str, has: &Taken) -> bool {
    let claimed = stage.claim_effect(at, name, has);
    stage.play_to(at + 1);
    matches!(claimed.given(), Said::Taken(Ok(Answer::Before(_))))
}

/// The instants that were called more than once.
fn twice(stage: &Stage) -> Vec<i64> {
    let called = stage.called();
    called.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect()
}

/// Everything goes wrong for days, nobody sweeps for one to four of them, and every three hours all goes that has expired, whoever is awake.
/// What was seen to be over never begins again; and what the job makes up for begins, though records before it and behind it are gone.
///
/// That an occurrence is kept for as long as it can be made up for (`kept-while-it-can-be-made-up-for`) is shown by the history of an outage of days: since what
/// an end owes is paid at once, none of these forty breaks without it.
#[test]
fn in_no_history_does_what_is_over_begin_again_when_its_record_is_gone() {
    let (mut gone, mut late) = (0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice::new(!seed);
        let away = dice.within(DAY..2 * DAY);
        let away = away..away + dice.within(DAY..4 * DAY);
        let catch_up = CatchUp::All { window: Duration::from_secs(10 * 86_400), max_runs: 100, per_minute: None };
        let wish = Wish { catch_up, retries: 3, ..Wish::every(SIX_HOURS, 60) };
        let stage = Stage::rough(seed, kept_for_a_day(wish), 5..10 * DAY);
        stage.create(0, "creator");
        let over = played_to_its_end(&stage, &away);

        let begun = stage.starts();
        for (instant, ended) in &over {
            let again = begun.iter().find(|(of, at)| of == instant && at > ended);
            assert_eq!(again, None, "seed {seed}: {instant} was over at {ended}, away {away:?}");
        }
        for instant in instants() {
            let is_begun = begun.iter().any(|(of, _)| *of == instant);
            assert!(is_begun, "seed {seed}: {instant} never began, away {away:?}");
        }
        gone += instants().filter(|instant| stage.run(*instant).is_none()).count();
        late += begun.iter().filter(|(instant, at)| at - instant > DAY).count();
    }
    assert!(gone > 100 && late > 100, "{gone} gone, {late} late");
}

const SEEDS: u64 = 40;
const SIX_HOURS: u64 = 6 * 3600;
/// Ten days, and what a sleeper does after them.
const END: i64 = 12 * DAY;

fn instants() -> impl Iterator<Item = i64> {
    (60..10 * DAY).step_by(6 * 3600)
}

/// When each instant was first seen to be over. Somebody sweeps around each fire, but for while all are away.
fn played_to_its_end(stage: &Stage, away: &Range<i64>) -> BTreeMap<i64, i64> {
    let mut over = BTreeMap::new();
    for fire in (0..END).step_by(6 * 3600).filter(|fire| !away.contains(fire)) {
        stage.sweep_each_minute(fire..fire + 2400);
    }
    for at in (0..END).step_by(3 * 3600) {
        let now = at + HOUR;
        stage.play_to(now);
        for instant in instants().take_while(|instant| *instant < now) {
            let end = stage.run(instant).and_then(|run| run.finished_at());
            if end.is_some_and(|end| end <= moment(now)) {
                over.entry(instant).or_insert(now);
            }
        }
        stage.expire(now);
        stage.play_to(now + 1);
    }
    over
}
