//! Timers that point at nothing: their writer may have died, or may only be slow.

use minutehand_domain::job::Change;
use minutehand_domain::schedule::Schedule;
use minutehand_protocol::job::change::Changed;
use minutehand_protocol::job::create::Created;
use minutehand_protocol::run::on_demand::Answered;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, every, fails_before, moment, sleeps_before};

const TWENTY_MINUTES: u64 = 1200;

/// Guard **orphan's second look**: a creator sleeps twenty minutes between its promise and the head.
///
/// Removed: no tombstone is put. The creator was told that its job exists, and nothing led to it any more.
#[test]
fn a_creator_who_slept_for_twenty_minutes_is_refused() {
    let stage = Stage::new(Wish::once(60), [sleeps_before("creator", "put_head", TWENTY_MINUTES)]);
    stage.sweep_each_minute(60..3600);

    let created = stage.create(0, "creator");
    stage.play_to(3600);

    assert_eq!(created.given(), Created::TooSlow);
    assert_eq!((stage.job(), stage.timers(), stage.called()), (None, vec![], vec![]));
}

/// A tombstone stands there already, of a creator who died before, and the slow one has read it.
///
/// Removed (`orphans-next-tombstone`): a tombstone refuses who comes behind it, too. The creator was told that its job exists, and nothing led to it. Seed
/// 5000253791 met it.
#[test]
fn a_creator_who_has_seen_a_tombstone_and_slept_is_refused_by_the_next() {
    let script = [dies_before("dead", "put_head"), sleeps_before("slow", "put_head", TWENTY_MINUTES)];
    let stage = Stage::new(Wish::every(600, 60), script);
    stage.sweep_each_minute(60..6000);
    stage.create(0, "dead");

    let created = stage.create(1810, "slow");
    stage.play_to(6000);

    assert_eq!(created.given(), Created::TooSlow);
    assert_eq!((stage.job(), stage.timers(), stage.called()), (None, vec![], vec![]));
}

/// Whoever is told that it was too slow asks again, and the tombstone does not stand in its way.
#[test]
fn a_creator_who_was_too_slow_may_ask_again() {
    let stage = Stage::new(Wish::every(600, 60), [sleeps_before("slow", "put_head", TWENTY_MINUTES)]);
    stage.sweep_each_minute(60..3600);

    stage.create(0, "slow");
    let created = stage.create(1210, "again");
    stage.play_to(2000);

    assert!(matches!(created.given(), Created::New(_)));
    assert_eq!(stage.starts(), [(1260, 1260), (1860, 1860)]);
}

/// Guard **orphan's second look**, why it is the second: a creator who is only slow is not refused, and even if it dies
/// then, the timer that was put away leads to its job.
///
/// Removed: the first look closes the way back. The creator was refused.
#[test]
fn a_creator_who_slept_for_three_minutes_is_not_refused() {
    let script = [sleeps_before("creator", "put_head", 180), dies_after("creator", "put_head")];
    let stage = Stage::new(Wish::once(60), script);
    stage.sweep_each_minute(60..3600);

    stage.create(0, "creator");
    stage.play_to(3600);

    assert_eq!(stage.starts(), [(60, 1080)]);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// Guard **orphan's second look**, of a change: a changer sleeps twenty minutes between its promise and the head.
///
/// Removed: the epoch is not bumped. The head was put as it was decided twenty minutes ago, and the timer that it had
/// promised was gone.
#[test]
fn a_changer_who_slept_for_twenty_minutes_decides_again() {
    let schedule = Schedule::new(&every(600, 60), moment(20)).unwrap();
    let rescheduled = (Wish::every(36_000, 36_000), None, Change::reschedule(schedule));
    let resumed = (Wish::every(600, 60), Some(Change::Pause), Change::Resume);
    for (wish, first, change) in [rescheduled, resumed] {
        let stage = Stage::new(wish, [sleeps_before("slow", "put_head", TWENTY_MINUTES)]);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..3600);
        if let Some(first) = first {
            stage.change(10, "changer", first);
        }

        let changed = stage.change(20, "slow", change.clone());
        stage.play_to(1300);

        assert!(matches!(changed.given(), Changed::Done(_)));
        assert_eq!(stage.starts(), [(1260, 1260)], "{change:?}");
    }
}

/// Guard **orphan's second look**, of a run that was asked for: the asker sleeps between its promise and the run, and its
/// hint is lost.
///
/// Removed: no record is put in place of the run. The asker was told that it is queued, and it never ran.
#[test]
fn an_asker_who_slept_for_twenty_minutes_is_refused() {
    let script = [sleeps_before("asker", "put_run", TWENTY_MINUTES), fails_before("asker", "send")];
    let stage = Stage::new(Wish::on_demand(), script);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..3600);

    let asked = stage.ask(10, "asker");
    stage.play_to(3600);

    assert_eq!(asked.given(), Answered::TooSlow);
    assert_eq!((stage.timers(), stage.judge()), (vec![], vec![]));
}

/// Guard **orphan's second look**, of a promise that is no orphan yet: the old schedule, which is still in force, fires at
/// the instant that the sleeping changer has promised, so that its timer is met as a link of the old chain: hinted on
/// time; looked at late; covered by the record of an outage; that outage's last; where the old chain broke.
///
/// Removed: a hint has whatever generation its timer has; or a look erases the promise of a change like any timer; or the
/// old chain's own promise takes its place. The head was put as it was decided twenty minutes ago, the timer that it had
/// promised was gone, and the new schedule's chain ended before it began.
#[test]
fn the_promise_of_a_slow_changer_is_not_met_by_the_old_schedule() {
    struct Case {
        changed_at: i64,
        promised: i64,
        purged_at: i64,
        swept_from: i64,
    }
    let on_time = Case { changed_at: 20, promised: 60, purged_at: 10, swept_from: 30 };
    let late = Case { changed_at: 55, promised: 60, purged_at: 0, swept_from: 120 };
    let covered = Case { changed_at: 100, promised: 120, purged_at: 10, swept_from: 590 };
    let the_last = Case { changed_at: 535, promised: 540, purged_at: 10, swept_from: 590 };
    let the_gap = Case { changed_at: 100, promised: 120, purged_at: 70, swept_from: 590 };
    for Case { changed_at, promised, purged_at, swept_from } in [on_time, late, covered, the_last, the_gap] {
        let script = [sleeps_before("slow", "put_head", TWENTY_MINUTES), dies_before("executor", "erase_timer")];
        let stage = Stage::new(Wish::every(60, 60), script);
        stage.create(0, "creator");
        stage.purge(purged_at);
        stage.sweep_each_minute(swept_from..3600);

        stage.reschedule(changed_at, "slow", &every(425, promised));
        stage.play_to(3600);

        let last = (0..10).map(|n| promised + 425 * n).filter(|at| *at < 3600).max();
        assert_eq!(stage.called().last().copied(), last, "promised at {promised}");
    }
}
