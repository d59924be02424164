//! What an outage's occurrences become is decided once.

use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::hint::Hint;
use minutehand_domain::job::Change;
use minutehand_domain::run::SkippedSpan;
use minutehand_domain::timer::TimerKey;
use minutehand_executor::Executed;
use minutehand_protocol::run::claim::Dropped;
use minutehand_simulation::fate::Line;
use minutehand_simulation::setting::{Host, Setting};
use minutehand_simulation::stage::{Stage, Wish, dies_after, moment, sleeps_after, sleeps_before};

/// A job of every minute that was created, and then nobody did anything, until after 580 seconds the queues are back.
fn after_an_outage(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(Wish::every(60, 60), script);
    stage.lose_hints(0..580);
    stage.create(0, "creator");
    stage.play_to(10);
    stage
}

/// Rule **catch-up is decided once**: two sweepers read that nothing is decided, five seconds apart, so that each has
/// another last occurrence.
///
/// Removed: the record is put over what is there. It spoke for less than was skipped.
#[test]
fn two_sweepers_after_an_outage_make_one_record_and_one_run() {
    let script = [dies_after("creator", "put_head"), sleeps_before("slow", "put_run", 7)];
    let stage = Stage::new(Wish::every(5, 60), script);
    stage.create(0, "creator");

    stage.sweep(541, "slow");
    stage.sweep(546, "quick");
    stage.play_to(559);

    assert_eq!(stage.run(60).unwrap().coalesced_until(), Some(moment(545)));
    assert_eq!(stage.called(), [545, 550, 555]);
}

/// Rule **catch-up is decided once**, where an outage leaves many links of a chain: hints reach five minutes ahead.
///
/// Removed: the occurrences of a job one after the other. Each of a minute's looks read that nothing was decided, and decided for all behind it: twelve
/// records said that they stood for the same.
#[test]
fn of_many_links_that_an_outage_left_the_first_decides() {
    let stage = Stage::new(Wish::every(5, 60), []);
    stage.lose_hints(0..580);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.sweep(591, "sweeper");
    stage.play_to(594);

    let decides = |at: &i64| stage.run(*at).is_some_and(|run| run.coalesced_until().is_some());
    assert_eq!((60..590).step_by(5).filter(decides).collect::<Vec<i64>>(), [60]);
    assert_eq!(stage.called(), [590]);
}

/// The first decides for all links, however many there are: each link that is looked at gets a record, so that the first's lies ever further back.
///
/// Removed (`passes-over-what-is-spoken-for`): nobody looks further back than sixteen records. The record of the first link spoke for all fifty, and
/// those behind the sixteen next to it ran minutes late.
#[test]
fn however_many_links_an_outage_left_those_that_one_record_speaks_for_do_not_run() {
    let stage = Stage::new(Wish::every(5, 60), []);
    stage.lose_hints(0..580);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.sweep_each_minute(591..1100);
    stage.play_to(1000);

    let (late, on_time): (Vec<i64>, Vec<i64>) = stage.called().into_iter().partition(|at| *at < 590);
    assert_eq!((late, on_time.first()), (vec![], Some(&590)));
    assert_eq!(stage.judge(), []);
}

/// A hint of an outage that comes after somebody has begun twenty runs by hand in that outage.
///
/// Removed (`looks-behind-what-was-begun-by-hand`): nobody looks further back than sixteen records, of whatever origin. What the record of the outage speaks
/// for ran, twenty minutes late and beside the one that ran in its stead.
#[test]
fn whatever_was_begun_by_hand_meanwhile_what_one_record_speaks_for_does_not_run() {
    let stage = Stage::new(Wish::every(600, 600), []);
    stage.lose_hints(0..2440);
    stage.create(0, "creator");
    (601..621).for_each(|at| drop(stage.ask(at, "client")));
    stage.play_to(630);
    let second = stage.key(1200);
    let hint = Hint { run: second, timer: TimerKey::occurrence(second.job, second.at), ..stage.hint(600) };

    stage.sweep(2450, "sweeper");
    stage.execute(2460, "late", &hint);
    stage.play_to(2500);

    assert!(stage.run(600).is_some_and(|run| run.coalesced_until().is_some()));
    assert!(!stage.called().contains(&1200), "{:?}", stage.called());
}

/// Rule **catch-up is decided once**, put only where nothing is: an executor claims the occurrence between the sweeper's
/// read and its record.
///
/// Removed: the record is put over what is there. The run was called and then called skipped.
#[test]
fn a_run_that_began_meanwhile_is_not_coalesced() {
    let stage = after_an_outage([sleeps_before("slow", "put_run", 5)]);
    let hint = stage.hint(60);

    stage.sweep(590, "slow");
    let late = stage.execute(592, "late", &hint);
    stage.play_to(660);

    assert!(late.given().is_recorded());
    assert_eq!(stage.state(60), "succeeded");
}

