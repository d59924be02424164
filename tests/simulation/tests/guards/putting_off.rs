//! What is made up for begins in its turn.

use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::Change;
use minutehand_domain::priority::Priority;
use minutehand_domain::schedule::Plan;
use minutehand_executor::Executed;
use minutehand_protocol::run::claim::Dropped;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{
    Stage, Wish, dies_after, dies_before, every, fails_before, moment, sleeps_after, sleeps_before,
};

fn all(window: u64, per_minute: Option<u32>) -> CatchUp {
    CatchUp::All { window: Duration::from_secs(window), max_runs: 1000, per_minute }
}

/// Fires every minute from the first on, and of what is made up for so many begin in a minute.
fn each_minute(per_minute: Option<u32>) -> Wish {
    Wish { catch_up: all(86_400, per_minute), ..Wish::every(60, 60) }
}

/// Created, and then nobody did anything for so long.
fn after_an_outage(wish: Wish, until: i64, script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(wish, script);
    stage.lose_hints(0..until);
    stage.create(0, "creator");
    stage.play_to(10);
    stage
}

/// When each of what is made up for began, which was due before that second.
fn late(stage: &Stage, before: i64) -> Vec<i64> {
    stage.starts().into_iter().filter(|(instant, _)| *instant < before).map(|(_, at)| at).collect()
}

/// Six a minute are ten seconds apart; what is due meanwhile begins when it is due.
///
/// Removed (`catch-up-pace-of-a-job`): the job's own pace is not asked. They began at once.
#[test]
fn what_is_made_up_for_begins_at_the_pace_of_its_job() {
    let stage = after_an_outage(each_minute(Some(6)), 580, []);

    stage.sweep_each_minute(590..1000);
    stage.play_to(950);

    assert_eq!(late(&stage, 560), (590..680).step_by(10).collect::<Vec<_>>());
    assert!(stage.starts().iter().all(|(instant, at)| *instant < 590 || at == instant), "{:?}", stage.starts());
    assert_eq!(stage.judge(), []);
}

/// Executors that are too few, or a sweep that is behind: each occurrence is found minutes late, and put off before anybody begins it. From its turn
/// on it is in time, so that its start alone would say that all is well.
///
/// Removed (`late-as-it-was-found`): it is late behind its turn alone, and no start was.
#[test]
fn what_nobody_came_to_in_time_is_late_though_it_has_its_turn() {
    let stage = after_an_outage(each_minute(Some(6)), 580, []);

    stage.sweep_each_minute(590..1000);
    stage.play_to(950);

    assert_eq!(stage.counted("run reached late"), late(&stage, 560).len() as u64);
    assert!(stage.counted("run reached") > 5, "what is due meanwhile is begun in time");
}

/// Two jobs, of which each makes up for the last.
///
/// Removed (`catch-up-pace-of-a-tenant`): each occurrence has its turn at once.
#[test]
fn the_jobs_of_a_tenant_share_one_pace() {
    let stage = after_an_outage(Wish::every(600, 60), 3000, []);
    let others: Vec<_> = (0..3).map(|_| ()).fold(vec![stage.clone()], |mut all, ()| {
        all.push(all[all.len() - 1].beside(Wish::every(600, 60)));
        all
    });
    for other in &others[1..] {
        other.create(11, "creator");
    }
    stage.limit_catch_up(0, 6);

    stage.sweep_each_minute(3040..3500);
    stage.play_to(3200);

    let mut begun: Vec<i64> = others.iter().flat_map(|stage| late(stage, 3000)).collect();
    begun.sort_unstable();
    assert_eq!(begun, [3040, 3050, 3060, 3070]);
}

