//! Jobs that run behind others: whatever happens to whoever ends a run, each end is followed once.

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::follow::NotToFollow;
use minutehand_domain::job::Change;
use minutehand_domain::limits::{FOLLOW_DEPTH, FOLLOWERS};
use minutehand_domain::workflow::edge::On;
use minutehand_protocol::job::change::Changed;
use minutehand_protocol::job::create::Created;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, behind, dies_after, dies_before, every, sleeps_after, sleeps_before};

const HOUR: i64 = 3600;
const QUARTER: i64 = 900;

/// One job that fires once, at the sixtieth second, and one behind it.
fn two(on: On, front: Wish, script: impl IntoIterator<Item = Line>) -> (Stage, Stage) {
    let front = Stage::new(front, script);
    let follower = front.beside(Wish::behind(&front, on));
    front.create(0, "creator");
    follower.create(1, "follower");
    (front, follower)
}

fn judged(front: &Stage, follower: &Stage, on: &str) {
    assert_eq!(follower.watched_behind(front, on, 2..i64::from(u32::MAX)).judge(), []);
}

#[test]
fn what_follows_a_success_runs_at_once_and_says_what_it_follows() {
    let (front, follower) = two(On::Success, Wish::once(60), []);
    front.sweep_each_minute(0..HOUR);

    front.play_to(63);

    assert_eq!(follower.states(), ["succeeded"]);
    assert_eq!(follower.followed(), [60]);
    let (first, second) = (front.run(60).expect("it ran"), follower.runs().remove(0));
    assert_eq!(first.followed_by().into_values().collect::<Vec<_>>(), [second.key]);
    front.play_to(HOUR);
    assert_eq!(front.timers(), []);
    judged(&front, &follower, "success");
}

/// Guard **only settle erases**: whoever ends the run in front dies at any step, with every hint lost.
///
/// Removed (`follow-is-owed`): what follows a run is not among what its end owes. Where its executor died before, nobody made it.
#[test]
fn whoever_ends_the_run_in_front_may_die_at_any_step() {
    let steps = [
        Line { nth: 2, ..dies_before("first", "put_run") },
        Line { nth: 2, ..dies_after("first", "put_run") },
        dies_before("first", "put_timer"),
        dies_after("first", "put_timer"),
        Line { nth: 3, ..dies_before("first", "put_run") },
        Line { nth: 3, ..dies_after("first", "put_run") },
        dies_before("first", "erase_timer"),
        dies_after("first", "erase_timer"),
    ];
    for step in steps {
        let (front, follower) = two(On::Success, Wish::once(60), [step.clone()]);
        front.lose_hints(0..HOUR);
        front.play_to(10);
        front.execute(60, "first", &front.hint(60));
        front.sweep_each_minute(120..3 * HOUR);
        front.play_to(HOUR);
        front.play_to(3 * HOUR);

        assert_eq!(follower.states(), ["succeeded"], "{step:?}");
        assert_eq!(front.timers(), [], "{step:?}");
        judged(&front, &follower, "success");
    }
}

/// Rule **derive**: the executor dies once what follows is promised, and the timer of the run in front is gone (somebody lost it): the look
/// that finds the promise alone makes the run.
///
/// Removed (`follow-derives`): a promised run that is not there is given up. It was recorded as abandoned.
#[test]
fn what_was_promised_is_made_by_who_finds_the_promise_alone() {
    let (front, follower) = two(On::Success, Wish::once(60), [dies_after("first", "put_timer")]);
    front.lose_hints(0..HOUR);
    front.play_to(10);
    front.execute(60, "first", &front.hint(60));
    front.play_to(70);
    front.lose_link(60);
    front.sweep_each_minute(120..2 * HOUR);

    front.play_to(2 * HOUR);

    assert_eq!(follower.states(), ["succeeded"]);
    judged(&front, &follower, "success");
}

/// Guard **promise before act**: the run's timer stands before its record. Where it does not, and the timer of the run in front goes with the
/// same settling, a lost hint is found by nobody.
///
/// Removed (`follow-promises`): the run is put without a timer. It waited for ever.
#[test]
fn a_run_whose_hint_is_lost_is_found_by_its_timer() {
    let (front, follower) = two(On::Finished, Wish { fails: true, ..Wish::once(60) }, []);
    front.play_to(55);
    front.lose_hints(56..90);
    front.sweep_each_minute(120..HOUR);

    front.play_to(HOUR);

    assert_eq!((front.states(), follower.states()), (vec!["failed: error".to_owned()], vec!["succeeded".to_owned()]));
    judged(&front, &follower, "finished");
}

