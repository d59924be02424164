//! Runs of one job that overlap: who waits, who makes way, and who is asked to.

use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::State;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, sleeps_before};

const HOUR: i64 = 3600;

/// Fires every ten seconds from the tenth on, and each call takes so long.
fn every_ten(overlap: Overlap, takes: i64) -> Wish {
    Wish { takes, overlap, ..Wish::every(10, 10) }
}

fn played(wish: Wish, script: impl IntoIterator<Item = Line>, to: i64) -> Stage {
    let stage = Stage::new(wish, script);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..to);
    stage.play_to(to);
    stage
}

fn states(stage: &Stage, instants: &[i64]) -> Vec<String> {
    instants.iter().map(|instant| stage.state(*instant)).collect()
}

/// Its record says for which run it made way.
///
/// Removed (`overlap-skip`): a run that found its job's place taken waits for it. It ran later.
#[test]
fn a_run_that_comes_while_another_is_under_way_is_skipped() {
    let stage = played(every_ten(Overlap::Skip, 25), [], 75);

    assert_eq!(stage.starts(), [(10, 10), (40, 40), (70, 70)]);
    assert_eq!(states(&stage, &[10, 20, 30]), ["succeeded", "skipped: overlap", "skipped: overlap"]);
    let told = stage.run(20).and_then(|run| run.told).expect("it says why");
    assert_eq!(told, format!("run {} of its job was not over", stage.key(10)));
    assert_eq!(stage.timers().iter().filter(|timer| timer.key.due < stage.key(70).at).count(), 0, "nothing is left");
}

/// One waits, and who comes then is skipped.
///
/// Removed (`overlap-queue-bound`): whoever comes waits. All ran, one behind the other, ever later.
#[test]
fn one_run_waits_for_the_one_before_and_no_more() {
    let stage = played(every_ten(Overlap::Queue { waiting: 1 }, 25), [], 84);

    assert_eq!(stage.starts(), [(10, 10), (20, 35), (40, 60)]);
    let expected = ["succeeded", "succeeded", "skipped: overlap", "running", "skipped: overlap", "waiting"];
    assert_eq!(states(&stage, &[10, 20, 30, 40, 50, 70]), expected);
}

