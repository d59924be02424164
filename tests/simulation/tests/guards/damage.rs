//! Items that nobody can read: each stops nothing but itself, and is met again an hour later.

use minutehand_simulation::setting::{Host, Setting};
use minutehand_simulation::stage::{Stage, Wish};

/// The second job's timer is damaged where it lies, between those of the first.
///
/// Removed: a corrupt timer is left where it is, as what a later release wrote. Its bucket was never left, and each pass of the
/// next hour began there.
#[test]
fn a_corrupt_timer_keeps_no_bucket_and_stops_nothing_beside_it() {
    let (ours, theirs) = side_by_side();
    theirs.damage_timer(100, 690);

    ours.play_to(1500);
    let pass = ours.sweep(1530, "sweeper");
    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert_eq!(pass.given().corrupt, 0, "it is met again in an hour");
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
    assert!(ours.counted("corrupt met") > 0);
}

/// The second job itself is damaged: its timers can be read, and point at what cannot.
///
/// Removed: a timer that points at what nobody can read stays. Its bucket was never left.
#[test]
fn a_corrupt_job_keeps_no_bucket_and_stops_nothing_beside_it() {
    let (ours, theirs) = side_by_side();
    theirs.damage_head(300);

    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
    assert!(ours.counted("corrupt met") > 0);
}

/// Removed: a cursor that cannot be read is a fault. Nothing of its shard was swept any more.
#[test]
fn a_corrupt_cursor_is_made_anew_from_the_first_timer() {
    let (ours, _theirs) = side_by_side();
    ours.damage_cursor(600);

    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
}

/// One machine, and another before it which swept: since then the cursor is damaged, and so are a timer and the second job.
///
/// Removed (`start-over-a-corrupt-cursor`): a cursor that cannot be read is a fault of the start. No machine started, and nothing ran.
#[test]
fn a_machine_starts_over_what_nobody_can_read_and_all_else_runs() {
    let machine = Setting { exclusive_store: true, host: Host::Machine, ..Setting::plain() };
    let ours = Stage::on(machine, Wish::every(60, 180), []);
    let [theirs, others] = [210, 150].map(|begin| ours.beside(Wish::every(60, begin)));
    for (at, stage) in [(0, &ours), (1, &theirs), (2, &others)] {
        stage.create(at, "creator");
    }
    ours.sweep(30, "sweeper");
    theirs.damage_head(60);
    others.damage_timer(60, 150);
    ours.damage_cursor(60);
    ours.supervise(100);

    ours.play_to(1535);

    assert_eq!(ours.counted("machine did not start"), 0);
    assert_eq!(ours.called(), (3..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(theirs.called().is_empty() && others.called().is_empty(), "they were damaged before");
}

/// Both each minute, from the first full one and from the half of it.
fn side_by_side() -> (Stage, Stage) {
    let ours = Stage::new(Wish::every(60, 60), []);
    let theirs = ours.beside(Wish::every(60, 90));
    ours.create(0, "creator");
    theirs.create(1, "creator");
    ours.sweep_each_minute(60..1530);
    (ours, theirs)
}
