//! Erase what you saw: a timer that was put anew still means something to whoever put it.

use minutehand_domain::job::Change;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, every, sleeps_after, sleeps_before};

/// A job of every minute whose schedule is changed two seconds before an occurrence that both schedules promise. The
/// changer dies once the head is written, so only the timer of that occurrence, put anew, leads to the new schedule. An
/// executor with the old hint carries the occurrence out.
fn rescheduled_just_before_an_occurrence(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(Wish::every(60, 60), script);
    stage.create(0, "creator");
    stage.reschedule(58, "changer", &every(420, 60));
    stage.sweep_each_minute(120..600);
    stage
}

/// Rule **erase what you saw**: an old hint's executor does not erase the timer that a change put anew.
///
/// Removed: the store erases whatever stands there. No timer of the new schedule was left.
#[test]
fn an_old_hint_does_not_erase_a_timer_put_anew() {
    let stage = rescheduled_just_before_an_occurrence([dies_after("changer", "put_head")]);

    stage.play_to(70);

    assert_eq!(stage.state(60), "succeeded");
    assert_eq!(stage.timer(60).map(|timer| timer.stamp.generation), Some(2));
}

/// Rule **erase what you saw**, its second half: the sweeper that finds the run finished knows of no successor.
///
/// Removed: the look erases the timer of a finished run at once. The new schedule's chain ended before it began.
#[test]
fn a_late_eraser_makes_sure_of_the_successor_first() {
    let stage = rescheduled_just_before_an_occurrence([dies_after("changer", "put_head")]);

    stage.play_to(600);

    assert_eq!(stage.starts(), [(60, 60), (480, 480)]);
}

/// Rule **erase what you saw**, of a successor: the old schedule's chain has put, and hinted, a timer at an instant that
/// is the new schedule's second occurrence. The changer dies after the hint of the first.
///
/// Removed: `promise_successor` takes the old timer as it is. The old hint's executor erased it, and the new schedule's
/// chain ended there.
#[test]
fn a_successor_that_stands_from_an_earlier_generation_is_put_anew() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("changer", "send")]);
    stage.create(0, "creator");
    stage.sweep_each_minute(180..600);

    stage.reschedule(65, "changer", &every(50, 20));
    stage.play_to(400);

    let late = [(170, 240), (220, 240)];
    assert_eq!(
        stage.starts(),
        [&[(60, 60), (70, 70), (120, 120)][..], &late, &[(270, 270), (320, 320), (370, 370)]].concat()
    );
}

/// Rule **the newest generation stands**: the second changer, on its way along its own chain, has seen that the first one's timer
/// at 360 is of the first schedule, and sleeps. Meanwhile the third promises that very instant for its schedule, and dies
/// once its head is there.
///
/// Removed: a put overwrites whatever stands there. The promise became one of the second schedule, the run at 360 erased it as
/// such, and the third schedule's chain ended before it began.
#[test]
fn a_put_on_its_way_does_not_replace_the_promise_of_a_later_change() {
    let puts_at_360 = Line { nth: 3, ..sleeps_before("second", "put_timer", 3) };
    let third = [sleeps_before("third", "put_head", 3), dies_after("third", "put_head")];
    let stage = Stage::new(Wish::every(60, 60), [puts_at_360].into_iter().chain(third));
    stage.create(0, "first");
    stage.sweep_each_minute(600..1800);

    stage.reschedule(65, "second", &every(120, 0));
    stage.reschedule(66, "third", &every(420, 360));
    stage.play_to(1800);

    assert_eq!(stage.starts(), [(60, 60), (360, 360), (780, 780), (1200, 1200), (1620, 1620)]);
    assert_eq!(stage.judge(), []);
}

/// Rule **erase what you saw**, of a straggler's successor: as above, but the changer dies before it fires, and a slow sweeper
/// finds the new schedule's first occurrence when the second is overdue by then, while the executor with the old hint of that
/// one is at work. The pass itself began earlier: it does not look at the second.
///
/// Removed: `first_gap` takes a timer of an earlier generation for the chain. The executor erased it, and the new
/// schedule's chain ended there.
#[test]
fn a_standing_successor_of_an_earlier_generation_is_put_anew() {
    let script = [dies_after("changer", "put_head"), sleeps_after("slow", "timers", 25)];
    let stage = Stage::new(Wish { takes: 50, ..Wish::every(60, 60) }, script);
    stage.create(0, "creator");
    stage.sweep(61, "sweeper");
    stage.sweep(130, "slow");
    stage.sweep_each_minute(240..600);

    stage.reschedule(65, "changer", &every(50, 20));
    stage.play_to(400);

    assert_eq!(stage.starts().last(), Some(&(370, 370)));
}