/// Rule **list first**: the creator dies between the list and its head, and before and after each.
///
/// Removed (`follow-lists-first`): nobody puts the job into the list. It was there, and never ran.
#[test]
fn a_creator_may_die_between_the_list_and_its_head() {
    let mut ran = 0;
    for step in [
        dies_before("follower", "put_head"),
        dies_after("follower", "put_head"),
        Line { nth: 2, ..dies_before("follower", "put_head") },
        Line { nth: 2, ..dies_after("follower", "put_head") },
    ] {
        let (front, follower) = two(On::Success, Wish::every(60, 60), [step.clone()]);
        front.sweep_each_minute(0..HOUR);
        front.play_to(605);

        let is_there = follower.job().is_some();
        assert_eq!(follower.runs().len(), if is_there { 10 } else { 0 }, "{step:?}");
        assert_eq!(front.called().len(), 10, "{step:?}: it runs on, whoever is in its list");
        ran += u32::from(is_there);
    }
    assert_eq!(ran, 1);
}

/// Rule **beside, not instead**: a change to other ends of the job in front is listed, and its writer dies before its head is put.
///
/// Removed (`follow-beside`): an entry takes the place of any other of that job. It was never run again, and had no record.
#[test]
fn a_follower_whose_change_was_not_written_runs_on() {
    for step in [dies_after("changer", "put_head"), Line { nth: 2, ..dies_before("changer", "put_head") }] {
        let (front, follower) = two(On::Success, Wish::every(60, 60), [step.clone()]);
        front.sweep_each_minute(0..HOUR);
        follower.reschedule(90, "changer", &behind(&front, On::Failure));

        front.play_to(605);

        assert_eq!(follower.followed(), (60..=600).step_by(60).collect::<Vec<_>>(), "{step:?}");
        assert!(follower.states().iter().all(|state| state == "succeeded"), "{step:?}: {:?}", follower.states());
    }
}

/// What such a writer left goes once the follower's head is at the generation that it was made for.
///
/// Removed (`follow-left-ends`): who runs behind a job needs each of its entries there. Each run of the job in front pinned it for ever.
#[test]
fn an_entry_for_ends_that_nobody_runs_behind_goes() {
    let (front, follower) = two(On::Success, Wish::every(60, 60), [dies_after("changer", "put_head")]);
    front.sweep_each_minute(0..HOUR);
    follower.reschedule(90, "changer", &behind(&front, On::Failure));
    front.play_to(200);
    let meanwhile = front.followers();
    follower.redefine(210, "other", &Wish { retries: 3, ..Wish::behind(&front, On::Success) });

    front.play_to(QUARTER);

    assert_eq!((meanwhile, front.followers()), (vec![follower.id(); 2], vec![follower.id()]));
}

/// A run is born while the change is between the list and its head, and fails once that head is put.
///
/// Removed (`follow-head-decides`): the entry for what the head said before counts. Its record was there first: `skipped: upstream`.
#[test]
fn of_two_entries_that_a_run_has_pinned_the_head_says_which_counts() {
    let slow = Line { nth: 2, ..sleeps_before("slow", "put_head", 4) };
    let (front, follower) = two(On::Success, Wish { fails: true, takes: 10, ..Wish::once(60) }, [slow]);
    front.sweep_each_minute(0..HOUR);
    let changed = follower.reschedule(58, "slow", &behind(&front, On::Failure));

    front.play_to(QUARTER);

    assert!(matches!(changed.given(), Changed::Done(_)));
    assert_eq!(front.run(60).expect("it ran").followers.len(), 2, "it was born in between");
    assert_eq!(follower.states(), ["succeeded"]);
    assert_eq!(front.followers(), [follower.id()]);
}

