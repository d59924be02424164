//! Clocks that were wrong by minutes to days and were set right: what a sweep concluded meanwhile is not believed.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::hint::Hint;
use minutehand_domain::job::{Change, Status};
use minutehand_simulation::fate::Line;
use minutehand_simulation::setting::{Host, Lambda, Setting};
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, sleeps_after};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn on_lambda() -> Setting {
    let lambda = Lambda { batch: 1, timeout: 900_000, concurrency: 5, more: 5, fair: false };
    Setting { host: Host::Lambda(lambda), ..Setting::plain() }
}

/// One machine, whose clock is the only one.
fn alone() -> Setting {
    Setting { exclusive_store: true, ..Setting::plain() }
}

/// Everybody's clock is ahead while two passes are made, and is set right; then a job is created.
///
/// Removed (`sweep-believes-no-cursor-of-the-future`): the cursor is believed. Its creator gave the hints of five minutes, and
/// then nothing ran for as long as the clock had been ahead: nobody came to the buckets that were left too early.
#[test]
fn a_clock_that_was_ahead_and_is_set_back_takes_nothing_with_it() {
    for setting in [Setting::plain(), on_lambda()] {
        for ahead in [5 * MINUTE, 2 * HOUR, 3 * DAY] {
            let stage = Stage::on(setting.clone(), Wish::every(20, 200), []);
            stage.set_clocks(10, ahead);
            stage.sweep_each_minute(60..180);
            stage.set_clocks(185, 0);
            stage.create(190, "creator");
            stage.sweep_each_minute(240..1800);

            stage.play_to(1790);

            let all: Vec<_> = (0..80).map(|n| (200 + 20 * n, 200 + 20 * n)).collect();
            assert_eq!(stage.starts(), all, "ahead by {ahead} s, on {}", setting.host);
        }
    }
}