/// Rule **erase what you saw**, of whoever hints late: the executor with the old hint dies, all hints are lost until its
/// lease is over, and the one who takes the run over will erase the timer that led to the new schedule.
///
/// Removed: the look hints a run whose lease is over without making sure of the successor. The new schedule's chain ended
/// before it began.
#[test]
fn whoever_hints_late_makes_sure_of_the_successor_first() {
    let script = [dies_after("changer", "put_head"), dies_after("executor", "put_run")];
    let stage = rescheduled_just_before_an_occurrence(script);

    stage.purge(61);
    stage.lose_hints(61..170);
    stage.play_to(600);

    assert_eq!(stage.starts(), [(60, 180), (480, 480)]);
}

/// Rule **erase what you saw**, of what a pause took: nobody sweeps while the new schedule's occurrence passes, and when
/// somebody does, the job is paused and the last timer is a finished run's.
///
/// Removed: `record_forgone`. Nothing said that the occurrence had been missed.
#[test]
fn a_late_eraser_records_what_a_pause_took() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("changer", "put_head")]);
    stage.create(0, "creator");
    stage.reschedule(58, "changer", &every(420, 60));
    stage.sweep_each_minute(600..720);

    stage.change(500, "pauser", Change::Pause);
    stage.play_to(720);

    assert_eq!(stage.starts(), [(60, 60)]);
    assert_eq!(stage.state(480), "skipped: paused");
}

/// Rule **erase what you saw**, of what a pause took behind runs of old hints: the schedule goes to another one and back, the
/// hints of both were given before, and of the chain that is in force only the first timer was put.
///
/// Removed: what was forgone is not looked for behind a record. Three runs stood there, and nothing said what was missed
/// after them.
#[test]
fn a_late_eraser_records_what_a_pause_took_behind_runs_of_old_hints() {
    let fourth_hint = Line { nth: 4, ..dies_after("creator", "send") };
    let stage = Stage::new(Wish::every(60, 60), [fourth_hint, dies_after("back", "put_head")]);
    stage.create(0, "creator");
    stage.reschedule(65, "forth", &every(240, 60));
    stage.reschedule(75, "back", &every(60, 60));
    stage.sweep_each_minute(600..720);

    stage.change(500, "pauser", Change::Pause);
    stage.play_to(720);

    assert_eq!(stage.called(), [60, 120, 180, 240, 300]);
    assert_eq!(stage.state(360), "skipped: paused");
}

/// A schedule is in force for two minutes whose changer died once it was written: its first occurrence ran by an older hint, so
/// nothing leads to its second, and nobody sweeps before it is replaced.
fn with_a_chain_that_broke_under_a_schedule_of_two_minutes() -> Stage {
    let stage = Stage::new(Wish::every(120, 120), [dies_after("forth", "put_head")]);
    stage.create(0, "creator");
    stage.reschedule(200, "forth", &every(60, 60));
    stage.sweep_each_minute(600..1800);
    stage
}

/// Rule **record what you forget**, of a resume: the job remembers the schedule before today's until then.
///
/// Removed: `record_forgotten`. Nothing said that the occurrence at 300 had been missed: found by the simulation in one of
/// 210,000 histories.
#[test]
fn a_resume_records_what_it_makes_the_job_forget() {
    let stage = with_a_chain_that_broke_under_a_schedule_of_two_minutes();
    stage.reschedule(310, "back", &every(120, 120));
    stage.change(320, "pauser", Change::Pause);

    stage.change(330, "resumer", Change::Resume);
    stage.play_to(1800);

    assert_eq!(stage.state(240), "succeeded");
    assert_eq!(stage.state(300), "skipped: paused");
    assert_eq!(stage.run(300).unwrap().skipped_span().and_then(|span| span.count), Some(1), "it says for how many");
    assert_eq!(stage.judge(), []);
}