/// What is less urgent was found first, and has turns for a minute and more.
///
/// Removed (`catch-up-urgent-first`): who comes to its turn does not ask whether something more urgent has one. The less urgent began among
/// the urgent.
#[test]
fn what_is_more_urgent_begins_first() {
    let of = |priority| Wish { priority, catch_up: all(86_400, None), ..Wish::every(60, 60) };
    let low = after_an_outage(of(Priority::Low), 610, []);
    let critical = low.beside(of(Priority::Critical));
    critical.create(11, "creator");
    low.limit_catch_up(0, 6);
    critical.take_partition_away(15..650);

    low.sweep_each_minute(620..1800);
    low.play_to(1200);

    let (urgent, others) = (late(&critical, 600), late(&low, 600));
    assert_eq!((urgent.len(), others.len()), (9, 9), "{urgent:?} {others:?}");
    let (first, last) = (urgent.iter().min().expect("some"), urgent.iter().max().expect("some"));
    let among = others.iter().filter(|at| (first..last).contains(at)).count();
    assert_eq!(among, 0, "{urgent:?} {others:?}");
}

/// The hints of all of them are lost: they begin by their look, in their window.
///
/// Removed (`catch-up-window-of-the-put-off`): a claim does not ask whether it is too late for what is on record. They began after their window.
#[test]
fn what_was_put_off_and_whose_hint_was_lost_does_not_begin_after_its_window() {
    let wish = Wish { catch_up: all(120, Some(2)), ..Wish::every(60, 60) };
    let stage = after_an_outage(wish, 300, []);
    stage.lose_hints(300..600);

    stage.sweep(310, "sweeper");
    stage.play_to(330);
    let hint = stage.put_off_hint(240);
    let late = stage.execute(365, "late", &hint);
    stage.sweep_each_minute(370..700);
    stage.play_to(700);

    assert_eq!(late.given(), Executed::Dropped(Dropped::PastCatchUpWindow));
    assert_eq!(stage.state(240), "skipped: missed");
    assert!(stage.starts().iter().all(|(instant, at)| at - instant <= 120), "{:?}", stage.starts());
}

/// A job is given another schedule twice, and knows nothing of the first by then; what was put off is on record.
///
/// Removed (`catch-up-on-record`): what is put off is on record no sooner than it begins. It never began.
#[test]
fn a_job_that_is_changed_twice_keeps_what_was_put_off() {
    let stage = after_an_outage(each_minute(Some(2)), 290, []);
    stage.sweep_each_minute(310..1000);
    for (at, seconds) in [(320, 600), (330, 700)] {
        stage.reschedule(at, "changer", &every(seconds, 900));
    }

    stage.play_to(600);

    assert_eq!(stage.starts().into_iter().take(4).collect::<Vec<_>>(), [(60, 310), (120, 340), (180, 370), (240, 400)]);
}

/// A change is slow to be written, and a look puts off by the schedule before it what was due when the change was in force.
///
/// Removed (`catch-up-of-a-slow-change`): what is on record begins whatever its job knows of then. It began, and was no occurrence.
#[test]
fn what_was_put_off_by_who_knew_an_older_schedule_does_not_begin() {
    let stage = after_an_outage(each_minute(Some(2)), 290, [sleeps_before("changer", "put_head", 80)]);
    stage.reschedule(235, "changer", &every(600, 900));
    stage.sweep_each_minute(310..1000);

    stage.play_to(900);

    assert_eq!(stage.starts(), [(60, 310), (120, 340), (180, 370), (300, 311)]);
    assert_eq!(stage.state(240), "skipped: superseded");
}

/// By a clock that is ahead a look puts off what is not due yet, and is slow: meanwhile its job is paused, and goes on behind what it was to put
/// off. What begins in its turn after all.
fn slow_by_a_clock_that_is_ahead(sleeps: impl IntoIterator<Item = Line>) -> Stage {
    let stage = after_an_outage(each_minute(Some(2)), 290, sleeps);
    stage.set_clocks(70, 300);
    stage.sweep(80, "slow");
    stage.set_clocks(90, 0);
    stage.change(110, "pauser", Change::Pause);
    stage.change(200, "resumer", Change::Resume);
    stage.sweep_each_minute(310..1000);
    stage.play_to(900);
    stage
}

/// Removed (`catch-up-by-its-job-of-now`): what is put off goes by its job as that was when the look began. It began, and was due in a pause.
#[test]
fn a_look_that_was_slow_puts_off_nothing_of_a_pause() {
    for nth in 1..=6 {
        let stage = slow_by_a_clock_that_is_ahead([Line { nth, ..sleeps_after("slow", "head", 150) }]);
        assert_eq!(stage.judge(), [], "{nth}");
    }
}

