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

/// Removed: what cannot be read does not count as found in its bucket. The bucket was left, and with it the promise of the
/// second job's first occurrence: nothing of it ever ran.
#[test]
fn what_a_later_release_wrote_is_counted_kept_and_gone_on_with_when_the_earlier_is_replaced() {
    let (ours, theirs) = side_by_side();
    let pass = ours.sweep(1510, "sweeper");

    ours.play_to(1520);
    assert!(pass.given().later >= 5, "{:?}", pass.given());
    assert_eq!(ours.oldest_bucket(), 60, "the bucket of the first of them is not left");

    ours.play_to(4000);
    let made_up_for = theirs.called();
    assert!(made_up_for.first().is_some_and(|instant| *instant < 1600), "{made_up_for:?}");
    assert!(made_up_for.contains(&3630), "{made_up_for:?}");
    assert!(ours.oldest_bucket() > 3600, "{}", ours.oldest_bucket());
    assert_eq!(ours.judge_beside(&[theirs]), []);
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