/// One machine starts before its clock is set.
///
/// Removed: the sweep goes from one empty bucket to the next. The first pass read one for
/// every minute of the month.
#[test]
fn a_clock_that_was_a_month_behind_costs_no_walk_through_the_month() {
    let stage = Stage::new(Wish::every(60, 300), []);
    stage.set_clocks(10, -30 * DAY);
    stage.sweep_each_minute(60..180);
    stage.set_clocks(185, 0);
    let first = stage.sweep(190, "sweeper");
    stage.create(195, "creator");
    stage.sweep_each_minute(240..900);

    stage.play_to(890);

    assert!(first.given().buckets < 20, "{:?}", first.given());
    assert_eq!(stage.starts(), (5..15).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
}

/// Forward: what is overdue by the new clock is made up for, once. Back: what had run runs no second time, and the chain goes
/// on.
#[test]
fn a_job_outlives_a_clock_that_is_set_forward_and_back() {
    let stage = Stage::new(Wish::every(MINUTE.unsigned_abs(), 60), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..7200);
    stage.set_clocks(610, 30 * MINUTE);
    stage.set_clocks(1210, 0);

    stage.play_to(7100);

    let called = stage.called();
    let after: Vec<_> = called.iter().copied().filter(|instant| *instant > 3100).collect();
    assert_eq!(after, (52..=118).map(|n| n * 60).collect::<Vec<_>>(), "beyond what it had come to it runs on time");
    let mut once = called.clone();
    once.dedup();
    assert_eq!(called, once, "no instant runs twice");
}

/// One machine's clock is a day ahead for the seconds in which a pass looks at a run that nobody has taken, and says when it is to be hinted the
/// next time. It was set before that pass began, or while it went on; or the machine died in it, and the next one starts when it is right.
///
/// Removed (`sweep-recalls-what-was-put-off`): a timer stays where that clock moved it to. The run waited for a day; and of a link that was moved
/// so nothing stood for what would have come next, as its record might have expired by then.
/// Removed (`sweep-doubts-a-pass-while-which-the-clock-was-set`): a pass that had begun by the right clock left a cursor like any other.
/// Removed (`sweep-says-when-it-begins-after-long`): a pass that died left none that told of it.
#[test]
fn what_a_clock_that_was_ahead_put_off_is_looked_at_when_it_is_right() {
    for (set_at, is_alive) in [(55, true), (61, true), (55, false), (61, false)] {
        let dies = [dies_after("ahead", "erase_timer")].into_iter().filter(|_| !is_alive);
        let line = dies.chain([sleeps_after("ahead", "cursor", 5)]);
        let stage = Stage::on(alone(), Wish::on_demand(), line);
        stage.lose_hints(0..100);
        stage.create(0, "creator");
        stage.ask(5, "client");
        stage.sweep(10, "sweeper");
        stage.set_clocks(set_at, DAY);
        stage.sweep(60, "ahead");
        stage.set_clocks(90, 0);
        if !is_alive {
            stage.start(100, "next");
        }
        stage.sweep_each_minute(120..600);

        stage.play_to(590);

        assert_eq!(stage.starts().len(), 1, "set at {set_at}, alive: {is_alive}: {:?}", stage.timers());
        assert_eq!(stage.judge(), []);
    }
}

/// One machine's clock is a day ahead while a pass puts a run off, in which it dies; there is a repair by that clock, and the next machine starts when it is
/// right.
///
/// Removed (`forgets-no-clock-that-was-ahead`): a repair forgets with the hints when the last pass was. The run waited for a day. Seed 5000104802 met it.
#[test]
fn a_repair_by_a_clock_that_is_ahead_hides_nothing_of_it() {
    let stage = Stage::on(alone(), Wish::on_demand(), [dies_after("ahead", "erase_timer")]);
    stage.lose_hints(0..100);
    stage.create(0, "creator");
    stage.ask(5, "client");
    stage.sweep(10, "sweeper");
    stage.set_clocks(55, DAY);
    stage.sweep(60, "ahead");
    stage.repair(70, "repairer");
    stage.set_clocks(90, 0);
    stage.start(100, "next");
    stage.sweep_each_minute(120..600);

    stage.play_to(590);

    assert_eq!(stage.starts().len(), 1, "{:?}", stage.timers());
    assert_eq!(stage.judge(), []);
}

/// One machine's clock is two days ahead: by it these days are an outage, and one record speaks for them. The clock is set right beneath the
/// process, or for the next one; later all hints of one pass are lost. What had been hinted when the clock was set, five minutes ahead, has records
/// of its own, and is passed over. Of the job of each second that clock has seen more runs than a repair reads; the last one has runs of an
/// earlier outage that wait for their turns.
///
/// Removed (`sweep-recalls-what-was-passed-over`): nothing leads to what is to come before the link that the wrong clock put. The job was silent for
/// two days.
/// Removed (`a-record-of-what-is-to-come-speaks-for-nothing`): that record is believed. What was found overdue was passed over, and its chain
/// went on in two days.
/// Removed (`recalled-behind-what-is-recorded`): only the first occurrence to come is asked for. It has a record of its own.
#[test]
fn what_a_clock_that_was_ahead_passed_over_runs_when_its_time_comes() {
    let slowly = CatchUp::All { window: Duration::from_secs(86_400), max_runs: 100, per_minute: Some(1) };
    let in_turn = Wish { catch_up: slowly, ..Wish::every(30, 60) };
    for (wish, lost, set_at, ahead, right_at, is_alive) in [
        (Wish::every(30, 60), 0, 95, 2 * DAY, 110, true),
        (Wish::every(30, 60), 0, 95, 2 * DAY, 110, false),
        (Wish::every(1, 60), 0, 95, 2 * DAY, 290, true),
        (in_turn, 595, 605, 2 * HOUR, 650, true),
    ] {
        let (told, stage) = (format!("{:?}, {is_alive}", wish.plan), Stage::on(alone(), wish, []));
        stage.lose_hints(0..lost);
        stage.create(0, "creator");
        stage.sweep(set_at - 10, "sweeper");
        stage.set_clocks(set_at, ahead);
        stage.sweep(set_at + 5, "ahead");
        stage.set_clocks(right_at, 0);
        if !is_alive {
            stage.start(right_at + 5, "next");
        }
        let first_pass = (right_at / 60 + 1) * 60;
        stage.sweep_each_minute(first_pass..2100);
        stage.lose_hints(first_pass + 55..first_pass + 70);

        stage.play_to(2090);

        let starts = stage.starts();
        let begun = |from: i64, to: i64| starts.iter().filter(move |(instant, _)| (from..=to).contains(instant));
        let on_time: BTreeSet<_> = begun(1200, 2070).filter(|(t, at)| t == at && t % 30 == 0).collect();
        assert_eq!(on_time.len(), 30, "{told}: {on_time:?}");
        let of_lost_hints = begun(first_pass + 301, first_pass + 360).filter(|(instant, at)| instant < at);
        assert!(of_lost_hints.count() > 0 || lost > 0, "{told}: {starts:?}"); // where others have their turns before them
    }
}

/// A job was to run once and has another schedule since. One machine's clock is two hours ahead while a pass records an outage of that schedule, and the
/// machine dies before it comes to what is left of the first one; maybe somebody has changed what the job calls meanwhile. The next one starts when the
/// clock is right.
///
/// Removed (`recalled-by-what-leads-nowhere`): whichever link of a job is met first is its chain's. What was left of the first schedule was, before which
/// there is nothing to run; the job was silent for two hours. Seed 5000880236 met it.
/// Removed (`recalled-whatever-was-changed-since`): only a link of the job's last change is its chain's. A change that kept the schedule had none; seed
/// 5000067295.
#[test]
fn what_was_passed_over_is_asked_for_before_the_chain_and_not_before_what_is_left_of_another() {
    for is_redefined in [false, true] {
        let behind_the_outage = Line { nth: 2, ..dies_after("ahead", "erase_timer") };
        let stage = Stage::on(alone(), Wish::once(720), [behind_the_outage]);
        stage.create(0, "creator");
        stage.reschedule(20, "changer", &Wish::every(600, 600).plan);
        stage.sweep(60, "sweeper");
        stage.lose_hints(60..110);
        stage.set_clocks(95, 2 * HOUR);
        stage.sweep(100, "ahead");
        if is_redefined {
            stage.redefine(105, "changer", &Wish { catch_up: CatchUp::None, ..Wish::once(720) });
        }
        stage.set_clocks(110, 0);
        stage.start(115, "next");
        stage.sweep_each_minute(180..2100);

        stage.play_to(2090);

        let on_time = stage.starts().into_iter().filter(|(instant, at)| instant == at);
        let on_time: Vec<_> = on_time.map(|(instant, _)| instant).collect();
        assert_eq!(on_time, [1200, 1800], "redefined: {is_redefined}, {:?}", stage.timers());
    }
}

/// A clock that was ahead has put off the link of what is to come in two days, and what nobody can read lies where that is called back to.
///
/// Removed once, by hand: whoever cannot call one timer back goes on with none. Nothing was swept for two days. No removal shows it since a timer is looked at
/// beside what is corrupt.
#[test]
fn what_lies_where_a_timer_is_called_back_to_holds_up_nothing() {
    let stage = Stage::on(alone(), Wish::every(60, 60), []);
    stage.lose_hints(0..110);
    stage.create(0, "creator");
    stage.sweep(85, "sweeper");
    stage.set_clocks(95, 2 * DAY);
    stage.sweep(100, "ahead");
    stage.damage_place(105, 2 * DAY + 60);
    stage.set_clocks(110, 0);
    stage.sweep_each_minute(120..1500);

    stage.play_to(1490);

    let on_time = stage.starts().into_iter().filter(|(instant, at)| instant == at && *instant >= 900);
    assert_eq!(on_time.map(|(instant, _)| instant).collect::<Vec<_>>(), (15..25).map(|n| 60 * n).collect::<Vec<_>>());
}

/// What is said of it is said once: the cursor that is not believed is replaced before anything else is done.
///
/// Removed (`sweep-replaces-at-once`): the new cursor is written at the end of the pass. A pass that dies leaves the old
/// one, and the next says it again.
/// Removed (`sweep-believes-no-cursor-of-the-future`): it is believed, and stays.
#[test]
fn a_cursor_that_is_not_believed_is_replaced_at_once() {
    let stage = Stage::new(Wish::once(600), [dies_before("dying", "timers")]);
    stage.set_clocks(10, DAY);
    stage.sweep(60, "sweeper");
    stage.set_clocks(100, 0);

    let died = stage.sweep(120, "dying");
    stage.play_to(130);

    assert!(died.so_far().is_none(), "it came to no end");
    assert!(stage.cursor().is_honest(stage.now()), "{:?}", stage.cursor());
    assert!(Cursor::starting_at(0).is_honest(stage.now()));
}

/// Nobody laid cursors, and the table holds timers of hours ago.
///
/// Removed (`sweep-begins-at-the-first-timer`): on one machine a missing cursor begins an hour ago. The job of three hours ago
/// never ran.
/// Removed (`sweep-searches-for-the-first-timer`): the same on AWS.
#[test]
fn a_lost_cursor_loses_nothing_that_is_older() {
    for setting in [Setting::plain(), on_lambda()] {
        let host = setting.host;
        let stage = Stage::on(setting, Wish::once(400), []);
        stage.create(0, "creator");
        stage.play_to(10);

        stage.sweep_each_minute(3 * HOUR..3 * HOUR + 400);
        stage.play_to(3 * HOUR + 390);

        assert_eq!(stage.called(), [400], "on {host}");
        assert_eq!(stage.judge(), []);
    }
}

/// AWS: nobody laid cursors, and the table holds three pages of timers. Each pass dies amid the search, once it has read a page.
///
/// Removed (`search-goes-on`): each pass begins the search anew. None came to the second page, and the job of three hours ago
/// never ran.
#[test]
fn a_search_that_was_killed_midway_is_gone_on_with_by_the_next_pass() {
    // The first pages of four segments, and then a page and a death.
    let dies = (5..100).step_by(2).map(|nth| Line { nth, ..dies_before("sweeper", "search") });
    let stage = Stage::on(on_lambda(), Wish::once(400), dies);
    stage.strew_timers(2_500);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.sweep_each_minute(3 * HOUR..3 * HOUR + 600);
    stage.play_to(3 * HOUR + 590);

    assert_eq!(stage.counted("crash Before search"), 2);
    assert_eq!(stage.counted("page of all timers searched"), 6, "each of them once");
    assert_eq!(stage.called(), [400]);
}

/// One machine's clock is two hours behind between two passes, while a job is created.
///
/// Removed: the pass begins where the last one came to. The job's timers lay in buckets that were left, and it never ran.
#[test]
fn what_was_created_while_the_clock_was_behind_for_a_moment_runs() {
    let stage = Stage::on(alone(), Wish::every(MINUTE.unsigned_abs(), -3 * HOUR), []);
    stage.sweep_each_minute(0..600);
    stage.lose_hints(65..100);
    stage.set_clocks(70, -2 * HOUR);
    stage.create(75, "creator");
    stage.set_clocks(80, 0);

    stage.play_to(590);

    let on_time: Vec<_> = stage.starts().into_iter().filter(|(instant, _)| *instant > 180).collect();
    assert_eq!(on_time, (4..10).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
}

/// Rule **late claim**: an executor has read the job an hour ahead of the time and is slow; then the clock is set right, and the
/// job has been paused.
///
/// Removed (`late-claim-reads-again`): a reading does not grow old. The occurrence started in the pause.
#[test]
fn what_was_read_before_the_clock_was_set_back_is_read_again() {
    let stage = Stage::new(Wish::every(MINUTE.unsigned_abs(), 60), [sleeps_after("executor", "head", 30)]);
    stage.lose_hints(0..70);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.set_clocks(15, HOUR);
    stage.execute(20, "executor", &stage.hint(60));
    stage.change(25, "changer", Change::Pause);
    stage.set_clocks(40, 0);
    stage.play_to(70);

    assert_eq!((stage.job().unwrap().status, stage.called()), (Status::Paused, vec![]));
}

/// A hint that is three seconds early is waited for, and the clock is set back meanwhile: when it says that the time has come, five minutes have
/// gone by, and by it three seconds.
///
/// Removed (`late-claim-reads-again-after-a-wait`): how old a reading is, is asked of the clock alone. It began five minutes into the pause.
#[test]
fn what_was_read_before_a_wait_in_which_the_clock_was_set_back_is_read_again() {
    let stage = Stage::new(Wish::every(MINUTE.unsigned_abs(), 60), []);
    stage.lose_hints(0..600);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.execute(57, "executor", &stage.hint(60));
    stage.set_clocks(58, -5 * MINUTE);
    stage.change(100, "changer", Change::Pause);
    stage.play_to(500);

    assert_eq!((stage.job().unwrap().status, stage.called()), (Status::Paused, vec![]));
}

/// One machine dies with a run that it began an hour ahead of the time, and the one that is started next has the right time.
///
/// Removed: a run that has begun is claimed at its instant. Until then it was hinted by each pass, and dropped as too soon.
#[test]
fn what_began_by_a_clock_that_was_ahead_is_taken_over_at_once() {
    let (stage, hint) = of_an_hour_on_for_who_dies();

    stage.set_clocks(15, HOUR);
    stage.execute(20, "first", &hint);
    stage.set_clocks(30, 0);
    let taken_over = stage.execute(40, "second", &hint);
    stage.play_to(60);

    assert!(taken_over.given().is_recorded(), "{:?}", taken_over.given());
    assert_eq!(stage.starts(), [(HOUR, 40)]);
}

/// The same where the next machine starts and nobody has a hint of it: no pass had moved its timer, which is where the chain has it.
///
/// Removed (`taken-over-where-its-chain-has-it`): no link is looked at, since none is a run's that has begun. It was running until its instant came.
#[test]
fn what_began_a_moment_before_its_machine_died_is_taken_over_though_its_clock_was_ahead() {
    let (stage, hint) = of_an_hour_on_for_who_dies();

    stage.set_clocks(15, HOUR - 5);
    stage.lose_hints(16..25);
    stage.sweep(17, "sweeper");
    stage.execute(20, "first", &hint);
    stage.set_clocks(30, 0);
    let taken_over = stage.start(40, "second");
    stage.sweep_each_minute(60..300);
    stage.play_to(290);

    assert_eq!((taken_over.given(), stage.state(HOUR).as_str()), (1, "succeeded"));
}

/// One machine with a job that runs in an hour, and the hint of it: whoever is called first dies with the run.
fn of_an_hour_on_for_who_dies() -> (Stage, Hint) {
    let stage = Stage::on(alone(), Wish::once(HOUR), [dies_after("first", "put_run")]);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(HOUR);
    (stage, hint)
}

/// A key bounds how often attempts begin, and one machine's clock is two hours ahead for a minute: what was put by by it holds up nobody, neither who was to
/// begin when it was right nor who had been told to wait; nor who failed by it, before the instant that it was to run at, and is to be tried again.
///
/// Removed (`paces-of-a-clock-that-was-ahead`): what it has put by is believed. For two hours nothing of the key began.
/// Removed (`recalls-what-its-run-says`): the timers are called back alone. What it had let wait was looked at, and waited on.
/// Removed (`recalls-a-run-that-is-to-come`): of a run whose instant is to come nothing is called back. It was tried again two hours later.
#[test]
fn what_a_clock_put_by_that_was_ahead_keeps_nobody_waiting_when_it_is_right() {
    let catch_up = CatchUp::All { window: Duration::from_secs(86_400), max_runs: 1000, per_minute: Some(30) };
    let tried_again = Wish { retries: 1, retry_after: 600, catch_up, ..Wish::every(600, 600) };
    for wish in [Wish::every(20, 40).a_minute("bank", 6), Wish { catch_up, ..Wish::every(60, 60) }, tried_again] {
        let (told, fails) = (format!("{:?}", wish.plan), wish.retries > 0);
        let stage = Stage::on(alone(), wish, []);
        stage.create(0, "creator");
        stage.let_fail(95, fails);
        stage.let_fail(195, false);
        stage.sweep_each_minute(0..3600);
        stage.set_clocks(100, 2 * HOUR);
        stage.set_clocks(200, 0);

        stage.play_to(3590);

        let late: Vec<_> = stage.starts().into_iter().filter(|(instant, at)| at - instant > 15 * MINUTE).collect();
        assert_eq!(late, [], "{told}");
        let due = stage.now() - Duration::from_secs(900);
        let waiting: Vec<_> =
            stage.records().into_iter().filter(|run| !run.is_finished() && run.key.at < due).collect();
        assert!(waiting.is_empty(), "{told}: {waiting:?}");
    }
}
