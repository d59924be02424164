//! What one shard's trouble, or a group's, means to the others.

use minutehand_simulation::fate::Line;
use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish, fails_before, sleeps_before};

fn five_shards() -> Setting {
    Setting { shards: 5, shards_per_sweep: 5, ..Setting::plain() }
}

fn a_shard_each() -> Setting {
    Setting { shards_per_sweep: 1, ..five_shards() }
}

/// Removed: the first fault ends the tick. The job waits a minute longer, and as long as its neighbour is in trouble.
///
/// Removed (`fails-where-each-shard-does`): a tick fails where a shard does. The dead man's switch fired though all others were swept.
#[test]
fn a_shard_that_fails_does_not_keep_the_others_from_being_swept() {
    let stage = Stage::on(five_shards(), Wish::once(360), [fails_before("sweeper", "cursor")]);
    assert_ne!(stage.shard(), 0, "the first cursor read is another shard's");
    stage.create(0, "creator");

    let tick = stage.sweep(120, "sweeper");
    stage.play_to(125);

    assert!(tick.so_far().unwrap().is_ok(), "it is a sign of life");
    assert_eq!(stage.counted("sweep failed"), 1, "the trouble is told");
    assert_eq!(stage.hinted(360), [120]);
}

/// Removed (`fails-where-each-shard-fails`): a tick never fails. The switch stayed silent while nobody swept anything.
#[test]
fn a_sweep_fails_where_each_of_its_shards_does() {
    let away = (1..=5).map(|nth| Line { nth, ..fails_before("sweeper", "cursor") });
    let stage = Stage::on(five_shards(), Wish::once(360), away);

    let tick = stage.sweep(120, "sweeper");
    stage.play_to(125);

    assert!(tick.so_far().unwrap().is_err());
    assert_eq!(stage.counted("sweep failed"), 1);
}

/// Removed: one shard after the other. The job waits for the two minutes that its neighbour's table is slow.
#[test]
fn a_shard_that_is_slow_does_not_make_the_others_late() {
    let stage = Stage::on(five_shards(), Wish::once(360), [sleeps_before("sweeper", "cursor", 120)]);
    assert_ne!(stage.shard(), 0, "the first cursor read is another shard's");
    stage.create(0, "creator");

    stage.sweep(120, "sweeper");
    stage.play_to(125);

    assert_eq!(stage.hinted(360), [120]);
}

/// Removed: what could not be handed out is left for the next tick.
#[test]
fn a_group_that_could_not_be_handed_out_is_swept_by_the_tick_itself() {
    let refused = (1..5).map(|nth| Line { nth, ..fails_before("sweeper", "hand_out") });
    let stage = Stage::on(a_shard_each(), Wish::once(360), refused);
    assert_ne!(stage.shard(), 2, "that group is the tick's own in this minute");
    stage.create(0, "creator");

    let tick = stage.sweep_in_groups(120, "sweeper");
    stage.play_to(125);

    assert_eq!(tick.given().hinted, 1);
    assert_eq!(stage.hinted(360), [120]);
}

/// Removed: a group that is handed out goes nowhere. Nobody hints the job.
#[test]
fn a_group_is_swept_by_whom_it_is_handed_to() {
    let stage = Stage::on(a_shard_each(), Wish::once(360), []);
    assert_ne!(stage.shard(), 2, "that group is the tick's own in this minute");
    stage.create(0, "creator");

    let tick = stage.sweep_in_groups(120, "sweeper");
    stage.play_to(125);

    assert_eq!(tick.given().hinted, 0);
    assert_eq!(stage.hinted(360), [120]);
}

/// A group that comes twice, and once more ten minutes late, is a pass like any other.
#[test]
fn a_group_that_comes_again_harms_nothing() {
    let stage = Stage::on(a_shard_each(), Wish::every(60, 60), []);
    stage.create(0, "creator");
    for at in (60..1800).step_by(60) {
        stage.sweep_in_groups(at, "sweeper");
        stage.sweep_in_groups(at, "sweeper");
    }

    stage.play_to(1830);

    assert_eq!(stage.judge(), []);
    assert_eq!(stage.called(), (1..=30).map(|n| n * 60).collect::<Vec<_>>());
}