/// Two change a follower to the same other ends, with a change of its own between them: the first is slow, lists after the second, and dies. An
/// end is settled before the second puts its head.
///
/// Removed (`follow-entry-keeps-its-generation`): the entry is as the last one made it. It was taken away, and nothing followed any more.
#[test]
fn an_entry_does_not_fall_back_behind_a_later_generation() {
    let script = [
        sleeps_before("first", "put_head", 5),
        Line { nth: 2, ..dies_after("first", "put_head") },
        Line { nth: 2, ..sleeps_before("second", "put_head", 30) },
    ];
    let (front, follower) = two(On::Success, Wish { fails: true, ..Wish::every(60, 60) }, script);
    front.sweep_each_minute(0..HOUR);
    follower.reschedule(50, "first", &behind(&front, On::Failure));
    follower.redefine(51, "other", &Wish { retries: 3, ..Wish::behind(&front, On::Success) });
    let second = follower.reschedule(52, "second", &behind(&front, On::Failure));

    front.play_to(QUARTER / 3);

    assert!(matches!(second.given(), Changed::Done(_)));
    assert_eq!(follower.states(), ["skipped: upstream", "succeeded", "succeeded", "succeeded"]);
}

/// Rule **the entry's generation**: a job is changed to run behind another by a slow writer while an entry that it left is taken away.
///
/// Removed (`follow-generation`): an entry goes where the head as it stands does not need it. The slow writer's job was in no list, and never ran.
#[test]
fn an_entry_that_a_slow_writer_is_about_to_need_stays() {
    let front = Stage::new(Wish::every(60, 60), [sleeps_after("slow", "put_head", 4)]);
    let follower = front.beside(Wish::behind(&front, On::Success));
    front.create(0, "creator");
    follower.create(1, "follower");
    front.sweep_each_minute(0..HOUR);
    follower.reschedule(10, "leaver", &every(HOUR.unsigned_abs(), 3 * HOUR));
    follower.reschedule(58, "slow", &behind(&front, On::Success));
    // The run at 60 has pinned what the slow writer put there, and its end finds a job that does not follow.
    front.play_to(HOUR);

    let instants = follower.followed();
    assert!(instants.contains(&(HOUR - 60)), "{instants:?}");
    assert_eq!(front.followers(), [follower.id()]);
}

#[test]
fn who_runs_behind_it_no_more_is_taken_out_of_the_list() {
    for change in ["reschedule", "delete"] {
        // Who changes it dies before it leaves the list: whoever settles the next end takes it out.
        for script in [vec![], vec![dies_after("changer", "put_head")]] {
            let (front, follower) = two(On::Success, Wish::every(60, 60), script.clone());
            front.sweep_each_minute(0..HOUR);
            if change == "delete" {
                follower.change(90, "changer", Change::Delete);
            } else {
                follower.reschedule(90, "changer", &every(HOUR.unsigned_abs(), 3 * HOUR));
            }
            front.play_to(QUARTER);

            assert_eq!(front.followers(), [], "{change} {script:?}");
            assert!(follower.runs().len() <= 2, "{change} {script:?}: {:?}", follower.states());
            assert!(!follower.states().contains(&"queued".to_owned()), "{change}");
        }
    }
}

#[test]
fn a_paused_follower_has_a_record_of_each_end_and_runs_on_when_it_is_resumed() {
    let (front, follower) = two(On::Success, Wish::every(60, 60), []);
    front.sweep_each_minute(0..HOUR);
    follower.change(90, "pauser", Change::Pause);
    follower.change(210, "resumer", Change::Resume);

    front.play_to(QUARTER / 3);

    assert_eq!(follower.states(), ["succeeded", "skipped: paused", "skipped: paused", "succeeded"]);
}

#[test]
fn what_came_to_nothing_is_on_record_for_who_waits_for_a_success_and_no_news_for_who_waits_for_a_failure() {
    let front = Stage::new(Wish { fails: true, ..Wish::once(60) }, []);
    let success = front.beside(Wish::behind(&front, On::Success));
    let failure = success.beside(Wish::behind(&front, On::Failure));
    let behind_success = failure.beside(Wish::behind(&success, On::Success));
    front.create(0, "creator");
    for follower in [&success, &failure] {
        follower.create(1, "follower");
    }
    behind_success.create(2, "follower");
    front.sweep_each_minute(0..HOUR);

    front.play_to(QUARTER);

    assert_eq!(success.states(), ["skipped: upstream"]);
    assert_eq!(
        behind_success.states(),
        ["skipped: upstream"],
        "what is skipped makes what waits for its success skipped"
    );
    assert_eq!(failure.states(), ["succeeded"]);
}