/// Removed (`catch-up-by-a-late-reading`): what is put off is written however long ago its job was read.
#[test]
fn nor_does_one_that_is_slow_to_write_it() {
    for nth in 1..=6 {
        let stage = slow_by_a_clock_that_is_ahead([Line { nth, ..sleeps_after("slow", "put_timer", 150) }]);
        assert_eq!(stage.judge(), [], "{nth}");
    }
}

/// An old hint of what waits for its turn comes, and one of what nobody has looked at yet.
///
/// Removed (`catch-up-turn-at-the-claim`): a claim asks for no turn. It began beside another of its job.
#[test]
fn a_late_hint_begins_nothing_before_its_turn() {
    let stage = after_an_outage(each_minute(Some(2)), 200, []);
    let (first, second) = (stage.hint(60), stage.hint(120));

    let early = stage.execute(200, "executor", &first);
    let other = stage.execute(201, "executor", &second);
    stage.play_to(229);

    assert!(early.given().is_recorded());
    assert_eq!(other.given(), Executed::Dropped(Dropped::Postponed));
    assert_eq!((stage.called(), stage.state(120)), (vec![60], "scheduled".to_owned()));
    stage.play_to(232);
    assert_eq!(stage.starts(), [(60, 200), (120, 230)]);
}

/// The turns of another job go on until shortly before it is too late for the last one that this job missed.
///
/// Removed (`catch-up-too-late-for-a-turn`): a turn is put by for whatever asks. Those that were too late for theirs took the one that was in time
/// for the last, and none began.
#[test]
fn what_would_have_its_turn_too_late_is_missed_and_takes_none() {
    let busy = after_an_outage(each_minute(Some(60)), 500, []);
    let stage = busy.beside(Wish { catch_up: all(240, Some(60)), ..Wish::every(60, 60) });
    stage.create(11, "creator");
    busy.limit_catch_up(0, 2);
    stage.take_partition_away(15..560);

    busy.sweep_each_minute(505..1200);
    busy.play_to(1100);

    assert_eq!(late(&busy, 480), (505..700).step_by(30).collect::<Vec<_>>());
    assert_eq!(stage.starts().iter().filter(|(instant, _)| *instant <= 480).collect::<Vec<_>>(), [&(480, 715)]);
    assert_eq!([360, 420].map(|instant| stage.state(instant)), ["skipped: missed"; 2]);
}

/// A clock that is ahead has the last of a schedule put off; it is set right, the schedule goes on, and a clock that is ahead once more comes to
/// what was the last before anybody gave its hint.
///
/// Removed (`catch-up-successor-of-the-put-off`): what was put off had a successor before, and no look makes sure of it. Its timer left its place
/// in the chain, and nothing came after it for ever.
#[test]
fn what_was_the_last_when_it_was_put_off_has_its_successor_when_the_schedule_goes_on() {
    let plan = Plan { end_at: Some(moment(901)), ..every(300, 300) };
    let stage = Stage::new(Wish { plan, ..Wish::on_demand() }, []);
    stage.lose_hints(0..315);
    stage.create(0, "creator");

    stage.set_clocks(10, 3000);
    stage.sweep(20, "sweeper");
    stage.set_clocks(310, 0);
    stage.reschedule(320, "changer", &every(300, 300));
    stage.sweep(330, "sweeper");
    stage.play_to(640);
    let before = stage.run(900).expect("it is on record");
    stage.lose_hints(645..660);
    stage.set_clocks(645, 3000);
    stage.sweep(650, "sweeper");
    stage.set_clocks(660, 0);
    stage.sweep_each_minute(700..6000);
    stage.play_to(5500);

    assert!(before.is_put_off(), "{before:?}");
    // What the clock that was ahead promised stands where it put it, as far ahead as it was.
    assert!(stage.starts().ends_with(&[(4800, 4800), (5100, 5100), (5400, 5400)]), "{:?}", stage.starts());
}

