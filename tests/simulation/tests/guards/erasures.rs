//! Erasing a tenant: nothing of it is left, whoever was at it when that began and whoever dies on the way; and what says that it is over says so of
//! nothing that is still to come.

use minutehand_domain::operation::State;
use minutehand_protocol::operation::doors::Opened;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, fails_before, sleeps_before};

const HOUR: i64 = 3600;
/// What nothing must be found in: `pace::ERASED_QUIET`.
const QUIET: i64 = 20 * 60;

/// A tenant with a job of each minute, which is erased after ten seconds.
fn staged(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(Wish::every(60, 0), script);
    stage.sweep_each_minute(0..2 * HOUR);
    stage
}

fn is_over(stage: &Stage) -> bool {
    let erasures = stage.erasures();
    assert_eq!(erasures.len(), 1, "{erasures:?}");
    erasures[0].state == State::Done
}

/// Guard **quiet**: a creator was let in, and sleeps for ten minutes before it writes anything.
///
/// Removed (`erasure-quiet`): whatever finds nothing is the end. It was over at once, and the job that came later fired for ever.
#[test]
fn a_creator_that_slept_through_the_first_walk_leaves_nothing_behind() {
    let stage = staged([sleeps_before("creator", "put_timer", 600)]);
    stage.create(0, "creator");
    stage.erase(10, "asker");

    stage.play_to(300);
    assert!(!is_over(&stage), "somebody may still write");
    stage.play_to(2 * HOUR);

    assert!(is_over(&stage));
    assert_eq!(stage.remains(), []);
}

/// Guard **quiet**: two creators were let in, and what a walk finds of the one has it wait for the other.
///
/// Removed (`erasure-waits-anew`): a find is no reason to wait for more, neither before it is erased nor behind that. It was over by the walk that found the first, and the second came after it.
#[test]
fn what_is_found_late_has_the_erasure_wait_for_more() {
    let stage = staged([sleeps_before("creator", "put_timer", 600), sleeps_before("other", "put_timer", 600)]);
    stage.create(0, "creator");
    stage.erase(10, "asker");
    let other = stage.beside(Wish::every(60, 0));
    other.create(QUIET - 300, "other");

    stage.play_to(QUIET + 200);
    assert!(!is_over(&stage), "a walk has found something");
    stage.play_to(2 * HOUR);

    assert!(is_over(&stage));
    assert_eq!(stage.remains(), []);
}

/// Rule **told before erased**: whoever finds what the first left behind dies when he has erased it, or some of it, and has written nothing.
///
/// Removed (`erasure-told-first`): what is found is erased at once. The next walk found nothing, and was the last; the second came after it.
#[test]
fn what_was_found_by_somebody_who_died_has_the_erasure_wait_for_more() {
    for nth in 1..8 {
        let sleep = |creator| sleeps_before(creator, "put_timer", 600);
        let stage = staged([sleep("creator"), sleep("other"), Line { nth, ..dies_after("sweeper", "erase") }]);
        stage.create(0, "creator");
        stage.erase(10, "asker");
        let other = stage.beside(Wish::every(60, 0));
        other.create(QUIET - 300, "other");

        stage.play_to(QUIET + 200);
        assert!(!is_over(&stage), "{nth}: a walk has found something");
        stage.play_to(2 * HOUR);

        assert!(is_over(&stage), "{nth}");
        assert_eq!(stage.remains(), [], "{nth}");
    }
}

/// Rule **doors first**: whoever is told that it has begun is told so when no key opens anything. What it begins at once fails.
///
/// Removed (`erasure-doors`): the answer waits for nothing. A key was there still.
#[test]
fn whoever_is_told_that_an_erasure_has_begun_has_no_key_left() {
    let stage = staged([fails_before("asker", "list_key")]);
    stage.make_key(0, "admin");
    let told = stage.erase(10, "asker");

    stage.play_to(12);

    assert!(told.given().is_some());
    assert_eq!(stage.keys(), 0);
}

/// Whoever was told nothing asks again, and is told when the doors are closed.
#[test]
fn an_erasure_whose_asker_failed_is_gone_on_with_by_who_asks_again() {
    for nth in 1..3 {
        let stage = staged([1, 2].map(|nth| Line { nth, ..fails_before("asker", "list_key") }));
        stage.make_key(0, "admin");
        stage.create(1, "creator");
        let told = stage.erase(10, "asker");
        let again = stage.erase(10 + nth, "again");

        stage.play_to(20);
        assert!(told.so_far().is_some_and(|told| told.is_err()), "the doors could not be closed");
        assert_eq!((again.given().map(|operation| operation.id), stage.keys()), (Some(stage.erasures()[0].id), 0));
        stage.play_to(2 * HOUR);

        assert!(is_over(&stage));
        assert_eq!(stage.remains(), []);
    }
}

