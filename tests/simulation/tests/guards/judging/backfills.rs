//! The rules of the judge of backfills.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn an_operation_comes_to_its_end() {
    kept(Of::Backfills, "an operation comes to its end", 6);
}

#[test]
fn each_is_counted_once() {
    kept(Of::Backfills, "each is counted once", 6);
}

#[test]
fn every_run_comes_to_its_end() {
    kept(Of::Backfills, "every run comes to its end", 24);
}

#[test]
fn no_occurrence_is_begun_as_two_runs() {
    kept(Of::Backfills, "no occurrence is begun as two runs", 6);
}

#[test]
fn no_timer_is_left() {
    kept(Of::Backfills, "no timer is left", 6);
}

#[test]
fn nothing_is_made_up_for_that_nobody_asked_for() {
    kept(Of::Backfills, "nothing is made up for that nobody asked for", 6);
}

#[test]
fn what_was_asked_for_is_made_up_for() {
    kept(Of::Backfills, "what was asked for is made up for", 6);
}

#[test]
fn what_was_cancelled_does_not_begin() {
    kept(Of::Backfills, "what was cancelled does not begin", 18);
}