/// Rule **catch-up is decided once**, by the head of the chain: an occurrence whose hint was lost is found when the one after it
/// runs already. It is a straggler, and runs late.
///
/// Removed: the look does not ask for the successor. The straggler was skipped, as if there had been an outage.
#[test]
fn a_straggler_whose_successor_stands_is_not_coalesced() {
    let stage = Stage::new(Wish { takes: 50, ..Wish::every(60, 60) }, []);
    stage.lose_hints(0..10);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.execute(120, "executor", &stage.hint(120));
    stage.sweep(160, "sweeper"); // the second is overdue, too
    stage.play_to(175);

    assert_eq!(stage.starts(), [(60, 160), (120, 120)]);
}

/// Rule **late claim**, its beginning: a late hint of an occurrence that the record of an outage speaks for.
///
/// Removed: the claim does not look for a covering record. The occurrence ran although it was coalesced.
#[test]
fn a_late_hint_of_a_covered_occurrence_runs_nothing() {
    let stage = after_an_outage([sleeps_after("sweeper", "put_run", 20)]);
    let hint = stage.hint(120);

    stage.sweep(590, "sweeper");
    let late = stage.execute(600, "late", &hint);
    stage.play_to(660);

    assert!(!stage.called().contains(&120));
    assert_eq!(late.given(), Executed::Dropped(Dropped::Covered));
}

/// Rule **catch-up is decided once**, of those covered: an executor has looked for a covering record before it was there,
/// and sleeps over its claim.
///
/// Removed: the timer of a covered occurrence is erased without a record of its own. The occurrence ran although it was
/// coalesced, and no timer stood behind it.
#[test]
fn an_executor_that_slept_while_its_occurrence_was_covered_runs_nothing() {
    let stage = after_an_outage([sleeps_before("slept", "put_run", 15)]);
    let hint = stage.hint(120);

    let slept = stage.execute(585, "slept", &hint);
    stage.sweep(590, "sweeper");
    stage.play_to(660);

    assert!(!stage.called().contains(&120));
    assert_eq!(slept.given(), Executed::Dropped(Dropped::Faster));
}

/// Rule **catch-up is decided once**, every reader fires the last: the sweeper dies once the record is there, and a late
/// hint finds it before the next sweeper.
///
/// Removed: the hint's executor erases the timer of any finished run. The last occurrence never ran, and the chain ended.
#[test]
fn the_timer_of_a_coalescing_record_stays_until_the_last_occurrence_is_fired() {
    let stage = after_an_outage([dies_after("dying", "put_run")]);
    let hint = stage.hint(60);

    stage.sweep(590, "dying");
    stage.execute(600, "late", &hint);
    stage.sweep_each_minute(660..800);
    stage.play_to(800);

    assert_eq!(stage.starts(), [(540, 660), (600, 660), (660, 660), (720, 720), (780, 780)]);
}

/// A job of every ten minutes that was created, and whose hints are lost for so many seconds.
fn each_ten_minutes(catch_up: CatchUp, lost: i64, script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(Wish { catch_up, ..Wish::every(600, 60) }, script);
    stage.lose_hints(0..lost);
    stage.create(0, "creator");
    stage.play_to(10);
    stage
}

fn last(window: u64) -> CatchUp {
    CatchUp::Last { window: Duration::from_secs(window) }
}

fn all(window: u64, max_runs: u32) -> CatchUp {
    CatchUp::All { window: Duration::from_secs(window), max_runs, per_minute: None }
}

/// Rule **catch-up**, its window: four occurrences pass, and when a sweeper comes the last is nine minutes old.
///
/// Removed: the window of a job without a catch-up is endless. The last of the four ran.
#[test]
fn what_is_too_late_is_one_missed_record_and_the_chain_goes_on() {
    let stage = each_ten_minutes(CatchUp::None, 2400, []);

    stage.sweep_each_minute(2400..3100);
    stage.play_to(3100);

    assert_eq!((stage.state(60), stage.state(1260)), ("skipped: missed".to_owned(), "no record".to_owned()));
    assert_eq!(stage.run(60).unwrap().skipped_span(), Some(SkippedSpan { until: moment(1860), count: Some(4) }));
    assert_eq!((stage.starts(), stage.judge()), (vec![(2460, 2460), (3060, 3060)], vec![]));
}