/// Rule **key, then mark**: who makes a key asks first, and sleeps while the tenant's erasure begins.
///
/// Removed (`erasure-of-a-new-key`): he does not ask once more. The key was open until the next walk, twenty minutes later.
#[test]
fn a_key_that_comes_late_is_taken_back() {
    let stage = staged([sleeps_before("admin", "put_key", 30)]);
    let made = stage.make_key(0, "admin");
    stage.erase(10, "asker");

    stage.play_to(60);

    assert!(matches!(made.given(), Opened::BeingErased(_)));
    assert_eq!(stage.keys(), 0);
}

/// Two ask at once, and the first has put its mark and sleeps before it writes the operation.
///
/// Removed (`erasure-one-id`): the second writes one of its own. There were two, and the mark said which only of one.
#[test]
fn of_two_who_ask_for_an_erasure_both_are_told_of_one() {
    let stage = staged([sleeps_before("slow", "put_operation", 20)]);
    stage.create(0, "creator");
    let told = [stage.erase(10, "slow"), stage.erase(15, "fast")];

    stage.play_to(2 * HOUR);

    let told = told.map(|told| told.given().map(|operation| operation.id));
    assert_eq!(told, [Some(stage.erasures()[0].id); 2]);
    assert!(is_over(&stage));
}

/// Rule **no mark, no none**: the mark is damaged while the erasure goes on.
///
/// Removed (`erasure-among-the-newest`): it is taken for none at once. The key was open until the next walk, twenty minutes later, and there were two
/// erasures.
#[test]
fn a_mark_that_nobody_can_read_hides_no_erasure() {
    let stage = staged([]);
    stage.create(0, "creator");
    let told = stage.erase(10, "asker");
    stage.damage_mark(60);
    let made = stage.make_key(70, "admin");
    let again = stage.erase(80, "again");
    let once_more = stage.make_key(90, "admin");

    stage.play_to(100);
    let ids = [told, again].map(|told| told.given().map(|operation| operation.id));
    assert_eq!(ids, [Some(stage.erasures()[0].id); 2]);
    for made in [made, once_more] {
        assert!(matches!(made.given(), Opened::BeingErased(_)), "before it is marked anew and afterwards");
    }
    assert_eq!(stage.keys(), 0);
    stage.play_to(2 * HOUR);

    assert!(is_over(&stage));
    assert_eq!(stage.remains(), []);
}

/// The mark of an erasure that is over is damaged, and its tenant's name is used again.
///
/// Removed (`erasure-of-a-damaged-mark`): such a mark is a fault. Nobody could ask for an erasure of the tenant any more, nor make a key of it.
#[test]
fn a_mark_that_nobody_can_read_keeps_no_tenant_from_its_erasure() {
    let stage = staged([]);
    stage.create(0, "creator");
    stage.erase(10, "asker");
    stage.damage_mark(HOUR);
    let made = stage.make_key(HOUR + 10, "admin");
    let again = stage.erase(HOUR + 20, "again");

    stage.play_to(HOUR + 30);
    assert_eq!((made.given(), stage.keys()), (Opened::Opened, 0));
    assert!(again.given().is_some());
    stage.play_to(2 * HOUR);

    let states: Vec<_> = stage.erasures().iter().map(|erasure| erasure.state).collect();
    assert_eq!(states, [State::Done, State::Done]);
    assert_eq!(stage.remains(), []);
}

/// Whoever asks or carries it on dies before and after each of its steps.
#[test]
fn who_erases_may_die_at_any_step() {
    let mut erased = 0;
    for (process, port) in [
        ("asker", "put_erasing"),
        ("asker", "put_timer"),
        ("asker", "put_operation"),
        ("asker", "erase"),
        ("sweeper", "erase"),
        ("sweeper", "put_operation"),
        ("asker", "delete_key"),
        ("asker", "remains"),
    ] {
        for step in [dies_before(process, port), dies_after(process, port)] {
            let stage = staged([step.clone()]);
            stage.make_key(0, "admin");
            stage.create(1, "creator");
            let told = stage.erase(130, "asker");
            stage.play_to(200);
            let again = told.so_far().is_none().then(|| stage.erase(210, "again"));
            stage.play_to(2 * HOUR);

            assert!(again.is_none_or(|again| again.given().is_some()), "{step:?}");
            assert!(is_over(&stage), "{step:?}");
            assert_eq!(stage.remains(), [], "{step:?}");
            erased += stage.erasures()[0].progress.done;
        }
    }
    assert!(erased > 50, "{erased}");
}
