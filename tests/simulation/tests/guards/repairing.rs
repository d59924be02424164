//! A repair while everything goes on: what was lost is there again, and what was not is done once all the same.

use minutehand_simulation::setting::{Host, Lambda, Setting};
use minutehand_simulation::stage::{Stage, Wish, dies_after};

fn on_lambda() -> Setting {
    let lambda = Lambda { batch: 1, timeout: 900_000, concurrency: 5, more: 5, fair: false };
    Setting { host: Host::Lambda(lambda), ..Setting::plain() }
}

/// The table of timers is lost at 610 s, between two passes, and repaired at 905.
///
/// Removed: the timer that a repair puts. Neither job ran again.
#[test]
fn after_the_timers_were_lost_and_made_again_every_chain_goes_on() {
    for setting in [Setting::plain(), on_lambda()] {
        let ours = Stage::on(setting, Wish::every(60, 60), []);
        let theirs = ours.beside_of("other", Wish::every(60, 90));
        ours.create(0, "creator");
        theirs.create(1, "creator");
        ours.sweep_each_minute(60..2100);
        ours.lose_timers(610);

        let repaired = ours.repair(905, "admin");
        ours.play_to(2080);

        let summary = repaired.given().summary;
        assert_eq!((summary.jobs, summary.without_timer + summary.overdue), (2, 2), "{summary:?}");
        for stage in [&ours, &theirs] {
            let called = stage.called();
            let punctual =
                (0..18).map(|n| 960 + 60 * n).filter(|at| called.iter().any(|called| called / 60 == at / 60));
            assert_eq!(punctual.count(), 18, "{called:?}");
        }
        assert_eq!(ours.judge_beside(&[theirs]), []);
    }
}

/// Nothing was lost, and it is repaired twice at the same time as a pass, a claim and a change are made.
#[test]
fn a_repair_of_what_is_whole_doubles_nothing() {
    let stage = Stage::new(Wish { takes: 90, timeout: 120, ..Wish::every(60, 60) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..2100);
    for at in (240..1500).step_by(180) {
        stage.repair(at, "admin");
        stage.repair(at, "another admin");
    }

    stage.play_to(2000);

    assert_eq!(stage.starts()[..30], (1..31).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
    assert_eq!(stage.judge(), []);
}

/// A repair that dies in its midst is a repair of some of it: the next one does the rest.
#[test]
fn a_repair_that_dies_leaves_nothing_worse() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("admin", "put_timer")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..2100);
    stage.lose_timers(610);
    stage.repair(905, "admin");
    stage.repair(1000, "admin");

    stage.play_to(2080);

    assert!(stage.called().contains(&2040), "{:?}", stage.called());
    assert_eq!(stage.judge(), []);
}