/// Rule **catch-up**, its window for one alone: the hints of the first occurrences are lost, but their timers stand.
///
/// Removed: a straggler is hinted however late it is. No executor took it, and it had no record.
#[test]
fn a_straggler_beyond_its_window_is_missed_alone() {
    let stage = Stage::new(Wish { catch_up: last(60), ..Wish::every(60, 60) }, []);
    stage.lose_hints(0..10);
    stage.create(0, "creator");

    stage.sweep(125, "sweeper");
    stage.play_to(239);

    assert_eq!(
        (stage.state(60), stage.run(60).and_then(|run| run.skipped_span())),
        ("skipped: missed".to_owned(), None)
    );
    assert_eq!(stage.starts(), [(120, 125), (180, 180)]);
}

/// Rule **catch-up**, at the claim: a hint comes after the window, before any sweeper.
///
/// Removed: the claim does not look at the window. The occurrence ran six minutes late.
#[test]
fn a_late_hint_of_what_is_missed_runs_nothing_and_leaves_the_timer() {
    // Later than two minutes it would ask for a turn, and be found too late there as well.
    for (catch_up, late) in [(CatchUp::None, 400), (last(60), 150)] {
        let stage = each_ten_minutes(catch_up, 420, []);
        let hint = stage.hint(60);

        let late = stage.execute(late, "late", &hint);
        stage.sweep_each_minute(420..800);
        stage.play_to(800);

        assert_eq!(late.given(), Executed::Dropped(Dropped::PastCatchUpWindow));
        assert_eq!((stage.state(60), stage.starts()), ("skipped: missed".to_owned(), vec![(660, 660)]));
    }
}

/// Rule **successor first**, of a missed record: the sweeper dies once it is there, and a late hint's executor erases its
/// timer, as that of any finished run.
///
/// Removed: the record is put before the timer of the successor. The chain ended.
#[test]
fn whoever_dies_with_a_missed_record_just_written_leaves_the_chain_behind() {
    let stage = each_ten_minutes(CatchUp::None, 2400, [dies_after("dying", "put_run")]);
    let hint = stage.hint(60);

    stage.sweep(2400, "dying");
    let late = stage.execute(2402, "late", &hint);
    stage.sweep_each_minute(2440..3100);
    stage.play_to(3100);

    assert_eq!(late.given(), Executed::Dropped(Dropped::Finished));
    assert_eq!((stage.starts(), stage.judge()), (vec![(2460, 2460), (3060, 3060)], vec![]));
}

/// Rule **catch-up is decided once**, of what is missed: the sweeper dies once the record is there, and another comes by.
///
/// Removed: a missed record speaks for its own instant only. The next occurrence was looked at anew, and got another.
#[test]
fn a_missed_record_speaks_for_those_after_it_too() {
    let stage = each_ten_minutes(CatchUp::None, 2400, [dies_after("dying", "put_run")]);

    stage.sweep(2400, "dying");
    stage.sweep_each_minute(2440..3100);
    stage.play_to(3100);

    let span = [60, 660].map(|instant| stage.run(instant).unwrap().skipped_span());
    assert_eq!(span, [Some(SkippedSpan { until: moment(1860), count: Some(4) }), None]);
    assert_eq!((stage.starts(), stage.judge()), (vec![(2460, 2460), (3060, 3060)], vec![]));
}

/// Rule **catch-up is decided once**, at the edge of the window: one sweeper sees the last occurrence just inside it and is
/// slow, the other sees it just outside.
///
/// Removed: a sweeper that lost fires what it had decided itself. An occurrence was hinted that is missed.
#[test]
fn two_sweepers_at_the_edge_of_the_window_decide_once() {
    // For a worker: what calls a target asks for a turn, and would be found too late there once more.
    let of_workers = Wish { catch_up: last(300), by_a_worker: true, ..Wish::every(600, 60) };
    let stage = Stage::new(of_workers, [sleeps_before("slow", "put_run", 30)]);
    stage.lose_hints(0..940);
    stage.create(0, "creator");
    stage.play_to(10);

    stage.sweep(950, "slow");
    stage.sweep(970, "quick");
    stage.play_to(1200);

    assert_eq!(stage.run(60).unwrap().skipped_span(), Some(SkippedSpan { until: moment(660), count: Some(2) }));
    assert_eq!((stage.hinted(660).iter().filter(|at| **at > 940).count(), stage.called()), (0, vec![]));
}

