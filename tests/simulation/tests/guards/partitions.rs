//! A partition of the table that is away for minutes: whose it is waits for it, and nobody else does.

use std::ops::Range;

use minutehand_simulation::setting::Setting;
use minutehand_simulation::stage::{Stage, Wish, moment};
use minutehand_simulation::throttle::{Resource, Throttle};

/// The partition of another tenant's job is away for 20 minutes, and its timers lie in the same buckets of the same shard: some
/// are overdue, others are to be hinted, all before and between ours.
///
/// Removed: the first fault of a page ends the pass. Nothing beyond the bucket of the first timer of theirs was hinted: of our
/// 34 occurrences those of 600 to 1,440 s were missed, until theirs was back.
#[test]
fn a_partition_that_is_away_makes_no_other_tenant_late() {
    let (ours, theirs) = side_by_side();

    ours.play_to(2080);

    assert_eq!(ours.starts(), (1..=34).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
    let before_and_after = (0..5).chain(24..35).map(|n| 30 + 60 * n);
    assert_eq!(theirs.called(), before_and_after.collect::<Vec<_>>(), "the last that was missed is made up for");
}

/// Removed: a pass with a fault leaves its buckets behind. Their timer of 330 s was never seen again, and their chain ended there.
#[test]
fn what_a_pass_failed_with_keeps_its_bucket_and_is_looked_at_when_its_partition_is_back() {
    let (ours, theirs) = side_by_side();
    let failed = ours.sweep(900, "sweeper");

    ours.play_to(930);
    assert!(failed.so_far().expect("it is over").is_err(), "the trouble is told");
    assert!(ours.oldest_bucket() <= 330, "{}", ours.oldest_bucket());

    ours.play_to(2080);
    assert!(ours.oldest_bucket() > 1900, "{}", ours.oldest_bucket());
    assert_eq!(ours.judge_beside(&[theirs]), []);
}

/// One pass fails with a hint that is given four minutes ahead; theirs, later in the same bucket, was given.
///
/// Removed: the cursor says that the hint was given. Nobody gave it, and the occurrence was late.
#[test]
fn a_hint_that_could_not_be_given_is_given_by_the_next_pass() {
    let ours = Stage::new(Wish::once(450), []);
    let theirs = ours.beside_of("other", Wish::once(470));
    ours.create(0, "creator");
    theirs.create(1, "creator");
    ours.take_partition_away(170..185);
    ours.sweep_each_minute(60..600);

    ours.play_to(500);

    assert_eq!((ours.starts(), theirs.starts()), (vec![(450, 450)], vec![(470, 470)]));
    assert_eq!((ours.hinted(450), theirs.hinted(470)), (vec![240], vec![180, 240]));
}

/// All of the timers is away for an hour, behind an outage of its own.
#[test]
fn a_table_that_is_away_is_not_asked_for_every_bucket_there_was() {
    let hour = Throttle { resource: Resource::Timers, shard: None, span: span(300..3900), share: 1.0 };
    let away = Setting { throttles: vec![hour], ..Setting::plain() };
    let stage = Stage::on(away, Wish::every(60, 60), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..4500);

    stage.play_to(3890);
    let passes = 60;
    assert!(stage.counted("throttled timers timers") <= 4 * passes);

    stage.play_to(4500);
    assert!(stage.oldest_bucket() > 4200, "{}", stage.oldest_bucket());
}

fn span(seconds: Range<i64>) -> Range<i64> {
    moment(seconds.start).millis()..moment(seconds.end).millis()
}

/// Both each minute, ours from the first full one and theirs from the half before it, of two tenants.
fn side_by_side() -> (Stage, Stage) {
    let ours = Stage::new(Wish::every(60, 60), []);
    let theirs = ours.beside_of("other", Wish::every(60, 30));
    theirs.create(0, "creator");
    ours.create(1, "creator");
    ours.sweep_each_minute(60..2100);
    theirs.take_partition_away(300..1500);
    (ours, theirs)
}
