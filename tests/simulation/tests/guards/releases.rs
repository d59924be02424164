//! Two releases side by side: a rolling update, or a rollback. What the one cannot read it leaves where it is, counts and tries
//! again; it stops nothing that lies beside it.

use minutehand_simulation::stage::{Stage, Wish};

/// The second job was made by a process of a later release, in shapes that the sweepers and executors of the earlier one do
/// not know: its head, its timers, its records. The first job's timers lie in the same buckets.
///
/// Removed: an item that cannot be read is the end of its page. No pass came further than the first minute: the first job was
/// late from then on.
#[test]
fn what_a_later_release_wrote_delays_nothing_beside_it() {
    let (ours, theirs) = side_by_side();

    ours.play_to(1500);

    let punctual: Vec<_> = (1..25).map(|minute| (60 * minute, 60 * minute)).collect();
    assert_eq!(ours.starts()[..24], punctual);
    assert_eq!(theirs.called(), [0; 0], "nobody who could read it has executed it");
}

/// Removed: a timer stands where it says, not where it lies. What was put off was looked at where it had been, again and again.
#[test]
fn what_a_later_release_wrote_is_counted_kept_and_gone_on_with_when_the_earlier_is_replaced() {
    let (ours, theirs) = side_by_side();
    let pass = ours.sweep(1510, "sweeper");

    ours.play_to(1520);
    assert!(pass.given().later >= 5, "{:?}", pass.given());
    assert!(ours.oldest_bucket() > 1300, "no bucket waits for it: {}", ours.oldest_bucket());

    ours.play_to(4000);
    let made_up_for = theirs.called();
    assert!(made_up_for.first().is_some_and(|instant| *instant < 1600), "{made_up_for:?}");
    assert!(made_up_for.contains(&3630), "{made_up_for:?}");
    assert!(ours.oldest_bucket() > 3600, "{}", ours.oldest_bucket());
    assert_eq!(ours.judge_beside(&[theirs]), []);
}

/// A rollback that lasts a week. What is met costs what it is; the minutes since cost nothing.
///
/// Removed: what a later release wrote is left where it is. Each pass began at its bucket, and
/// read one for every minute since.
#[test]
fn what_a_later_release_wrote_makes_no_pass_longer_however_long_it_waits() {
    const WEEK: i64 = 7 * 86_400;
    let theirs = Stage::new(Wish::every(60, 90), []);
    theirs.roll_out(["later"], WEEK + 100);
    theirs.create(0, "later");
    (60..WEEK).step_by(6 * 3600).for_each(|at| drop(theirs.sweep(at, "sweeper")));
    theirs.sweep(WEEK - 60, "sweeper");
    let last = theirs.sweep(WEEK, "sweeper");
    theirs.sweep_each_minute(WEEK + 120..WEEK + 900);

    theirs.play_to(WEEK + 10);
    let pass = last.given();
    assert!(pass.buckets <= 15, "{pass:?}");
    assert!((1..=10).contains(&pass.later), "it is met by each pass: {pass:?}");

    theirs.play_to(WEEK + 900);
    assert!(theirs.called().last().is_some_and(|instant| *instant > WEEK + 700), "nothing of it is lost");
}

/// Both each minute, from the first full one and from the half of it; until 1,600 s only the creator of the second is of the
/// later release.
fn side_by_side() -> (Stage, Stage) {
    let ours = Stage::new(Wish::every(60, 60), []);
    let theirs = ours.beside(Wish::every(60, 90));
    ours.roll_out(["later"], 1600);
    ours.create(0, "creator");
    theirs.create(1, "later");
    ours.sweep_each_minute(60..4000);
    (ours, theirs)
}