/// Rule **catch-up is decided once**, put only where nothing is: an executor has begun its claim inside the window, and
/// writes it when a sweeper has already called the occurrence too late.
///
/// Removed: what is skipped is put over what is there. The run was called and then called missed.
#[test]
fn a_claim_from_inside_the_window_is_not_missed() {
    let stage =
        each_ten_minutes(last(300), 0, [sleeps_before("late", "put_run", 15), sleeps_before("slow", "put_run", 20)]);
    stage.purge(50);
    let hint = stage.hint(60);

    stage.execute(355, "late", &hint);
    stage.sweep(365, "slow");
    stage.play_to(600);

    assert_eq!((stage.state(60), stage.starts()), ("succeeded".to_owned(), vec![(60, 370)]));
}

/// Rule **catch-up**, each: those inside the window run, no more than the cap, and one record speaks for the older ones.
///
/// Removed: a look makes up for one, and leaves the next to the next look. They ran one a minute.
#[test]
fn each_of_the_newest_inside_the_window_runs_once() {
    for (catch_up, first, passed_over) in [(all(300, 3), 420, 6), (all(300, 100), 300, 4), (all(86_400, 8), 120, 1)] {
        let stage = Stage::new(Wish { catch_up, ..Wish::every(60, 60) }, []);
        stage.lose_hints(0..580);
        stage.create(0, "creator");

        stage.sweep_each_minute(590..800);
        stage.play_to(710);

        let span = SkippedSpan { until: moment(first), count: Some(passed_over) };
        assert_eq!(stage.run(60).unwrap().skipped_span(), Some(span));
        assert_eq!(stage.called(), (first..=660).step_by(60).collect::<Vec<_>>());
        assert!(stage.starts().iter().all(|(instant, at)| *at <= 592.max(*instant)), "{:?}", stage.starts());
        assert_eq!(stage.judge(), []);
    }
}

/// Rule **successor first**, of what is made up for: the sweeper dies when it has hinted the first.
///
/// Removed: the hint comes before the timer of the next. The first ran, and the chain ended.
#[test]
fn whoever_dies_while_making_up_is_followed_by_the_next() {
    let stage = Stage::new(Wish { catch_up: all(300, 3), ..Wish::every(60, 60) }, [dies_after("dying", "send")]);
    stage.lose_hints(0..580);
    stage.create(0, "creator");

    stage.sweep(590, "dying");
    stage.sweep_each_minute(650..1000);
    stage.play_to(770);

    assert_eq!(stage.called(), [420, 480, 540, 600, 660, 720]);
    assert_eq!(stage.starts()[0], (420, 590));
}

/// Rule **promise, act, erase**, of what is made up for: the sweeper dies before it has moved the timer of an occurrence that
/// is an hour late, and whose next look would be half an hour away.
///
/// Removed: the timer is moved before that of the next one is put. For half an hour nothing ran.
#[test]
fn whoever_dies_before_the_first_is_made_up_for_does_not_stop_the_chain() {
    let script = [dies_after("creator", "put_head"), dies_after("dying", "erase_timer")];
    let stage = Stage::new(Wish { catch_up: all(86_400, 1000), ..Wish::every(60, 60) }, script);
    stage.create(0, "creator");

    stage.sweep(4000, "dying");
    stage.sweep_each_minute(4060..4400);
    stage.play_to(4390);

    assert_eq!(stage.called(), (60..=4380).step_by(60).collect::<Vec<_>>());
}

/// Rule **catch-up**, its bounds, for whoever comes later: the sweeper dies once the record is there, and when another comes
/// by, five minutes later, what was decided then lies outside of the cap.
///
/// Removed: a reader fires what the record says without asking again. Eight occurrences ran in place of three.
#[test]
fn a_record_that_is_read_late_makes_up_for_no_more_than_the_cap() {
    let stage = Stage::new(Wish { catch_up: all(3600, 3), ..Wish::every(60, 60) }, [dies_after("dying", "put_run")]);
    stage.lose_hints(0..580);
    stage.create(0, "creator");

    stage.sweep(590, "dying");
    stage.sweep_each_minute(890..1300);
    stage.play_to(1070);

    let coalesced = [60, 420].map(|instant| stage.run(instant).unwrap().coalesced_until());
    assert_eq!(coalesced, [Some(moment(420)), Some(moment(780))]);
    assert_eq!((stage.called(), stage.judge()), ((780..=1020).step_by(60).collect(), vec![]));
}