/// Rule **record what you forget**, of what a resume resumes: its schedule counts from then on, and what it promised before the pause is
/// forgotten with the schedules that were in force before.
///
/// Removed (`records-what-a-resume-counts-anew`): a resume knows what it resumes. Nothing said that the occurrence at 300 had been missed, once
/// two more changes had come: seed 60566340.
#[test]
fn a_resume_records_what_its_schedule_promised_before_the_pause() {
    let stage = with_a_chain_that_broke_under_a_schedule_of_two_minutes();
    stage.change(310, "pauser", Change::Pause);
    stage.change(320, "resumer", Change::Resume);

    stage.reschedule(330, "on", &every(420, 420));
    stage.reschedule(340, "and on", &every(420, 420));
    stage.play_to(1800);

    assert_eq!(stage.state(240), "succeeded");
    assert_eq!(stage.state(300), "skipped: paused");
    assert_eq!(stage.judge(), []);
}

/// Rule **record what you forget**, of a change of schedule: a job remembers one schedule beside today's.
///
/// Removed: `record_forgotten`. Nothing said that the occurrence at 300 had been missed.
#[test]
fn a_second_change_records_what_it_makes_the_job_forget() {
    let stage = with_a_chain_that_broke_under_a_schedule_of_two_minutes();
    stage.reschedule(310, "back", &every(120, 120));

    stage.reschedule(330, "again", &every(420, 420));
    stage.play_to(1800);

    assert_eq!(stage.state(300), "skipped: superseded");
    assert_eq!(stage.judge(), []);
}

/// Rule **record what you forget**, of what needs no record: the timer of the occurrence at 300 stands, and its look says it.
#[test]
fn a_change_leaves_to_its_timer_what_one_stands_for() {
    let stage = Stage::new(Wish::every(120, 120), []);
    stage.lose_hints(0..600);
    stage.create(0, "creator");
    stage.reschedule(200, "forth", &every(60, 60));

    stage.reschedule(250, "back", &every(120, 120));
    stage.reschedule(260, "again", &every(420, 420));
    stage.play_to(290);

    assert_eq!(stage.state(240), "no record");
    assert!(stage.timer(240).is_some());
}

/// The schedule that a pause found in force is known when another is set in the pause: what was due before it is counted by it.
///
/// Removed (`knows-what-a-pause-found`): a change in a pause replaces the schedule and remembers none. One was said to have been missed, of two.
#[test]
fn what_a_pause_took_is_counted_though_the_schedule_was_changed_in_it() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.lose_hints(0..600);
    stage.create(0, "creator");
    stage.change(130, "pauser", Change::Pause);
    stage.reschedule(140, "in the pause", &every(420, 420));
    stage.sweep_each_minute(600..1800);

    stage.play_to(1800);

    assert_eq!(stage.state(60), "skipped: paused");
    assert_eq!(stage.run(60).unwrap().skipped_span().and_then(|span| span.count), Some(2));
}

/// The same where the chain had broken before. Two guards see to it, so that neither removal alone is noticed here: the schedule is known, and
/// where it is not, what it promised is recorded as forgotten.
#[test]
fn a_late_eraser_records_what_a_pause_took_though_the_schedule_was_changed_in_it() {
    let stage = with_a_chain_that_broke_under_a_schedule_of_two_minutes();
    stage.change(310, "pauser", Change::Pause);

    stage.reschedule(320, "in the pause", &every(420, 420));
    stage.play_to(1800);

    assert_eq!(stage.state(300), "skipped: paused");
}

/// Rule **erase what you saw**, of what an outage's record covers: the record is the old schedule's, and the only timer
/// that leads to the new one stands at an instant that it covers.
///
/// Removed: `close_covered` erases without making sure of the successor. The new schedule's chain ended before it began.
#[test]
fn whoever_closes_a_covered_occurrence_makes_sure_of_the_successor_first() {
    let script = [
        dies_after("creator", "put_head"),
        sleeps_before("changer", "put_head", 300),
        dies_after("changer", "put_head"),
    ];
    let stage = Stage::new(Wish::every(60, 60), script);
    stage.create(0, "creator");
    stage.reschedule(300, "changer", &every(700, 310));
    stage.sweep(541, "sweeper");
    stage.sweep_each_minute(1440..1800);

    stage.play_to(1800);

    assert_eq!(stage.state(310), "skipped: coalesced");
    assert_eq!(stage.starts().last(), Some(&(1710, 1710)));
}