#[test]
fn as_many_wait_as_the_job_says_and_go_in_their_order() {
    let stage = played(every_ten(Overlap::Queue { waiting: 3 }, 25), [], 134);

    let starts = stage.starts();
    assert_eq!(starts.iter().map(|(instant, _)| *instant).collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
    assert!(starts.windows(2).all(|two| (25..=26).contains(&(two[1].1 - two[0].1))), "{starts:?}");
    assert_eq!(states(&stage, &[60, 70, 80]), ["skipped: overlap", "waiting", "skipped: overlap"]);
}

#[test]
fn at_most_so_many_run_at_once_and_the_others_wait() {
    let stage = played(every_ten(Overlap::Allow { max: Some(2) }, 25), [], 56);

    assert_eq!(stage.starts(), [(10, 10), (20, 20), (30, 35), (40, 45)]);
    assert_eq!(stage.state(50), "waiting");
}

/// The newest of those that wait goes on; the one that is called is asked to end, and ends when its call does.
///
/// Removed (`overlap-asks`): nobody is asked to end. The second waited behind the third.
#[test]
fn a_newer_run_asks_the_one_before_to_end() {
    let stage = played(every_ten(Overlap::CancelPrevious, 25), [], 59);

    assert_eq!(stage.starts(), [(10, 10), (30, 35)]);
    assert_eq!(states(&stage, &[20, 30, 40]), ["cancelled", "running", "cancelled"]);
    let first = stage.run(10).expect("it has a record");
    assert_eq!(first.cancel.map(|asked| asked.by.as_str().to_owned()), Some("overlap".to_owned()));
    assert_eq!(first.remarks.len(), 1, "it is asked once, whoever comes after that");
    assert!(first.remarks[0].note.as_ref().is_some_and(|note| note.contains(&stage.key(20).to_string())));
}

/// A run that waits out a backoff is under way; asked to end, it is over at once.
#[test]
fn a_run_in_its_backoff_is_under_way() {
    let failing = |overlap| Wish { fails: true, retries: 1, retry_after: 15, ..every_ten(overlap, 1) };
    let skip = played(failing(Overlap::Skip), [], 35);
    let cancel = played(failing(Overlap::CancelPrevious), [], 29);

    assert_eq!(states(&skip, &[10, 20, 30]), ["failed: error", "skipped: overlap", "scheduled"]);
    assert_eq!(states(&cancel, &[10, 20]), ["cancelled", "scheduled"]);
}

/// Rule **older**: a run whose hint came late finds a newer one under way.
///
/// Removed (`overlap-older`): whoever comes is taken for the newer one. The newer one was asked to end.
#[test]
fn an_older_run_makes_way_for_a_newer_one() {
    let stage = Stage::new(every_ten(Overlap::CancelPrevious, 8), []);
    stage.create(0, "creator");
    stage.lose_hints(0..60);
    stage.play_to(1);
    stage.execute(20, "executor", &stage.hint(20));
    stage.execute(22, "late", &stage.hint(10));

    stage.play_to(29);

    assert_eq!(states(&stage, &[10, 20]), ["skipped: overlap", "succeeded"]);
    assert_eq!(stage.run(20).expect("it has a record").cancel, None);
}

/// Two newer runs come at once, and neither sees the other before it stands in the line: whoever stands there later does.
///
/// Removed (`overlap-looks-again`): who stands in the line asks for nothing. Both waited.
#[test]
fn of_two_newer_runs_that_come_at_once_one_goes_on() {
    let stage = Stage::new(every_ten(Overlap::CancelPrevious, 45), [sleeps_before("slow", "put_waiter", 11)]);
    stage.create(0, "creator");
    stage.lose_hints(0..60);
    stage.play_to(1);
    stage.execute(10, "first", &stage.hint(10));
    stage.execute(20, "slow", &stage.hint(20));
    stage.execute(30, "newest", &stage.hint(30));

    stage.play_to(35);

    assert_eq!(states(&stage, &[10, 20, 30]), ["running", "skipped: overlap", "waiting"]);
}

/// Whoever has begun when runs might overlap goes on, whatever the job says by now.
///
/// Removed (`overlap-of-the-begun`): a run that waits for another try asks for a place of its job. It was skipped.
#[test]
fn a_run_that_has_begun_makes_way_for_nobody() {
    let failing = Wish { fails: true, retries: 1, retry_after: 30, takes: 1, ..Wish::every(25, 10) };
    let stage = Stage::new(failing.clone(), []);
    stage.create(0, "creator");
    stage.redefine(20, "changer", &Wish { overlap: Overlap::Skip, ..failing });

    stage.play_to(45);

    assert_eq!(states(&stage, &[10, 35]), ["failed: error", "scheduled"]);
}

/// A worker's run that comes while another worker has one is not offered.
///
/// Removed (`overlap-before-the-offer`): it is offered, and makes way when a worker takes it. None came.
#[test]
fn what_would_overlap_is_not_offered() {
    let by_a_worker = |overlap| Wish { by_a_worker: true, ..Wish { overlap, ..Wish::every(20, 10) } };
    for (overlap, state) in [(Overlap::Skip, "skipped: overlap"), (Overlap::CancelPrevious, "waiting")] {
        let stage = Stage::new(by_a_worker(overlap), []);
        stage.create(0, "creator");
        let taken = stage.take(11, "worker");

        stage.play_to(35);

        let asked = stage.run(10).expect("it was taken").cancel.is_some();
        assert_eq!((taken.given().len(), stage.state(30).as_str(), stage.offered()), (1, state, 0), "{overlap:?}");
        assert_eq!(asked, overlap == Overlap::CancelPrevious);
    }
}

/// One that has left the queue for its job's place waits for a key, and another stands in the queue by then: it asks for no place there.
///
/// Removed (`overlap-two-orders`): what waits asks for all that its record names. The two waited for each other for ever.
#[test]
fn who_has_left_the_queue_does_not_wait_for_it() {
    let pulled = Wish { by_a_worker: true, overlap: Overlap::Queue { waiting: 1 }, ..Wish::every(20, 10) };
    let stage = Stage::new(pulled.at_once("k", 1), []);
    let called = stage.beside(Wish { takes: 30, ..Wish::once(40) }.at_once("k", 1));
    stage.create(0, "creator");
    called.create(0, "creator");
    let first = stage.take(11, "worker");
    stage.play_to(37);
    stage.complete(37, "worker", &first.given()[0]);
    let nothing = stage.take(43, "worker");
    stage.play_to(60);
    let waiting = states(&stage, &[30, 50]);

    stage.play_to(74);
    let second = stage.take(75, "worker");
    stage.play_to(80);

    assert_eq!((nothing.given().len(), waiting), (0, vec!["waiting".to_owned(), "waiting".to_owned()]));
    assert_eq!(second.given().first().map(|taken| taken.run.key), Some(stage.key(30)));
}

/// One that has taken its job's place and has no record yet is under way.
#[test]
fn a_run_that_is_on_its_way_is_under_way() {
    let stage = Stage::new(every_ten(Overlap::Skip, 1), [sleeps_before("slow", "put_run", 12)]);
    stage.create(0, "creator");
    stage.lose_hints(0..60);
    stage.play_to(1);
    stage.execute(10, "slow", &stage.hint(10));
    stage.execute(20, "other", &stage.hint(20));

    stage.play_to(30);

    assert_eq!(states(&stage, &[10, 20]), ["succeeded", "skipped: overlap"]);
}

/// A run that waits in the queue and is cancelled leaves room for another: its end gives its place back, and whoever finds the queue full would
/// remove it too.
#[test]
fn who_is_cancelled_while_it_waits_leaves_the_queue() {
    let stage = Stage::new(every_ten(Overlap::Queue { waiting: 1 }, 45), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..60);
    stage.cancel(25, "canceller", 20);

    stage.play_to(50);

    assert_eq!(states(&stage, &[10, 20, 30, 40]), ["running", "cancelled", "waiting", "skipped: overlap"]);
}

/// An executor dies on the way into the queue, and when the run is tried again it need not wait: whoever finds the queue full looks at who
/// stands there, and removes who has begun.
///
/// Removed (`overlap-queue-of-the-begun`): only who is over is removed. The next one was skipped.
#[test]
fn who_has_begun_holds_up_nobody_in_the_queue() {
    let dies_in_the_queue = Line { nth: 2, ..dies_after("dying", "update") };
    let wish = Wish { takes: 105, overlap: Overlap::Queue { waiting: 1 }, ..Wish::every(100, 10) };
    let stage = Stage::new(Wish { timeout: 600, ..wish }, [dies_in_the_queue]);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..300);
    stage.purge(105);
    stage.play_to(1);
    stage.execute(110, "dying", &stage.hint(110));

    stage.play_to(205);
    let [_, queue] = stage.holders_of_the_job();
    let before = states(&stage, &[10, 110]);
    stage.play_to(225);

    assert_eq!((before, queue), (vec!["succeeded".to_owned(), "running".to_owned()], vec![stage.key(110).to_string()]));
    assert_eq!(stage.state(210), "waiting");
}

