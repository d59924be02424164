//! A timer or a hint has no authority: the job says what is an occurrence.

use minutehand_domain::job::Change;
use minutehand_domain::schedule::Schedule;
use minutehand_simulation::stage::{Stage, Wish, every, moment};

fn reschedule() -> Change {
    Change::reschedule(Schedule::new(&every(420, 130), moment(50)).unwrap())
}

/// Guard **admits**, at the claim: the hint was given before the job was paused, deleted or rescheduled.
///
/// Removed: `see` does not ask the job. The paused job and the rescheduled one were called.
#[test]
fn an_old_hint_of_a_changed_job_starts_nothing() {
    for change in [Change::Pause, Change::Delete, reschedule()] {
        let stage = Stage::new(Wish::every(60, 60), []);
        stage.create(0, "creator");

        stage.change(50, "changer", change.clone());
        stage.play_to(125);

        assert_eq!(stage.called(), [0; 0], "{change:?}");
    }
}

/// Guard **admits**, at the look: the timer was promised before the job was paused, deleted or rescheduled. What did not
/// fire for that is recorded, and its timer goes.
///
/// Removed: `admitted` does not ask the job. The timer was carried on and hinted again and again, with no record.
#[test]
fn an_old_timer_of_a_changed_job_ends_as_a_record_of_what_did_not_fire() {
    let changes = [(Change::Pause, "paused"), (Change::Delete, "cancelled"), (reschedule(), "superseded")];
    for (change, reason) in changes {
        let stage = Stage::new(Wish::once(120), []);
        stage.create(0, "creator");
        stage.sweep_each_minute(60..3000);

        stage.change(50, "changer", change);
        stage.play_to(3000);

        assert_eq!(stage.state(120), format!("skipped: {reason}"));
        assert!(!stage.called().contains(&120));
        assert_eq!(stage.timer(120), None);
        assert_eq!(stage.judge(), []);
    }
}

/// Guard **admits**, what was in force before: the occurrence was due before the schedule changed, and is claimed after.
///
/// Removed: `Job::admits` does not know what was in force before. The occurrence was lost.
#[test]
fn an_occurrence_of_before_a_change_still_fires_under_the_schedule_of_then() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.lose_hints(0..10);
    stage.create(0, "creator");
    stage.play_to(10);
    let hint = stage.hint(60);

    stage.reschedule(61, "changer", &every(420, 130));
    stage.execute(65, "late", &hint);
    stage.play_to(125);

    assert_eq!(stage.starts(), [(60, 65)]);
}