/// The table takes no timer from who was given its hint; the look that comes within a minute takes another turn.
///
/// Removed (`catch-up-turn-of-the-refused`): the hint is given back. It came every few seconds, and lost a turn each time.
#[test]
fn a_table_that_refuses_a_timer_takes_one_turn_of_a_hint() {
    let stage = after_an_outage(each_minute(Some(2)), 200, [fails_before("refused", "put_timer")]);
    let (first, second) = (stage.hint(60), stage.hint(120));
    stage.execute(200, "first", &first);

    let refused = stage.execute(201, "refused", &second);
    stage.sweep_each_minute(210..1000);
    stage.play_to(600);

    assert_eq!(refused.given(), Executed::Dropped(Dropped::TurnLost));
    assert_eq!(stage.starts().into_iter().take(2).collect::<Vec<_>>(), [(60, 200), (120, 260)]);
    assert_eq!(stage.judge(), []);
}

/// A pause: what has not begun does not begin, put off or not.
///
/// Removed (`catch-up-in-a-pause`): what was put off is on record, and so it began in the pause.
#[test]
fn what_was_put_off_does_not_begin_in_a_pause() {
    let stage = after_an_outage(each_minute(Some(2)), 290, []);
    stage.sweep_each_minute(310..1000);
    stage.change(330, "pauser", Change::Pause);

    stage.play_to(900);

    assert_eq!(stage.starts(), [(60, 310), (300, 311)], "the last was hardly late");
    assert_eq!([120, 180, 240].map(|instant| stage.state(instant)), ["skipped: paused"; 3]);
}

/// Nobody carried anything out while the turns went by: they do not begin at once when somebody does.
///
/// Removed (`catch-up-turn-is-lost`): a turn holds for ever. They began at once.
#[test]
fn whoever_comes_too_late_for_its_turn_takes_another() {
    let stage = after_an_outage(each_minute(Some(6)), 290, []);
    stage.sweep(310, "sweeper");
    stage.lose_hints(311..400);
    stage.purge(311);

    stage.sweep_each_minute(410..1000);
    stage.play_to(900);

    let mut begun = late(&stage, 290);
    begun.sort_unstable();
    assert_eq!(begun.len(), 4);
    let apart = begun[1..].windows(2).all(|two| two[1] - two[0] >= 9);
    assert!(apart, "{begun:?}");
}

/// Two hints of one occurrence: one of them takes a turn that nobody uses, and no run is lost.
#[test]
fn a_claim_that_is_lost_to_another_loses_a_turn_and_no_run() {
    let stage = after_an_outage(each_minute(Some(2)), 200, [sleeps_before("slow", "put_run", 4)]);
    let (first, second) = (stage.hint(60), stage.hint(120));
    stage.execute(200, "executor", &first);

    let slow = stage.execute(201, "slow", &second);
    let quick = stage.execute(202, "quick", &second);
    stage.sweep_each_minute(310..1000);
    stage.play_to(600);

    assert_eq!(slow.given(), Executed::Dropped(Dropped::Faster));
    assert_eq!(quick.given(), Executed::Dropped(Dropped::Postponed));
    assert_eq!(stage.starts().into_iter().filter(|(instant, _)| *instant == 120).count(), 1);
    assert_eq!(stage.timers().iter().filter(|timer| timer.key.due < moment(540)).count(), 0);
}

/// A sweeper and an executor die wherever they may: each of what is made up for begins once.
#[test]
fn wherever_somebody_dies_each_is_made_up_for_once() {
    let ports = ["pace", "put_pace", "put_run", "put_timer", "erase_timer", "send"];
    for name in ["sweeper", "executor"] {
        for (port, nth) in ports.iter().flat_map(|port| (1..=3).map(move |nth| (*port, nth))) {
            for death in [dies_before(name, port), dies_after(name, port)] {
                let said = format!("{death:?} {nth}");
                let stage = after_an_outage(each_minute(Some(6)), 290, [Line { nth, ..death }]);
                stage.sweep_each_minute(310..3000);

                stage.play_to(1500);

                let mut called = stage.called();
                called.dedup();
                let expected: Vec<i64> = (60..1500).step_by(60).collect();
                assert_eq!(called[..23], expected[..23], "{said}");
                assert!((60..1200).step_by(60).all(|at| stage.run(at).is_some_and(|run| run.is_finished())), "{said}");
                assert_eq!(stage.judge(), [], "{said}");
            }
        }
    }
}
