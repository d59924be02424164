//! What an invocation does with its batch, near its deadline and while a table is throttled.

use minutehand_executor::Executed;
use minutehand_executor::batch::{Back, Handled};
use minutehand_protocol::run::claim::Dropped;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, fails_before, moment};

/// Removed: `claim` waits however late it is. It claims at 120 when its process is gone, and answers for none of its batch.
#[test]
fn a_hint_due_after_the_deadline_is_given_back_unclaimed() {
    let stage = Stage::new(Wish::once(120), []);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    let batch = stage.execute_batch(85, "executor", &[stage.hint(120)], 105);
    stage.play_to(105);

    assert_eq!(batch.given(), [Handled::GivenBack(Back::NotYet(moment(120)))]);
    assert_eq!(stage.state(120), "no record");
}

/// Removed: `carry` lets the call run on. The invocation ends under it, and the run waits for its lease to end.
#[test]
fn a_call_that_runs_near_the_deadline_is_handed_back() {
    let stage = handed_back([]);

    assert_eq!(stage.run(20).unwrap().attempts[0].outcome(), Some("lost"));
}

/// The table refuses twice what hands it back.
///
/// Removed (`hands-back-while-the-lease-lasts`): it is tried once. The run waited for its lease to end, and that was a lease lost.
#[test]
fn a_call_is_handed_back_though_the_table_is_throttled_for_a_moment() {
    handed_back((2..4).map(|nth| Line { nth, ..fails_before("executor", "put_run") }));
}

/// A call that takes longer than its invocation has, and is handed back to the queue.
fn handed_back(script: impl IntoIterator<Item = Line>) -> Stage {
    let stage = Stage::new(Wish { takes: 50, ..Wish::once(20) }, script);
    stage.lose_hints(0..300);
    stage.create(0, "creator");
    stage.play_to(10);

    let batch = stage.execute_batch(19, "executor", &[stage.hint(20)], 40);
    stage.play_to(40);

    assert!(matches!(batch.given()[..], [Handled::Done(Executed::Attempted(_))]));
    assert_eq!(stage.state(20), "queued");
    stage
}

/// Removed: one fault is the batch's. The other two would be delivered again though nothing is left of them to do.
#[test]
fn in_a_batch_a_fault_gives_back_its_own_hint_alone() {
    let stage = Stage::new(Wish::every(20, 20), [fails_before("executor", "put_run")]);
    stage.lose_hints(0..600);
    stage.create(0, "creator");
    stage.play_to(10);
    let hints = [stage.hint(20), stage.hint(40), stage.hint(40)];

    let batch = stage.execute_batch(10, "executor", &hints, 300);
    stage.play_to(60);

    let [first, others @ ..] = &batch.given()[..] else { panic!("three went in") };
    assert!(matches!(first, Handled::GivenBack(Back::Fault(_))));
    assert_eq!(others.iter().filter(|other| **other == Handled::Done(Executed::Dropped(Dropped::Faster))).count(), 1);
    assert!(others.iter().all(|other| !other.is_given_back()));
    assert_eq!(stage.called(), [40]);
}

/// Rule **record while the lease lasts**: the table refuses the record eight times, longer than any pause so far.
///
/// Removed: three further tries and no more. The lease is lost, and the run that succeeded is called again.
#[test]
fn an_outcome_outlasts_a_throttle_that_is_shorter_than_its_lease() {
    let refused = (2..10).map(|nth| Line { nth, ..fails_before("executor", "put_run") });
    let stage = Stage::new(Wish::once(20), refused);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..600);
    stage.play_to(600);

    assert_eq!(stage.called(), [20]);
    assert_eq!(stage.state(20), "succeeded");
    assert_eq!(stage.judge(), []);
}