/// An executor dies wherever it may: each run comes to its end, no two are called at once, and nothing is held in the end.
#[test]
fn wherever_an_executor_dies_each_run_comes_to_its_end_and_nothing_is_held() {
    let ports = ["slot", "update", "put_waiter", "waiter", "delete", "documents", "put_run", "erase_timer", "send"];
    let policies = [Overlap::Skip, Overlap::Queue { waiting: 1 }, Overlap::CancelPrevious];
    for overlap in policies {
        for (port, nth) in ports.iter().flat_map(|port| (1..=4).map(move |nth| (*port, nth))) {
            for death in [dies_before("executor", port), dies_after("executor", port)] {
                let stage = Stage::new(every_ten(overlap, 15), [Line { nth, ..death.clone() }]);
                stage.create(0, "creator");
                stage.change(95, "pauser", minutehand_domain::job::Change::Pause);
                stage.sweep_each_minute(0..HOUR);

                stage.play_to(HOUR);

                let said = format!("{overlap:?}, {death:?} {nth}");
                for instant in (10..=90).step_by(10) {
                    let run = stage.run(instant).unwrap_or_else(|| panic!("{said}: no record of {instant}"));
                    assert!(run.is_finished(), "{said}, {instant}: {:?}", run.state);
                    let is_fine = !matches!(run.state, State::Failed { .. } | State::TimedOut { .. });
                    assert!(is_fine, "{said}, {instant}: {:?}", run.state);
                }
                assert_eq!(stage.most_at_once(&[]), 1, "{said}");
                assert!(!stage.called().is_empty(), "{said}");
            }
        }
    }
}