/// Rule **catch-up is decided once**, with the instant it was decided at: each look begins just before an occurrence, and writes its
/// record just after. Found by a random history, in which it went on until the job's end.
///
/// Removed: what the record says is asked again by the clock of when it was written. Each minute one more was passed over, and none
/// ever ran.
#[test]
fn an_occurrence_that_comes_during_the_decision_does_not_undo_it() {
    let slow = (1..=10).map(|nth| Line { nth, ..sleeps_before("sweeper", "put_run", 2) });
    let stage = Stage::new(Wish { catch_up: all(300, 3), ..Wish::every(60, 60) }, slow);
    stage.lose_hints(0..580);
    stage.create(0, "creator");

    stage.sweep_each_minute(599..1100);
    stage.play_to(1000);

    assert_eq!(stage.called(), (420..=960).step_by(60).collect::<Vec<_>>());
    assert_eq!(stage.judge(), []);
}

/// Rule **drain**, of a backlog of which each is made up for: nobody comes for anything for an hour. What workers come for takes no turn: what
/// takes one is on record, and each pass sees that it is looked after.
///
/// Removed: a timer that waits for its next hint is no link of the chain. Each pass hinted all that came after the first.
#[test]
fn a_backlog_of_which_each_is_made_up_for_is_hinted_ever_less_often() {
    let stage = Stage::new(Wish { catch_up: all(86_400, 1000), by_a_worker: true, ..Wish::every(60, 60) }, []);
    stage.lose_hints(0..4000);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..4000);

    stage.play_to(4000);

    let minutes_late: Vec<_> = stage.hinted(900).into_iter().filter(|at| *at > 900).map(|at| (at - 900) / 60).collect();
    assert_eq!(minutes_late, [1, 2, 4, 8, 16, 32]);
}

/// A machine sleeps for nine minutes; hints of the first five had been given before. What comes of them is decided as after any outage.
///
/// Removed (`hints-of-before-a-sleep`): what a queue holds is delivered when the machine wakes. Five occurrences ran at once, up to nine minutes
/// late and in no order, beside a record of the others which were coalesced.
#[test]
fn what_a_machine_slept_through_is_caught_up_as_after_a_restart() {
    let machine = Setting { exclusive_store: true, host: Host::Machine, ..Setting::plain() };
    let stage = Stage::on(machine, Wish::every(60, 660), []);
    stage.supervise(0);
    stage.create(5, "creator");
    stage.put_the_machine_to_sleep(910..1450);

    stage.play_to(2350);

    let (during, others): (Vec<_>, Vec<_>) = stage.starts().into_iter().partition(|(at, _)| (920..1450).contains(at));
    assert!(matches!(during[..], [(1440, 1450..1540)]), "the last of them alone: {during:?}");
    assert!(others.iter().all(|(at, begun)| at == begun), "{others:?}");
    assert_eq!((others.len(), stage.state(960).as_str()), (20, "skipped: coalesced"));
    assert_eq!(stage.judge(), []);
}

/// One job has a thousand occurrences to make up for, and another's are due soon. Whoever made that one died before it was hinted.
///
/// Removed (`catch-up-look-lasts`): a look goes along all of a chain. The pass came to the other job only behind it.
#[test]
fn what_one_job_makes_up_for_does_not_keep_a_pass_from_what_others_are_due() {
    let all = CatchUp::All { window: Duration::from_secs(7200), max_runs: 1000, per_minute: None };
    let late = Stage::new(Wish { catch_up: all, ..Wish::every(3, 60) }, [dies_after("another", "put_head")]);
    let punctual = late.beside(Wish::every(60, 3150));
    late.lose_hints(0..3000);
    late.create(0, "creator");
    punctual.create(3100, "another");
    late.play_to(3110);

    late.sweep(3120, "sweeper");
    late.play_to(3300);

    assert!(punctual.hinted(3150).iter().any(|at| *at < 3180), "{:?}", punctual.hinted(3150));
    assert!(late.all_runs().len() > 300, "and the pass goes on with the others: {}", late.all_runs().len());
}

/// A job of each five seconds whose calls take ten minutes: each look at a run that is under way makes sure that its chain goes on, along all that are
/// under way behind it; and where the job was paused meanwhile, that all it does not fire any more is on record.
///
/// Removed (`chain-followed-once`): each look follows the chain anew.
#[test]
fn looks_at_runs_that_are_under_way_follow_their_chain_once() {
    for paused in [false, true] {
        let stage = Stage::new(Wish { takes: 600, timeout: 700, ..Wish::every(5, 60) }, []);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..900);
        if paused {
            stage.change(880, "changer", Change::Pause);
        }
        stage.play_to(899);
        let before = stage.steps();

        stage.sweep(900, "sweeper");
        stage.play_to(959);

        let steps = stage.steps() - before;
        assert!(steps < 2_000, "{steps} steps of one pass, with 120 runs under way; paused: {paused}");
    }
}