/// Of a circle of three one is closed by two who write at once, and are both told that there is none.
///
/// Removed (`follow-depth`): a chain may be three times as long. It went on, and might have for ever.
#[test]
fn a_cycle_that_two_closed_at_once_ends_by_its_depth() {
    let first = Stage::new(Wish::on_demand(), [Line { nth: 2, ..sleeps_before("slow", "put_head", 3) }]);
    let last = first.beside(Wish::on_demand());
    let middle = last.beside(Wish::behind(&last, On::Finished));
    first.create(0, "creator");
    last.create(0, "creator");
    middle.create(1, "creator");
    first.sweep_each_minute(0..HOUR);
    let changed = [
        last.reschedule(10, "slow", &behind(&first, On::Finished)),
        first.reschedule(11, "changer", &behind(&middle, On::Finished)),
    ];
    first.ask(60, "asker");

    first.play_to(HOUR);

    assert!(changed.iter().all(|answer| matches!(answer.given(), Changed::Done(_))));
    let all = [first.states(), last.states(), middle.states()].concat();
    assert_eq!(all.iter().filter(|state| *state == "succeeded").count(), usize::from(FOLLOW_DEPTH) + 1);
    assert_eq!(all.iter().filter(|state| *state == "skipped: cycle").count(), 1);
    assert_eq!(all.len(), usize::from(FOLLOW_DEPTH) + 2);
}

/// Who writes the entry in the list of the job in front has seen that nobody changed that one.
///
/// Removed (`follow-sees-the-front`): it is written over whatever stands there by then. Each ran behind the other.
#[test]
fn of_two_jobs_that_are_changed_at_once_to_run_behind_each_other_one_is_refused() {
    // He sleeps with the job in front just read; what he read first is his own.
    let one = Stage::new(Wish::on_demand(), [Line { nth: 2, ..sleeps_after("slow", "head", 3) }]);
    let other = one.beside(Wish::on_demand());
    one.create(0, "creator");
    other.create(0, "creator");
    let slow = one.reschedule(10, "slow", &behind(&other, On::Finished));
    let fast = other.reschedule(11, "changer", &behind(&one, On::Finished));

    one.play_to(60);

    assert!(matches!(fast.given(), Changed::Done(_)));
    assert_eq!(slow.given(), Changed::NotToFollow(NotToFollow::Cycle(vec![one.id(), other.id(), one.id()])));
}

#[test]
fn a_cycle_is_refused_and_named() {
    let (front, follower) = two(On::Success, Wish::on_demand(), []);
    let last = follower.beside(Wish::behind(&follower, On::Success));
    last.create(2, "follower");
    let changed = front.reschedule(10, "changer", &behind(&last, On::Finished));
    let own = follower.reschedule(10, "changer", &behind(&follower, On::Finished));

    front.play_to(20);

    let cycle = vec![front.id(), last.id(), follower.id(), front.id()];
    assert_eq!(changed.given(), Changed::NotToFollow(NotToFollow::Cycle(cycle)));
    assert_eq!(own.given(), Changed::NotToFollow(NotToFollow::Cycle(vec![follower.id(); 2])));
}

/// A list that is full of who is gone has room: those who were deleted, and those whose creator died, once nobody can be so slow.
#[test]
fn a_full_list_loses_who_is_gone() {
    let deaths = (0..FOLLOWERS).map(|nth| Line { nth: 2, ..dies_before(NAMES[nth], "put_head") });
    let front = Stage::new(Wish::on_demand(), deaths);
    front.create(0, "creator");
    let mut others = vec![front.clone()];
    for (name, at) in NAMES.into_iter().zip(10..) {
        let next = others[others.len() - 1].beside(Wish::behind(&front, On::Success));
        next.create(at, name);
        others.push(next);
    }
    let [early, late] = [60, 60 + QUARTER].map(|at| {
        let next = others[others.len() - 1].beside(Wish::behind(&front, On::Success));
        let created = next.create(at, "follower");
        others.push(next);
        created
    });

    front.play_to(HOUR);

    assert_eq!(early.given(), Created::NotToFollow(NotToFollow::Full(front.id())));
    assert!(matches!(late.given(), Created::New(_)));
    assert_eq!(front.followers().len(), 1);
}

/// A creator died a quarter of an hour ago; another makes the same job for other ends, and is slow, when the list is found full. The tombstone
/// that is due to the one would refuse the other.
///
/// Removed (`follow-last-creator`): each entry has its own age. The slow creator was refused.
#[test]
fn a_creator_is_not_refused_for_another_who_died_before() {
    let script = [dies_after("dead", "put_head"), Line { nth: 2, ..sleeps_before("slow", "put_head", 4) }];
    let front = Stage::new(Wish::on_demand(), script);
    front.create(0, "creator");
    let [dead, slow] = [On::Success, On::Failure].map(|on| front.beside(Wish::behind(&front, on)));
    assert_eq!(dead.id(), slow.id());
    dead.create(1, "dead");
    let mut last = slow.clone();
    for at in 10..9 + i64::try_from(FOLLOWERS).expect("a few") {
        last = last.beside(Wish::behind(&front, On::Success));
        last.create(at, "follower");
    }
    let created = slow.create(QUARTER + 60, "slow");
    let one_more = last.beside(Wish::behind(&front, On::Success)).create(QUARTER + 62, "follower");

    front.play_to(HOUR);

    assert_eq!(one_more.given(), Created::NotToFollow(NotToFollow::Full(front.id())));
    assert!(matches!(created.given(), Created::New(_)), "{created:?}", created = created.given());
}

const NAMES: [&str; FOLLOWERS] =
    ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15"];

/// Other tries and runs that somebody asked for are followed as others are.
#[test]
fn what_somebody_asked_for_is_followed_too() {
    let (front, follower) = two(On::Success, Wish::on_demand(), []);
    front.sweep_each_minute(0..HOUR);
    for at in [60, 70] {
        front.ask(at, "asker");
    }

    front.play_to(100);

    assert_eq!(follower.states(), ["succeeded", "succeeded"]);
    assert_eq!(follower.followed(), [60, 70]);
}

/// Nobody is there for an hour: the occurrence is too late to be made up for, and is recorded as missed. That is an end for who wants
/// every end.
///
/// Removed (`follow-what-was-missed`): the record is not settled, and its timer goes. Nothing followed it.
#[test]
fn what_was_missed_is_an_end_too() {
    let (front, follower) = two(On::Finished, Wish { catch_up: CatchUp::None, ..Wish::once(60) }, []);
    front.lose_hints(0..HOUR - 60);
    front.sweep_each_minute(HOUR..2 * HOUR);

    front.play_to(2 * HOUR);

    assert_eq!((front.state(60), follower.states()), ("skipped: missed".to_owned(), vec!["succeeded".to_owned()]));
    judged(&front, &follower, "finished");
}

/// An outage that took six occurrences was one end: what was missed. Some of them are made up for: each of those runs is followed once.
///
/// Removed (`closing-tells-nobody`): the record that is put in the place of what is made up for pins who follows its job, and is settled. Each was
/// followed twice.
#[test]
fn what_is_made_up_for_is_followed_once() {
    let (front, follower) = two(On::Finished, Wish { catch_up: CatchUp::None, ..Wish::every(600, 0) }, []);
    front.lose_hints(0..HOUR);
    front.sweep_each_minute(HOUR + 400..2 * HOUR);
    front.backfill(HOUR + QUARTER, "asker", 1200..3000);

    front.play_to(2 * HOUR);

    let mut of_the_span = follower.followed();
    of_the_span.retain(|instant| (1200..3000).contains(instant));
    of_the_span.sort_unstable();
    assert_eq!(of_the_span, [1200, 1800, 2400]);
}

/// A repair finds an end that nobody settles any more.
#[test]
fn an_end_whose_follower_nobody_makes_is_found_by_a_repair() {
    let (front, follower) = two(On::Success, Wish::once(60), [Line { nth: 2, ..dies_after("first", "put_run") }]);
    front.lose_hints(0..HOUR);
    front.play_to(10);
    front.execute(60, "first", &front.hint(60));
    front.play_to(70);
    front.lose_link(60);
    front.repair(QUARTER, "repairer");
    front.sweep_each_minute(QUARTER..2 * HOUR);

    front.play_to(2 * HOUR);

    assert_eq!(follower.states(), ["succeeded"]);
}
